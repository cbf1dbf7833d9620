/* Random numbers, durations of random tests, and groups of threads. Tests only. */
#ifndef STROBE_UNIT_SUPPORT_TRIAL_H
#define STROBE_UNIT_SUPPORT_TRIAL_H

#include <stdint.h>

/* Return the next number of the sequence with this state (splitmix64), and a number below `limit`. */
uint64_t strobe_trial_random(uint64_t *state);
uint32_t strobe_trial_below(uint64_t *state, uint32_t limit);

/* Returns `rounds`; a twentieth of them (at least 2) with STROBE_TEST_LIGHT, which is set for valgrind and emulators;
 * or more with STROBE_STRESS_SECONDS. */
uint32_t strobe_trial_rounds(uint32_t rounds);

/* Returns `full` in the nightly run (FULL), else `quick`. */
uint32_t strobe_trial_nightly(uint32_t quick, uint32_t full);

/* Returns the duration of a concurrent test: `quick` seconds, or STROBE_STRESS_SECONDS of the environment. */
double strobe_trial_seconds(double quick);

/* True when an emulator stands in for the kernel (STROBE_TEST_EMULATED, set by ci/emulated). The emulator reserves the
 * two highest signals, keeps ended threads visible for a while, and lacks process_vm_readv. */
int strobe_trial_emulated(void);

/* True under valgrind, where one thread runs at a time. */
int strobe_trial_valgrind(void);

/* Returns the seconds of a monotonic clock. */
double strobe_trial_now(void);

/* Runs body(arg, 0 .. threads - 1) in one thread each, started at the same time, and waits for them. `body` must not
 * use assertions of CMocka. */
void strobe_trial_crowd(uint32_t threads, void (*body)(void *arg, uint32_t index), void *arg);

#endif
