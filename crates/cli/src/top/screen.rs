// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the screen shows, and what the keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::TableState;

use super::rows::{Key, Order, rows};
use super::sample::Watch;

/// What comes of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reaction {
    Stay,
    Leave,
}

/// What is shown instead of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    /// One object or thread.
    Of(Key),
    /// What the keys do.
    Keys,
}

/// What the screen shows.
pub struct Screen {
    pub colours: bool,
    /// It is on a terminal: a line is chosen, and a line says what the keys do.
    pub live: bool,
    pub threads: bool,
    order: [usize; 2],
    pub reverse: bool,
    frozen: bool,
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    pub entered: Option<Page>,
    /// How many of its lines are above the screen.
    pub scrolled: u16,
    /// Which line is marked.
    marked: Option<Key>,
    /// The user has moved the mark: it stays with its object or thread when lines move. Otherwise it is on the first
    /// line.
    followed: bool,
    pub table: TableState,
    /// Lines of the list that fit the screen.
    pub page: usize,
}

impl Screen {
    pub fn new(colours: bool, live: bool) -> Screen {
        Screen {
            colours,
            live,
            threads: false,
            order: [0, 0],
            reverse: false,
            frozen: false,
            filter: String::new(),
            typing: false,
            entered: None,
            scrolled: 0,
            marked: None,
            followed: false,
            table: TableState::default(),
            page: 1,
        }
    }

    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    pub fn order(&self) -> Order {
        match self.threads {
            true => Order::THREADS[self.order[1]],
            false => Order::OBJECTS[self.order[0]],
        }
    }

    /// Shows the other list.
    pub fn turn(&mut self) {
        self.threads = !self.threads;
        (self.entered, self.scrolled) = (None, 0);
        self.go_home();
    }

    fn go_home(&mut self) {
        self.followed = false;
        self.table = TableState::default();
    }

    /// Finds the marked line again, now that these are there.
    pub fn settle(&mut self, keys: &[Key]) {
        let marked = self.marked.filter(|_| self.followed);
        let place = marked.and_then(|marked| keys.iter().position(|&key| key == marked));
        let place = place.or(self.table.selected().filter(|_| self.followed)).unwrap_or(0);
        self.mark(place.min(keys.len().saturating_sub(1)), keys);
    }

    fn mark(&mut self, place: usize, keys: &[Key]) {
        self.marked = keys.get(place).copied();
        self.table.select(self.marked.is_some().then_some(place));
    }

    pub fn press(&mut self, key: KeyEvent, watch: &Watch) -> Reaction {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Reaction::Leave;
        }
        match (self.typing, self.entered.is_some()) {
            (true, _) => self.type_filter(key.code),
            (_, true) => return self.press_within(key.code),
            _ => return self.press_in_list(key.code, watch),
        }
        Reaction::Stay
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => (self.typing, self.filter) = (false, String::new()),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) if !letter.is_control() => self.filter.push(letter),
            _ => {}
        }
    }

    fn press_within(&mut self, code: KeyCode) -> Reaction {
        match code {
            KeyCode::Char('q') => return Reaction::Leave,
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => (self.entered, self.scrolled) = (None, 0),
            KeyCode::Char('?') => (self.entered, self.scrolled) = (Some(Page::Keys), 0),
            KeyCode::Char(' ') => self.frozen = !self.frozen,
            KeyCode::Up => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::Down => self.scrolled = self.scrolled.saturating_add(1),
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(10),
            KeyCode::PageDown => self.scrolled = self.scrolled.saturating_add(10),
            KeyCode::Tab => self.turn(),
            _ => {}
        }
        Reaction::Stay
    }

    fn press_in_list(&mut self, code: KeyCode, watch: &Watch) -> Reaction {
        match code {
            KeyCode::Char('q') => return Reaction::Leave,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Tab => self.turn(),
            KeyCode::Char(' ') => self.frozen = !self.frozen,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Home => self.go_home(),
            KeyCode::Char('r') => {
                self.reverse = !self.reverse;
                self.go_home();
            }
            KeyCode::Char('s') => {
                let count = if self.threads { Order::THREADS.len() } else { Order::OBJECTS.len() };
                let order = &mut self.order[usize::from(self.threads)];
                *order = (*order + 1) % count;
                self.go_home();
            }
            KeyCode::Enter | KeyCode::Right => self.entered = self.marked.map(Page::Of),
            KeyCode::Char('?') => self.entered = Some(Page::Keys),
            code => self.walk(code, watch),
        }
        Reaction::Stay
    }

    fn walk(&mut self, code: KeyCode, watch: &Watch) {
        let now = self.table.selected().unwrap_or(0);
        let next = match code {
            KeyCode::Up => now.saturating_sub(1),
            KeyCode::Down => now + 1,
            KeyCode::PageUp => now.saturating_sub(self.page),
            KeyCode::PageDown => now + self.page,
            KeyCode::End => usize::MAX,
            _ => return,
        };
        let keys = self.keys(watch);
        self.followed = true;
        self.mark(next.min(keys.len().saturating_sub(1)), &keys);
    }

    fn keys(&self, watch: &Watch) -> Vec<Key> {
        let rows = rows(watch, self.threads, self.order(), self.reverse, &self.filter);
        rows.iter().map(|row| row.key()).collect()
    }
}
