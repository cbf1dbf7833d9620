/* Compile-time checks of the declarations in engine/backend/sdk against Darwin's ABI. sdk/mach/include (Mach, the
 * loader, locks, dispatch) is checked in every build of the backend. sdk/darwin/include (the C library) is checked in
 * builds for Darwin. Sources: Apple's public headers of the same names. Where Apple's headers are available,
 * tests/darwin/headers.sh also compiles this file with them. This file has no code.
 *
 * Each function that the library calls (sdk/darwin/libSystem.syms) has a line here with its type. */
#include <block_abi.h>
#include <dispatch/dispatch.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <mach-o/nlist.h>
#include <mach/mach.h>
#include <mach/mach_time.h>
#include <mach/message.h>
#include <mach/semaphore.h>
#include <malloc_logger.h>
#include <os/lock.h>
#include <pthread_np.h>
#include <stddef.h>
#include <sys/event.h>
#include <sys/ulock.h>
#ifdef __APPLE__
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#endif
#ifdef STROBE_APPLE_HEADERS
#include <mach-o/fat.h>
#endif

#define SIZE(type, bytes)         _Static_assert(sizeof(type) == (bytes), #type)
#define PLACE(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), #type "." #field)
#define VALUE(name, value)        _Static_assert((name) == (value), #name)
#define TYPE(name, ...)           _Static_assert(__builtin_types_compatible_p(__typeof__(name), __VA_ARGS__), #name)

/* ---- Mach */

SIZE(natural_t, 4);
SIZE(mach_port_t, 4);
SIZE(vm_address_t, 8);
SIZE(vm_size_t, 8);
SIZE(time_value_t, 8);

VALUE(MACH_PORT_DEAD, 0xffffffffu);
VALUE(KERN_INVALID_ADDRESS, 1);
VALUE(KERN_PROTECTION_FAILURE, 2);
VALUE(KERN_NO_SPACE, 3);
VALUE(KERN_INVALID_ARGUMENT, 4);
VALUE(KERN_FAILURE, 5);
VALUE(KERN_RESOURCE_SHORTAGE, 6);
VALUE(KERN_ABORTED, 14);
VALUE(KERN_INVALID_NAME, 15);
VALUE(KERN_INVALID_TASK, 16);
VALUE(KERN_INVALID_RIGHT, 17);
VALUE(KERN_TERMINATED, 37);
VALUE(KERN_OPERATION_TIMED_OUT, 49);
VALUE(MACH_SEND_INVALID_DEST, 0x10000003);
VALUE(MACH_RCV_TIMED_OUT, 0x10004003);
VALUE(MACH_SEND_MSG, 1);
VALUE(MACH_RCV_MSG, 2);
VALUE(MACH_RCV_TIMEOUT, 0x100);
VALUE(MACH_PORT_RIGHT_SEND, 0);
VALUE(MACH_PORT_RIGHT_DEAD_NAME, 4);

SIZE(mach_msg_header_t, 24);
PLACE(mach_msg_header_t, msgh_remote_port, 8);
PLACE(mach_msg_header_t, msgh_id, 20);
SIZE(mach_timespec_t, 8);
SIZE(mach_timebase_info_data_t, 8);

/* Apple's headers declare only the registers of the target machine. */
#if !defined(STROBE_APPLE_HEADERS) || defined(__x86_64__)
VALUE(x86_THREAD_STATE64, 4);
VALUE(x86_THREAD_STATE64_COUNT, 42);
SIZE(x86_thread_state64_t, 168);
PLACE(x86_thread_state64_t, __rbp, 48);
PLACE(x86_thread_state64_t, __rsp, 56);
PLACE(x86_thread_state64_t, __rip, 128);
#endif
#if !defined(STROBE_APPLE_HEADERS) || defined(__arm64__)
VALUE(ARM_THREAD_STATE64, 6);
VALUE(ARM_THREAD_STATE64_COUNT, 68);
SIZE(arm_thread_state64_t, 272);
PLACE(arm_thread_state64_t, __fp, 232);
PLACE(arm_thread_state64_t, __lr, 240);
PLACE(arm_thread_state64_t, __sp, 248);
PLACE(arm_thread_state64_t, __pc, 256);
#endif

