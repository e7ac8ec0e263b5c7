//! The mappings of this process, as `/proc/self/maps` tells them.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;

use crate::protection::Protection;

/// One mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapped {
    /// First address.
    pub start: usize,
    /// First address behind.
    pub end: usize,
    /// What may be done with its pages.
    pub protection: Protection,
}

/// The mappings that meet the range, ascending.
pub fn within(start: usize, end: usize) -> io::Result<Vec<Mapped>> {
    let maps = File::open("/proc/self/maps")?;
    let mut found = Vec::new();
    let mut address = start;
    while address < end {
        match covering_or_next(&maps, address) {
            Ok(Some(mapped)) if mapped.start < end => {
                found.push(mapped);
                address = mapped.end;
            }
            Ok(_) => break,
            // Before Linux 6.11 there is only the text.
            Err(_) => return within_text(maps, start, end),
        }
    }
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
    sizes_of_names: [u32; 2],
    names: [u64; 2],
}

fn covering_or_next(maps: &File, address: usize) -> io::Result<Option<Mapped>> {
    let mut query =
        Query { size: size_of::<Query>() as u64, flags: COVERING_OR_NEXT, address: address as u64, ..Query::default() };
    // SAFETY: the kernel reads and writes the query, which has the size it names, and no names, of which there are none.
    if unsafe { libc::ioctl(maps.as_raw_fd(), QUERY as _, core::ptr::from_mut(&mut query)) } != 0 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ENOENT) { Ok(None) } else { Err(error) };
    }
    let allows = |bit| query.allowed & bit != 0;
    let protection = Protection { read: allows(1), write: allows(2), execute: allows(4) };
    Ok(Some(Mapped { start: query.start as usize, end: query.end as usize, protection }))
}

fn within_text(maps: File, start: usize, end: usize) -> io::Result<Vec<Mapped>> {
    let mut found = Vec::new();
    for line in BufReader::new(maps).lines() {
        let mapped = parse(&line?).ok_or(io::ErrorKind::InvalidData)?;
        if mapped.start >= end {
            break;
        }
        if mapped.end > start {
            found.push(mapped);
        }
    }
    Ok(found)
}

/// How many mappings a process may have, and how many this one has.
pub fn limit_and_count() -> io::Result<(usize, usize)> {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count")?;
    let limit = limit.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
    Ok((limit, BufReader::new(File::open("/proc/self/maps")?).lines().count()))
}

/// A line such as `7f00-7f10 rw-p 00000000 00:00 0 [heap]`.
fn parse(line: &str) -> Option<Mapped> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let allows = |letter| rest.as_bytes().iter().take(3).any(|&byte| byte == letter);
    Some(Mapped {
        start: usize::from_str_radix(start, 16).ok()?,
        end: usize::from_str_radix(end, 16).ok()?,
        protection: Protection { read: allows(b'r'), write: allows(b'w'), execute: allows(b'x') },
    })
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
        assert_eq!(found[0].protection, Protection::READ);
        let text = within_text(File::open("/proc/self/maps").unwrap(), base, base + length).unwrap();
        assert_eq!(found, text, "the query and the text agree");
        // SAFETY: mapped just above, and nobody refers to it.
        unsafe { crate::protection::free(base, length) }.unwrap();
    }

    #[test]
    fn a_line_that_is_none_is_refused() {
        assert_eq!(parse("zz-10 rw-p 0"), None);
        assert_eq!(parse("7f00"), None);
    }
}
