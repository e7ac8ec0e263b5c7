// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that a command writes: whole, or not at all.
//!
//! It is written beside its place, as NAME.part, and renamed when all of it is there, so that a full disk leaves what was there
//! before, and no half file. What is not a regular file (`/dev/stdout`, a pipe) is written where it is, and so is a file in a
//! directory in which nothing can be made.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Is written, and takes its place with [`Output::finish`]. Dropped before, it leaves nothing.
pub struct Output {
    /// The name that the user gave.
    name: PathBuf,
    /// Where it is written, and where it belongs, until it is there.
    part: Option<Part>,
    file: BufWriter<File>,
    /// The first failure. Nothing is written after it, and what was is given back to the disk.
    failure: Option<(ErrorKind, String)>,
}

struct Part {
    path: PathBuf,
    place: PathBuf,
}

impl Output {
    /// Errors: whatever forbids to write there; the text names the file.
    pub fn create(name: &Path) -> io::Result<Output> {
        let (file, part) = open(name).map_err(|error| about(name, error.kind(), &error))?;
        Ok(Output { name: name.to_owned(), part, file: BufWriter::new(file), failure: None })
    }

    /// Puts the file into its place. Errors: as of [`Output::create`], or what forbade to write a part of it.
    pub fn finish(mut self) -> io::Result<()> {
        let flushed = self.flush().and_then(|()| self.file.get_ref().sync_all());
        // A pipe or a device cannot be synchronized.
        let is_special = self.part.is_none();
        let written = flushed
            .or_else(|error| if is_special && error.kind() == ErrorKind::InvalidInput { Ok(()) } else { Err(error) });
        written.and_then(|()| self.take_place()).map_err(|error| match &self.failure {
            Some((kind, text)) => about(&self.name, *kind, text),
            None => about(&self.name, error.kind(), &error),
        })
    }

    fn take_place(&mut self) -> io::Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        let (own, there) = (self.file.get_ref().metadata()?, fs::symlink_metadata(&part.path)?);
        if (own.dev(), own.ino()) != (there.dev(), there.ino()) {
            return Err(io::Error::other("somebody else writes it, too"));
        }
        fs::rename(&part.path, &part.place)?;
        self.part = None;
        Ok(())
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != ErrorKind::Interrupted
            && self.failure.is_none()
        {
            self.failure = Some((error.kind(), error.to_string()));
            if self.part.is_some() {
                let _ = self.file.get_ref().set_len(0);
            }
        }
        result
    }

    fn is_well(&self) -> io::Result<()> {
        self.failure.as_ref().map_or(Ok(()), |(kind, _)| Err((*kind).into()))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_well()?;
        let result = self.file.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.is_well()?;
        let result = self.file.flush();
        self.note(result)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(&part.path);
        }
    }
}

/// Writes all of a file.
pub fn write(name: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut output = Output::create(name)?;
    // `finish` says what went wrong.
    let _ = output.write_all(bytes.as_ref());
    output.finish()
}

fn about(name: &Path, kind: ErrorKind, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(kind, format!("cannot write '{}': {error}", name.display()))
}

fn open(name: &Path) -> io::Result<(File, Option<Part>)> {
    let there = match fs::metadata(name) {
        Ok(metadata) if !metadata.is_file() => return Ok((OpenOptions::new().write(true).open(name)?, None)),
        Ok(metadata) => {
            // A file that may not be written may not be replaced.
            OpenOptions::new().append(true).open(name)?;
            Some(metadata)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // Through a link, the file that it leads to is replaced.
    let place = if there.is_some() { fs::canonicalize(name)? } else { name.to_owned() };
    let mut path = OsString::from(&place);
    path.push(".part");
    let part = Part { path: path.into(), place };
    // One that was left behind.
    let _ = fs::remove_file(&part.path);
    match (OpenOptions::new().write(true).create_new(true).open(&part.path), there) {
        (Ok(file), there) => {
            if let Some(metadata) = there {
                let _ = file.set_permissions(metadata.permissions());
            }
            Ok((file, Some(part)))
        }
        (Err(error), Some(_)) if is_about_the_directory(&error) => Ok((File::create(&part.place)?, None)),
        (Err(error), _) => Err(error),
    }
}

fn is_about_the_directory(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::InvalidFilename)
}

#[cfg(test)]
#[path = "../tests/unit/output.rs"]
mod tests;
