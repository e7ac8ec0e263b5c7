// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the loader is told of an installed library. macOS keeps no list.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::commands::output;
use crate::install::{make, scratch};

/// `ldconfig` and `id` of this name stand before the system's, and say that root installs into a directory of the loader's.
#[test]
fn the_loader_is_told_of_a_library_where_it_looks() {
    let (root, programs) = (scratch("loader"), scratch("loader-programs"));
    let told = programs.join("told");
    let lib = root.join("lib");
    for (name, script) in [
        ("id", "echo 0".to_owned()),
        ("ldconfig", format!("[ $# = 0 ] && touch {} || echo {}: '(from a list)'", told.display(), lib.display())),
    ] {
        let path = programs.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let install = |variables: &[String]| {
        output(make().env("PATH", &path).args(["capi", "install-capi"]).args(variables));
        fs::remove_file(&told).is_ok()
    };
    assert!(install(&[format!("PREFIX={}", root.display())]));
    assert!(!install(&[format!("PREFIX={}", root.display()), format!("LIBDIR={}", root.join("lib64").display())]));
    assert!(!install(&["PREFIX=/".to_owned(), format!("DESTDIR={}", root.display())]));
}
