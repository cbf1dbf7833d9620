/* Time and work of real mode, by calls that the engine does not hook: what the player does for itself must not be seen.
 * Any thread. */
#ifndef STROBE_SIM_PLAYER_WORK_H
#define STROBE_SIM_PLAYER_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* To be called once, before threads start. False with errno when there can be no devices. */
bool sim_work_begin(void);

/* CLOCK_MONOTONIC, which is the engine's clock too. */
uint64_t sim_work_now_ns(void);

/* Turns of the work loop in a millisecond of this machine: the most of many short tries, as the least disturbed one. */
uint64_t sim_work_calibrate(void);

/* Does `ns` of work, at that many turns a millisecond. The same work for the same numbers, however long it takes. */
void sim_work_do(uint64_t ns, uint64_t turns_per_ms);

/* Waits for a device that takes as long, in one hooked call. `device` is a word of the thread's own, for platforms that
 * need a device for each; -1 at first. */
void sim_work_device(int *device, uint64_t latency_ns);

/* CPU time: of the calling thread, of another one of this process (0 when it has ended), of the process. */
uint64_t sim_work_thread_cpu_ns(void);
uint64_t sim_work_cpu_ns_of(uint32_t tid);
uint64_t sim_work_process_cpu_ns(void);

/* A call expected not to block that takes less than wait_ns did not, and is no wait. No block is shorter than block_ns:
 * two switches take as long. Where it is exact that a thread blocked, who was about to let go before it did is who let
 * it go. */
struct sim_work_limits {
    uint64_t wait_ns, block_ns;
    bool exact;
};
extern const struct sim_work_limits sim_work_limits;

/* Switches of the calling thread so far. */
struct sim_work_switches {
    uint64_t voluntary, involuntary, minor_faults, major_faults;
};
struct sim_work_switches sim_work_switches(void);

/* Sleeps until a time of sim_work_now_ns. */
void sim_work_sleep_until(uint64_t deadline_ns);

/* The time of that clock when a span from now is over. */
struct timespec sim_work_time_in(uint64_t span_ns);

/* Waits while *word is `value`, until the deadline at the latest; wakes all who do. */
void sim_work_wait(const void *word, uint32_t value, uint64_t deadline_ns);
void sim_work_wake(const void *word);

/* Gives the processor away. */
void sim_work_yield(void);

/* Zeroed memory, for good; NULL when there is none. */
void *sim_work_pages(size_t bytes);

#endif
