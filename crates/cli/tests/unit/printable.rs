// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/printable.rs`.

use super::*;

/// Unicode's `Bidi_Control`, all of it.
const TURNING: [char; 12] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}',
    '\u{2067}', '\u{2068}', '\u{2069}',
];

fn filtered(form: Form, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    Filter::new(&mut out, form).write_all(bytes).expect("a vector takes everything");
    String::from_utf8(out).expect("a filter writes text")
}

#[test]
fn the_ranges_are_in_order_and_hold_all_that_turns_text_around() {
    assert!(STEERING.iter().all(|(first, last)| first <= last));
    assert!(STEERING.windows(2).all(|pair| pair[0].1 < pair[1].0));
    assert!(TURNING.into_iter().all(steers));
    assert!((char::MIN..=char::MAX).filter(|letter| letter.is_control()).all(steers));
    for (first, last) in STEERING {
        let before = char::from_u32((first as u32).wrapping_sub(1));
        let after = char::from_u32(last as u32 + 1);
        assert!(steers(first) && steers(last));
        assert!(before.is_none_or(|letter| !steers(letter)) && after.is_none_or(|letter| !steers(letter)), "{first:?}");
    }
    assert!(!"Ärger 漢字 عربي 🎮 a-b_c(1)".contains(steers));
}

#[test]
fn a_name_stays_one_line() {
    assert_eq!(printable("a\u{202e}b\nc\td\u{1b}[31m"), "a?b?c?d?[31m");
    assert_eq!(printable_lines("a\u{202e}b\nc\td\r\u{9b}31m\n"), "a?b\nc\td??31m\n");
}

#[test]
fn json_is_what_it_was_and_says_nothing_to_a_terminal() {
    let name = "a\u{202e}\u{7f}\u{9b}\u{1b}\u{e0041}ö";
    let text = filtered(Form::Json, serde_json::to_string(name).expect("a text").as_bytes());
    assert_eq!(serde_json::from_str::<String>(&text).expect("JSON"), name);
    assert_eq!(text, "\"a\\u202e\\u007f\\u009b\\u001b\\udb40\\udc41ö\"");
}

#[test]
fn what_is_no_text_is_replaced() {
    assert_eq!(filtered(Form::Text, b"a\xffb\xe2\x80\nc\xe2\x80"), "a\u{fffd}b\u{fffd}\nc\u{fffd}");
}
