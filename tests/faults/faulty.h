/* Makes one call of the C library fail, for fault sweeps. faulty.c is built in two ways: as a library to preload, under
 * which a call of a whole command fails (run.sh), and into a test program that is linked with faulty_wraps (faults.mk),
 * in which a call of one thread fails, between fault_arm and fault_disarm.
 *
 * A call fails as on a machine without memory (ENOMEM), without disk space (ENOSPC), or with too many open files
 * (EMFILE) or processes (EAGAIN). */
#ifndef STROBE_FAULTS_FAULTY_H
#define STROBE_FAULTS_FAULTY_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of calls; the last one is NULL: "alloc", "map", "write", "host" (files, processes, threads). */
extern const char *const fault_kinds[];

/* The number-th call of that kind by the calling thread fails, from 1. `kind` must stay valid. */
void fault_arm(const char *kind, uint64_t number);

/* Ends it. Returns the name of the call that failed, or NULL. */
const char *fault_disarm(void);

#endif
