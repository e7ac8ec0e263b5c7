// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux run`: what passes through, and what is refused.

use std::ffi::CString;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::skips::skip;
use crate::stage::{Stage, compile, complained, finish, finish_child, said};

/// A user and group that owns nothing.
const NOBODY: u32 = 65534;

fn run(stage: &Stage, program: &[&str]) -> Output {
    finish(stage.ntux(&["run", "--"]).args(program))
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("our own file");
}

fn write_executable(path: &Path, content: &[u8]) {
    std::fs::write(path, content).expect("our own directory");
    set_mode(path, 0o755);
}

fn we_are_root() -> bool {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn true_program() -> PathBuf {
    ["/bin/true", "/usr/bin/true"].iter().map(PathBuf::from).find(|path| path.exists()).expect("a program named true")
}

/// It runs as without ntux, ends with `status`, and one line on standard error says why, naming `word`.
fn assert_plain(stage: &Stage, program: &Path, status: i32, word: &str) {
    let output = run(stage, &[program.to_str().expect("a plain path")]);
    let line = complained(&output);
    assert_eq!(output.status.code(), Some(status), "{line}");
    assert!(line.contains("itself runs without ntux") && line.contains(word) && line.lines().count() == 1, "{line}");
    // Nothing to say where the kernel's driver is wanted: such a program finds that one.
    let output = finish(stage.ntux(&["run", "--device", "kernel", "--"]).arg(program));
    assert_eq!((output.status.code(), complained(&output).as_str()), (Some(status), ""));
}

/// Refused with status 126, and the reason names `word`.
fn assert_refused(stage: &Stage, program: &Path, word: &str) {
    let output = run(stage, &[program.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(126), "{}", complained(&output));
    assert!(complained(&output).contains(word), "{}", complained(&output));
    assert_eq!(said(&output), "");
}

#[test]
fn the_exit_status_passes_through() {
    let stage = Stage::new();
    for status in [0, 1, 3, 125, 255] {
        let output = run(&stage, &["sh", "-c", &format!("exit {status}")]);
        assert_eq!(output.status.code(), Some(status));
    }
}

#[test]
fn the_signal_that_ends_the_program_passes_through() {
    let stage = Stage::new();
    let output = run(&stage, &["sh", "-c", "kill -TERM $$"]);
    assert_eq!(output.status.signal(), Some(libc::SIGTERM));

    let mut sleeping = stage.ntux(&["run", "--", "sh", "-c", "echo ready; exec sleep 300"]);
    let mut child = sleeping.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut ready = [0u8; 6];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut ready).expect("the program runs");
    // SAFETY: our own child, which was not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    assert_eq!(finish_child(child).status.signal(), Some(libc::SIGTERM));
}

#[test]
fn the_program_takes_the_place_of_ntux() {
    let stage = Stage::new();
    let mut command = stage.ntux(&["run", "--", "sh", "-c", "echo $$"]);
    let child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let number = child.id();
    assert_eq!(said(&finish_child(child)).trim(), number.to_string());
}

#[test]
fn arguments_and_the_programs_name_pass_through() {
    let stage = Stage::new();
    let output = finish(stage.ntux(&["run", "cat", "/proc/self/cmdline"]).stdin(Stdio::null()));
    assert_eq!(said(&output), "cat\0/proc/self/cmdline\0");
    let output = run(&stage, &["echo", "--device", "-n", "--", "a b"]);
    assert_eq!(said(&output), "--device -n -- a b\n");
}

#[test]
fn the_library_is_loaded_and_what_was_preloaded_stays() {
    let stage = Stage::new();
    let other = compile(&stage.path(""), "other.so", "int ntux_test_other;\n", &["-shared", "-fPIC"]);
    let mut command = stage.ntux(&["run", "--", "sh", "-c", "echo $NTUX_TEST_LOADED $LD_PRELOAD"]);
    let output = finish(command.env("LD_PRELOAD", &other));
    assert_eq!(said(&output), format!("yes {}:{}\n", stage.library.display(), other.display()));
    assert_eq!(complained(&output), "");
}

#[test]
fn soft_dirty_loads_another_library_and_says_so() {
    let stage = Stage::new();
    let other = compile(&stage.path(""), "other.so", "int ntux_test_other;\n", &["-shared", "-fPIC"]);
    let with = |options: &[&str]| {
        let mut command = stage.ntux(&["run", "--soft-dirty"]);
        command.args(options).args(["--", "sh", "-c", "echo $NTUX_SOFT_DIRTY $LD_PRELOAD"]);
        said(&finish(command.env("NTUX_PRELOAD_WATCH", &other)))
    };
    assert_eq!(with(&[]), format!("1 {}\n", other.display()));
    assert_eq!(with(&["--device", "auto"]), format!("1 {}:{}\n", stage.library.display(), other.display()));
    let output =
        finish(stage.ntux(&["run", "--soft-dirty", "true"]).env("NTUX_PRELOAD_WATCH", "/nonexistent/watch.so"));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("/nonexistent/watch.so"));
}

