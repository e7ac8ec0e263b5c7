// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel does when a thread dies, as far as the code under test relies on it (`handle_futex_death`).

/// What the kernel leaves clear of a dead thread's number, what it keeps, and what it sets (`FUTEX_TID_MASK`,
/// `FUTEX_WAITERS`, `FUTEX_OWNER_DIED`).
const THREAD: u32 = 0x3fff_ffff;
const WAITERS: u32 = 0x8000_0000;
const DIED: u32 = 0x4000_0000;

/// What becomes of the word that a dying thread had named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Legacy {
    /// It is somebody else's.
    Nothing,
    /// It was the thread's own: this is what it holds now. One sleeper is woken if it says that there are any.
    Marked { word: u32, wakes: bool },
    /// It is zero: one sleeper is woken.
    Wake,
}

/// `word`: what the word holds that the thread had named.
pub fn legacy(word: u32, thread: u32) -> Legacy {
    match word {
        0 => Legacy::Wake,
        _ if word & THREAD == thread => Legacy::Marked { word: word & WAITERS | DIED, wakes: word & WAITERS != 0 },
        _ => Legacy::Nothing,
    }
}
