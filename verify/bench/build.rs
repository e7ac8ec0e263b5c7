// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notes which commit is being built, so that every report can name it; and whether Linux's calls can be measured (`linux_calls`), which
//! they can on Linux, but not while it plays XNU.

use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(linux_calls)");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux")
        && std::env::var_os("CARGO_CFG_NTUX_SIMULATED_MACOS").is_none()
    {
        println!("cargo::rustc-cfg=linux_calls");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let commit = git(&["describe", "--always", "--tags"]).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=NTUX_BENCH_COMMIT={commit}");
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
