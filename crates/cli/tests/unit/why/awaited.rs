// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

fn words(words: &[(usize, u64)], length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for &(place, word) in words {
        bytes[place..place + 8].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

#[test]
fn a_block_is_known_by_its_own_address() {
    const AT: u64 = 0x7ffd_0000;
    let good = [(8, 0x20_0000), (16, 0x10_0000), (48, AT), (64, 0x20), (72, 0x24)];
    let stack = (0x10_0000, 0x20_0000);
    assert_eq!(Block::parse(AT, &words(&good, PAGE)), Some(Block { at: AT, thread: 0x24, stack }));
    let wrong = [(8, 0x10_0000), (16, 0), (48, AT + 8), (64, 0x21), (72, 0), (72, 1 << 40)];
    for (place, word) in wrong {
        let mut page = words(&good, PAGE);
        page[place..place + 8].copy_from_slice(&word.to_le_bytes());
        assert_eq!(Block::parse(AT, &page), None, "{word:#x} at {place}");
    }
    assert_eq!(Block::parse(AT, &[0; 40]), None);
}

#[test]
fn a_section_has_an_owner_and_somebody_who_waits() {
    let section_of = |waiters: u64, recursion: u64, owner: u64, value: u64| {
        let bytes = words(&[(8, waiters | recursion << 32), (16, owner), (24, value)], SECTION);
        section(bytes.as_slice().try_into().expect("so long"))
    };
    assert_eq!(section_of(1, 2, 0x24, 0), Some((0x24, 2)));
    for (waiters, recursion, owner, value) in
        [(0, 1, 0x24, 0), (0xffff_ffff, 1, 0x24, 0), (1, 0, 0x24, 0), (1, 1, 0, 0), (1, 1, 0x25, 0), (1, 1, 0x24, 2)]
    {
        assert_eq!(section_of(waiters, recursion, owner, value), None, "{waiters} {recursion} {owner} {value}");
    }
    assert_eq!(section_of(1, 1, 0x24 | 1 << 32, 0), None);
}
