//! Every case again, in processes where other mechanisms are forced.

use std::process::Command;

fn every_case_with(variables: &[(&str, &str)]) {
    let this = std::env::current_exe().expect("the running test");
    let ended = Command::new(this)
        .args(["--skip", "forced::", "--test-threads", "2"])
        .envs(variables.iter().copied())
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{variables:?}: {}\n{text}", ended.status);
    assert!(!text.contains(" 0 passed"), "nothing ran:\n{text}");
}

#[test]
fn native_private_futexes() {
    every_case_with(&[("NTUX_FUTEX_PRIVATE", "native")]);
}

#[test]
fn a_kernel_without_vectors() {
    every_case_with(&[("NTUX_WITHOUT", "futex_waitv")]);
    every_case_with(&[("NTUX_WITHOUT", "futex_waitv"), ("NTUX_FUTEX_PRIVATE", "native")]);
}

#[test]
fn a_kernel_that_cannot_wipe() {
    every_case_with(&[("NTUX_WITHOUT", "wipe_on_fork")]);
}