VALUE(THREAD_BASIC_INFO, 3);
VALUE(THREAD_BASIC_INFO_COUNT, 10);
PLACE(thread_basic_info_data_t, system_time, 8);
PLACE(thread_basic_info_data_t, cpu_usage, 16);
PLACE(thread_basic_info_data_t, run_state, 24);
PLACE(thread_basic_info_data_t, flags, 28);
PLACE(thread_basic_info_data_t, suspend_count, 32);
VALUE(TH_STATE_RUNNING, 1);
VALUE(TH_STATE_STOPPED, 2);
VALUE(TH_STATE_WAITING, 3);
VALUE(TH_STATE_UNINTERRUPTIBLE, 4);
VALUE(TH_STATE_HALTED, 5);
VALUE(TH_FLAGS_SWAPPED, 1);
VALUE(TH_FLAGS_IDLE, 2);

VALUE(THREAD_IDENTIFIER_INFO, 4);
VALUE(THREAD_IDENTIFIER_INFO_COUNT, 6);
PLACE(thread_identifier_info_data_t, dispatch_qaddr, 16);
VALUE(THREAD_EXTENDED_INFO, 5);
VALUE(THREAD_EXTENDED_INFO_COUNT, 28);
PLACE(thread_extended_info_data_t, pth_run_state, 24);
PLACE(thread_extended_info_data_t, pth_name, 48);
VALUE(MAXTHREADNAMESIZE, 64);

VALUE(THREAD_TIME_CONSTRAINT_POLICY, 2);
VALUE(THREAD_TIME_CONSTRAINT_POLICY_COUNT, 4);
PLACE(thread_time_constraint_policy_data_t, preemptible, 12);

VALUE(MACH_TASK_BASIC_INFO, 20);
VALUE(MACH_TASK_BASIC_INFO_COUNT, 12);
PLACE(mach_task_basic_info_data_t, user_time, 24);
VALUE(TASK_THREAD_TIMES_INFO, 3);
VALUE(TASK_THREAD_TIMES_INFO_COUNT, 4);
VALUE(TASK_EVENTS_INFO, 2);
VALUE(TASK_EVENTS_INFO_COUNT, 8);
PLACE(struct task_events_info, syscalls_mach, 20);
VALUE(TASK_VM_INFO, 22);
VALUE(TASK_VM_INFO_REV1_COUNT, 38);
PLACE(struct task_vm_info, resident_size, 16);
PLACE(struct task_vm_info, phys_footprint, 144);

VALUE(VM_PROT_READ, 1);
VALUE(VM_PROT_WRITE, 2);
VALUE(VM_PROT_EXECUTE, 4);
VALUE(VM_PROT_COPY, 0x10);
VALUE(VM_FLAGS_ANYWHERE, 1);

TYPE(mach_task_self_, mach_port_t);
TYPE(mach_thread_self, mach_port_t(void));
TYPE(mach_port_deallocate, kern_return_t(ipc_space_t, mach_port_name_t));
TYPE(mach_port_get_refs, kern_return_t(ipc_space_t, mach_port_name_t, mach_port_right_t, mach_port_urefs_t *));
TYPE(task_threads, kern_return_t(task_t, thread_act_array_t *, mach_msg_type_number_t *));
TYPE(task_info, kern_return_t(task_t, task_flavor_t, task_info_t, mach_msg_type_number_t *));
TYPE(thread_suspend, kern_return_t(thread_act_t));
TYPE(thread_resume, kern_return_t(thread_act_t));
TYPE(thread_get_state, kern_return_t(thread_act_t, thread_state_flavor_t, thread_state_t, mach_msg_type_number_t *));
TYPE(thread_info, kern_return_t(thread_act_t, thread_flavor_t, thread_info_t, mach_msg_type_number_t *));
TYPE(thread_policy_set, kern_return_t(thread_t, thread_policy_flavor_t, thread_policy_t, mach_msg_type_number_t));
TYPE(vm_read_overwrite, kern_return_t(task_t, vm_address_t, vm_size_t, vm_address_t, vm_size_t *));
TYPE(vm_allocate, kern_return_t(task_t, vm_address_t *, vm_size_t, int));
TYPE(vm_deallocate, kern_return_t(task_t, vm_address_t, vm_size_t));
TYPE(vm_protect, kern_return_t(task_t, vm_address_t, vm_size_t, boolean_t, vm_prot_t));
TYPE(mach_absolute_time, uint64_t(void));
TYPE(mach_timebase_info, kern_return_t(mach_timebase_info_t));
TYPE(mach_wait_until, kern_return_t(uint64_t));
TYPE(mach_msg, mach_msg_return_t(mach_msg_header_t *, mach_msg_option_t, mach_msg_size_t, mach_msg_size_t,
                                 mach_port_name_t, mach_msg_timeout_t, mach_port_name_t));
