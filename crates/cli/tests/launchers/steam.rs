// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compatibility tool that `packaging/steam/make-tool` makes, with a stand-in for Proton.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::built::BUILT;
use crate::sandbox::{PLAIN, Sandbox, available, options, texts};
use crate::skips::skip;

const MAKE_TOOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/steam/make-tool");

/// As Proton's own says it.
const MANIFEST: &str = r#""manifest"
{
  "version" "2"
  "commandline" "/proton %verb%"
  "require_tool_appid" "1628350"
  "use_sessions" "1"
  "compatmanager_layer_name" "proton"
}
"#;

/// Says from where and how it was started, and becomes the program that it was given.
const PROTON: &str = "#!/bin/sh\necho \"$0 $1\"\nshift\nexec \"$@\"\n";

/// Directories as Steam has them.
struct Steam {
    root: TempDir,
    proton: PathBuf,
}

impl Steam {
    fn new() -> Steam {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
        // Bubblewrap refuses to show what lies behind a link under another name.
        let proton = root.path().join("common/Proton - Experimental");
        std::fs::create_dir_all(&proton).expect("our own directory");
        std::fs::write(proton.join("toolmanifest.vdf"), MANIFEST).expect("our own directory");
        std::fs::write(proton.join("proton"), PROTON).expect("our own directory");
        let executable = PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(proton.join("proton"), executable).expect("our own file");
        Steam { root, proton }
    }

    fn make_tool(&self, proton: &Path) -> Output {
        let mut command = Command::new(MAKE_TOOL);
        command.arg("--ntux").arg(&BUILT.prefix).arg(proton).arg(self.root.path().join("tools"));
        command.output().expect("bash starts")
    }

    fn tool(&self) -> PathBuf {
        let tool = self.root.path().join("tools/ntux-Proton-Experimental");
        let output = self.make_tool(&self.proton);
        assert!(output.status.success() && tool.is_dir(), "{output:?}");
        tool
    }
}

/// In a sandbox that shows the tool and not where ntux is installed.
fn in_container(sandbox: &Sandbox, tool: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args(options(sandbox.made_of)).arg("--tmpfs").arg(&BUILT.prefix).arg("--").arg(tool.join("run"));
    command.env_remove("LD_PRELOAD").env("NTUX_DEVICE", "user");
    command
}

#[test]
fn the_manifest_is_that_of_the_proton_with_another_program() {
    let steam = Steam::new();
    let tool = steam.tool();
    let manifest = std::fs::read_to_string(tool.join("toolmanifest.vdf")).expect("it was made");
    assert_eq!(manifest, MANIFEST.replace("/proton %verb%", "/run %verb%"));
    let declaration = std::fs::read_to_string(tool.join("compatibilitytool.vdf")).expect("it was made");
    for line in [
        "\"ntux-Proton-Experimental\"",
        "\"display_name\" \"Proton - Experimental with ntux\"",
        "\"install_path\" \".\"",
    ] {
        assert!(declaration.contains(line), "{line}: {declaration}");
    }
    assert_eq!(declaration.matches('{').count(), declaration.matches('}').count());
    // Made anew, it is whole again.
    std::fs::remove_file(tool.join("ntux/bin/ntux")).expect("it was made");
    assert!(steam.tool().join("ntux/bin/ntux").is_file());
}

#[test]
fn the_tool_starts_its_proton_under_ntux() {
    if !available() {
        return;
    }
    let steam = Steam::new();
    let tool = steam.tool();
    let mut command = in_container(&PLAIN, &tool);
    let output = command.arg("waitforexitandrun").arg(&BUILT.processes).arg("owner_is_killed").output();
    let output = output.expect("bubblewrap starts");
    let (said, complaints) = texts(&output);
    assert!(output.status.success(), "{complaints}");
    assert_eq!(said, format!("{} waitforexitandrun\n", steam.proton.join("proton").display()));
    let mut command = in_container(&PLAIN, &tool);
    let output = command.args(["run", "sh", "-c", "exit 7"]).output().expect("bubblewrap starts");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn where_ntux_cannot_serve_proton_is_started_without_it() {
    if !available() {
        return;
    }
    let steam = Steam::new();
    let sandbox = Sandbox { made_of: crate::WITHOUT_PROC.made_of, ..PLAIN };
    let mut command = in_container(&sandbox, &steam.tool());
    let output = command.args(["run", "sh", "-c", "echo \"[$LD_PRELOAD]\""]).output().expect("bubblewrap starts");
    let (said, complaints) = texts(&output);
    assert!(output.status.success() && said.ends_with(" run\n[]\n"), "{said}{complaints}");
    assert!(complaints.contains("gets no device from ntux"), "{complaints}");
}

/// Steam's `reaper`, which starts everything else, is a 32-bit program.
#[test]
fn a_32_bit_program_may_start_the_others() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let (source, reaper) = (root.path().join("reaper.c"), root.path().join("reaper"));
    let text =
        "#include <unistd.h>\nint main(int count, char **words) { return count < 2 || execv(words[1], words + 1); }\n";
    std::fs::write(&source, text).expect("our own directory");
    let output = Command::new("cc").arg("-m32").arg("-o").arg(&reaper).arg(source).output().expect("cc starts");
    if !output.status.success() {
        return skip("narrow", format_args!("no 32-bit program can be compiled: {}", texts(&output).1.trim()));
    }
    let mut command = Command::new(&BUILT.ntux);
    command.args(["run", "--device", "user", "--"]).arg(&reaper).arg(&BUILT.processes).arg("owner_is_killed");
    let output = command.output().expect("the command starts");
    assert!(output.status.success(), "{output:?}");
    assert!(!texts(&output).1.contains("wrong ELF class"), "{output:?}");
}

#[test]
fn what_cannot_become_a_tool_is_refused() {
    let steam = Steam::new();
    let refused = |proton: &Path, why: &str| {
        let output = steam.make_tool(proton);
        assert!(!output.status.success() && texts(&output).1.contains(why), "{output:?}");
    };
    refused(steam.root.path(), "is no Proton");
    let manifest = steam.proton.join("toolmanifest.vdf");
    std::fs::write(&manifest, MANIFEST.replace("/proton ", "/other ")).expect("our own file");
    refused(&steam.proton, "does not start /proton");
    std::fs::write(&manifest, MANIFEST).expect("our own file");
    // What somebody else put there stays.
    let foreign = steam.root.path().join("tools/ntux-Proton-Experimental");
    std::fs::create_dir_all(&foreign).expect("our own directory");
    std::fs::write(foreign.join("save"), "").expect("our own directory");
    refused(&steam.proton, "was not made by this program");
    assert!(foreign.join("save").is_file());
}
