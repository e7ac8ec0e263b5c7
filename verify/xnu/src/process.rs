// SPDX-License-Identifier: MIT OR Apache-2.0
//! Living processes and threads: `proc_pidinfo`, `proc_pidfdinfo`, and numbers of threads, from Linux's /proc.
//!
//! A thread's number is made of the time when it began, and Linux's number: no other thread gets it until the system is
//! started again.

use libc::{c_char, c_int, c_void};

use crate::faults::{Deviation, is};
use crate::refuse;
use crate::shm::{Text, name_of};

const PROC_PIDTBSDINFO: c_int = 3;
const PROC_PIDTASKINFO: c_int = 4;
const PROC_PIDTHREADID64INFO: c_int = 15;
const PROC_PIDFDPSHMINFO: c_int = 5;

/// `pbi_status`.
const SRUN: u32 = 2;
const SZOMB: u32 = 5;
/// `pth_run_state`.
const RUNNING: i32 = 1;
const WAITING: i32 = 3;

/// Bits of Linux's numbers.
const NUMBER_BITS: u32 = 22;
/// Jiffies of more than a year.
const BIRTH_BITS: u32 = 29;
/// When the first process started, since 1970.
const BOOT_SECONDS: u64 = 1_700_000_000;

/// `struct proc_bsdinfo`, in numbers of four bytes.
type BsdInfo = [u32; 34];
/// `struct proc_taskinfo`, likewise.
type TaskInfo = [u32; 24];
/// `struct proc_threadinfo`, likewise.
type ThreadInfo = [u32; 28];
/// `struct pshm_fdinfo`.
#[repr(C, align(8))]
struct PshmInfo([u8; 1192]);
const PSHM_NAME: usize = 168;

/// What /proc says of a process or thread.
struct Stat {
    state: u8,
    threads: u64,
    /// Jiffies since the system was started.
    birth: u64,
}

impl Stat {
    fn read(path: *const c_char) -> Option<Stat> {
        let mut buffer = [0u8; 1024];
        // SAFETY: a terminated path, and a place of this size.
        let length = unsafe {
            let fd = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC);
            if fd < 0 {
                return None;
            }
            let length = libc::syscall(libc::SYS_read, fd, buffer.as_mut_ptr(), buffer.len());
            libc::syscall(libc::SYS_close, fd);
            usize::try_from(length).ok()?
        };
        let end = buffer[..length].iter().rposition(|&byte| byte == b')')?;
        let mut fields =
            buffer[end + 1..length].split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
        let state = *fields.next()?.first()?;
        let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<u64>().ok();
        let threads = number(fields.nth(16)?)?;
        let birth = number(fields.nth(1)?)?;
        Some(Stat { state, threads, birth })
    }

    fn of_process(pid: c_int) -> Option<Stat> {
        let pid = Text::<24>::number(u64::try_from(pid).ok()?);
        Stat::read(Text::<40>::new(&[b"/proc/", pid.bytes(), b"/stat"]).as_ptr())
    }

    fn of_thread(pid: c_int, thread: u64) -> Option<Stat> {
        let (pid, thread) = (Text::<24>::number(u64::try_from(pid).ok()?), Text::<24>::number(thread));
        Stat::read(Text::<64>::new(&[b"/proc/", pid.bytes(), b"/task/", thread.bytes(), b"/stat"]).as_ptr())
    }

    /// (The first thread of a process stays in /proc, dead, as long as others live.)
    fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    fn is_corpse(&self) -> bool {
        self.has_ended() && self.threads <= 1
    }
}

fn number_of(thread: u64, birth: u64) -> u64 {
    (birth & ((1 << BIRTH_BITS) - 1)) << NUMBER_BITS | thread
}

/// Only of the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_threadid_np(thread: libc::pthread_t, place: *mut u64) -> c_int {
    if thread != 0 {
        return libc::ESRCH;
    }
    // SAFETY: asks for numbers.
    let (pid, own) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid) as u64) };
    let number = match Stat::of_thread(pid, own) {
        _ if is(Deviation::PortNames) => 0x103 + own - pid as u64,
        Some(stat) => number_of(own, stat.birth),
        None => return libc::ESRCH,
    };
    // SAFETY: the caller's place.
    unsafe { place.write(number) };
    0
}