TYPE(semaphore_wait, kern_return_t(semaphore_t));
TYPE(semaphore_timedwait, kern_return_t(semaphore_t, mach_timespec_t));
TYPE(semaphore_signal, kern_return_t(semaphore_t));
TYPE(semaphore_signal_all, kern_return_t(semaphore_t));

/* ---- Mach-O, and its loader */

VALUE(MH_MAGIC_64, 0xfeedfacf);
VALUE(FAT_MAGIC, 0xcafebabe);
VALUE(FAT_MAGIC_64, 0xcafebabf);
VALUE(CPU_TYPE_X86_64, 0x01000007);
VALUE(CPU_TYPE_ARM64, 0x0100000c);
VALUE(MH_EXECUTE, 2);
VALUE(MH_DYLIB, 6);
VALUE(MH_DSYM, 10);
VALUE(MH_DYLIB_IN_CACHE, 0x80000000);
SIZE(struct mach_header_64, 32);
PLACE(struct mach_header_64, sizeofcmds, 20);
SIZE(struct load_command, 8);
VALUE(LC_SYMTAB, 2);
VALUE(LC_DYSYMTAB, 11);
VALUE(LC_ID_DYLIB, 13);
VALUE(LC_SEGMENT_64, 25);
VALUE(LC_UUID, 27);
VALUE(LC_FUNCTION_STARTS, 38);
VALUE(LC_BUILD_VERSION, 50);
VALUE(LC_REQ_DYLD, 0x80000000);
SIZE(struct segment_command_64, 72);
PLACE(struct segment_command_64, vmaddr, 24);
PLACE(struct segment_command_64, initprot, 60);
VALUE(SG_READ_ONLY, 0x10);
SIZE(struct section_64, 80);
PLACE(struct section_64, addr, 32);
PLACE(struct section_64, flags, 64);
PLACE(struct section_64, reserved1, 68);
VALUE(SECTION_TYPE, 0xff);
VALUE(S_NON_LAZY_SYMBOL_POINTERS, 6);
VALUE(S_LAZY_SYMBOL_POINTERS, 7);
SIZE(struct dylib_command, 24);
SIZE(struct symtab_command, 24);
SIZE(struct dysymtab_command, 80);
PLACE(struct dysymtab_command, indirectsymoff, 56);
VALUE(INDIRECT_SYMBOL_LOCAL, 0x80000000);
VALUE(INDIRECT_SYMBOL_ABS, 0x40000000);
SIZE(struct uuid_command, 24);
SIZE(struct linkedit_data_command, 16);
SIZE(struct nlist_64, 16);
PLACE(struct nlist_64, n_desc, 6);
PLACE(struct nlist_64, n_value, 8);
VALUE(N_STAB, 0xe0);
VALUE(N_TYPE, 0x0e);
VALUE(N_EXT, 1);
VALUE(N_UNDF, 0);
VALUE(N_SECT, 0xe);

TYPE(_dyld_register_func_for_add_image, void(void (*)(const struct mach_header *, intptr_t)));
TYPE(_dyld_register_func_for_remove_image, void(void (*)(const struct mach_header *, intptr_t)));
TYPE(_dyld_image_count, uint32_t(void));
TYPE(_dyld_get_image_header, const struct mach_header *(uint32_t));
TYPE(_dyld_get_image_vmaddr_slide, intptr_t(uint32_t));
TYPE(_dyld_get_image_name, const char *(uint32_t));

/* ---- locks, dispatch, events */

SIZE(os_unfair_lock, 4);
TYPE(os_unfair_lock_lock, void(os_unfair_lock_t));
TYPE(os_unfair_lock_trylock, bool(os_unfair_lock_t));
TYPE(os_unfair_lock_unlock, void(os_unfair_lock_t));