#[test]
fn options_reach_the_program_and_without_them_the_environment_does() {
    let stage = Stage::new();
    let show = ["--", "sh", "-c", "echo $NTUX_DEVICE/$NTUX_SPIN/$NTUX_LOG"];
    let options = ["run", "--device", "user", "--spin", "7", "--log", "/tmp/x"];
    assert_eq!(said(&finish(stage.ntux(&options).args(show))), "user/7//tmp/x\n");

    let mut command = stage.ntux(&["run"]);
    command.env("NTUX_DEVICE", "kernel").env("NTUX_SPIN", "9").env("NTUX_LOG", "/tmp/y");
    assert_eq!(said(&finish(command.args(show))), "kernel/9//tmp/y\n");

    assert_eq!(said(&finish(stage.ntux(&["run"]).args(show))), "//\n");

    // The program may change its directory, so a relative path is made absolute.
    let mut command = stage.ntux(&["run", "--log", "log"]);
    let output = finish(command.args(show).current_dir("/"));
    assert_eq!(said(&output), "///log\n");
    let mut command = stage.ntux(&["run", "--log", "all:%p.log"]);
    let output = finish(command.args(show).current_dir("/"));
    assert_eq!(said(&output), "//all:/%p.log\n");
    assert_eq!(said(&finish(stage.ntux(&["run", "--log", "stderr"]).args(show))), "//stderr\n");
    assert_eq!(said(&finish(stage.ntux(&["run", "--log", "waits:stderr"]).args(show))), "//waits:stderr\n");
}

#[test]
fn watching_needs_the_library_in_the_program() {
    let stage = Stage::new();
    let output =
        finish(stage.ntux(&["watch", "--"]).arg(static_program(&stage)).env("NTUX_PRELOAD_WATCH", &stage.library));
    let line = complained(&output);
    assert!(
        output.status.code() == Some(126) && line.contains("statically linked") || line.contains("cannot watch"),
        "{line}"
    );
}

#[test]
fn the_limit_on_descriptors_changes_only_if_that_is_wanted() {
    let stage = Stage::new();
    let limits = |options: &[&str], soft: &str| {
        let mut command = stage.ntux(&["run"]);
        // A lower limit first, so that there is something to raise.
        let inner = ["--", "sh", "-c", "ulimit -Sn; ulimit -Hn"];
        let mut outer = std::process::Command::new("sh");
        outer.args(["-c", "ulimit -Sn $0; exec \"$@\"", soft]).arg(command.args(options).args(inner).get_program());
        outer.args(command.get_args());
        outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        said(&finish(&mut outer)).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let [soft, hard] = limits(&[], "100").try_into().unwrap();
    assert_eq!(soft, "100");
    assert_eq!(limits(&["--descriptors", "max"], "100"), [hard.clone(), hard.clone()]);
    assert_eq!(limits(&["--descriptors", "200"], "100"), ["200".to_owned(), hard]);
    let output = finish(&mut stage.ntux(&["run", "--descriptors", "18446744073709551614", "true"]));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("hard limit"));
}