fn bsd_info(pid: c_int, with_zombies: bool) -> Result<BsdInfo, c_int> {
    let stat = Stat::of_process(pid).ok_or(libc::ESRCH)?;
    if stat.is_corpse() && (!with_zombies || is(Deviation::NoCorpses)) {
        return Err(libc::ESRCH);
    }
    // SAFETY: asks for a number.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    let birth = if is(Deviation::StartedTogether) { 1 } else { stat.birth };
    let (seconds, rest) = (BOOT_SECONDS + birth / per_second, birth % per_second * 1_000_000 / per_second);
    let mut info: BsdInfo = [0; 34];
    (info[1], info[3]) = (if stat.is_corpse() { SZOMB } else { SRUN }, pid as u32);
    (info[30], info[31]) = (seconds as u32, (seconds >> 32) as u32);
    info[32] = rest as u32;
    Ok(info)
}

fn thread_info(pid: c_int, number: u64) -> Result<ThreadInfo, c_int> {
    let mut info: ThreadInfo = [0; 28];
    let thread = number & ((1 << NUMBER_BITS) - 1);
    if is(Deviation::NobodyIsGone) {
        return Ok(info);
    }
    let of_process = Stat::of_process(pid).filter(|stat| !stat.is_corpse()).ok_or(libc::ESRCH)?;
    let stat = Stat::of_thread(pid, thread).ok_or(libc::ESRCH)?;
    // SAFETY: asks for a number.
    let is_other = pid != unsafe { libc::getpid() };
    if stat.has_ended() || of_process.is_corpse() || number_of(thread, stat.birth) != number {
        return Err(libc::ESRCH);
    }
    if is_other && is(Deviation::OthersAreGone) {
        return Err(libc::ESRCH);
    }
    info[6] = if stat.state == b'S' { WAITING } else { RUNNING } as u32;
    Ok(info)
}

/// What XNU says of a process with one thread.
fn task_info(pid: c_int) -> Result<TaskInfo, c_int> {
    const SWITCHES: &[u8] = b"voluntary_ctxt_switches:\t";
    let stat = Stat::of_process(pid).filter(|stat| !stat.is_corpse()).ok_or(libc::ESRCH)?;
    let status = std::fs::read(format!("/proc/{pid}/status")).map_err(|_| libc::ESRCH)?;
    let count = status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(SWITCHES)).unwrap_or_default();
    let mut info: TaskInfo = [0; 24];
    info[20] = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok()).unwrap_or(0);
    (info[21], info[22]) = (stat.threads as u32, u32::from(stat.state != b'S'));
    Ok(info)
}

/// Copies an answer. The number of bytes; 0 for an error.
unsafe fn tell<T>(answer: Result<T, c_int>, place: *mut c_void, size: c_int) -> c_int {
    let needed = size_of::<T>() as c_int;
    match answer {
        Ok(_) if size < needed => {
            refuse(libc::ENOMEM);
            0
        }
        Ok(answer) => {
            // SAFETY: the caller's place, which is large enough.
            unsafe { place.cast::<T>().write_unaligned(answer) };
            needed
        }
        Err(error) => {
            refuse(error);
            0
        }
    }
}

/// See `libproc.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn proc_pidinfo(
    pid: c_int,
    flavor: c_int,
    argument: u64,
    place: *mut c_void,
    size: c_int,
) -> c_int {
    // SAFETY: the caller's place.
    unsafe {
        match flavor {
            PROC_PIDTBSDINFO => tell(bsd_info(pid, argument == 1), place, size),
            PROC_PIDTASKINFO => tell(task_info(pid), place, size),
            PROC_PIDTHREADID64INFO => tell(thread_info(pid, argument), place, size),
            _ => tell(Err::<(), _>(libc::EINVAL), place, size),
        }
    }
}

/// See `libproc.h`. Only of shared memory, and of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn proc_pidfdinfo(
    pid: c_int,
    fd: c_int,
    flavor: c_int,
    place: *mut c_void,
    size: c_int,
) -> c_int {
    // SAFETY: asks for a number.
    let is_asked = flavor == PROC_PIDFDPSHMINFO && pid == unsafe { libc::getpid() };
    let answer = match name_of(fd).filter(|_| is_asked) {
        None => Err(libc::EBADF),
        Some(name) => {
            let mut info = PshmInfo([0; 1192]);
            let name = name.bytes();
            info.0[PSHM_NAME..PSHM_NAME + name.len()].copy_from_slice(name);
            Ok(info)
        }
    };
    // SAFETY: the caller's place.
    unsafe { tell(answer, place, size) }
}
