// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/top/draw.rs`.

use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The lines of a terminal of this size after these keys were pressed, where nothing uses ntux.
fn lines(columns: u16, rows: u16, pressed: &[KeyCode]) -> Vec<String> {
    let (watch, mut screen) = (Watch::new(Vec::new(), 0, false), Screen::new(false, true));
    for &code in pressed {
        screen.press(KeyEvent::new(code, KeyModifiers::NONE), &watch);
    }
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, &mut screen, &watch)).unwrap();
    as_text(terminal.backend().buffer(), false).lines().map(str::to_owned).collect()
}

#[test]
fn keys_are_named_whole_and_those_that_do_not_fit_on_a_page() {
    let last = |columns, rows, pressed: &[KeyCode]| lines(columns, rows, pressed).pop().unwrap();
    let filter = [KeyCode::Char('/'), KeyCode::Char('q')];
    for (columns, rows, line) in [
        (80, 24, "q quit  Tab page  s order  r reverse  / filter  Space freeze  Enter show"),
        (72, 24, "q quit  Tab page  s order  r reverse  / filter  Space freeze  Enter show"),
        (71, 24, "q quit  ? keys  Tab page  s order  r reverse  / filter  Space freeze"),
        (40, 10, "q quit  ? keys  Tab page  s order"),
        (32, 10, "q quit  ? keys  Tab page"),
        (14, 5, "q quit  ? keys"),
        (13, 5, "q quit"),
    ] {
        assert_eq!(last(columns, rows, &[]), line);
    }
    assert_eq!(last(40, 10, &[KeyCode::Char('?')]), "q quit  ? keys  Esc back  Up Down scroll");
    assert_eq!(last(40, 10, &filter), "Enter done  Esc no filter");

    let page = lines(40, 14, &[KeyCode::Char('?')]).join("\n");
    let heads = KEYS.iter().chain(&KEYS_WITHIN).filter_map(|key| key.split(' ').next());
    for head in heads.filter(|&head| head != "Up") {
        assert!(page.contains(&format!("\n{head} ")), "no {head} in {page}");
    }
    // A list again.
    let left = lines(80, 24, &[KeyCode::Char('?'), KeyCode::Esc]);
    assert!(left.iter().any(|line| line.contains("QUEUE")), "{left:#?}");
}

#[test]
fn what_does_not_fit_is_left_out_in_whole_words() {
    let cases = [
        ("20407:159 20420:61", 18, "20407:159 20420:61"),
        ("20407:159 20420:61 20452:11", 20, "20407:159 ..."),
        ("20407:159 20420:61 20452:11", 22, "20407:159 20420:61 ..."),
        ("20407:159 20420:61 20452:11", 21, "20407:159 ..."),
        ("20407:159 20420:61", 9, "20407:159 20420:61"),
        ("unbreakable", 4, "unbreakable"),
        ("", 0, ""),
    ];
    for (text, width, shown) in cases {
        assert_eq!(whole_words(text.to_owned(), width), shown, "{width}");
    }
}
