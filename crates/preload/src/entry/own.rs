// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library's functions that this library, and the standard library in it, call themselves: a process pays for those that
//! it comes to use. One that is missing here works, too; then the loader binds it at each start.

ntux_platform::late_functions! {
    __register_atfork abort calloc clock_gettime connect dirfd dladdr1 dlerror dlinfo fdopen fileno free fstatfs ftruncate64 getauxval getcwd getenv
    getgid getpid getrlimit getsockopt getuid kill lseek lseek64 madvise malloc memmem mmap mmap64 mprotect munlock munmap pause poll posix_memalign
    pread process_vm_readv pthread_join pthread_key_create pthread_key_delete pthread_setcancelstate pthread_setspecific
    pthread_testcancel read readlink readlinkat realloc recv sched_getcpu send socket strdup sysconf uname write writev
}
