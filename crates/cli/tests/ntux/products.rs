// SPDX-License-Identifier: MIT OR Apache-2.0
//! The libraries of the product, for tests of the command with real ones.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use crate::stage::{Stage, complained, document, finish, said};
use crate::why::{Actor, why};

/// Builds what these packages make, where plain Cargo commands put it, and so do the tests of other crates: all compile it once. Returns
/// the directory with the files.
pub fn built(packages: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("TARGET/tmp");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--locked", "--target-dir"]).arg(target);
    for package in packages {
        cargo.args(["-p", package]);
    }
    let status = cargo.current_dir(workspace()).status();
    assert!(status.expect("cargo starts").success(), "{packages:?}");
    target.join("debug")
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Win32 face, as a library that a program is linked with.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| built(&["ntux-win"]).join("libntux_win.a"));

/// A program of `tests/c` that is linked with it, from when it says that it has begun.
pub struct NativeProgram {
    pub stage: Stage,
    actor: Actor,
}

impl NativeProgram {
    pub fn new(source: &str, arguments: &[&str]) -> NativeProgram {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let stage = Stage::new();
        let program = stage.path(source);
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]);
        compiler.arg(directory.join("../win/include")).arg("-o").arg(&program);
        compiler.arg(directory.join("tests/c").join(source).with_extension("c")).arg(&*LIBRARY);
        let compiled = finish(compiler.args(["-lpthread", "-ldl", "-lm"]));
        assert!(compiled.status.success(), "{}", complained(&compiled));
        let mut command = Command::new(program);
        let mut actor = Actor(command.args(arguments).stdout(Stdio::piped()).spawn().expect("it starts"));
        let mut line = String::new();
        BufReader::new(actor.0.stdout.take().expect("piped")).read_line(&mut line).expect("it says when it has begun");
        assert_eq!(line, "begun\n");
        NativeProgram { stage, actor }
    }

    pub fn pid(&self) -> String {
        self.actor.id().to_string()
    }

    /// What `ntux why` says of it.
    pub fn told(&self, options: &[&str]) -> Value {
        let output = why(&self.stage, &[&[&*self.pid(), "--json"], options].concat());
        assert_eq!(complained(&output), "");
        document("why", &output)["arenas"][0].clone()
    }

    pub fn text(&self) -> String {
        let output = why(&self.stage, &[&self.pid(), "--memory"]);
        said(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
