// SPDX-License-Identifier: MIT OR Apache-2.0
//! A traced child, or one thread of a child that has others: run one instruction, run to an address, end.
//!
//! A thread shares its code with those beside it, which nobody traces: a breakpoint in the code would end them. So a thread stops where
//! the processor's own breakpoints say. To kill one thread alone, the tracer has it call `exit`: the kernel then treats what it leaves
//! as after a signal.
//!
//! A call into the kernel's page (the vDSO: reading the clock) counts as one instruction, and runs at full speed. Stepped through, it
//! may never end: who reads the clock begins anew if the kernel has changed that page meanwhile, which it does at each tick.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ntux_platform::atomic::Word32;

/// A child that stops under ptrace, or a thread of a child. Killed on drop.
pub struct Tracee {
    pid: libc::pid_t,
    /// The process of a thread.
    process: Option<libc::pid_t>,
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
const CALLED: usize = std::mem::offset_of!(libc::user_regs_struct, orig_rax);
/// The address of the processor's first breakpoint, and which breakpoints are on.
const WATCHED: usize = std::mem::offset_of!(libc::user, u_debugreg);
const WATCHES: usize = WATCHED + 7 * size_of::<u64>();
/// The instructions of a thread that leaves the kernel's page again.
const PAGE_STEPS: u32 = 1 << 16;
/// How long a thread may take until it is ready.
const READY: Duration = Duration::from_secs(10);
/// Stands for the number of a thread that may not be traced.
const REFUSED: u32 = u32::MAX;

/// To be called in the child, where its operation begins: the first stop that the tracer sees.
pub fn stop_here() {
    // SAFETY: the tracer expects this trap.
    unsafe { std::arch::asm!("int3") };
}

/// To be called by a thread of a child that is to be traced, before [`stop_here`].
pub fn let_trace(traced: &Word32) {
    // SAFETY: an attribute of this thread only; asks for a number.
    let (refused, number) = unsafe { (libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0, libc::gettid()) };
    traced.store(if refused { REFUSED } else { number as u32 });
}

/// Ends the calling thread alone, and cleans up nothing.
pub extern "C" fn end_thread() -> ! {
    // SAFETY: the thread does not return, and shares nothing that it would have to give back.
    unsafe { std::arch::asm!("syscall", in("rax") libc::SYS_exit, in("rdi") 0, options(noreturn)) }
}

impl Tracee {
    /// The thread of this child that has called [`let_trace`] with this word, once it stands at [`stop_here`].
    ///
    /// Errors: those of ptrace; `PermissionDenied` when this system does not allow tracing.
    pub fn thread_of(process: u32, traced: &Word32) -> io::Result<Tracee> {
        let start = Instant::now();
        while traced.load() == 0 && start.elapsed() < READY {
            std::thread::sleep(Duration::from_micros(20));
        }
        match traced.load() {
            0 => Err(io::Error::other("a thread does not begin")),
            REFUSED => Err(io::Error::new(io::ErrorKind::PermissionDenied, "ptrace is refused here")),
            thread => {
                let (pid, process) = (thread as libc::pid_t, Some(process as libc::pid_t));
                Tracee { pid, process, ended: false, still: false, stepping: false, kernels_page: kernels_page()? }
                    .ready()
            }
        }
    }

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
            1.. => Tracee { pid, process: None, ended: false, still: false, stepping: false, kernels_page }.ready(),
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

    /// Its thread number, which is its process number too unless it is one thread of several.
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
        if self.process.is_some() {
            return self.step_out_of_kernels_page();
        }
        let back = self.peek(self.request(libc::PTRACE_PEEKUSER, RSP, 0)?)?;
        match self.run_to(back, 1, Tracee::wait)? {
            true => Ok(Event::Stopped),
            false => Err(io::Error::other("a call into the kernel's page does not return")),
        }
    }

