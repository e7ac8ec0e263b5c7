// SPDX-License-Identifier: MIT OR Apache-2.0
//! A traced child: run one instruction, run to an address, end.
//!
//! A call into the kernel's page (the vDSO: reading the clock) counts as one instruction, and runs at full speed. Stepped through, it
//! may never end: who reads the clock begins anew if the kernel has changed that page meanwhile, which it does at each tick.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A child that stops under ptrace. Killed on drop.
pub struct Tracee {
    pid: libc::pid_t,
    ended: bool,
    /// It was stopped when it was last checked.
    still: bool,
    /// It is in a step, or just behind one.
    stepping: bool,
    /// Where the kernel's page is mapped.
    kernels_page: Range<u64>,
}

/// What a child did last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It stands after an instruction, or at a breakpoint.
    Stopped,
    /// It is gone: the raw status.
    Ended(i32),
    /// Neither, within the time given.
    Running,
}

/// The first bytes of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction(u64);

impl Instruction {
    /// Returns whether it is that of [`stop_here`].
    pub fn is_trap(self) -> bool {
        self.0 as u8 == BREAKPOINT
    }

    /// Returns whether it enters the kernel.
    pub fn is_system_call(self) -> bool {
        self.0 & 0xffff == SYSTEM_CALL
    }
}

/// What a system call looks like.
const SYSTEM_CALL: u64 = 0x050f;
/// The one-byte instruction that stops a traced process.
const BREAKPOINT: u8 = 0xcc;
const RIP: usize = std::mem::offset_of!(libc::user_regs_struct, rip);
const RSP: usize = std::mem::offset_of!(libc::user_regs_struct, rsp);

/// To be called in the child, where its operation begins: the first stop that the tracer sees.
pub fn stop_here() {
    // SAFETY: the tracer expects this trap.
    unsafe { std::arch::asm!("int3") };
}

