/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether crates/platform/src/macos/interface.rs agrees with the headers of Darwin: compiled by .ci/cross-macos, never run. */
#include <libproc.h>
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <mach/vm_region.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/proc.h>
#include <sys/proc_info.h>
#include <mach/vm_inherit.h>
#define SAME(what, number) _Static_assert((what) == (number), #what)
SAME(sizeof(struct proc_bsdinfo), 136); SAME(offsetof(struct proc_bsdinfo, pbi_status), 4);
SAME(offsetof(struct proc_bsdinfo, pbi_start_tvsec), 120); SAME(offsetof(struct proc_bsdinfo, pbi_start_tvusec), 128);
SAME(sizeof(struct proc_threadinfo), 112); SAME(offsetof(struct proc_threadinfo, pth_run_state), 24);
SAME(sizeof(struct pshm_fdinfo), 1192); SAME(offsetof(struct pshm_fdinfo, pshminfo.pshm_name), 168);
SAME(PROC_PIDTBSDINFO, 3); SAME(PROC_PIDTHREADID64INFO, 15); SAME(PROC_PIDFDPSHMINFO, 5); SAME(SZOMB, 5);
SAME(VM_INHERIT_COPY, 1); SAME(VM_INHERIT_NONE, 2); SAME(TH_STATE_WAITING, 3);
int (*pidinfo)(int, int, uint64_t, void *, int) = proc_pidinfo;
int (*pidfdinfo)(int, int, int, void *, int) = proc_pidfdinfo;
int (*threadid)(pthread_t, uint64_t *) = pthread_threadid_np;
int (*inherit)(void *, size_t, int) = minherit;
SAME(sizeof(vm_region_basic_info_data_64_t), 36); SAME(offsetof(vm_region_basic_info_data_64_t, shared), 12);
SAME(VM_REGION_BASIC_INFO_64, 9); SAME(VM_REGION_BASIC_INFO_COUNT_64, 9); SAME(VM_PROT_WRITE, 2);
kern_return_t (*region)(vm_map_read_t, vm_address_t *, vm_size_t *, vm_region_flavor_t, vm_region_info_t, mach_msg_type_number_t *, mach_port_t *) = vm_region_64;
kern_return_t (*copy)(vm_map_read_t, vm_address_t, vm_size_t, vm_address_t, vm_size_t *) = vm_read_overwrite;
SAME(sizeof(mach_task_self_), 4); SAME(sizeof(vm_address_t), 8); SAME(sizeof(vm_size_t), 8); SAME(sizeof(kern_return_t), 4); SAME(KERN_SUCCESS, 0);