#undef dispatch_once_f /* Apple's macro checks the token before the call */
SIZE(dispatch_once_t, 8);
SIZE(dispatch_time_t, 8);
VALUE(DISPATCH_TIME_NOW, 0);
VALUE(DISPATCH_TIME_FOREVER, UINT64_MAX);
TYPE(dispatch_sync_f, void(dispatch_queue_t, void *, dispatch_function_t));
TYPE(dispatch_async_f, void(dispatch_queue_t, void *, dispatch_function_t));
TYPE(dispatch_barrier_sync_f, void(dispatch_queue_t, void *, dispatch_function_t));
TYPE(dispatch_once_f, void(dispatch_once_t *, void *, dispatch_function_t));
TYPE(dispatch_semaphore_wait, intptr_t(dispatch_semaphore_t, dispatch_time_t));
TYPE(dispatch_semaphore_signal, intptr_t(dispatch_semaphore_t));
TYPE(dispatch_group_wait, intptr_t(dispatch_group_t, dispatch_time_t));
TYPE(dispatch_group_leave, void(dispatch_group_t));
SIZE(struct block_literal, 32);
PLACE(struct block_literal, invoke, 16);
TYPE(_Block_copy, void *(const void *));
TYPE(_Block_release, void(const void *));
#undef dispatch_once
TYPE(dispatch_sync, void(dispatch_queue_t, void *));
TYPE(dispatch_async, void(dispatch_queue_t, void *));
TYPE(dispatch_barrier_sync, void(dispatch_queue_t, void *));
TYPE(dispatch_once, void(dispatch_once_t *, void *));
TYPE(malloc_logger, malloc_logger_t *);
TYPE(__syscall_logger, malloc_logger_t *);
TYPE(__ulock_wait, int(uint32_t, void *, uint64_t, uint32_t));
TYPE(__ulock_wait2, int(uint32_t, void *, uint64_t, uint64_t, uint64_t));
TYPE(__ulock_wake, int(uint32_t, void *, uint64_t));
TYPE(malloc_logger_t, void(uint32_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uint32_t));
TYPE(kevent, int(int, const struct kevent *, int, struct kevent *, int, const struct timespec *));

/* ---- pthreads */

TYPE(pthread_mach_thread_np, mach_port_t(pthread_t));
TYPE(pthread_from_mach_thread_np, pthread_t(mach_port_t));
TYPE(pthread_threadid_np, int(pthread_t, uint64_t *));
TYPE(pthread_get_stackaddr_np, void *(pthread_t));
TYPE(pthread_get_stacksize_np, size_t(pthread_t));
TYPE(pthread_main_np, int(void));
TYPE(pthread_cond_timedwait_relative_np, int(pthread_cond_t *, pthread_mutex_t *, const struct timespec *));
TYPE(pthread_introspection_hook_install, pthread_introspection_hook_t(pthread_introspection_hook_t));
VALUE(PTHREAD_INTROSPECTION_THREAD_START, 2);
VALUE(PTHREAD_INTROSPECTION_THREAD_TERMINATE, 3);

/* ---- the C library */

#ifdef __APPLE__
SIZE(off_t, 8);
SIZE(pid_t, 4);
SIZE(time_t, 8);
SIZE(struct timespec, 16);
SIZE(struct timeval, 16);
PLACE(struct timeval, tv_usec, 8);
SIZE(socklen_t, 4);
SIZE(nfds_t, 4);
SIZE(struct stat, 144);
SIZE(struct statvfs, 64);
PLACE(struct statvfs, f_bavail, 24);
SIZE(struct utsname, 1280);
PLACE(struct utsname, release, 512);
PLACE(struct utsname, machine, 1024);
PLACE(struct stat, st_mode, 4);
PLACE(struct stat, st_ino, 8);
PLACE(struct stat, st_mtimespec, 48);
PLACE(struct stat, st_size, 96);
VALUE(S_ISREG(0100644), 1);
VALUE(S_ISREG(0140644), 0);

SIZE(pthread_t, 8);
SIZE(pthread_key_t, 8);
SIZE(pthread_attr_t, 64);
SIZE(pthread_mutex_t, 64);
SIZE(pthread_cond_t, 48);
SIZE(pthread_rwlock_t, 200);
PLACE(pthread_mutex_t, __sig, 0);
PLACE(pthread_cond_t, __sig, 0);
PLACE(pthread_rwlock_t, __sig, 0);

