// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter, and the count of one operation.

/// Rounds that are counted, and rounds before them in which caches of the system and of the library fill.
const ROUNDS: usize = 101;
const WARM_UP: usize = 20;

/// The counter.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn now() -> u64 {
    // SAFETY: reads a register; every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// There is no such counter for programs on other architectures.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn now() -> u64 {
    0
}

/// The median of what `operation` adds, each time after `prepare`.
pub(super) fn median_of(mut prepare: impl FnMut(), mut operation: impl FnMut()) -> u64 {
    let mut round = || {
        prepare();
        let before = now();
        operation();
        now() - before
    };
    (0..WARM_UP).for_each(|_| {
        round();
    });
    less_the_looking((0..ROUNDS).map(|_| round()).collect())
}

/// The median of what was added between two looks, less what looking costs.
pub(super) fn less_the_looking(mut added: Vec<u64>) -> u64 {
    let mut nothing: Vec<u64> = (0..ROUNDS).map(|_| now()).collect();
    nothing = nothing.windows(2).map(|pair| pair[1] - pair[0]).collect();
    median(&mut added).saturating_sub(median(&mut nothing))
}

fn median(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Fails unless a loop of known length adds its length.
pub(super) fn check_that_it_counts_instructions() -> Result<(), String> {
    const TURNS: u64 = 10_000;
    let counted = median_of(|| (), || loop_of_two_instructions(TURNS));
    if (2 * TURNS..2 * TURNS + 20).contains(&counted) {
        return Ok(());
    }
    Err(format!("{TURNS} turns of two instructions count as {counted}: run this in QEMU with -icount shift=0 -smp 1"))
}

#[inline(never)]
#[cfg(target_arch = "x86_64")]
fn loop_of_two_instructions(turns: u64) {
    // SAFETY: changes one register, which it declares.
    unsafe {
        core::arch::asm!("2:", "sub {turns}, 1", "jnz 2b", turns = inout(reg) turns => _, options(nomem, nostack))
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn loop_of_two_instructions(_: u64) {}
