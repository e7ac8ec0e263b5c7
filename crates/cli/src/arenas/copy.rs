// SPDX-License-Identifier: MIT OR Apache-2.0
//! A copy of an arena, in a file or within a core dump: it is copied once more, into memory that cannot shrink.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use ntux_platform::memory;
use ntux_sync::inspect::View;
use object::{Object, ObjectSegment, ReadCache};

/// No arena is longer.
const LONGEST: u64 = 2 << 30;
/// What is copied at a time; empty blocks are left out, so that they take no memory.
const BLOCK: usize = 64 << 10;

/// The arenas in a file: the file itself, or parts of a core dump.
pub fn arenas(file: &File) -> Vec<OwnedFd> {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    match begins_arena(file, 0) {
        true => copied(file, 0..length).into_iter().collect(),
        false => dumped(file).into_iter().filter_map(|part| copied(file, part).ok()).collect(),
    }
}

fn begins_arena(file: &File, at: u64) -> bool {
    let mut start = [0; View::HEAD];
    file.read_exact_at(&mut start, at).is_ok() && View::begins_arena(&start)
}

/// The segments of a core dump that begin as an arena does.
fn dumped(file: &File) -> Vec<Range<u64>> {
    let cache = ReadCache::new(file);
    let Ok(core) = object::File::parse(&cache) else { return Vec::new() };
    let ranges = core.segments().map(|segment| segment.file_range());
    let ranges = ranges.filter_map(|(start, length)| Some(start..start.checked_add(length)?));
    ranges.filter(|range| begins_arena(file, range.start)).collect()
}

fn copied(file: &File, part: Range<u64>) -> io::Result<OwnedFd> {
    let length = part.end - part.start;
    if length > LONGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let copy = File::from(memory::create(c"copy", length)?);
    let (empty, mut block) = (vec![0; BLOCK], vec![0; BLOCK]);
    let mut done = 0;
    while done < length {
        let size = (length - done).min(BLOCK as u64) as usize;
        let read = file.read_at(&mut block[..size], part.start + done)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into()); // It was cut off.
        }
        if block[..read] != empty[..read] {
            copy.write_all_at(&block[..read], done)?;
        }
        done += read as u64;
    }
    copy.as_fd().try_clone_to_owned()
}