    fn step_out_of_kernels_page(&mut self) -> io::Result<Event> {
        for _ in 0..PAGE_STEPS {
            if !self.kernels_page.contains(&self.address()?) {
                return Ok(Event::Stopped);
            }
            self.request(libc::PTRACE_SINGLESTEP, 0, 0)?;
            match self.status(0)? {
                Event::Stopped => {}
                other => return Ok(other),
            }
        }
        Err(io::Error::other("a call into the kernel's page does not return"))
    }

    /// The address of its next instruction.
    pub fn address(&self) -> io::Result<u64> {
        self.request(libc::PTRACE_PEEKUSER, RIP, 0)
    }

    /// What it executes next.
    pub fn next_instruction(&self) -> io::Result<Instruction> {
        Ok(Instruction(self.peek(self.address()?)?))
    }

    /// Where it says what operation on a futex is under way.
    pub fn pending_field(&self) -> u64 {
        let mut head: *mut u64 = std::ptr::null_mut();
        let mut length = 0usize;
        // SAFETY: valid places for the answer.
        unsafe { libc::syscall(libc::SYS_get_robust_list, self.pid, &raw mut head, &raw mut length) };
        head as u64 + 2 * size_of::<u64>() as u64
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
        for visited in 1.. {
            if self.address()? != address {
                let there = match self.process {
                    Some(_) => self.go_on_to_watched(address, &mut wait)?,
                    None => self.go_on_to_breakpoint(address, &mut wait)?,
                };
                if !there {
                    return Ok(false);
                }
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

    fn go_on_to_breakpoint(
        &mut self,
        address: u64,
        wait: &mut impl FnMut(&mut Tracee) -> io::Result<Event>,
    ) -> io::Result<bool> {
        let code = self.peek(address)?;
        self.poke(address, code & !0xff | u64::from(BREAKPOINT))?;
        self.go_on()?;
        if wait(self)? != Event::Stopped {
            return Ok(false);
        }
        self.poke(address, code)?;
        if self.address()? != address + 1 {
            return Ok(false);
        }
        self.request(libc::PTRACE_POKEUSER, RIP, address as usize).map(|_| true)
    }

    /// The same with a breakpoint of the processor. False also if it has none to give.
    fn go_on_to_watched(
        &mut self,
        address: u64,
        wait: &mut impl FnMut(&mut Tracee) -> io::Result<Event>,
    ) -> io::Result<bool> {
        if self.watch(address, 1).is_err() {
            return Ok(false);
        }
        self.go_on()?;
        if wait(self)? != Event::Stopped {
            return Ok(false);
        }
        self.watch(0, 0)?;
        Ok(self.address()? == address)
    }

    fn watch(&self, address: u64, on: usize) -> io::Result<()> {
        self.request(libc::PTRACE_POKEUSER, WATCHES, 0)?;
        self.request(libc::PTRACE_POKEUSER, WATCHED, address as usize)?;
        self.request(libc::PTRACE_POKEUSER, WATCHES, on).map(drop)
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
        match self.process {
            Some(process) => drop(self.end_alone(process)),
            None => {
                // SAFETY: the child is not reaped, so the number is its own.
                unsafe { libc::kill(self.pid, libc::SIGKILL) };
                while matches!(self.wait(), Ok(Event::Stopped)) {}
            }
        }
        self.ended = true;
    }

    /// Ends one thread of several, wherever it stands or sleeps.
    fn end_alone(&mut self, process: libc::pid_t) -> io::Result<()> {
        self.stepping = false;
        if !self.still {
            // SAFETY: the thread is not reaped, so the number is its own. Its tracer sees the signal, and nobody else.
            unsafe { libc::syscall(libc::SYS_tgkill, process, self.pid, libc::SIGSTOP) };
            if self.wait()? != Event::Stopped {
                return Ok(());
            }
        }
        // No call into the kernel is under way that would be begun again.
        self.request(libc::PTRACE_POKEUSER, CALLED, usize::MAX)?;
        self.request(libc::PTRACE_POKEUSER, RIP, end_thread as *const () as usize)?;
        loop {
            self.go_on()?;
            if self.wait()? != Event::Stopped {
                return Ok(());
            }
        }
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