impl Tracee {
    /// Forks a child that runs `body`, which calls [`stop_here`], and returns once it stands there.
    ///
    /// Errors: those of fork and ptrace; `PermissionDenied` when this system does not allow tracing.
    pub fn fork(body: impl FnOnce()) -> io::Result<Tracee> {
        let parent = std::process::id();
        let kernels_page = kernels_page()?;
        // SAFETY: this process has one thread, so nothing that the child uses is held by a thread that it lacks.
        let pid = unsafe { libc::fork() };
        match pid {
            0 => {
                ntux_testkit::child::die_with(parent);
                // SAFETY: an attribute of this process only.
                let refused = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 };
                if !refused {
                    body();
                }
                // SAFETY: ends the child without running what the parent registered for its own exit.
                unsafe { libc::_exit(i32::from(refused)) }
            }
            1.. => Tracee { pid, ended: false, still: false, stepping: false, kernels_page }.ready(),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn ready(mut self) -> io::Result<Tracee> {
        match self.wait()? {
            Event::Stopped => {
                self.request(libc::PTRACE_SETOPTIONS, 0, libc::PTRACE_O_EXITKILL as usize)?;
                Ok(self)
            }
            Event::Ended(status) => {
                let text = format!("ptrace is refused here, or the child failed before it began (status {status:#x})");
                Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
            }
            Event::Running => unreachable!("waited without a limit"),
        }
    }

    /// Its process number, which is its thread number too.
    pub fn id(&self) -> u32 {
        self.pid as u32
    }

    /// Returns whether it is gone, and its end was seen.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns whether it was stopped when it was last checked.
    pub fn is_still(&self) -> bool {
        self.still
    }

    /// Runs one instruction, or one call into the kernel's page. It may sleep in that: see [`Tracee::wait_or`].
    pub fn step(&mut self) -> io::Result<()> {
        self.still = false;
        self.stepping = true;
        self.request(libc::PTRACE_SINGLESTEP, 0, 0).map(|_| ())
    }

    /// Lets it run.
    pub fn go_on(&mut self) -> io::Result<()> {
        self.still = false;
        self.request(libc::PTRACE_CONT, 0, 0).map(|_| ())
    }

    /// Waits until it stops or ends.
    pub fn wait(&mut self) -> io::Result<Event> {
        self.status(0)
    }

    /// Waits until it stops or ends, or `asleep` says so; asks now and then.
    pub fn wait_or(&mut self, limit: Duration, mut asleep: impl FnMut() -> bool) -> io::Result<Event> {
        let start = Instant::now();
        loop {
            let event = self.status(libc::WNOHANG)?;
            if event != Event::Running || asleep() || start.elapsed() > limit {
                return Ok(event);
            }
            std::thread::sleep(Duration::from_micros(10));
        }
    }

    fn status(&mut self, flags: i32) -> io::Result<Event> {
        let mut status = 0;
        // SAFETY: a valid place for the status; the child is ours and not reaped.
        match unsafe { libc::waitpid(self.pid, &mut status, flags) } {
            0 => Ok(Event::Running),
            pid if pid < 0 => Err(io::Error::last_os_error()),
            _ if libc::WIFSTOPPED(status) => {
                self.still = true;
                match std::mem::take(&mut self.stepping) {
                    true => self.leave_kernels_page(),
                    false => Ok(Event::Stopped),
                }
            }
            _ => {
                self.ended = true;
                Ok(Event::Ended(status))
            }
        }
    }

    /// If its last instruction has called the kernel's page, runs it to the return from there.
    fn leave_kernels_page(&mut self) -> io::Result<Event> {
        if !self.kernels_page.contains(&self.address()?) {
            return Ok(Event::Stopped);
        }
        let back = self.peek(self.request(libc::PTRACE_PEEKUSER, RSP, 0)?)?;
        match self.run_to(back, 1, Tracee::wait)? {
            true => Ok(Event::Stopped),
            false => Err(io::Error::other("a call into the kernel's page does not return")),
        }
    }

    /// The address of its next instruction.
    pub fn address(&self) -> io::Result<u64> {
        self.request(libc::PTRACE_PEEKUSER, RIP, 0)
    }

    /// What it executes next.
    pub fn next_instruction(&self) -> io::Result<Instruction> {
        Ok(Instruction(self.peek(self.address()?)?))
    }

    /// A word of its memory.
    pub fn peek(&self, address: u64) -> io::Result<u64> {
        self.request(libc::PTRACE_PEEKDATA, address as usize, 0)
    }

    /// Runs until it stands at `address` for the `visit`-th time; where it stands now counts. `wait` waits for each of its
    /// stops. False if it ended before.
    pub fn run_to(
        &mut self,
        address: u64,
        visit: u32,
        mut wait: impl FnMut(&mut Tracee) -> io::Result<Event>,
    ) -> io::Result<bool> {
        let code = self.peek(address)?;
        let trapped = code & !0xff | u64::from(BREAKPOINT);
        for visited in 1.. {
            if self.address()? != address {
                self.poke(address, trapped)?;
                self.go_on()?;
                if wait(self)? != Event::Stopped {
                    return Ok(false);
                }
                self.poke(address, code)?;
                if self.address()? != address + 1 {
                    return Ok(false);
                }
                self.request(libc::PTRACE_POKEUSER, RIP, address as usize)?;
            }
            if visited == visit {
                return Ok(true);
            }
            self.step()?;
            if wait(self)? != Event::Stopped {
                return Ok(false);
            }
        }
        unreachable!("the visits are counted in 32 bits")
    }

    /// Runs so many instructions, one by one. False if it ended before.
    pub fn run(
        &mut self,
        instructions: usize,
        mut wait: impl FnMut(&mut Tracee) -> io::Result<Event>,
    ) -> io::Result<bool> {
        for _ in 0..instructions {
            self.step()?;
            if wait(self)? != Event::Stopped {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn poke(&self, address: u64, word: u64) -> io::Result<()> {
        self.request(libc::PTRACE_POKEDATA, address as usize, word as usize).map(|_| ())
    }

    /// Kills it and waits for its end.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if self.ended {
            return;
        }
        // SAFETY: the child is not reaped, so the number is its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        while matches!(self.wait(), Ok(Event::Stopped)) {}
        self.ended = true;
    }

    fn request(&self, request: libc::c_uint, address: usize, data: usize) -> io::Result<u64> {
        let mut answer = 0u64;
        let peeks = [libc::PTRACE_PEEKUSER, libc::PTRACE_PEEKDATA].contains(&request);
        let data = if peeks { (&raw mut answer) as usize } else { data };
        // The system call itself, whose peeks answer by address: the C library's function mixes answers and errors.
        // SAFETY: the kernel checks the child's addresses itself, and writes at most the answer.
        let result = unsafe { libc::syscall(libc::SYS_ptrace, request, self.pid, address, data) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
    }
}

/// Where the kernel's page is mapped in this process and its forks; empty if it is not. Read once: it stays.
fn kernels_page() -> io::Result<Range<u64>> {
    static PAGE: OnceLock<Range<u64>> = OnceLock::new();
    match PAGE.get() {
        Some(page) => Ok(page.clone()),
        None => find_kernels_page().map(|page| PAGE.get_or_init(|| page).clone()),
    }
}

fn find_kernels_page() -> io::Result<Range<u64>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"));
    let range = line.and_then(|line| line.split_once(' ')?.0.split_once('-'));
    let address = |text| u64::from_str_radix(text, 16).map_err(io::Error::other);
    range.map_or(Ok(0..0), |(first, end)| Ok(address(first)?..address(end)?))
}

impl Drop for Tracee {
    fn drop(&mut self) {
        self.end();
    }
}
