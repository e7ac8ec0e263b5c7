//! What the kernel does for a thread that dies, as far as the wait table of a domain counts on it.

/// What the kernel leaves clear of a dead thread's number, and what it sets (`FUTEX_TID_MASK`, `FUTEX_OWNER_DIED`).
const THREAD: u32 = 0x3fff_ffff;
const DIED: u32 = 1 << 30;

/// What becomes of the word that a dying thread had named (`handle_futex_death`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Legacy {
    /// It is somebody else's.
    Nothing,
    /// It was the thread's own: this is what it holds now.
    Marked(u32),
    /// It is zero: one sleeper is woken.
    Wake,
}

/// `word`: what the word holds that the thread had named.
pub fn legacy(word: u32, thread: u32) -> Legacy {
    match word {
        0 => Legacy::Wake,
        _ if word & THREAD == thread => Legacy::Marked(word & !THREAD | DIED),
        _ => Legacy::Nothing,
    }
}
