//! The mappings of this process, as `/proc/self/maps` tells them.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

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
    let mut found = Vec::new();
    for line in BufReader::new(File::open("/proc/self/maps")?).lines() {
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
        // SAFETY: mapped just above, and nobody refers to it.
        unsafe { crate::protection::free(base, length) }.unwrap();
    }

    #[test]
    fn a_line_that_is_none_is_refused() {
        assert_eq!(parse("zz-10 rw-p 0"), None);
        assert_eq!(parse("7f00"), None);
    }
}
