// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/wine.rs`.

use super::*;

fn old_style(version: &str) -> Wine {
    let version = OnceCell::from(Some(version.to_owned()));
    Wine { library: PathBuf::new(), version, narrow: Some("/w/i386-unix/ntdll.so".into()), proton: None }
}

fn no_device(measure: &Measure, word: &str) -> bool {
    matches!(measure, Measure::NoDevice(why) if why.contains(word))
}

#[test]
fn all_processes_are_made_wide_or_none_is_served() {
    let unset = |_: &str| None;
    let force = Measure::Set("WINEARCH", "wow64");
    assert_eq!(old_style("wine-11.0").measure(Prefix::Wide, unset), force);
    assert_eq!(old_style("wine-11.10 (Staging)").measure(Prefix::Absent, unset), force);
    assert_eq!(old_style("wine-12.1-rc2").measure(Prefix::Wide, unset), force);
    assert!(no_device(&old_style("wine-11.0").measure(Prefix::Narrow, unset), "32-bit one"));
    for version in ["wine-10.20", "wine", "wine-x.y"] {
        assert!(no_device(&old_style(version).measure(Prefix::Wide, unset), "older than Wine 11"), "{version}");
    }
    let new = Wine { narrow: None, ..old_style("wine-10.16") };
    assert_eq!(new.measure(Prefix::Wide, unset), Measure::None);
}

#[test]
fn the_users_own_word_holds() {
    let arch = |value: &'static str| move |name: &str| (name == "WINEARCH").then(|| OsString::from(value));
    assert_eq!(old_style("wine-11.0").measure(Prefix::Wide, arch("wow64")), Measure::None);
    assert!(no_device(&old_style("wine-11.0").measure(Prefix::Wide, arch("win64")), "WINEARCH is win64"));
}

#[test]
fn proton_is_told_in_its_own_way() {
    let proton = |knows| Wine { proton: Some(knows), ..old_style("wine-10.0") };
    let set = |value: &'static str| move |name: &str| (name == PROTON_VARIABLE).then(|| OsString::from(value));
    assert_eq!(proton(true).measure(Prefix::Absent, |_| None), Measure::Set(PROTON_VARIABLE, "1"));
    assert!(no_device(&proton(false).measure(Prefix::Absent, |_| None), "does not know"));
    assert_eq!(proton(true).measure(Prefix::Absent, set("1")), Measure::None);
    assert!(no_device(&proton(true).measure(Prefix::Absent, set("0")), "is off"));
}

#[test]
fn the_first_lines_of_the_registry_say_what_a_prefix_is_for() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let with = |text: &str| {
        std::fs::write(root.path().join("system.reg"), text).expect("our own file");
        Prefix::at(root.path())
    };
    assert_eq!(Prefix::at(&root.path().join("none")), Prefix::Absent);
    assert_eq!(with("WINE REGISTRY Version 2\n;; x\n\n#arch=win64\n\n[A]\n"), Prefix::Wide);
    assert_eq!(with("WINE REGISTRY Version 2\n\n#arch=win32\n[A]\n\"x\"=\"#arch=win64\"\n"), Prefix::Narrow);
    assert_eq!(with("WINE REGISTRY Version 2\n[A]\n#arch=win64\n"), Prefix::Narrow);
}

/// It would be a third of a short program's time.
#[test]
fn the_library_is_read_only_where_the_version_decides() {
    let root = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(root.path().join("ntdll.so"), "\0wine-11.0\0").expect("our own file");
    let wine = Wine::in_directory(root.path()).expect("a Wine");
    assert_eq!(wine.measure(Prefix::Wide, |_| None), Measure::None);
    assert_eq!(wine.version.get(), None);
    assert_eq!(wine.version(), Some("wine-11.0"));
}

#[test]
fn a_version_is_a_string_of_its_own() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let with = |bytes: &[u8]| {
        std::fs::write(root.path().join("ntdll.so"), bytes).expect("our own file");
        version(&root.path().join("ntdll.so"))
    };
    assert_eq!(
        with(b"\x7fELF\0xwine-9.0\0wine-mono-9\0wine-11.10 (Staging)\0more"),
        Some("wine-11.10 (Staging)".into())
    );
    assert_eq!(with(b"nothing"), None);
}