VALUE(O_RDONLY, 0);
VALUE(O_RDWR, 2);
VALUE(O_NONBLOCK, 4);
VALUE(O_CREAT, 0x200);
VALUE(O_EXCL, 0x800);
VALUE(O_CLOEXEC, 0x1000000);
VALUE(F_FULLFSYNC, 51);
VALUE(F_PREALLOCATE, 42);
VALUE(F_ALLOCATEALL, 4);
VALUE(F_PEOFPOSMODE, 3);
SIZE(fstore_t, 32);
PLACE(fstore_t, fst_posmode, 4);
PLACE(fstore_t, fst_offset, 8);
PLACE(fstore_t, fst_length, 16);
VALUE(PROT_READ, 1);
VALUE(PROT_WRITE, 2);
VALUE(MAP_SHARED, 1);
VALUE(MAP_PRIVATE, 2);
VALUE(MAP_NORESERVE, 0x40);
VALUE(MAP_ANONYMOUS, 0x1000);
VALUE(MADV_RANDOM, 1);

SIZE(sigset_t, 4);
VALUE(SIG_SETMASK, 3);
VALUE(ENOENT, 2);
VALUE(EINTR, 4);
VALUE(EBUSY, 16);
VALUE(EEXIST, 17);
VALUE(EINVAL, 22);
VALUE(ENOTSUP, 45);
VALUE(ETIMEDOUT, 60);
VALUE(ENOSYS, 78);
VALUE(EOPNOTSUPP, 102);
VALUE(ENOMEM, 12);
VALUE(ENFILE, 23);
VALUE(EMFILE, 24);
VALUE(EAGAIN, 35);
VALUE(EWOULDBLOCK, 35);
VALUE(EADDRINUSE, 48);
VALUE(ENOBUFS, 55);
VALUE(ENOSPC, 28);
VALUE(EDQUOT, 69);
VALUE(LOCK_EX, 2);
VALUE(LOCK_NB, 4);

VALUE(F_SETFD, 2);
VALUE(F_GETFL, 3);
VALUE(F_SETFL, 4);
VALUE(FD_CLOEXEC, 1);
VALUE(AF_UNIX, 1);
VALUE(AF_INET, 2);
VALUE(SOCK_STREAM, 1);
VALUE(SHUT_WR, 1);
VALUE(SOL_SOCKET, 0xffff);
VALUE(SO_REUSEADDR, 4);
VALUE(SO_NOSIGPIPE, 0x1022);
VALUE(INADDR_LOOPBACK, 0x7f000001u);
VALUE(POLLIN, 1);
VALUE(POLLOUT, 4);
VALUE(POLLERR, 8);
VALUE(POLLNVAL, 0x20);
SIZE(struct pollfd, 8);
SIZE(struct sockaddr, 16);
SIZE(struct sockaddr_in, 16);
SIZE(struct sockaddr_un, 106);
PLACE(struct pollfd, events, 4);
PLACE(struct pollfd, revents, 6);
PLACE(struct sockaddr_in, sin_port, 2);
PLACE(struct sockaddr_in, sin_addr, 4);
PLACE(struct sockaddr_un, sun_path, 2);

SIZE(clockid_t, 4);
VALUE(CLOCK_REALTIME, 0);
VALUE(CLOCK_MONOTONIC_RAW, 4);
VALUE(CLOCK_MONOTONIC, 6);
VALUE(CLOCK_UPTIME_RAW, 8);
VALUE(CLOCK_PROCESS_CPUTIME_ID, 12);
VALUE(CLOCK_THREAD_CPUTIME_ID, 16);

