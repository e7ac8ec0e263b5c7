// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

/// Where a function of the test begins, which consists of 64 bytes; its codes lie before it.
const BEGIN: u32 = 0x100;
const RBX: usize = 3;
const RBP: usize = 5;

/// Memory that looks as a program's does: codes at its start, and a stack in which each word is its own distance from the end of the codes.
struct Code(Vec<u64>);

impl Code {
    fn new(info: &[u8]) -> Code {
        let mut words = vec![0; 0x80];
        for (word, bytes) in words.iter_mut().zip(info.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
        words.extend((0..64).map(|word| word * 8));
        Code(words)
    }

    fn base(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    fn stack(&self) -> u64 {
        self.base() + 0x400
    }

    /// The caller of this function when it has run so many bytes; its registers' stack pointer as a distance.
    fn caller(&self, passed: u64) -> Option<(u64, u64, Registers)> {
        let memory = Memory::of(std::process::id()).expect("this process may read its own memory");
        let mut integers = [0; 16];
        integers[SP] = self.stack();
        integers[RBP] = self.stack() + 0x40;
        let here = Registers { pc: (self.base() + u64::from(BEGIN)).wrapping_add(passed), integers };
        let function = Function { begin: BEGIN, end: BEGIN + 64, info: 0 };
        let caller = here.caller(&memory, Some((self.base(), function)))?;
        Some((caller.pc, caller.stack() - self.stack(), caller))
    }
}

#[test]
fn what_the_first_instructions_do_is_undone() {
    // 1: push rbx; 2: room for 40 bytes.
    let code = Code::new(&[1, 5, 2, 0, 5, 0x42, 1, 0x30]);
    let (pc, stack, caller) = code.caller(9).expect("it is read");
    assert_eq!((pc, stack, caller.integers[RBX]), (48, 56, 40));
    // Behind the push alone, and before it.
    assert_eq!(code.caller(2).map(|(pc, stack, _)| (pc, stack)), Some((8, 16)));
    assert_eq!(code.caller(0).map(|(pc, stack, _)| (pc, stack)), Some((0, 8)));
}

#[test]
fn each_code_says_what_it_says() {
    let cases: [(&[u8], u64, u64); 6] = [
        (&[1, 4, 2, 0, 4, 0x01, 3, 0], 24, 32),              // room for 3 words
        (&[1, 4, 3, 0, 4, 0x11, 32, 0, 0, 0, 0, 0], 32, 40), // for 32 bytes, in four bytes
        (&[1, 4, 1, 0x15, 4, 0x03], 48, 56),                 // rbp points 16 bytes above the end
        (&[1, 4, 2, 0, 4, 0x34, 2, 0], 0, 8),                // rbx is kept two words above
        (&[2, 4, 4, 0, 4, 0x06, 0, 0, 4, 0x68, 1, 0], 0, 8), // where it ends, and a floating-point register
        (&[1, 4, 3, 0, 4, 0x35, 24, 0, 0, 0, 0, 0], 0, 8),   // rbx is kept 24 bytes above
    ];
    for (info, pc, stack) in cases {
        assert_eq!(Code::new(info).caller(8).map(|(pc, stack, _)| (pc, stack)), Some((pc, stack)), "{info:x?}");
    }
    let kept = |info| Code::new(info).caller(8).map(|(_, _, caller)| caller.integers[RBX]);
    assert_eq!((kept(cases[3].0), kept(cases[5].0)), (Some(16), Some(24)));
}

#[test]
fn a_part_of_a_function_leads_to_the_first_one() {
    // The part has nothing of its own; the function has made room for 16 bytes.
    let mut info = vec![1 | 4 << 3, 0, 0, 0];
    for half in [0x80_u32, 0xc0, 16] {
        info.extend_from_slice(&half.to_le_bytes());
    }
    info.extend_from_slice(&[1, 4, 1, 0, 4, 0x12]);
    assert_eq!(Code::new(&info).caller(0).map(|(pc, stack, _)| (pc, stack)), Some((16, 24)));
    // A part that leads to itself ends.
    info[12] = 0;
    assert_eq!(Code::new(&info).caller(0).map(|(pc, ..)| pc), Some(0));
}

#[test]
fn rubbish_ends_the_walk() {
    let cases: [&[u8]; 5] = [
        &[0, 0, 0, 0],                            // no version
        &[3, 0, 0, 0],                            // one that is not known
        &[1, 4, 1, 0, 4, 0x01],                   // a code that is cut off
        &[1, 4, 1, 0, 4, 0x0b],                   // no code
        &[1, 4, 3, 0, 4, 0x11, 0, 0, 0xff, 0xff], // room for more than there is
    ];
    for info in cases {
        assert!(Code::new(info).caller(8).is_none(), "{info:x?}");
    }
    assert!(Code::new(&[1, 0, 0, 0]).caller(8_u64.wrapping_neg()).is_none(), "before its function");
}
