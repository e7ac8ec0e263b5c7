// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running the real `ntux` command, and making the programs that it is given.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::schema::assert_conforms;

/// A command that takes longer hangs.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A directory with a library that can be loaded, in place of the real one: `run` and `doctor` only need one to load.
/// A program into which it was loaded finds `NTUX_TEST_LOADED=yes` in its environment.
pub struct Stage {
    directory: TempDir,
    pub library: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

/// One test at a time. A child that another thread forks just now would inherit, until its exec, the descriptor through
/// which this thread writes a program, and a program that is open for writing cannot be started (`ETXTBSY`).
static ALONE: Mutex<()> = Mutex::new(());

impl Stage {
    pub fn new() -> Stage {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().expect("a temporary directory");
        let source = "#include <stdlib.h>\n\
                      __attribute__((constructor)) static void loaded(void) { setenv(\"NTUX_TEST_LOADED\", \"yes\", 1); }\n";
        let library = compile(directory.path(), "library.so", source, &["-shared", "-fPIC"]);
        Stage { directory, library, _alone: alone }
    }

    /// A path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `ntux` with these arguments, with the stage's library and without anything from our own environment.
    pub fn ntux(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ntux"));
        command.args(arguments).env("NTUX_PRELOAD", &self.library);
        for variable in ["NTUX_DEVICE", "NTUX_SPIN", "NTUX_LOG", "NTUX_SOFT_DIRTY", "LD_PRELOAD"] {
            command.env_remove(variable);
        }
        command
    }
}

/// Compiles C.
pub fn compile(directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (text, program) = (directory.join(name).with_extension("c"), directory.join(name));
    std::fs::write(&text, source).expect("the source can be written");
    let status = Command::new("cc").args(options).arg("-o").arg(&program).arg(&text).status();
    assert!(status.expect("these tests need the C compiler cc").success(), "cc compiles {name}");
    program
}

/// Runs to the end and collects what was said.
pub fn finish(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    finish_child(child.expect("the command starts"))
}

/// Waits for the end, but not for ever. What is said is read meanwhile: a full pipe would hold the command up.
pub fn finish_child(mut child: Child) -> Output {
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            break status;
        }
        if start.elapsed() > WATCHDOG {
            let _ = child.kill();
            panic!("the command hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = |reader: JoinHandle<Vec<u8>>| reader.join().expect("it only reads");
    Output { status, stdout: text(stdout), stderr: text(stderr) }
}

/// Reads to the end, beside the caller.
fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

/// The JSON on standard output, which is as the schema of this name says.
pub fn document(name: &str, output: &Output) -> Value {
    let printed = serde_json::from_slice(&output.stdout);
    let printed = printed.unwrap_or_else(|error| panic!("{error}: {}{}", said(output), complained(output)));
    assert_conforms(name, &printed);
    printed
}

/// Standard output as text.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
