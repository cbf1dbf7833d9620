/* The table of syscall_names_arm.c, for syscall_names.c only. Reading half; any thread. */
#ifndef STROBE_TRACE_SYMBOLS_SYSCALL_NAMES_H
#define STROBE_TRACE_SYMBOLS_SYSCALL_NAMES_H

enum { STROBE_SYSCALL_ARM_COUNT = 451 };

/* By number; NULL = no such call. */
extern const char *const strobe_syscall_names_arm[STROBE_SYSCALL_ARM_COUNT];

#endif
