/* Clocks, computing and waits of a player. The functions make only calls that the engine does not hook, except
 * sim_work_device: the engine must not capture what the player does for its own purposes. Any thread. */
#ifndef STROBE_SIM_PLAYER_WORK_H
#define STROBE_SIM_PLAYER_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Called once, before threads start. Returns false with errno when sim_work_device cannot work. */
bool sim_work_begin(void);

/* Returns CLOCK_MONOTONIC, which is also the engine's clock. */
uint64_t sim_work_now_ns(void);

/* Returns the turns of the work loop per millisecond on this machine: the median of 25 long tries. */
uint64_t sim_work_calibrate(void);

/* Does `ns` of work in the work loop, at turns_per_ms turns per millisecond. Equal arguments give equal work. The time
 * that it takes varies. */
void sim_work_do(uint64_t ns, uint64_t turns_per_ms);

/* Waits latency_ns in one call that the engine hooks. `device` is a word of the calling thread, initially -1, for
 * platforms with one device per thread. */
void sim_work_device(int *device, uint64_t latency_ns);

/* Return the CPU time of the calling thread, of another thread of the process (0 when it has ended), of the process. */
uint64_t sim_work_thread_cpu_ns(void);
uint64_t sim_work_cpu_ns_of(uint32_t tid);
uint64_t sim_work_process_cpu_ns(void);

/* How the player decides whether a call blocked. */
struct sim_work_limits {
    uint64_t wait_ns;  /* a call that is unlikely to block and takes less time is not noted as a wait */
    uint64_t block_ns; /* a call that takes less time did not block: two context switches take longer */
    bool exact;        /* switches are counted exactly. A release before the wait's begin then counts at the begin: the
                          releasing thread noted it before its call */
};
extern const struct sim_work_limits sim_work_limits;

/* Context switches and page faults of the calling thread so far. */
struct sim_work_switches {
    uint64_t voluntary, involuntary, minor_faults, major_faults;
};
struct sim_work_switches sim_work_switches(void);

/* Sleeps until a time of sim_work_now_ns. */
void sim_work_sleep_until(uint64_t deadline_ns);

/* Returns the time of sim_work_now_ns after a span from now. */
struct timespec sim_work_time_in(uint64_t span_ns);

/* sim_work_wait waits while *word is `value`, at most until the deadline; it may return early. sim_work_wake wakes all
 * waiters of the word. */
void sim_work_wait(const void *word, uint32_t value, uint64_t deadline_ns);
void sim_work_wake(const void *word);

/* Yields the processor. */
void sim_work_yield(void);

/* Prepares memory for about so many threads. Called once, before the first thread starts. On real threads, the first
 * use of a new page takes microseconds and a lock that all threads of the process share; neither is part of a
 * scenario. */
void sim_work_reserve(uint32_t threads);

/* Returns zeroed memory, or NULL. It is from the prepared memory while that lasts, else from mmap. */
void *sim_work_pages(size_t bytes);
void sim_work_free_pages(void *pages, size_t bytes);

#endif
