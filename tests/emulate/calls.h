/* Numbers of the calls of the guest's libSystem (tests/emulate/guest) to the emulated kernel on the host
 * (tests/emulate/host). A call is `svc #0x80` with its number in x16, arguments in x0 to x7 and the answer in x0, as
 * on arm64 Darwin. The numbers are not Darwin's. Mach calls return a kern_return_t, the others a value or -errno. */
#ifndef STROBE_EMULATE_CALLS_H
#define STROBE_EMULATE_CALLS_H

enum emulated_call {
    CALL_NONE,
    /* Mach; arguments as of the function of that name */
    CALL_TASK_THREADS,
    CALL_THREAD_SUSPEND,
    CALL_THREAD_RESUME,
    CALL_THREAD_GET_STATE,
    CALL_THREAD_INFO,
    CALL_THREAD_POLICY_SET,
    CALL_THREAD_SELF,
    CALL_TASK_SELF,
    CALL_PORT_DEALLOCATE,
    CALL_PORT_GET_REFS,
    CALL_TASK_INFO,
    CALL_VM_READ_OVERWRITE,
    CALL_VM_ALLOCATE,
    CALL_VM_DEALLOCATE,
    CALL_VM_PROTECT,
    CALL_ABSOLUTE_TIME,
    CALL_WAIT_UNTIL,
    /* threads: (entry, argument, stack top, pthread) -> port; (stack, bytes, port, word to wake); (name) */
    CALL_THREAD_CREATE,
    CALL_THREAD_TERMINATE,
    CALL_THREAD_NAME,
    CALL_THREAD_ID,
    CALL_YIELD,
    /* waits: (address, value, ns or 0, port of the owner or 0); (address, all) */
    CALL_ULOCK_WAIT,
    CALL_ULOCK_WAKE,
    /* files and memory: as POSIX has them */
    CALL_OPEN,
    CALL_CLOSE,
    CALL_FILE_BYTES,
    CALL_PREAD,
    CALL_WRITE,
    CALL_FTRUNCATE,
    CALL_MMAP,
    CALL_MUNMAP,
    CALL_MPROTECT,
    /* process: (name, out, bytes); (index, what); (status); (text) */
    CALL_ENVIRONMENT,
    CALL_IMAGE,
    CALL_EXIT,
    CALL_GETPID,
    CALL_CLOCK_NS,
    CALL_SYMBOL,
    CALL_COUNT
};

/* The result of CALL_IMAGE for the image `index`. */
enum emulated_image { IMAGE_COUNT, IMAGE_HEADER, IMAGE_NAME };

enum { EMULATED_UNKNOWN_IMPORT = 0x1000 }; /* number of a call of a missing function, plus the index of its stand-in */

#endif
