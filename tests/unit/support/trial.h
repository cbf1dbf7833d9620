/* Random numbers, how long to try, and crowds of threads. Tests only. */
#ifndef STROBE_UNIT_SUPPORT_TRIAL_H
#define STROBE_UNIT_SUPPORT_TRIAL_H

#include <stdint.h>

/* The next number of the sequence whose state is *state (splitmix64), and one below `limit`. */
uint64_t strobe_trial_random(uint64_t *state);
uint32_t strobe_trial_below(uint64_t *state, uint32_t limit);

/* `rounds`, or a twentieth of them (at least 2) where everything is slow (STROBE_TEST_LIGHT, set for valgrind and
 * emulators), or more with STROBE_STRESS_SECONDS. */
uint32_t strobe_trial_rounds(uint32_t rounds);

/* How long a concurrent test goes on: `quick` seconds, or STROBE_STRESS_SECONDS of the environment. */
double strobe_trial_seconds(double quick);

/* Whether an emulator plays the kernel (STROBE_TEST_EMULATED, set by ci/emulated). It keeps the two highest signals for
 * itself, lets a thread that has ended linger, and lacks process_vm_readv. */
int strobe_trial_emulated(void);

/* Seconds on a clock that only goes forward. */
double strobe_trial_now(void);

/* Runs body(arg, 0 .. threads - 1) in a thread each, all let go at once, and waits for them. Assertions of CMocka
 * belong outside. */
void strobe_trial_crowd(uint32_t threads, void (*body)(void *arg, uint32_t index), void *arg);

#endif