#[test]
fn wrong_use_is_status_125() {
    let stage = Stage::new();
    for wrong in [
        &["run"][..],
        &["run", "--spin", "4294967296", "true"],
        &["run", "--device", "x", "true"],
        &["run", "--descriptors", "x", "true"],
        &["x"],
    ] {
        let output = finish(&mut stage.ntux(wrong));
        assert_eq!(output.status.code(), Some(125), "{wrong:?}");
        assert!(!complained(&output).is_empty());
    }
}

#[test]
fn without_its_library_ntux_says_where_it_looked() {
    let stage = Stage::new();
    let output = finish(stage.ntux(&["run", "true"]).env("NTUX_PRELOAD", "/nonexistent/library.so"));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("/nonexistent/library.so"));

    let spaced = stage.path("a space.so");
    std::fs::copy(&stage.library, &spaced).expect("a copy");
    let output = finish(stage.ntux(&["run", "true"]).env("NTUX_PRELOAD", &spaced));
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("LD_PRELOAD cannot express"));
}

/// `ntux run` from this command, without anything that names a library.
fn run_from(command: &Path, arguments: &[&str]) -> Output {
    let mut copied = std::process::Command::new(command);
    finish(copied.arg("run").args(arguments).env_remove("NTUX_PRELOAD").env_remove("LD_PRELOAD"))
}

/// A copy of the command, and of the library in these directories, below a new directory.
fn install(stage: &Stage, name: &str, directories: &[&str]) -> PathBuf {
    let root = stage.path(name);
    std::fs::create_dir_all(root.join("bin")).expect("our own directory");
    std::fs::copy(env!("CARGO_BIN_EXE_ntux"), root.join("bin/ntux")).expect("a copy");
    for directory in directories {
        std::fs::create_dir_all(root.join(directory)).expect("our own directory");
        std::fs::copy(&stage.library, root.join(directory).join("libntux_preload.so")).expect("a copy");
    }
    root
}

#[test]
fn the_library_is_found_beside_the_command() {
    let stage = Stage::new();
    let root = install(&stage, "cargo", &["bin"]);
    let library = root.join("bin/libntux_preload.so");
    let output = run_from(&root.join("bin/ntux"), &["sh", "-c", "echo $NTUX_TEST_LOADED $LD_PRELOAD"]);
    assert_eq!(said(&output).trim(), format!("yes {}", library.display()));
}

/// What glibc puts for `$PLATFORM` on x86-64.
#[cfg(target_arch = "x86_64")]
const PLATFORMS: [&str; 3] = ["lib/ntux/x86_64", "lib/ntux/haswell", "lib/ntux/xeon_phi"];

