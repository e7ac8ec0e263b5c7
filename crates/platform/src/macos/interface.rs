// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only XNU has, as C sees it: functions, structures and numbers of `sys/ulock.h`, `os/os_sync_wait_on_address.h`,
//! `libproc.h`, `sys/proc_info.h`, `sys/mman.h`, `pthread.h`. `.ci/cross-macos` compares them with Darwin's headers.
//!
//! The simulation of XNU (`verify/xnu`) is a library that exports these functions on Linux. So everything else
//! of this room is the same there.
#![allow(missing_docs, reason = "the headers' names")]

use libc::{c_char, c_int, c_void};

/// `__ulock_wait2`, `__ulock_wake`.
pub const UL_COMPARE_AND_WAIT: u32 = 1;
pub const UL_COMPARE_AND_WAIT_SHARED: u32 = 3;
pub const UL_COMPARE_AND_WAIT64: u32 = 5;
pub const UL_COMPARE_AND_WAIT64_SHARED: u32 = 6;
pub const ULF_WAKE_ALL: u32 = 0x100;
pub const ULF_NO_ERRNO: u32 = 0x0100_0000;

/// `os_sync_wait_on_address`: both sides must say that other processes take part.
pub const OS_SYNC_SHARED: u32 = 1;
pub const OS_CLOCK_MACH_ABSOLUTE_TIME: u32 = 32;

/// `proc_pidinfo`, `proc_pidfdinfo`.
pub const PROC_PIDTBSDINFO: c_int = 3;
pub const PROC_PIDTHREADID64INFO: c_int = 15;
pub const PROC_PIDFDPSHMINFO: c_int = 5;
/// `pbi_status` of a process that has ended.
pub const SZOMB: u32 = 5;

/// `minherit`.
pub const VM_INHERIT_COPY: c_int = 1;
pub const VM_INHERIT_NONE: c_int = 2;

/// `struct proc_bsdinfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProcBsdInfo {
    pub flags: u32,
    pub status: u32,
    pub exit_status: u32,
    pub pid: u32,
    pub parent: u32,
    pub users_and_groups: [u32; 6],
    reserved: u32,
    pub command: [c_char; 16],
    pub name: [c_char; 32],
    pub files: u32,
    pub group: u32,
    pub job_control: u32,
    pub terminal: [u32; 2],
    pub nice: i32,
    pub start_seconds: u64,
    pub start_microseconds: u64,
}

/// `struct proc_threadinfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProcThreadInfo {
    pub times: [u64; 2],
    pub usage: i32,
    pub policy: i32,
    pub run_state: i32,
    pub flags: i32,
    pub sleep_time: i32,
    pub priorities: [i32; 3],
    pub name: [c_char; 64],
}

/// `struct pshm_fdinfo`: of a file, of its status, where it is mapped, its name.
#[repr(C)]
pub struct PshmFdInfo {
    pub file: [u64; 3],
    pub status: [u64; 17],
    pub mapped_at: u64,
    pub name: [u8; 1024],
}

const _: () = assert!(size_of::<ProcBsdInfo>() == 136 && core::mem::offset_of!(ProcBsdInfo, start_seconds) == 120);
const _: () = assert!(size_of::<ProcThreadInfo>() == 112 && core::mem::offset_of!(ProcThreadInfo, run_state) == 24);
const _: () = assert!(size_of::<VmRegionBasicInfo64>() == 36);
const _: () = assert!(size_of::<PshmFdInfo>() == 1192 && core::mem::offset_of!(PshmFdInfo, name) == 168);

/// `kern_return_t`.
pub const KERN_SUCCESS: c_int = 0;

/// `vm_region_64`.
pub const VM_REGION_BASIC_INFO_64: c_int = 9;

/// `struct vm_region_basic_info_64`. Its numbers of 64 bits are aligned to 4 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct VmRegionBasicInfo64 {
    pub protection: c_int,
    pub protection_max: c_int,
    pub inheritance: u32,
    pub shared: u32,
    pub reserved: u32,
    pub offset: [u32; 2],
    pub behavior: c_int,
    pub wired: u32,
}

unsafe extern "C" {
    /// The name of this process's own port, which `mach_task_self` reads.
    pub static mach_task_self_: u32;
    pub fn vm_region_64(
        task: u32,
        address: *mut u64,
        size: *mut u64,
        flavor: c_int,
        info: *mut VmRegionBasicInfo64,
        count: *mut u32,
        object: *mut u32,
    ) -> c_int;
    pub fn vm_read_overwrite(task: u32, from: u64, length: u64, to: u64, copied: *mut u64) -> c_int;
    pub fn __error() -> *mut c_int;
    pub fn __ulock_wait2(operation: u32, address: *mut c_void, value: u64, timeout_ns: u64, value2: u64) -> c_int;
    pub fn __ulock_wake(operation: u32, address: *mut c_void, wake_value: u64) -> c_int;
    pub fn minherit(address: *mut c_void, length: usize, inherit: c_int) -> c_int;
    pub fn pthread_threadid_np(thread: libc::pthread_t, number: *mut u64) -> c_int;
    pub fn proc_pidinfo(pid: c_int, flavor: c_int, argument: u64, place: *mut c_void, size: c_int) -> c_int;
    pub fn proc_pidfdinfo(pid: c_int, fd: c_int, flavor: c_int, place: *mut c_void, size: c_int) -> c_int;
}
