// SPDX-License-Identifier: MIT OR Apache-2.0
//! Textbook page protection: the handler takes one lock for everything, and opens one page.

use std::io;
use std::sync::Mutex;

use ntux_platform::protection::{self, Protection, page_size};

/// What the handler looks at.
static WATCHED: Mutex<Option<Watched>> = Mutex::new(None);

struct Watched {
    base: usize,
    written: Vec<bool>,
}

/// The one region that there can be.
pub(crate) struct Textbook {
    base: usize,
    pages: usize,
    before: libc::sigaction,
}

impl Textbook {
    pub(crate) fn watch(base: usize, pages: usize) -> io::Result<Textbook> {
        *WATCHED.lock().unwrap() = Some(Watched { base, written: vec![false; pages] });
        // SAFETY: sigaction is made of integers; the handler has the signature that SA_SIGINFO asks for.
        let before = unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_segv as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            let mut before: libc::sigaction = core::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, &action, &mut before);
            before
        };
        set(base, pages, Protection::READ)?;
        Ok(Textbook { base, pages, before })
    }

    /// Lists written pages and makes them clean: one protection of everything.
    pub(crate) fn get(&self, addresses: &mut [usize], reset: bool) -> io::Result<usize> {
        let mut watched = WATCHED.lock().unwrap();
        let watched = watched.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let mut count = 0;
        for (page, written) in watched.written.iter_mut().enumerate() {
            if *written {
                addresses[count] = self.base + page * page_size();
                count += 1;
                *written &= !reset;
            }
        }
        if reset && count > 0 {
            set(self.base, self.pages, Protection::READ)?;
        }
        Ok(count)
    }

    pub(crate) fn reset(&self) -> io::Result<()> {
        let mut watched = WATCHED.lock().unwrap();
        watched.as_mut().ok_or(io::ErrorKind::NotFound)?.written.fill(false);
        set(self.base, self.pages, Protection::READ)
    }
}

impl Drop for Textbook {
    fn drop(&mut self) {
        let _ = set(self.base, self.pages, Protection::READ_WRITE);
        // SAFETY: what was there before.
        unsafe { libc::sigaction(libc::SIGSEGV, &self.before, core::ptr::null_mut()) };
        *WATCHED.lock().unwrap() = None;
    }
}

extern "C" fn on_segv(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel's information about a fault.
    let address = unsafe { (*info).si_addr() } as usize;
    let mut watched = WATCHED.lock().unwrap();
    let Some(watched) = watched.as_mut().filter(|watched| address >= watched.base) else { std::process::abort() };
    let page = (address - watched.base) / page_size();
    let Some(written) = watched.written.get_mut(page) else { std::process::abort() };
    *written = true;
    if set(watched.base + page * page_size(), 1, Protection::READ_WRITE).is_err() {
        // What a textbook does when the mappings are used up.
        std::process::abort();
    }
}

fn set(base: usize, pages: usize, protection: Protection) -> io::Result<()> {
    // SAFETY: the benchmark's own memory, which is accessed by address only.
    unsafe { protection::protect(base, pages * page_size(), protection) }
}
