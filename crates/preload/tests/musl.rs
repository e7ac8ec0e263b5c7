// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device in a program whose C library is musl: built with musl's own compiler, if that is here.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../../platform/tests/skips/skips.rs"]
mod skips;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use skips::skip;

const TARGET: &str = "x86_64-unknown-linux-musl";

/// The output of a command that must succeed.
fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// Where Rust's standard library for musl is; none, with the reason, if nothing can be built for musl here.
fn standard_library() -> Option<String> {
    if let Err(error) = Command::new("musl-gcc").arg("--version").output() {
        skip("musl", format_args!("no musl-gcc here ({error}); Debian has it in musl-tools"));
        return None;
    }
    let found = output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]));
    let directory = String::from_utf8(found.stdout).expect("a plain path").trim_end().to_owned();
    if !Path::new(&directory).is_dir() {
        skip("musl", format_args!("no standard library for it here (rustup target add {TARGET})"));
        return None;
    }
    Some(directory)
}

#[test]
#[ignore = "make test-ports runs it: it builds the library again"]
fn the_demo_of_two_processes_passes_with_musl() {
    let Some(standard_library) = standard_library() else { return };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("musl");
    fs::create_dir_all(&directory).unwrap();
    // Rust's unwinder in place of gcc's, which is made for glibc.
    let unwinder = format!("INPUT({standard_library}/self-contained/libunwind.a)");
    fs::write(directory.join("libgcc_s.so"), unwinder).unwrap();
    output(
        Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--target", TARGET, "--target-dir"])
            .arg(&directory)
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
            .env("RUSTFLAGS", format!("-C target-feature=-crt-static -L native={}", directory.display()))
            .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", "musl-gcc"),
    );
    // The kernel's headers, which musl's directory lacks.
    let program = directory.join("two_processes");
    output(
        Command::new("musl-gcc")
            .args(["-std=gnu11", "-O2", "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"])
            .arg("-o")
            .arg(&program)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/two_processes.c")),
    );
    let library = directory.join(TARGET).join("debug/libntux_preload.so");
    let mut demo = Command::new(&program);
    demo.env("LD_PRELOAD", library).env("NTUX_DEVICE", "user").env("NTUX_LOG", "stderr");
    let said = output(&mut demo);
    assert!(String::from_utf8_lossy(&said.stdout).ends_with("All as it should be.\n"));
    assert!(String::from_utf8_lossy(&said.stderr).contains("served in user space"));
}
