//! Whether a thread sleeps on a futex, and whether it is owed a wake.

/// What a thread is doing, as /proc and its memory tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// On a processor, stopped, or asleep for another reason.
    No,
    /// Asleep on a futex word that still holds what the thread compared it with.
    Sound,
    /// Asleep although the word has changed since: somebody owes it a wake.
    Owed,
}

const FUTEX: u64 = libc::SYS_futex as u64;
const FUTEX_WAIT_BITSET: u64 = 9;
const COMMAND_MASK: u64 = 0x7f;

/// What the thread is doing.
pub fn sleep_of(thread: u32) -> Sleep {
    let Some(call) = system_call(thread) else { return Sleep::No };
    let [number, address, operation, expected] = call;
    if number != FUTEX || operation & COMMAND_MASK != FUTEX_WAIT_BITSET {
        return Sleep::No;
    }
    let found = word_of(thread, address);
    // It may have been woken since: asked once more. A thread on its way to another processor (TASK_WAKING) still shows its
    // system call, but not the state of a sleeper.
    match (found == Some(expected as u32), system_call(thread) == Some(call) && is_sleeping(thread)) {
        (_, false) => Sleep::No,
        (true, true) => Sleep::Sound,
        (false, true) => Sleep::Owed,
    }
}

/// Number and first arguments of the system call in which a thread sleeps.
fn system_call(thread: u32) -> Option<[u64; 4]> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
    let mut fields = text.split_whitespace();
    let number = fields.next()?.parse().ok()?;
    let mut argument = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
    Some([number, argument()?, argument()?, argument()?])
}

fn is_sleeping(thread: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    // Behind the name, which may contain parentheses itself.
    stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('S'))
}

fn word_of(thread: u32, address: u64) -> Option<u32> {
    let mut word = 0u32;
    let here = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<u32>() };
    let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: size_of::<u32>() };
    // SAFETY: the answer's place is valid for its length; the kernel checks the other process's address itself.
    let read = unsafe { libc::process_vm_readv(thread as libc::pid_t, &here, 1, &there, 1, 0) };
    (read == size_of::<u32>() as isize).then_some(word)
}
