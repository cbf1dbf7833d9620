/* Detects from a program's code whether a thread was in a system call.
 *
 * The registers of a thread that is interrupted in the kernel point behind the instruction that entered the kernel
 * (`syscall` of x86-64, `svc #0` of arm64). If the kernel will restart the call, they point to that instruction. If the
 * innermost address of a stack is one of these two, the thread was in the kernel. The call's number is known if the
 * same function loads it as a constant shortly before.
 *
 * Reading half; any thread; safe for any code. */
#ifndef STROBE_TRACE_SYMBOLS_SYSCALL_SITE_H
#define STROBE_TRACE_SYMBOLS_SYSCALL_SITE_H

#include <stddef.h>
#include <stdint.h>

enum { STROBE_SYSCALL_UNKNOWN = -1 };

/* The code of a function, or the part of it near an address. machine: e_machine of ELF. */
struct strobe_machine_code {
    unsigned machine;
    const uint8_t *at;
    size_t bytes;
};

/* Returns 1 if the thread whose innermost return address (store/stack_table.h) is `address` bytes into the code was in
 * a system call. *number is the call's number, or STROBE_SYSCALL_UNKNOWN. Return addresses of ordinary calls are
 * recognized by the call instruction before them. */
int strobe_syscall_site(const struct strobe_machine_code *code, size_t address, int *number);

/* Returns the name of a system call's number on EM_X86_64, EM_AARCH64 or EM_ARM, or NULL. */
const char *strobe_syscall_name(unsigned machine, int number);

/* Returns 1 if the function's name states the call that it makes: read, __read, __GI___poll, epoll_wait, mmap64. With
 * `call` NULL: if the function is `syscall`. */
int strobe_syscall_is_named(const char *function, const char *call);

#endif
