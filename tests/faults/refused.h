/* Makes calls of syscall(2) fail in a test program that faults.mk links with --wrap=syscall, as on a kernel that lacks
 * a system call, or in a container that forbids it. Only calls by the thread that asked for it fail. */
#ifndef STROBE_FAULTS_REFUSED_H
#define STROBE_FAULTS_REFUSED_H

#include <stdint.h>

/* Each call with this number fails with `error`. Replaces what was refused before. */
void refuse_call(long number, int error);

/* The at-th call, of any number, fails with `error`, from 1. Replaces what was refused before. */
void refuse_nth_call(uint64_t at, int error);

/* Ends it. Returns how many calls have failed. */
uint64_t refuse_none(void);

#endif
