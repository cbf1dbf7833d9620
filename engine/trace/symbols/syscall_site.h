/* Tells from a program's code whether a thread was in a system call.
 *
 * A thread that is interrupted in the kernel stands, as far as its registers say, behind the instruction that entered
 * the kernel (`syscall` of x86-64, `svc #0` of arm64), or on that instruction if the kernel is to begin the call anew.
 * Where the innermost address of a stack is one of these two, the thread was in the kernel. The number of the call is
 * known if the same function loads it as a constant shortly before.
 *
 * Reading half; any thread; safe for any code. */
#ifndef STROBE_TRACE_SYMBOLS_SYSCALL_SITE_H
#define STROBE_TRACE_SYMBOLS_SYSCALL_SITE_H

#include <stddef.h>
#include <stdint.h>

enum { STROBE_SYSCALL_UNKNOWN = -1 };

/* The code of a function, or as much of it as is near. machine: e_machine of ELF. */
struct strobe_machine_code {
    unsigned machine;
    const uint8_t *at;
    size_t bytes;
};

/* Whether the thread whose innermost return address (store/stack_table.h) is `address` bytes into the code was in a
 * system call. *number: that of the call, or STROBE_SYSCALL_UNKNOWN. Return addresses of calls are told apart by the
 * call instruction before them. */
int strobe_syscall_site(const struct strobe_machine_code *code, size_t address, int *number);

/* The name of a system call's number on EM_X86_64 or EM_AARCH64, or NULL. */
const char *strobe_syscall_name(unsigned machine, int number);

/* Whether the function's name says already which call it makes: read, __read, __GI___poll, epoll_wait, mmap64. With
 * `call` NULL: whether it is the function `syscall`. */
int strobe_syscall_is_named(const char *function, const char *call);

#endif
