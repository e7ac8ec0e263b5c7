// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mappings of a process, from `/proc`.
//!
//! [`Mappings::each`] does not use the heap, because it may run while another thread is stopped in the allocator.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use crate::linux::deadly::Call;
use crate::linux::proc;
use crate::protection::Protection;
use crate::watching::mappings::Mapped;
use crate::without::Feature;

/// A handle to the mappings of one process.
pub struct Mappings {
    file: File,
}

impl Mappings {
    /// Those of the calling process. After a fork the handle still refers to that process.
    pub fn open() -> io::Result<Mappings> {
        Ok(Mappings { file: proc::open_own("maps")? })
    }

    /// Those of another process. Fails without the permission to inspect it.
    pub fn of(process: u32) -> io::Result<Mappings> {
        Ok(Mappings { file: proc::Entry::of(process).open("maps")? })
    }

    /// Calls `visit` with each mapping that meets the range, ascending, and with its name if that fits: a path,
    /// something like `[heap]`, or nothing. Mappings that appear or disappear meanwhile may or may not be visited.
    pub fn each(
        &self,
        start: usize,
        end: usize,
        room: &mut [u8],
        mut visit: impl FnMut(&Mapped, &[u8]),
    ) -> io::Result<()> {
        static CALL: Call = Call::new(libc::SYS_ioctl, [usize::MAX, QUERY as usize]);
        if Feature::MappingQuery.is_left_out() || CALL.is_deadly() {
            return self.each_of_text(start, end, room, visit);
        }
        let mut address = start;
        while address < end {
            match self.covering_or_next(address, room) {
                Ok(Some((mapped, name))) if mapped.start < end => {
                    visit(&mapped, &room[..name]);
                    address = mapped.end;
                }
                Ok(_) => break,
                // Before Linux 6.11 there is only the text.
                Err(_) => return self.each_of_text(address, end, room, visit),
            }
        }
        Ok(())
    }

    fn covering_or_next(&self, address: usize, room: &mut [u8]) -> io::Result<Option<(Mapped, usize)>> {
        let mut query = Query {
            size: size_of::<Query>() as u64,
            flags: COVERING_OR_NEXT,
            address: address as u64,
            name_room: room.len() as u32,
            name: if room.is_empty() { 0 } else { room.as_mut_ptr() as u64 },
            ..Query::default()
        };
        // SAFETY: the kernel reads and writes the query, which has the size it names, and writes a name of at most the
        // length of `room` there.
        if unsafe { libc::ioctl(self.file.as_raw_fd(), QUERY as _, core::ptr::from_mut(&mut query)) } != 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::ENOENT) => Ok(None),
                Some(libc::ENAMETOOLONG) => self.covering_or_next(address, &mut []),
                _ => Err(error),
            };
        }
        let allows = |bit| query.allowed & bit != 0;
        let protection = Protection { read: allows(1), write: allows(2), execute: allows(4) };
        let mapped =
            Mapped { start: query.start as usize, end: query.end as usize, protection, is_private: !allows(8) };
        // The length counts the zero at the end; it is 0 for a mapping without a name.
        Ok(Some((mapped, (query.name_room as usize).min(room.len()).saturating_sub(1))))
    }

    fn each_of_text(
        &self,
        start: usize,
        end: usize,
        room: &mut [u8],
        mut visit: impl FnMut(&Mapped, &[u8]),
    ) -> io::Result<()> {
        let mut line = |line: &[u8]| -> io::Result<()> {
            let (mapped, name) = parse(line).ok_or(io::ErrorKind::InvalidData)?;
            if mapped.end > start && mapped.start < end {
                let name = if name.len() <= room.len() { name } else { &[] };
                visit(&mapped, name);
            }
            Ok(())
        };
        let mut buffer = [0; LOOKED_AT];
        let (mut offset, mut length, mut is_rest) = (0, 0, false);
        loop {
            let read = self.file.read_at(&mut buffer[length..], offset)?;
            offset += read as u64;
            length += read;
            if read == 0 {
                return Ok(());
            }
            let mut done = 0;
            while let Some(next) = buffer[done..length].iter().position(|&byte| byte == b'\n') {
                if !core::mem::take(&mut is_rest) {
                    line(&buffer[done..done + next])?;
                }
                done += next + 1;
            }
            if done == 0 && length == LOOKED_AT {
                // A very long name: the rest of the line is passed over.
                if !core::mem::replace(&mut is_rest, true) {
                    line(&buffer)?;
                }
                done = length;
            }
            buffer.copy_within(done..length, 0);
            length -= done;
        }
    }
}

/// The mappings of the calling process that meet the range, ascending.
pub fn within(start: usize, end: usize) -> io::Result<Vec<Mapped>> {
    let mut found = Vec::new();
    Mappings::open()?.each(start, end, &mut [], |mapped, _| found.push(*mapped))?;
    Ok(found)
}

