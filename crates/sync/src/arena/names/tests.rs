// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names alone: what is one, and which are the same.

use super::*;

fn name(text: &[u8]) -> Name<'_> {
    Name::new(text).unwrap()
}

fn is_text(one: Name<'_>, other: Name<'_>) -> bool {
    let text = NameText { words: [const { Word64::new(0) }; crate::format::layout::NAME_WORDS] };
    text.write(other);
    one.text.len() == other.text.len() && text.is(one)
}

#[test]
fn a_name_has_one_to_255_bytes_and_no_zero() {
    assert!(Name::new(&[7; 255]).is_ok() && Name::new(b"\xff\n").is_ok());
    for refused in [&[][..], &[7; 256], b"a\0b"] {
        assert_eq!(Name::new(refused), Err(Error::Invalid));
    }
}

#[test]
fn letters_are_the_same_in_any_case_if_the_caller_says_so() {
    let (one, other) = (name(b"Global\\One"), name(b"gLOBAL\\oNE"));
    assert_eq!(one.hash(), other.hash());
    assert!(!is_text(one, other) && is_text(one.ignoring_case(), other));
    // Bytes beside the letters, and bytes beyond ASCII, are never the same.
    for (one, other) in [(&b"a@[b"[..], &b"a`{b"[..]), ("\u{c4}".as_bytes(), "\u{e4}".as_bytes())] {
        assert!(!is_text(name(one).ignoring_case(), name(other)));
    }
}

#[test]
fn a_text_is_compared_to_its_end() {
    for length in [1, 7, 8, 9, 254, 255] {
        let one: Vec<u8> = (0..length).map(|at| at as u8 | 1).collect();
        assert!(is_text(name(&one), name(&one)));
        for at in [0, length / 2, length - 1] {
            let mut other = one.clone();
            other[at] ^= 0x80;
            assert!(!is_text(name(&one), name(&other)), "{length} {at}");
        }
    }
}

#[test]
fn every_name_has_each_place_of_its_group_once() {
    let search = Search { name: name(b"x"), hash: 0xdead_beef, group: 0 };
    for groups in [1, 2, 9, 256] {
        let mut places: Vec<u32> = search.places(groups).collect();
        places.sort_unstable();
        assert_eq!(places, (0..NAMES_USED).collect::<Vec<_>>());
    }
}
