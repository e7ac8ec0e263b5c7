// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

const STACK: usize = 0x400;
const STACK_END: usize = 0x600;
const FRAME_AT: usize = 0x300;
const IMAGE: usize = 0x1000;

/// A process as Windows' loader lays it out, with one program: blocks, the loader's list, a frame, a stack, and the program. Nothing
/// else is within the bytes that are searched for a frame: what another test has left in memory might be one.
struct Layout(Vec<u64>);

impl Layout {
    fn new() -> Layout {
        let mut layout = Layout(vec![0; 0x400 + SEARCHED / 8]);
        let at = layout.at(0);
        for (place, word) in [
            (8, at + STACK_END as u64),
            (16, at + STACK as u64),
            (48, at),
            (64, 0x20),
            (72, 0x24),
            (0x60, at + 0x100),  // the block of the process
            (0x118, at + 0x140), // the loader's list
            (0x150, at + 0x180), // its first entry, which is the last
            (0x180, at + 0x150),
            (0x1b0, at + IMAGE as u64),
            (0x1d8, 16),
            (0x1e0, at + 0x200),
        ] {
            layout.write(place, word);
        }
        layout.bytes(0x200, &"game.exe".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
        layout.program();
        layout.frame(STACK, 0x800);
        // A function without an entry, called by Render, called by another one, which is the outermost.
        for (place, word) in
            [(STACK, at + IMAGE as u64 + 0x640), (STACK + 0x88, 7), (STACK + 0x90, at + IMAGE as u64 + 0x520)]
        {
            layout.write(place, word);
        }
        layout
    }

    /// Two functions, of which the second is exported by a name: the first makes room for 32 bytes, the second keeps `rbp` and makes room for 128.
    fn program(&mut self) {
        self.bytes(IMAGE, b"MZ");
        self.bytes(IMAGE + 0x80, b"PE\0\0");
        self.bytes(IMAGE + 0x98, &[0x0b, 2]);
        for (place, half) in [
            (0x3c, 0x80),
            (0xd0, 0x1000),
            (0x108, 0x200),
            (0x10c, 0x100),
            (0x120, 0x300),
            (0x124, 24),
            (0x214, 2),
            (0x218, 1),
            (0x21c, 0x240),
            (0x220, 0x250),
            (0x224, 0x260),
            (0x240, 0x500),
            (0x244, 0x600),
            (0x250, 0x270),
            (0x260, 1),
            (0x300, 0x500),
            (0x304, 0x580),
            (0x308, 0x340),
            (0x30c, 0x600),
            (0x310, 0x700),
            (0x314, 0x350),
        ] {
            self.bytes(IMAGE + place, &u32::to_le_bytes(half));
        }
        self.bytes(IMAGE + 0x270, b"Render\0");
        self.bytes(IMAGE + 0x340, &[1, 4, 1, 0, 4, 0x32]);
        self.bytes(IMAGE + 0x350, &[1, 8, 3, 0, 8, 0x01, 16, 0, 1, 0x50]);
    }

    /// What a system call of a function at this distance has kept.
    fn frame(&mut self, stack: usize, distance: u64) {
        let (pc, stack) = (self.at(IMAGE) + distance, self.at(stack));
        for (place, word) in [(112, pc), (120, 0x33), (128, 0x246), (136, stack), (144, 0x2b), (152, 5)] {
            self.write(FRAME_AT + place, word);
        }
    }

    fn at(&self, place: usize) -> u64 {
        self.0.as_ptr() as u64 + place as u64
    }

    fn write(&mut self, place: usize, word: u64) {
        self.0[place / 8] = word;
    }

    fn bytes(&mut self, place: usize, bytes: &[u8]) {
        for (place, byte) in (place..).zip(bytes) {
            let shift = 8 * (place % 8);
            self.0[place / 8] = self.0[place / 8] & !(0xff << shift) | u64::from(*byte) << shift;
        }
    }

    /// What is said of a thread whose stack pointer stands below the frame.
    fn said(&self) -> Option<Vec<String>> {
        let pid = std::process::id();
        let memory = Memory::of(pid).expect("this process may read its own memory");
        let block = Block::parse(self.at(0), &memory.block(self.at(0), 4096)?)?;
        let images = Image::all(&memory, &block);
        let program = Program { pid, memory, blocks: vec![block], images };
        let (registers, end) = program.frame_above(self.at(FRAME_AT - 0x40))?;
        Some(program.walk(registers, end).iter().map(Frame::text).collect())
    }
}

#[test]
fn a_stack_is_followed_from_the_system_call_to_its_end() {
    let said = Layout::new().said();
    assert_eq!(said.expect("there is a frame"), ["game.exe+0x800", "game.exe!Render+0x40", "game.exe+0x520"]);
}

#[test]
fn a_short_function_without_an_entry_is_named() {
    let mut layout = Layout::new();
    layout.bytes(IMAGE + 0x240, &u32::to_le_bytes(0x7f0));
    layout.bytes(IMAGE + 0x260, &[0, 0]);
    assert_eq!(layout.said().expect("there is a frame")[..2], ["game.exe!Render+0x10", "game.exe+0x640"]);
}

#[test]
fn what_is_no_frame_is_none() {
    for (place, word) in [(120, 0x23), (144, 0), (128, 0x244), (128, 0x246 | 1 << 40), (136, 8), (112, 8)] {
        let mut layout = Layout::new();
        layout.write(FRAME_AT + place, word);
        assert_eq!(layout.said(), None, "{word:#x} at {place}");
    }
}

#[test]
fn rubbish_ends_a_stack() {
    let mut layout = Layout::new();
    // A caller further in, not further out, on the stack.
    layout.bytes(IMAGE + 0x350, &[1, 8, 1, 5, 8, 0x03]);
    assert_eq!(layout.said().expect("there is a frame").len(), 2);
    // A loader's list that goes round, and one that leads nowhere.
    for next in [layout.at(0x180), 8] {
        let mut layout = Layout::new();
        layout.write(0x180, next);
        assert_eq!(layout.said().expect("there is a frame").len(), 3);
    }
    let mut layout = Layout::new();
    layout.bytes(IMAGE, b"NO");
    assert_eq!(layout.said(), None, "code of no program has made the system call");
}