/// The request and its argument, from `linux/fs.h` of Linux 6.11.
const QUERY: libc::c_ulong = 0xc068_6611;
const COVERING_OR_NEXT: u64 = 0x10;

#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    allowed: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_room: u32,
    build_room: u32,
    name: u64,
    build: u64,
}

/// The examined part of a line of text, on the stack; longer names are cut off.
const LOOKED_AT: usize = 512;

/// How many mappings a process may have, and how many this one has.
pub fn limit_and_count() -> io::Result<(usize, usize)> {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count")?;
    let limit = limit.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
    Ok((limit, BufReader::new(proc::open_own("maps")?).lines().count()))
}

/// A line such as `7f00-7f10 rw-p 00000000 00:00 0 [heap]`, and its name.
fn parse(line: &[u8]) -> Option<(Mapped, &[u8])> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut range = fields.next()?.splitn(2, |&byte| byte == b'-');
    let mut address = || usize::from_str_radix(core::str::from_utf8(range.next()?).ok()?, 16).ok();
    let (start, end) = (address()?, address()?);
    let letters = fields.next()?;
    let allows = |letter| letters.iter().take(3).any(|&byte| byte == letter);
    let protection = Protection { read: allows(b'r'), write: allows(b'w'), execute: allows(b'x') };
    let name = fields.nth(3).unwrap_or_default().trim_ascii_start();
    Some((Mapped { start, end, protection, is_private: letters.get(3) == Some(&b'p') }, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_of_our_own_is_found_with_its_protection() {
        let length = 3 * crate::protection::page_size();
        let base = crate::protection::allocate(length, Protection::READ).unwrap();
        let found = within(base, base + length).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].start <= base && found[0].end >= base + length);
        assert_eq!((found[0].protection, found[0].is_private), (Protection::READ, true));
        // SAFETY: mapped just above, and nobody refers to it.
        unsafe { crate::protection::free(base, length) }.unwrap();
    }

    #[test]
    fn the_query_and_the_text_agree() {
        let mappings = Mappings::open().unwrap();
        // The other tests map and unmap meanwhile.
        let agree = |_| {
            let (mut room, mut asked, mut read) = ([0; 4096], Vec::with_capacity(1000), Vec::with_capacity(1000));
            mappings.each(0, 1 << 47, &mut room, |mapped, name| asked.push((*mapped, name.to_vec()))).unwrap();
            mappings.each_of_text(0, 1 << 47, &mut room, |mapped, name| read.push((*mapped, name.to_vec()))).unwrap();
            assert!(asked.iter().any(|(_, name)| name == b"[heap]") && asked.iter().any(|(_, name)| name.is_empty()));
            asked == read
        };
        assert!((0..100).any(agree));
    }

    #[test]
    fn a_very_long_name_does_no_harm_to_its_neighbours() {
        let directory = std::env::temp_dir().join(format!("ntux-mappings-{}", std::process::id()));
        let long = (0..4).fold(directory.clone(), |path, _| path.join("x".repeat(200)));
        std::fs::create_dir_all(&long).unwrap();
        let path = long.join("file");
        std::fs::write(&path, [0; 1 << 14]).unwrap();
        let file = File::open(&path).unwrap();
        let (pages, flags) = (2 * crate::protection::page_size(), libc::MAP_PRIVATE);
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(core::ptr::null_mut(), pages, libc::PROT_READ, flags, file.as_raw_fd(), 0) };
        assert_ne!(base, libc::MAP_FAILED);
        let mut found = Vec::with_capacity(1000);
        let mappings = Mappings::open().unwrap();
        mappings.each_of_text(0, 1 << 47, &mut [0; 4096], |mapped, _| found.push(mapped.start)).unwrap();
        assert!(found.contains(&(base as usize)) && found.len() > 10 && found.is_sorted());
        // SAFETY: mapped just above, and nobody refers to it.
        unsafe { crate::protection::free(base as usize, pages) }.unwrap();
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_name_without_room_is_none() {
        let own = address_of_code();
        let mut names = [None, None];
        for (place, room) in names.iter_mut().zip([&mut [0; 4096][..], &mut [0; 4]]) {
            Mappings::open().unwrap().each(own, own + 1, room, |_, name| *place = Some(name.to_vec())).unwrap();
        }
        assert!(names[0].as_ref().is_some_and(|name| name.starts_with(b"/")), "{names:?}");
        assert_eq!(names[1], Some(Vec::new()));
    }

    /// An address in the program's own file.
    fn address_of_code() -> usize {
        parse as *const () as usize
    }

    #[test]
    fn a_line_that_is_none_is_refused() {
        assert_eq!(parse(b"zz-10 rw-p 0"), None);
        assert_eq!(parse(b"7f00"), None);
        let (mapped, name) = parse(b"10-20 rw-s 00000000 00:00 0                  /a b").unwrap();
        assert_eq!((mapped.start, mapped.end, mapped.is_private, name), (16, 32, false, &b"/a b"[..]));
    }
}
