// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trees of processes in which some lack the library: every process is served, or does as without ntux and the user is told.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;

use crate::products::{built, workspace};
use crate::rule::{Rule, under};
use crate::skips::skip;
use crate::stage::{Stage, complained, document, finish, finish_child, said};

/// An installed tree with the real libraries.
pub static INSTALLED: LazyLock<PathBuf> = LazyLock::new(|| {
    let (libraries, root) = (built(&["ntux-preload", "ntux-preload-watch"]), tmp("trees"));
    let mut place = Command::new(workspace().join(".ci/library-tree"));
    assert!(place.arg(libraries).arg(root.join("lib/ntux")).status().expect("it starts").success());
    std::fs::create_dir_all(root.join("bin")).expect("our own directory");
    std::fs::copy(env!("CARGO_BIN_EXE_ntux"), root.join("bin/ntux.new")).expect("a copy");
    std::fs::rename(root.join("bin/ntux.new"), root.join("bin/ntux")).expect("our own file");
    root
});

fn tmp(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// `c/trees.c`, made by this compiler with these options; none, with the reason, if that is not possible here.
fn build(stage: &Stage, name: &str, compiler: &str, options: &[&str]) -> Option<PathBuf> {
    let (source, program) = (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/trees.c"), stage.path(name));
    let mut command = Command::new(compiler);
    command.args(["-O1", "-Wall", "-Wextra", "-Werror"]).args(options).arg("-o").arg(&program).arg(source);
    match command.output() {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => {
            skip(name, format_args!("{compiler} {options:?} makes no program here: {}", complained(&output)));
            None
        }
        Err(error) => {
            skip(name, format_args!("no {compiler} here ({error}); .ci/packages names Debian's"));
            None
        }
    }
}

fn wide(stage: &Stage) -> PathBuf {
    build(stage, "wide", "cc", &[]).expect("these tests need the C compiler cc")
}

fn narrow(stage: &Stage) -> Option<PathBuf> {
    build(stage, "narrow", "cc", &["-m32"])
}

pub fn clean(mut command: Command) -> Command {
    for variable in
        ["NTUX_PRELOAD", "NTUX_DEVICE", "NTUX_LOG", "LD_PRELOAD", "WINEARCH", "WINEPREFIX", "PROTON_USE_WOW64"]
    {
        command.env_remove(variable);
    }
    command
}

/// `ntux run`, always with ntux's own device.
pub fn run(words: &[&dyn AsRef<Path>]) -> Command {
    let mut command = clean(Command::new(INSTALLED.join("bin/ntux")));
    command.args(["run", "--device", "user", "--"]).args(words.iter().map(|word| word.as_ref()));
    command
}

pub fn plain(words: &[&dyn AsRef<Path>]) -> Command {
    let mut command = clean(Command::new(words[0].as_ref()));
    command.args(words[1..].iter().map(|word| word.as_ref()));
    command
}

/// What both streams said.
fn both(output: &Output) -> (String, String) {
    (said(output), complained(output))
}

/// Exactly one line, and it has all these words.
pub fn assert_line(text: &str, words: &[&str]) {
    assert_eq!(text.lines().count(), 1, "{text:?}");
    assert!(text.starts_with("ntux: ") && words.iter().all(|word| text.contains(word)), "{words:?} in {text:?}");
}

fn write(path: &Path, content: &[u8], mode: u32) {
    std::fs::create_dir_all(path.parent().expect("a file")).expect("our own directory");
    std::fs::write(path, content).expect("our own file");
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("our own file");
}

/// A process that serves `count` others, and what it said when it was ready.
fn server(mut command: Command) -> (Child, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut line = String::new();
    let mut output = BufReader::with_capacity(1, child.stdout.take().expect("piped"));
    output.read_line(&mut line).expect("it says whether it has the device");
    (child, line.trim().to_owned())
}

#[test]
fn a_narrow_program_starts_without_a_word_and_learns_why_it_finds_no_device() {
    let stage = Stage::new();
    let Some(narrow) = narrow(&stage) else { return };
    let log = stage.path("log");
    for function in
        ["open", "open64", "openat", "openat64", "__open_2", "__open64_2", "__openat_2", "__openat64_2"].map(Path::new)
    {
        let words: [&dyn AsRef<Path>; 4] = [&narrow, &"open", &function, &"/dev/ntsync"];
        let (alone, under) = (finish(&mut plain(&words)), finish(run(&words).env("NTUX_LOG", &log)));
        assert_eq!((said(&under), under.status), (said(&alone), alone.status));
        assert_line(&complained(&under), &["32-bit process", "(narrow)", "WINEARCH=wow64"]);
        assert_eq!(std::fs::read_to_string(&log).expect("the log"), complained(&under));
        std::fs::remove_file(&log).expect("our own file");

        let other: [&dyn AsRef<Path>; 4] = [&narrow, &"open", &function, &"/nonexistent/ntsync"];
        assert_eq!(both(&finish(&mut run(&other))), both(&finish(&mut plain(&other))));
        let mut to_kernel = clean(Command::new(INSTALLED.join("bin/ntux")));
        to_kernel.args(["run", "--device", "kernel", "--"]).args(words.iter().map(|word| word.as_ref()));
        assert_eq!(both(&finish(&mut to_kernel)), both(&alone));
    }
}

/// A directory that looks like an installed Wine, whose `wine` says what it was told.
fn fake_wine(stage: &Stage, name: &str, version: &str, narrow: bool) -> PathBuf {
    let root = stage.path(name);
    write(&root.join("bin/wine"), b"#!/bin/sh\necho arch=$WINEARCH device=$NTUX_DEVICE\n", 0o755);
    write(&root.join("lib/wine/x86_64-unix/ntdll.so"), format!("\x7fELF\0{version}\0").as_bytes(), 0o644);
    if narrow {
        write(&root.join("lib/wine/i386-unix/ntdll.so"), b"\x7fELF", 0o644);
    }
    root
}

fn prefix(stage: &Stage, arch: &str) -> PathBuf {
    let root = stage.path(arch);
    write(&root.join("system.reg"), format!("WINE REGISTRY Version 2\n\n#arch={arch}\n\n[A]\n").as_bytes(), 0o644);
    root
}

#[test]
fn an_old_style_wine_is_made_wide_or_gets_no_device() {
    let stage = Stage::new();
    let (old, older) = (fake_wine(&stage, "old", "wine-11.0", true), fake_wine(&stage, "older", "wine-10.20", true));
    let (new, wide, thin) =
        (fake_wine(&stage, "new", "wine-11.0", false), prefix(&stage, "win64"), prefix(&stage, "win32"));
    let absent = stage.path("absent");
    let with = |wine: &Path, prefix: &Path, arch: Option<&str>| {
        let mut command = run(&[&wine.join("bin/wine"), &"program.exe"]);
        command.env("WINEPREFIX", prefix);
        if let Some(arch) = arch {
            command.env("WINEARCH", arch);
        }
        both(&finish(&mut command))
    };
    for prefix in [&wide, &absent] {
        let (told, line) = with(&old, prefix, None);
        assert_eq!(told, "arch=wow64 device=user\n");
        assert_line(&line, &["WINEARCH=wow64", "32-bit processes"]);
    }
    for (wine, prefix, arch, word) in [
        (&old, &thin, None, "32-bit one"),
        (&older, &wide, None, "older than Wine 11"),
        (&old, &wide, Some("win64"), "WINEARCH is win64"),
    ] {
        let (told, line) = with(wine, prefix, arch);
        assert_eq!(told, format!("arch={} device=kernel\n", arch.unwrap_or_default()));
        assert_line(&line, &["no /dev/ntsync", word, "i386-unix"]);
    }
    assert_eq!(with(&old, &wide, Some("wow64")), ("arch=wow64 device=user\n".to_owned(), String::new()));
    assert_eq!(with(&new, &wide, None), ("arch= device=user\n".to_owned(), String::new()));
}

#[test]
fn protons_script_is_told_in_its_own_way_also_behind_other_words() {
    let stage = Stage::new();
    let root = stage.path("Proton");
    let script = |text: &str| {
        let shown = "env | sed -n 's/^PROTON_USE_[A-Z0-9]*=/told /p'";
        let text = format!("#!/bin/sh\n# {text}\n{shown}\necho $NTUX_DEVICE\n");
        write(&root.join("proton"), text.as_bytes(), 0o755);
    };
    std::fs::rename(fake_wine(&stage, "wine", "wine-11.0", true), {
        std::fs::create_dir_all(&root).expect("our own directory");
        root.join("files")
    })
    .expect("our own directory");
    script("if PROTON_USE_WOW64 is set");
    let (told, line) = both(&finish(&mut run(&[&"env", &root.join("proton"), &"waitforexitandrun"])));
    assert_eq!(told, "told 1\nuser\n");
    assert_line(&line, &["PROTON_USE_WOW64=1"]);
    write(&stage.path("umu-run"), b"#!/bin/sh\nexec \"$PROTONPATH/proton\"\n", 0o755);
    let (told, line) = both(&finish(run(&[&stage.path("umu-run"), &"a.exe"]).env("PROTONPATH", &root)));
    assert_eq!(told, "told 1\nuser\n");
    assert_line(&line, &["PROTON_USE_WOW64=1"]);
    script("nothing of the kind");
    let (told, line) = both(&finish(&mut run(&[&root.join("proton"), &"waitforexitandrun"])));
    assert_eq!(told, "kernel\n");
    assert_line(&line, &["no /dev/ntsync", "does not know"]);
}

#[test]
fn a_wineserver_that_something_else_started_decides_the_same() {
    let stage = Stage::new();
    let (wine, wide) = (fake_wine(&stage, "old", "wine-11.0", true), wide(&stage));
    let narrow = narrow(&stage);
    let wineserver = wine.join("bin/wineserver");
    std::fs::copy(&wide, &wineserver).expect("a copy");
    let clients: Vec<&Path> = [Some(&wide), narrow.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    for arch in [None, Some("win64")] {
        let socket = stage.path(&format!("socket-{arch:?}"));
        // A wrapper that nobody recognizes.
        let mut command = run(&[&"sh", &"-c", &"exec \"$0\" \"$@\"", &wineserver, &"serve", &socket]);
        command.arg(clients.len().to_string()).envs(arch.map(|arch| ("WINEARCH", arch)));
        let (child, device) = server(command);
        assert_eq!(device, "without");
        for client in &clients {
            assert_eq!(
                both(&finish(&mut run(&[client, &"fetch", &socket]))),
                ("no device\n".to_owned(), String::new())
            );
        }
        assert_line(
            &complained(&finish_child(child)),
            &["no /dev/ntsync for this wineserver", "i386-unix", "WINEARCH=wow64"],
        );
    }

    // Told to be wide, it serves; a process of 32 bits that comes nevertheless is named.
    let socket = stage.path("socket");
    let mut command = run(&[&"sh", &"-c", &"exec \"$0\" \"$@\"", &wineserver, &"serve", &socket]);
    let (child, device) = server({
        command.arg(clients.len().to_string()).env("WINEARCH", "wow64");
        command
    });
    assert_eq!(device, "serving");
    let looked = said(&finish(&mut stage.ntux(&["doctor", "--wine", "--json"])));
    let looked: serde_json::Value = serde_json::from_str(&looked).expect("JSON");
    let mut processes = looked["processes"].as_array().expect("a list").iter();
    let own = processes.find(|process| process["pid"] == child.id()).expect("the wineserver is found");
    assert_eq!((&own["role"], &own["synchronization"]), (&"server".into(), &"device".into()), "{own}");
    for client in &clients {
        let answer = if *client == wide { "works\n" } else { "fails with 25\n" };
        assert_eq!(said(&finish(&mut run(&[client, &"fetch", &socket]))), answer);
    }
    let lines = complained(&finish_child(child));
    match narrow {
        Some(_) => assert_line(&lines, &["(wineserver)", "(narrow)", "32-bit program"]),
        None => assert_eq!(lines, ""),
    }
}

#[test]
fn whoever_gives_the_device_to_a_process_without_the_library_says_so() {
    let stage = Stage::new();
    let wide = wide(&stage);
    let stranger = build(&stage, "stranger", "cc", &[]).expect("a program");
    let fixed = build(&stage, "fixed", "cc", &["-static"]);
    let musl = build(&stage, "musl", "musl-gcc", &[]);
    let (socket, log) = (stage.path("socket"), stage.path("log"));
    let strangers: Vec<(PathBuf, &str)> =
        [(Some(stranger), "start it so"), (fixed, "statically linked"), (musl, "musl")]
            .into_iter()
            .filter_map(|(program, word)| Some((program?, word)))
            .collect();
    let mut command = run(&[&wide, &"serve", &socket]);
    // Each comes twice: one line for each process.
    let (child, device) = server({
        command.arg((2 * strangers.len() + 1).to_string()).env("NTUX_LOG", &log);
        command
    });
    assert_eq!(device, "serving");
    assert_eq!(both(&finish(&mut run(&[&wide, &"fetch", &socket]))), ("works\n".to_owned(), String::new()));
    for (program, _) in &strangers {
        assert_eq!(said(&finish(&mut plain(&[program, &"fetch", &socket]))), "fails with 25\n");
        // A cleaned environment, and what cannot be loaded into the program anyway, come to the same.
        assert_eq!(said(&finish(&mut run(&[&"env", &"-i", program, &"fetch", &socket]))), "fails with 25\n");
    }
    let lines = complained(&finish_child(child));
    assert_eq!(lines.lines().count(), 2 * strangers.len(), "{lines}");
    for (at, line) in lines.lines().enumerate() {
        let (program, word) = &strangers[at / 2];
        let name = program.file_name().expect("a name").to_str().expect("a plain name");
        assert_line(line, &["(wide)", &format!("({name})"), word]);
    }
    let logged = std::fs::read_to_string(log).expect("the log");
    assert!(lines.lines().all(|line| logged.contains(line)), "{logged}");
}

#[test]
fn a_child_that_is_sent_the_device_through_a_pair_of_sockets_is_found() {
    let stage = Stage::new();
    let wide = wide(&stage);
    assert_eq!(both(&finish(&mut run(&[&wide, &"pair", &wide, &"receive"]))), ("works\n".to_owned(), String::new()));
    if !Path::new(&format!("/proc/self/task/{}/children", std::process::id())).exists() {
        return skip("proc-children", "this kernel does not tell a process its children");
    }
    let strangers = [
        (build(&stage, "fixed", "cc", &["-static"]), "statically linked"),
        (build(&stage, "musl", "musl-gcc", &[]), "musl"),
        (narrow(&stage), "32-bit program"),
    ];
    for (stranger, word) in strangers {
        let Some(stranger) = stranger else { continue };
        let (told, line) = both(&finish(&mut run(&[&wide, &"pair", &stranger, &"receive"])));
        assert_eq!(told, "fails with 25\n");
        let name = stranger.file_name().expect("a name").to_str().expect("a plain name");
        assert_line(&line, &["(wide) gives", &format!("({name})"), word]);
    }
}

/// A program that is ended by its filter for a call that only looking takes: nothing is looked at, and it goes on.
#[test]
fn nobody_is_ended_by_a_filter_for_looking() {
    let stage = Stage::new();
    let wide = wide(&stage);
    let Some(stranger) = build(&stage, "fixed", "cc", &["-static"]) else { return };
    for call in [libc::SYS_getsockopt, libc::SYS_sendto, libc::SYS_getdents64] {
        for words in [&["pair"][..], &["hold", "keep", "execv"]] {
            let task = if words.len() == 1 { "receive" } else { "use" };
            let mut command = run(&[&wide]);
            command.args(words).arg(&stranger).arg(task);
            under(&mut command, [Rule::kill(call)]);
            let output = finish(&mut command);
            assert_eq!(
                both(&output),
                ("fails with 25\n".to_owned(), String::new()),
                "{call} {words:?}: {}",
                output.status
            );
        }
    }
}

#[test]
fn a_cleaned_environment_does_not_part_a_program_from_its_descriptors() {
    let stage = Stage::new();
    let wide = wide(&stage);
    for how in ["execv", "execvp", "execve", "execvpe", "fexecve", "spawn", "spawnp"] {
        for cleaned in ["", "clean-"] {
            let how = format!("{cleaned}{how}");
            let output = finish(&mut run(&[&wide, &"hold", &"keep", &how, &wide, &"use"]));
            assert_eq!(both(&output), ("works\n".to_owned(), String::new()), "{how}");
        }
    }
    // Those that take a list: more words than travel in registers.
    for how in ["execl", "execlp", "execle"].into_iter().flat_map(|how| [how.to_owned(), format!("clean-{how}")]) {
        let script = "[ $1$2$3$4 = abcd ] && exec \"$0\" use \"$5\"";
        let words: [&dyn AsRef<Path>; 12] =
            [&wide, &"hold", &"keep", &how, &"/bin/sh", &"-c", &script, &wide, &"a", &"b", &"c", &"d"];
        assert_eq!(both(&finish(&mut run(&words))), ("works\n".to_owned(), String::new()), "{how}");
    }
    // Cleaned by a program that never met the device.
    let output = finish(&mut run(&[&wide, &"hold", &"keep", &"execvp", &"env", &"-i", &wide, &"use"]));
    assert_eq!(both(&output), ("works\n".to_owned(), String::new()));
    // Where nothing of ours goes along, clean stays clean.
    for words in
        [&["hold", "close", "clean-execvp", "sh", "-c", "env"][..], &["hold", "close", "execvp", "env", "-i", "env"]]
    {
        let mut command = run(&[&wide]);
        let text = said(&finish(command.args(words)));
        assert!(!text.contains("NTUX") && !text.contains("LD_PRELOAD"), "{text}");
    }
}

#[test]
fn a_program_that_cannot_use_what_it_inherits_is_named() {
    let stage = Stage::new();
    let wide = wide(&stage);
    let programs = [
        (build(&stage, "fixed", "cc", &["-static"]), "statically linked"),
        (build(&stage, "musl", "musl-gcc", &[]), "musl"),
        (narrow(&stage), "32-bit program"),
    ];
    for (program, word) in programs {
        let Some(program) = program else { continue };
        let name = program.to_str().expect("a plain path");
        let (told, line) = both(&finish(&mut run(&[&wide, &"hold", &"keep", &"execv", &program, &"use"])));
        assert_eq!(told, "fails with 25\n");
        assert_line(&line, &["(wide) starts", name, word]);
        // A shell between them, which does not know what it passes on.
        let script = format!("'{name}' use $0; exit $?");
        let (told, line) = both(&finish(&mut run(&[&wide, &"hold", &"keep", &"execvp", &"sh", &"-c", &script])));
        assert_eq!(told, "fails with 25\n");
        assert_line(&line, &["(sh) starts", name, word]);
        // What is closed harms nobody.
        let (told, line) = both(&finish(&mut run(&[&wide, &"hold", &"close", &"execv", &program, &"use"])));
        assert_eq!((told.as_str(), line.as_str()), ("fails with 9\n", ""));
    }
}

/// `ntux doctor` on these words, as JSON; asserts that its exit status says the same.
fn doctor(words: &[&dyn AsRef<Path>], prefix: &Path) -> serde_json::Value {
    let mut command = clean(Command::new(INSTALLED.join("bin/ntux")));
    command.args(["doctor", "--json", "--device", "user", "--"]).args(words.iter().map(|word| word.as_ref()));
    let output = finish(command.env("WINEPREFIX", prefix));
    let report = document("doctor", &output);
    let program = report["program"].clone();
    assert_eq!(output.status.success(), !program["device"].is_null(), "{program}");
    program
}

#[test]
fn doctor_says_of_one_program_what_it_will_get_and_why() {
    let stage = Stage::new();
    let absent = stage.path("absent");
    let program = doctor(&[&wide(&stage)], &absent);
    assert_eq!((&program["device"], &program["elf"]["bits"]), (&"user".into(), &64.into()), "{program}");
    assert!(program["elf"]["c_library"].as_str().is_some_and(|name| name.starts_with("glibc 2.")), "{program}");

    let others = [
        (build(&stage, "fixed", "cc", &["-static"]), "statically linked"),
        (build(&stage, "musl", "musl-gcc", &[]), "musl"),
        (narrow(&stage), "32-bit program"),
        (Some(stage.path("nothing")), "no such program"),
    ];
    for (other, word) in others {
        let Some(other) = other else { continue };
        let program = doctor(&[&other], &absent);
        assert!(program["device"].is_null() && program["why"].as_str().expect("a text").contains(word), "{program}");
        // What it says is what happens.
        if word != "32-bit program" {
            assert!(complained(&finish(&mut run(&[&other, &"open", &"open", &"/dev/ntsync"]))).contains(word));
        }
    }

    let (old, older) = (fake_wine(&stage, "old", "wine-11.0", true), fake_wine(&stage, "older", "wine-10.20", true));
    let program = doctor(&[&old.join("bin/wine"), &"a.exe"], &absent);
    assert_eq!(program["sets"], serde_json::json!([["WINEARCH", "wow64"]]), "{program}");
    let wine = &program["wine"];
    assert_eq!((&wine["version"], &wine["wow64"]), (&"wine-11.0".into(), &"old".into()), "{program}");
    assert_eq!(program["scripts"].as_array().map(Vec::len), Some(1), "{program}");
    let program = doctor(&[&older.join("bin/wine"), &"a.exe"], &absent);
    assert_eq!(program["sets"], serde_json::json!([["NTUX_DEVICE", "kernel"]]), "{program}");
    assert!(program["device"].is_null(), "{program}");

    let mut command = clean(Command::new(INSTALLED.join("bin/ntux")));
    let text = said(&finish(command.args(["doctor", "--device", "user", "--"]).arg(old.join("bin/wine"))));
    for word in ["script", "ELF, 64 bits", "glibc 2.", "wine-11.0", "old style", "ntux run sets WINEARCH=wow64"] {
        assert!(text.contains(word), "{word:?} in {text}");
    }
}

#[test]
fn a_sandbox_with_a_cleaned_environment_keeps_its_descriptors_served() {
    let stage = Stage::new();
    let wide = wide(&stage);
    let sandbox = |options: &[&'static str]| -> Vec<&'static str> {
        [&["bwrap", "--clearenv", "--dev-bind", "/", "/"], options].concat()
    };
    match Command::new("bwrap").args(&sandbox(&[])[1..]).arg("/bin/true").output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skip("sandbox", format_args!("bwrap cannot make one here: {}", complained(&output))),
        Err(error) => return skip("sandbox", format_args!("no bwrap here ({error}); .ci/packages names Debian's")),
    }
    let within = |options: &[&'static str]| {
        let mut command = run(&[&wide, &"hold", &"keep", &"execvp"]);
        both(&finish(command.args(sandbox(options)).arg(&wide).arg("use")))
    };
    assert_eq!(within(&[]), ("works\n".to_owned(), String::new()));
    // Where the library is not visible, nothing can be done but say so.
    let library: &'static str = INSTALLED.join("lib").to_str().expect("a plain path").to_owned().leak();
    let (told, line) = within(&["--tmpfs", library]);
    assert_eq!(told, "fails with 25\n");
    assert_line(&line, &["(bwrap) starts", "cannot be seen there"]);
}

#[test]
fn a_wineserver_that_runs_without_ntux_is_named() {
    let stage = Stage::new();
    let (wide, wine, prefix) = (wide(&stage), fake_wine(&stage, "new", "wine-11.0", false), prefix(&stage, "win64"));
    let numbers = std::fs::metadata(&prefix).expect("our own directory");
    // SAFETY: no arguments, cannot fail.
    let user = unsafe { libc::getuid() };
    let (device, inode) =
        (std::os::unix::fs::MetadataExt::dev(&numbers), std::os::unix::fs::MetadataExt::ino(&numbers));
    let directory = PathBuf::from(format!("/tmp/.wine-{user}/server-{device:x}-{inode:x}"));
    std::fs::create_dir_all(&directory).expect("Wine makes it so");
    let start = |mut command: Command| {
        command.arg("lock").arg(directory.join("lock")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let mut output = BufReader::with_capacity(1, child.stdout.take().expect("piped"));
        output.read_line(&mut line).expect("it says that it has the lock");
        assert_eq!(line, "locked\n");
        child
    };
    let end = |mut child: Child| {
        drop(child.stdin.take());
        assert!(finish_child(child).status.success());
    };
    let wine = wine.join("bin/wine");
    let complaint = || complained(&finish(run(&[&wine]).env("WINEPREFIX", &prefix)));
    assert_eq!(complaint(), "");
    let plain_server = start(plain(&[&wide]));
    assert_line(&complaint(), &[&format!("(process {})", plain_server.id()), "wineserver -k"]);
    end(plain_server);
    let server = start(run(&[&wide]));
    assert_eq!(complaint(), "");
    end(server);
    std::fs::remove_dir_all(&directory).expect("our own directory");
}

#[test]
fn without_a_32_bit_compiler_the_build_says_so_in_one_line() {
    let stage = Stage::new();
    let (built, tree) = (INSTALLED.join("lib/ntux/x86_64"), stage.path("tree"));
    let mut place = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/library-tree"));
    let output =
        finish(place.arg(built).arg(&tree).arg("x86_64").env("CC", "/bin/false").env_remove("NTUX_TEST_SKIPS"));
    assert!(output.status.success(), "{}", complained(&output));
    assert_eq!((said(&output).lines().count(), complained(&output).as_str()), (1, ""));
    assert!(said(&output).contains("32-bit programs is left out"), "{}", said(&output));
    assert!(!tree.join("i686").exists() && tree.join("haswell/libntux_preload.so").exists());
}
