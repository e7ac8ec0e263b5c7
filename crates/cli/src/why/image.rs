// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs and libraries that a 64-bit Windows process has loaded, as they lie in its memory: their names, tables of functions, and what
//! they export. All of it is read from the process, may be rubbish, and is bounded.

use super::awaited::Block;
use super::unwind::Function;
use crate::arenas::memory::{Memory, half_in};

/// Programs and libraries of a process, letters of a name, and functions that are looked at.
const IMAGES: usize = 1024;
const LETTERS: usize = 128;
const EXPORTS: u32 = 1 << 16;
/// A function without an entry, such as one that only makes a system call, is at most so long.
const SHORT: u32 = 64;

/// A program or library.
#[derive(Debug)]
pub struct Image {
    pub base: u64,
    size: u64,
    pub name: String,
    functions: Table,
    exports: Table,
}

/// A part of an image, by its distance from the start.
#[derive(Clone, Copy, Debug)]
struct Table {
    start: u32,
    length: u32,
}

impl Image {
    /// All that the process of this thread has loaded, from the list that Windows' loader keeps.
    pub fn all(memory: &Memory, block: &Block) -> Vec<Image> {
        let mut images = Vec::new();
        let process = memory.word(block.at + 0x60);
        let Some(head) = process.and_then(|process| memory.word(process.checked_add(0x18)?)?.checked_add(0x10)) else {
            return images;
        };
        let mut entry = memory.word(head);
        for _ in 0..IMAGES {
            let Some(at) = entry.filter(|&at| at != head) else { break };
            images.extend(Image::of_entry(memory, at));
            entry = memory.word(at);
        }
        images
    }

    fn of_entry(memory: &Memory, at: u64) -> Option<Image> {
        let base = memory.word(at.checked_add(0x30)?)?;
        let [low, high, _, _]: [u8; 4] = memory.bytes(at.checked_add(0x58)?)?;
        let letters = usize::from(u16::from_le_bytes([low, high]) / 2).min(LETTERS);
        let name = wide_text(memory, memory.word(at.checked_add(0x60)?)?, letters)?;
        Image::parse(memory, base, name)
    }

    /// The image that begins there, if there is a 64-bit one.
    pub fn parse(memory: &Memory, base: u64, name: String) -> Option<Image> {
        let header = base.checked_add(u64::from(memory.half(base.checked_add(0x3c)?)?))?;
        let is_image = memory.bytes(base)? == *b"MZ" && memory.bytes(header)? == *b"PE\0\0";
        let optional = header.checked_add(24)?;
        if !is_image || memory.bytes(optional)? != 0x20b_u16.to_le_bytes() {
            return None;
        }
        let table = |number: u64| {
            let at = optional.checked_add(112 + 8 * number)?;
            Some(Table { start: memory.half(at)?, length: memory.half(at + 4)? })
        };
        let size = u64::from(memory.half(optional.checked_add(56)?)?);
        Some(Image { base, size, name, exports: table(0)?, functions: table(3)? })
    }

    pub fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|distance| distance < self.size)
    }

    /// The entry of the function to which this address belongs. Entries are in order.
    pub fn function(&self, memory: &Memory, address: u64) -> Option<Function> {
        let distance = u32::try_from(address.checked_sub(self.base)?).ok()?;
        let first = self.base.checked_add(u64::from(self.functions.start))?;
        let entry = |number: u64| Function::read(memory, first.checked_add(number * Function::LENGTH)?);
        let (mut low, mut high) = (0, u64::from(self.functions.length) / Function::LENGTH);
        while low < high {
            let middle = low + (high - low) / 2;
            let function = entry(middle)?;
            match distance {
                _ if distance < function.begin => high = middle,
                _ if distance >= function.end => low = middle + 1,
                _ => return Some(function),
            }
        }
        None
    }

    /// The name of the exported function that begins where this one does, or that a short one without an entry is; and how far into it the address is.
    pub fn export(&self, memory: &Memory, address: u64, function: Option<Function>) -> Option<(String, u64)> {
        let distance = u32::try_from(address.checked_sub(self.base)?).ok()?;
        let from = function.map_or(distance.saturating_sub(SHORT), |function| function.begin);
        let to = function.map_or(distance, |function| function.begin);
        let directory = self.base.checked_add(u64::from(self.exports.start))?;
        let field = |place: u64| memory.half(directory.checked_add(place)?);
        let (count, names) = (field(20)?.min(EXPORTS), field(24)?.min(EXPORTS));
        let table =
            |place: u64, length: u32| memory.block(self.base.checked_add(u64::from(field(place)?))?, length as usize);
        let starts: Vec<u32> = table(28, count * 4)?.chunks_exact(4).filter_map(|entry| half_in(entry, 0)).collect();
        let begin = starts.iter().copied().filter(|start| (from..=to).contains(start) && *start != 0).max()?;
        let ordinals = table(36, names * 2)?;
        let is_its = |entry: &[u8]| {
            let ordinal = entry.try_into().map(u16::from_le_bytes).ok();
            ordinal.and_then(|ordinal| starts.get(usize::from(ordinal))) == Some(&begin)
        };
        // Names are in order: of two for one function, such as Nt... and Zw..., the first.
        let named = ordinals.chunks_exact(2).position(is_its)?;
        let name = memory.half(self.base.checked_add(u64::from(field(32)?) + 4 * named as u64)?)?;
        Some((text(memory, self.base.checked_add(u64::from(name))?)?, u64::from(distance - begin)))
    }
}

/// A text that ends with a zero.
fn text(memory: &Memory, at: u64) -> Option<String> {
    let bytes = memory.what_is_there(at, LETTERS);
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    (end > 0).then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn wide_text(memory: &Memory, at: u64, letters: usize) -> Option<String> {
    let bytes = memory.block(at, letters * 2)?;
    let letters: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    (!letters.is_empty()).then(|| String::from_utf16_lossy(&letters))
}
