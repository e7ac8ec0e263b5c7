// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/library.rs`.

use super::*;

fn place(root: &Path, platforms: &[&str]) -> PathBuf {
    for platform in platforms {
        let directory = root.join("lib/ntux").join(platform);
        std::fs::create_dir_all(&directory).expect("our own directory");
        std::fs::write(directory.join("libntux_preload.so"), "").expect("our own file");
    }
    std::fs::create_dir_all(root.join("bin")).expect("our own directory");
    root.join("bin/ntux")
}

fn found(file: &str, entry: &str) -> Found {
    Found { file: file.into(), entry: entry.into(), serves_musl: false, explains_itself: false }
}

#[test]
fn the_library_comes_first_and_the_rest_stays() {
    let library = found("/lib/x/a.so", "/lib/a.so");
    assert_eq!(preload_list(&library, None), "/lib/a.so");
    assert_eq!(preload_list(&library, Some(OsStr::new(""))), "/lib/a.so");
    assert_eq!(preload_list(&library, Some(OsStr::new("b.so c.so"))), "/lib/a.so:b.so c.so");
}

#[test]
fn the_loader_chooses_in_a_whole_tree_and_not_in_a_part_of_one() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let root = root.path().canonicalize().expect("it exists");
    let command = place(&root, &PLATFORMS[..1]);
    let file = root.join("lib/ntux").join(PLATFORMS[0]).join("libntux_preload.so");
    let found = beside(&command, Library::Device).expect("a library");
    if PLATFORMS.len() > 1 {
        assert_eq!((&found.file, &*found.entry), (&file, file.as_os_str()));
    }
    let command = place(&root, PLATFORMS);
    let entry = root.join("lib/ntux/$PLATFORM/libntux_preload.so").into_os_string();
    let found = beside(&command, Library::Device).expect("a library");
    assert_eq!(found, Found { file, entry, serves_musl: false, explains_itself: false });
    place(&root, &["$PLATFORM", NARROW_PLATFORM]);
    let found = beside(&command, Library::Device).expect("a library");
    assert!(found.serves_musl && found.explains_itself);
    assert!(matches!(beside(&command, Library::Watch), Err(NoLibrary::NotFound(places)) if places.len() == 2));
    // Beside the command it is preferred: that is where Cargo builds both.
    let neighbour = root.join("bin/libntux_preload.so");
    std::fs::write(&neighbour, "").expect("our own file");
    let found = beside(&command, Library::Device).expect("a library");
    assert_eq!((found.file, found.entry), (neighbour.clone(), neighbour.into_os_string()));
}

#[test]
fn what_the_loader_would_take_apart_is_refused() {
    for name in ["a b", "a:b", "a$LIB", "${ORIGIN}x", "$PLATFORM"] {
        let root = tempfile::tempdir().expect("a temporary directory");
        let command = place(&root.path().join(name), PLATFORMS);
        assert!(matches!(beside(&command, Library::Device), Err(NoLibrary::Unspeakable(_))), "{name}");
    }
    let root = tempfile::tempdir().expect("a temporary directory");
    assert!(beside(&place(&root.path().join("a$b"), PLATFORMS), Library::Device).is_ok());
}
