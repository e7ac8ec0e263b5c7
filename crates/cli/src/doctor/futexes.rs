// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a program's futexes behave on this machine: exact, approximate (and how), or refused (and why).

use ntux_futex::{Exactness, Operation, Scope, Size, capability};
use serde::Serialize;

/// One operation on one kind of futexes.
#[derive(Serialize)]
pub struct Row {
    /// The operation, in words.
    pub operation: String,
    /// `exact`, `approximate` or `refused`.
    pub answer: &'static str,
    /// In what way it is approximate, or why it is refused.
    pub how: Option<&'static str>,
}

/// Every operation that differs between mechanisms.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (scope, name) in [(Scope::Private, "private"), (Scope::Shared, "shared")] {
        let (small, large) = ((Size::Bits8, scope), (Size::Bits64, scope));
        let kernel = (Size::Bits32, scope);
        let mut add = |operation: &str, exactness| rows.push(row(format!("{name} {operation}"), exactness));
        add("8, 16 bits", capability(Operation::Wait(small.0, scope)));
        add("32 bits", capability(Operation::Wait(kernel.0, scope)));
        add("64 bits", capability(Operation::Wait(large.0, scope)));
        add("8, 16, 64 bits, bitsets", capability(Operation::Bitset(small.0, scope)));
        add("vectors of 8, 16 bits", capability(Operation::WaitAny(&[small])));
        add("vectors of 32, 64 bits", capability(Operation::WaitAny(&[kernel, large])));
        add("requeue 32 to 32 bits", capability(Operation::Requeue(kernel, kernel)));
        add("requeue from 64 bits", capability(Operation::Requeue(large, kernel)));
        add("requeue 8, 16 bits", capability(Operation::Requeue(small, kernel)));
    }
    let (one, other) = ((Size::Bits32, Scope::Private), (Size::Bits32, Scope::Shared));
    rows.push(row("vectors of both".to_owned(), capability(Operation::WaitAny(&[one, other]))));
    rows.push(row("requeue private to shared".to_owned(), capability(Operation::Requeue(one, other))));
    rows.push(row("32 bits with a memory node".to_owned(), capability(Operation::Numa(Scope::Shared))));
    rows
}

fn row(operation: String, exactness: Exactness) -> Row {
    let (answer, how) = match exactness {
        Exactness::Exact => ("exact", None),
        Exactness::Approximate(how) => ("approximate", Some(how)),
        Exactness::Refused(why) => ("refused", Some(why)),
    };
    Row { operation, answer, how }
}