#[cfg(target_arch = "x86_64")]
#[test]
fn the_loader_finds_the_library_of_its_word_size_in_an_installed_tree() {
    let stage = Stage::new();
    let root = install(&stage, "installed", &PLATFORMS);
    let entry = root.join("lib/ntux/$PLATFORM/libntux_preload.so");
    let output = run_from(&root.join("bin/ntux"), &["sh", "-c", "echo $NTUX_TEST_LOADED \"$LD_PRELOAD\""]);
    assert_eq!((said(&output).trim(), complained(&output).as_str()), (&*format!("yes {}", entry.display()), ""));

    // A tree without the names for some processors: the absolute path works on all of them.
    let root = install(&stage, "part", &PLATFORMS[..1]);
    let output = run_from(&root.join("bin/ntux"), &["sh", "-c", "echo $NTUX_TEST_LOADED $LD_PRELOAD"]);
    let library = root.join(PLATFORMS[0]).join("libntux_preload.so");
    assert_eq!(said(&output).trim(), format!("yes {}", library.display()));

    let root = install(&stage, "a$LIB", &PLATFORMS);
    let output = run_from(&root.join("bin/ntux"), &["true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(complained(&output).contains("LD_PRELOAD cannot express"), "{}", complained(&output));
}

#[test]
fn a_program_that_is_not_there_is_status_127() {
    let stage = Stage::new();
    for missing in ["ntux-no-such-program", "/nonexistent/program"] {
        let output = run(&stage, &[missing]);
        assert_eq!(output.status.code(), Some(127));
        assert!(complained(&output).contains(missing));
    }
}

#[test]
fn what_cannot_be_executed_is_status_126() {
    let stage = Stage::new();
    let plain = stage.path("plain");
    std::fs::write(&plain, "#!/bin/sh\n").expect("our own directory");
    set_mode(&plain, 0o644);
    assert_refused(&stage, &plain, "may not execute");
    assert_refused(&stage, Path::new("/"), "may not execute");
    // As `env` does it: a file that the kernel does not know is a shell's.
    write_executable(&stage.path("text"), b"echo no first line $NTUX_TEST_LOADED\n");
    let output = run(&stage, &[stage.path("text").to_str().expect("a plain path")]);
    assert_eq!((said(&output).as_str(), complained(&output).as_str()), ("no first line yes\n", ""));
}

fn static_program(stage: &Stage) -> PathBuf {
    compile(&stage.path(""), "static", "int main(void) { return 3; }\n", &["-static"])
}

#[test]
fn a_static_program_runs_and_the_line_says_so() {
    let stage = Stage::new();
    assert_plain(&stage, &static_program(&stage), 3, "statically linked");
}

#[test]
fn a_script_is_followed_to_its_interpreter() {
    let stage = Stage::new();
    write_executable(&stage.path("script"), b"#! /bin/sh\necho $1 $NTUX_TEST_LOADED; exit 4\n");
    let output = run(&stage, &[stage.path("script").to_str().expect("a plain path"), "hello"]);
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(4), "hello yes\n"));

    write_executable(&stage.path("of-static"), format!("#!{} -x\n", static_program(&stage).display()).as_bytes());
    assert_plain(&stage, &stage.path("of-static"), 3, "statically linked");

    write_executable(&stage.path("endless"), format!("#!{}\n", stage.path("endless").display()).as_bytes());
    assert_refused(&stage, &stage.path("endless"), "whose interpreter is a script");
}

#[test]
fn a_set_user_id_program_runs_and_the_line_says_so() {
    let stage = Stage::new();
    let program = stage.path("other-user");
    if we_are_root() {
        std::fs::copy(true_program(), &program).expect("a copy");
        chown(&program, Some(NOBODY), None).expect("root may");
        set_mode(&program, 0o4755);
        assert_plain(&stage, &program, 0, "set-user-id");
        // A program of the caller's own gives no rights: the loader does not mind.
        chown(&program, Some(0), None).expect("root may");
        set_mode(&program, 0o4755);
        assert_eq!(run(&stage, &[program.to_str().expect("a plain path")]).status.code(), Some(0));
        return;
    }
    match ["/bin/mount", "/usr/bin/mount"].iter().map(Path::new).find(|path| path.exists()) {
        // Without an argument it only lists.
        Some(installed) => assert_plain(&stage, installed, 0, "set-user-id"),
        None => skip("root", "no set-user-id program is installed, and only root can make one of another user"),
    }
}

#[test]
fn a_set_group_id_program_runs_and_the_line_says_so() {
    let stage = Stage::new();
    if !we_are_root() {
        skip("root", "only root can make a program that is set-group-id to another group");
        return;
    }
    let program = stage.path("other-group");
    std::fs::copy(true_program(), &program).expect("a copy");
    chown(&program, None, Some(NOBODY)).expect("root may");
    set_mode(&program, 0o2755);
    assert_plain(&stage, &program, 0, "set-group-id");
    // Without the group's right to execute the bit means something else.
    set_mode(&program, 0o2745);
    assert_eq!(run(&stage, &[program.to_str().expect("a plain path")]).status.code(), Some(0));
}

