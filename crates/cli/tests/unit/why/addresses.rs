// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

#[test]
fn who_wants_to_share_a_lock_is_told_by_who_wants_it_alone() {
    let lock = |address| Subject::SrwLock { address, module: None, owners: 1, alone: true };
    let value = |address| Subject::Value { address, module: None, value: 0x1_0003 };
    let wait = |subject| AddressWait { pid: 1, thread: 2, name: String::new(), windows_thread: None, subject };
    let mut waits = [value(0x40), lock(0x40), value(0x48), Subject::Unknown].map(wait);
    tell_shared_waits(&mut waits);
    let told: Vec<Subject> = waits.into_iter().map(|wait| wait.subject).collect();
    assert_eq!(told, [lock(0x40), lock(0x40), value(0x48), Subject::Unknown]);
    let mut alone = [wait(value(0x40))];
    tell_shared_waits(&mut alone);
    assert_eq!(alone[0].subject, value(0x40));
}
