// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wait table of this process, and the seats of its threads.

use std::cell::Cell;

use ntux_platform::memory;
use ntux_platform::once::Once;

use crate::Result;
use crate::table::{Capacity, Seat, Table};

/// Room for 4096 hash values, half a million entries and 16384 threads that wait at a time. It takes memory as needed.
const CAPACITY: Capacity = Capacity { buckets: 4096, chunks: 16384, waiters: 16384 };

/// The table; none if the system cannot empty memory in a forked child.
pub fn table() -> Option<&'static Table> {
    static TABLE: Once<Option<Table>> = Once::new();
    TABLE
        .get_or_make(|| {
            let base = memory::wiped_on_fork(CAPACITY.bytes())?;
            // SAFETY: fresh zero pages that are never unmapped; only the table knows of them.
            Some(unsafe { Table::private(base, CAPACITY) })
        })
        .as_ref()
}

/// A thread's seat, which is returned when the thread ends.
struct Own {
    seat: Cell<Option<Seat>>,
}

impl Drop for Own {
    fn drop(&mut self) {
        if let (Some(table), Some(seat)) = (table(), self.seat.take()) {
            table.give_back(seat);
        }
    }
}

thread_local! {
    static OWN: Own = const { Own { seat: Cell::new(None) } };
}

/// Calls `act` with a seat for the calling thread: the thread's own, or another one in a signal handler that
/// interrupted the thread there.
pub fn seated<T>(table: &Table, work: impl FnOnce(&Seat) -> Result<T>) -> Result<T> {
    let own = OWN.try_with(|own| own.seat.take()).ok().flatten();
    let seat = match own.filter(|seat| table.is_seated(seat)) {
        Some(seat) => seat,
        None => table.take_seat()?,
    };
    let result = work(&seat);
    keep(table, seat);
    result
}

/// Keeps a seat for the thread's next wait.
fn keep(table: &Table, seat: Seat) {
    let mut seat = Some(seat);
    // Returns the seat of a handler, or, while the thread ends, its own.
    let spare = OWN.try_with(|own| own.seat.replace(seat.take())).ok().flatten().or(seat);
    if let Some(spare) = spare {
        table.give_back(spare);
    }
}