TYPE(__error, int *(void));
TYPE(open, int(const char *, int, ...));
TYPE(openat, int(int, const char *, int, ...));
TYPE(fcntl, int(int, int, ...));
TYPE(fstat, int(int, struct stat *));
TYPE(stat, int(const char *, struct stat *));
TYPE(lstat, int(const char *, struct stat *));
TYPE(close, int(int));
TYPE(unlink, int(const char *));
TYPE(rename, int(const char *, const char *));
TYPE(mkdir, int(const char *, mode_t));
TYPE(statvfs, int(const char *, struct statvfs *));
TYPE(flock, int(int, int));
TYPE(uname, int(struct utsname *));
TYPE(ftruncate, int(int, off_t));
TYPE(read, ssize_t(int, void *, size_t));
TYPE(write, ssize_t(int, const void *, size_t));
TYPE(pwrite, ssize_t(int, const void *, size_t, off_t));
TYPE(readv, ssize_t(int, const struct iovec *, int));
TYPE(writev, ssize_t(int, const struct iovec *, int));
TYPE(fsync, int(int));
TYPE(pread, ssize_t(int, void *, size_t, off_t));
TYPE(bind, int(int, const struct sockaddr *, socklen_t));
TYPE(listen, int(int, int));
TYPE(shutdown, int(int, int));
TYPE(socket, int(int, int, int));
TYPE(getsockname, int(int, struct sockaddr *, socklen_t *));
TYPE(setsockopt, int(int, int, int, const void *, socklen_t));
TYPE(getentropy, int(void *, size_t));
TYPE(geteuid, uid_t(void));
TYPE(pthread_detach, int(pthread_t));
TYPE(connect, int(int, const struct sockaddr *, socklen_t));
TYPE(accept, int(int, struct sockaddr *, socklen_t *));
TYPE(send, ssize_t(int, const void *, size_t, int));
TYPE(sendto, ssize_t(int, const void *, size_t, int, const struct sockaddr *, socklen_t));
TYPE(sendmsg, ssize_t(int, const struct msghdr *, int));
TYPE(recv, ssize_t(int, void *, size_t, int));
TYPE(recvfrom, ssize_t(int, void *, size_t, int, struct sockaddr *, socklen_t *));
TYPE(recvmsg, ssize_t(int, struct msghdr *, int));
TYPE(getsockopt, int(int, int, int, void *, socklen_t *));
TYPE(poll, int(struct pollfd *, nfds_t, int));
TYPE(select, int(int, fd_set *, fd_set *, fd_set *, struct timeval *));
TYPE(pselect, int(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *));
TYPE(nanosleep, int(const struct timespec *, struct timespec *));
TYPE(usleep, int(useconds_t));
TYPE(sleep, unsigned(unsigned));
TYPE(gettimeofday, int(struct timeval *, void *));
TYPE(dlsym, void *(void *, const char *));
TYPE(getpid, pid_t(void));
TYPE(mmap, void *(void *, size_t, int, int, int, off_t));
TYPE(munmap, int(void *, size_t));
TYPE(mprotect, int(void *, size_t, int));
TYPE(madvise, int(void *, size_t, int));
TYPE(clock_gettime, int(clockid_t, struct timespec *));
TYPE(strlen, size_t(const char *));
TYPE(strnlen, size_t(const char *, size_t));
TYPE(strcmp, int(const char *, const char *));
TYPE(strncmp, int(const char *, const char *, size_t));
TYPE(memchr, void *(const void *, int, size_t));
TYPE(memcmp, int(const void *, const void *, size_t));
TYPE(abort, void(void));
TYPE(getenv, char *(const char *));
TYPE(pthread_create, int(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *));
TYPE(pthread_join, int(pthread_t, void **));
TYPE(pthread_self, pthread_t(void));
TYPE(pthread_sigmask, int(int, const sigset_t *, sigset_t *));
TYPE(pthread_setname_np, int(const char *));
TYPE(pthread_getname_np, int(pthread_t, char *, size_t));
TYPE(pthread_atfork, int(void (*)(void), void (*)(void), void (*)(void)));
TYPE(pthread_equal, int(pthread_t, pthread_t));
TYPE(pthread_mutex_lock, int(pthread_mutex_t *));
TYPE(pthread_mutex_trylock, int(pthread_mutex_t *));
TYPE(pthread_mutex_unlock, int(pthread_mutex_t *));
TYPE(pthread_rwlock_rdlock, int(pthread_rwlock_t *));
TYPE(pthread_rwlock_tryrdlock, int(pthread_rwlock_t *));
TYPE(pthread_rwlock_wrlock, int(pthread_rwlock_t *));
TYPE(pthread_rwlock_trywrlock, int(pthread_rwlock_t *));
TYPE(pthread_rwlock_unlock, int(pthread_rwlock_t *));
TYPE(pthread_cond_wait, int(pthread_cond_t *, pthread_mutex_t *));
TYPE(pthread_cond_timedwait, int(pthread_cond_t *, pthread_mutex_t *, const struct timespec *));
TYPE(pthread_cond_signal, int(pthread_cond_t *));
TYPE(pthread_cond_broadcast, int(pthread_cond_t *));
TYPE(pthread_key_create, int(pthread_key_t *, void (*)(void *)));
TYPE(pthread_getspecific, void *(pthread_key_t));
TYPE(pthread_setspecific, int(pthread_key_t, const void *));
#endif