#[test]
fn a_program_that_may_be_executed_but_not_read_is_started() {
    let stage = Stage::new();
    if !we_are_root() {
        skip("root", "only root can become another user, who may not read the file");
        return;
    }
    let (program, ntux) = (stage.path("unreadable"), stage.path("ntux"));
    std::fs::copy(true_program(), &program).expect("a copy");
    std::fs::copy(env!("CARGO_BIN_EXE_ntux"), &ntux).expect("a copy");
    set_mode(&program, 0o711);
    set_mode(&stage.path(""), 0o755);
    let mut command = std::process::Command::new(&ntux);
    let output = finish(command.args(["run", "--"]).arg(&program).env("NTUX_PRELOAD", &stage.library).uid(NOBODY));
    assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
}

#[test]
fn a_program_with_file_capabilities_runs_and_the_line_says_so() {
    /// Version 2 with the bit 'effective', then a permitted set that holds CAP_NET_BIND_SERVICE only.
    const CAPABILITIES: [u32; 5] = [0x0200_0001, 1 << 10, 0, 0, 0];
    let stage = Stage::new();
    if !we_are_root() {
        skip("root", "only root can give a file capabilities");
        return;
    }
    let program = stage.path("capable");
    std::fs::copy(true_program(), &program).expect("a copy");
    let value = CAPABILITIES.map(u32::to_le_bytes).concat();
    let path = CString::new(program.to_str().expect("a plain path")).expect("no zero byte");
    let name = c"security.capability";
    // SAFETY: both strings end in a zero byte, and `value` is as long as said.
    let result = unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if result != 0 {
        skip("file-capabilities", std::io::Error::last_os_error());
        return;
    }
    // For another user: root has every capability already, so for root the program gives none.
    let ntux = stage.path("ntux");
    std::fs::copy(env!("CARGO_BIN_EXE_ntux"), &ntux).expect("a copy");
    set_mode(&stage.path(""), 0o755);
    let as_user = |user: u32| {
        let mut command = std::process::Command::new(&ntux);
        finish(command.args(["run", "--"]).arg(&program).env("NTUX_PRELOAD", &stage.library).uid(user))
    };
    let output = as_user(NOBODY);
    assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
    assert!(complained(&output).contains("file capabilities"));
    let output = as_user(0);
    assert_eq!((output.status.code(), complained(&output).as_str()), (Some(0), ""));
}

/// The loader ends a program into which it shall load a library that needs a newer C library, and says so.
#[test]
fn a_library_for_a_newer_c_library_is_not_loaded() {
    let stage = Stage::new();
    let map = stage.path("map");
    std::fs::write(&map, "GLIBC_2.99 { newest; };\n").expect("our own directory");
    let script = format!("-Wl,--version-script={}", map.display());
    let options = ["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libc.so.6", &script];
    let newer = compile(stage.path("").as_path(), "newer.so", "void newest(void) {}\n", &options);
    let source = "void newest(void);\nvoid planted(void) { newest(); }\n";
    let library = compile(
        stage.path("").as_path(),
        "planted.so",
        source,
        &["-shared", "-fPIC", "-nostdlib", "-Wl,--no-as-needed", newer.to_str().expect("a plain path")],
    );
    let program = true_program();
    let fatal = finish(std::process::Command::new(&program).env("LD_PRELOAD", &library));
    assert!(!fatal.status.success(), "what is planted must be fatal");
    let mut ntux = stage.ntux(&["run", "--device", "user", "--"]);
    let output = finish(ntux.arg(&program).env("NTUX_PRELOAD", &library));
    assert!(output.status.success(), "{}", complained(&output));
    assert!(complained(&output).contains("older than this ntux needs"), "{}", complained(&output));
}
