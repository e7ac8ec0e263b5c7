//! The value of an object is a futex word. Whoever waits takes it by compare-exchange and sleeps on it otherwise; a wait for
//! several takes one after the other, and puts back what it has if one is missing.

use std::io;

use ntux_platform::atomic::Word32;
use ntux_platform::clock::Deadline;
use ntux_platform::futex;

use super::Design;
use ntux_testkit::child::shared;

pub const NAME: &str = "futex words";

/// Three words: the event and two semaphores.
pub struct Words(pub &'static [Word32; 3]);

pub fn open() -> io::Result<Box<dyn Design>> {
    Ok(Box::new(Words::new()?))
}

impl Words {
    pub fn new() -> io::Result<Words> {
        // SAFETY: zeros are a value of atomic integers.
        let words: &'static [Word32; 3] = unsafe { shared()? };
        words[1..].iter().for_each(|word| word.store(1));
        Ok(Words(words))
    }

    pub fn take_word(&self, which: usize) -> bool {
        self.0[which].compare_exchange(1, 0).is_ok()
    }

    pub fn put_back(&self, which: usize) {
        self.0[which].store(1);
        futex::wake(core::ptr::from_ref(&self.0[which]).cast(), u32::MAX >> 1);
    }
}

impl Design for Words {
    fn set(&self) {
        self.put_back(0);
    }

    fn wait(&self) {
        while !self.take_word(0) {
            futex::wait(core::ptr::from_ref(&self.0[0]).cast(), 0, Deadline::Never);
        }
    }

    fn is_signaled(&self) -> bool {
        self.0[0].load() == 1
    }

    fn take_both(&self) -> bool {
        if !self.take_word(1) {
            return false;
        }
        let both = self.take_word(2);
        if !both {
            self.put_back(1);
        }
        both
    }

    fn take(&self, which: usize) -> bool {
        self.take_word(1 + which)
    }
}
