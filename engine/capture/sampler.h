/* The sampler: a thread of the engine that causes the stacks of running threads to be taken at times that these
 * threads do not choose.
 *
 * Where the host supports it, each thread is sampled by its own CPU clock. The clock interrupts the thread once in
 * an interval of the thread's CPU time (strobe_host.clock_keep, strobe_sample_interrupted). Such samples are even,
 * however busy the processors are, and cost a twentieth of a suspension. The sampler starts these clocks and keeps
 * them running. It suspends a thread only in these cases:
 *
 *   - the thread has no such clock
 *   - ticks are missing although the thread uses CPU time
 *   - the thread uses little CPU time, and its last known stack must be refreshed
 *
 * Deadlines are absolute. They lie on a grid, and each is late by an offset between 0 and the interval. The offset
 * changes from deadline to deadline by at most an eighth of the interval, at random from config.seed. So the mean
 * rate is exact, deadlines do not drift (S-8), and gaps are nearly even. The sampler still locks to no rhythm of the
 * program: a program whose period is the interval is sampled at each of its phases equally often.
 *
 * A pass polls a bounded number of threads. sampler_visit.h states which of them are due, sampler_record.h how the
 * stack of one is taken and recorded.
 *
 * The sampler does not suspend a thread in a blocking call, because a signal would end the call early. If the thread
 * waits in the call, the scope's record shows that. If it runs there, the sampler requests that the thread takes its
 * own stack when the call ends.
 *
 * tests/explore/engine/engine_sampler.c explores what threads may do during a pass, including start and end. */
#ifndef STROBE_CAPTURE_SAMPLER_H
#define STROBE_CAPTURE_SAMPLER_H

#include "engine/capture/thread.h"

enum {
#ifdef STROBE_SMALL
    STROBE_SAMPLER_STACK_BYTES = 64, /* for exploration: the algorithm does not depend on it */
#else
    STROBE_SAMPLER_STACK_BYTES = 64 * 1024, /* maximum of stack bytes copied of one thread */
#endif
    STROBE_SAMPLER_PASS_THREADS = 256, /* maximum of threads polled in one pass */
};

struct strobe_sampler {
    struct strobe_engine *engine;
    struct strobe_ring_writer writer;
    struct strobe_stack_cursor cursor;
    struct strobe_pending pending;
    uint32_t met, living;                    /* threads ever put into engine->living; threads in it now */
    uint32_t next_thread;                    /* index in engine->living where the next pass begins */
    const struct strobe_thread *cpu_read_of; /* the thread whose CPU time was read last in this pass */
    uint64_t cpu_read_ns, cpu_read_ticks;    /* that time, and when it was read */
    uint64_t resume_ticks;                   /* end of the start delay */
    uint64_t pass_ticks;                     /* begin of the current pass */
    uint64_t interval_ticks, grid_ticks;     /* the next deadline is grid_ticks + offset_ticks */
    uint64_t offset_ticks, random;
    struct strobe_regs regs; /* of the thread suspended last, and its message, both read while it
                                was suspended */
    uint32_t message;
    enum strobe_walk_end found;  /* how its walk ended, when it was walked in place */
    struct strobe_stack_top top; /* what that walk left for strobe_unwinder.resumed */
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint64_t stack[(STROBE_SAMPLER_STACK_BYTES + STROBE_RED_ZONE_BYTES) / 8];
    uint64_t below;                       /* bytes of `stack` from below the stack pointer */
    bool needed, rang;                    /* current pass: a thread depends on passes (see strobe_sampler_go_on);
                                             a tick was requested */
    uint32_t quiet_passes, passes_unrung; /* passes since the last one that was needed; since the last one that
                                             requested a tick */
    bool runs;                            /* the thread polled last is on a processor */
    bool ready, stands;                   /* it waits for a processor: it is to be sampled, or is where its last record
                                             shows it */
    uint64_t call;                        /* the system call in which the thread polled last waits; 0 = not asked, not
                                             known, or recorded already */
    bool rests;                           /* the sampler sleeps for several intervals; a new thread ends that
                                             sleep */
};

/* Returns a random number, 0 .. limit - 1, or 0 when limit is 0 (splitmix64). Sampler thread. */
uint64_t strobe_sampler_draw(struct strobe_sampler *s, uint64_t limit);

/* Prepares a sampler. `tid` is the sampler thread's own id. Start only. */
void strobe_sampler_init(struct strobe_sampler *s, struct strobe_engine *e, uint32_t tid);

/* Makes passes until engine->sampler_stop is set. Sets a paused switch to on when the start delay is over. Sampler
 * thread. */
void strobe_sampler_run(struct strobe_sampler *s);

/* strobe_sampler_deadline returns the time of the next deadline. strobe_sampler_go_on moves it on, to the first
 * deadline on the grid later than `now_ticks`; missed deadlines are not made up for.
 *
 * Distance between deadlines:
 *
 *   1 interval             normally
 *   up to 4 intervals,     when the last eight passes found no thread that depends on passes: no new thread, none that
 *   at most 4 ms           uses CPU time without a ticking clock, and none whose ticks are missing outside of hooked
 *                          calls (in such a call the sampler does not suspend it)
 *   2 intervals            in the same case, when one of the last eight passes requested a tick of a thread that waited
 *                          for a processor: such waits are as short as a time slice
 *
 * A new thread moves the deadline back to the next one of the grid (strobe_sampler_sleep). Sampler thread; also for
 * tests. */
uint64_t strobe_sampler_deadline(const struct strobe_sampler *s);
void strobe_sampler_go_on(struct strobe_sampler *s, uint64_t now_ticks);

/* Sleeps until the deadline, and returns it. Sampler thread; also for tests. */
uint64_t strobe_sampler_sleep(struct strobe_sampler *s);

/* Takes the stacks of all threads in a blocking call, however short the wait is so far, and records the final CPU
 * time of the other threads. At the end of a capture, with the switch off and the engine quiet; any thread. */
void strobe_sampler_finish(struct strobe_sampler *s);

/* Makes one pass at time now_ticks. Sampler thread; also for tests. */
void strobe_sampler_pass(struct strobe_sampler *s, uint64_t now_ticks);

#endif
