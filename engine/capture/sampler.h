/* The sampler: a thread of the engine's own that sees to it that stacks of running threads are taken at times that
 * these do not choose.
 *
 * Where the host can, each thread is sampled by its own CPU clock, which interrupts it once in an interval of its CPU
 * time (strobe_host.clock_keep, strobe_sample_interrupted): evenly, however busy the processors are, and at a twentieth
 * of what a stop costs. The sampler starts these clocks and keeps them going. It stops a thread from outside only where
 * there is no such clock, where ticks are missing although the thread uses CPU time, and to refresh what is known of a
 * thread that uses little.
 *
 * Deadlines are absolute: a grid, on which each is late by an offset that wanders between 0 and the interval in steps
 * of at most an eighth of it, drawn from config.seed. So the mean rate is exact and nothing drifts (S-8), gaps are
 * nearly even, and yet the sampler locks to no rhythm of the program: a program whose period is the interval is met
 * at each of its phases equally often.
 *
 * Each pass, over a bounded number of threads:
 *
 *   an interval since the sampler last saw it?  used CPU time since the last look (fresh data; S-5), and on a processor
 *   now, or off it only because the sampler took it?  or used a little, and unseen for the refresh time?
 *     -> suspend -> re-check -> copy the stack's memory -> resume -> unwind, intern, record
 *        (where the runtime walks its own stacks: suspend -> re-check -> walk -> resume -> intern, record)
 *
 * While it comes, the thread's own points give way (S-6). A thread in a blocking call is left alone: a signal would end
 * the call early. If it waits there, the scope's record says so; if it runs there, it is asked to take its own stack
 * when the call ends.
 *
 * What threads do meanwhile, come and go included, is explored in tests/explore/engine/engine_sampler.c.
 *
 * A wait is recorded when it ends. One that lasts as long as the refresh time is looked at once before, so that a
 * process that is killed, or a thread that waits for ever, leaves more than the fact: what lies above the frame of
 * the hook it waits in can't change before it returns, so the thread need not be stopped.
 *
 * While the target is stopped nothing is done but the re-check and one copy by the host's safe read, or one walk by the
 * runtime: no allocation, no lock, no other unwinding (guard.h enforces it). A thread that runs and yet can't be
 * stopped in time is skipped, counted, and left alone for a time that doubles. */
#ifndef STROBE_CAPTURE_SAMPLER_H
#define STROBE_CAPTURE_SAMPLER_H

#include "engine/capture/thread.h"

enum {
#ifdef STROBE_SMALL
    STROBE_SAMPLER_STACK_BYTES = 64,          /* for exploration: the algorithm does not depend on it */
#else
    STROBE_SAMPLER_STACK_BYTES = 64 * 1024,   /* most stack memory copied of one thread */
#endif
    STROBE_SAMPLER_PASS_THREADS = 256,        /* most threads looked at in one pass */
};

struct strobe_sampler {
    struct strobe_engine *engine;
    struct strobe_ring_writer writer;
    struct strobe_stack_cursor cursor;
    struct strobe_pending pending;
    uint32_t met, living;                     /* threads that are or were in engine->living; those that are */
    uint32_t next_thread;                     /* place in it where the next pass begins */
    const struct strobe_thread *cpu_read_of;  /* the thread whose CPU time has been read in this look at it */
    uint64_t cpu_read_ns;
    uint64_t resume_ticks;                    /* end of the start delay */
    uint64_t pass_ticks;                      /* begin of the pass under way */
    uint64_t interval_ticks, grid_ticks;      /* the next deadline is grid_ticks + offset_ticks */
    uint64_t offset_ticks, random;
    struct strobe_regs regs;                  /* of the thread seen last, and its message: while it stood */
    uint32_t message;
    enum strobe_walk_end found;               /* how its walk ended, where it was walked in place */
    struct strobe_stack_top top;              /* what that walk left for later */
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint64_t stack[(STROBE_SAMPLER_STACK_BYTES + STROBE_RED_ZONE_BYTES) / 8];
    uint64_t below;   /* bytes of `stack` that were below the stack pointer */
    bool needed, rang;                        /* the pass under way met what strobe_sampler_go_on says */
    uint32_t quiet_passes, passes_unrung;     /* since the last pass that did */
    bool rests;                               /* until the next deadline, or until a new thread comes */
};

/* Prepares a sampler. `tid` is the sampler thread's own. Start only. */
void strobe_sampler_init(struct strobe_sampler *s, struct strobe_engine *e, uint32_t tid);

/* Passes until engine->sampler_stop is set. Turns a paused switch on when the start delay is over. Sampler thread. */
void strobe_sampler_run(struct strobe_sampler *s);

/* The time of the first deadline, or of the next: the first on the grid that is later than `now`; missed ones are not
 * made up for. Deadlines are one interval apart. They are up to four intervals apart, and at most 4 ms, when the last
 * eight passes met no thread that depends on passes: no new thread, none that uses CPU time without a clock that ticks,
 * none whose ticks are missing outside of hooked calls (in such a call it is not stopped). They are two intervals apart
 * when one of these passes asked a thread for a tick that waited for a processor: such waits are as short as a time
 * slice. A thread that comes meanwhile brings the deadline back to the next of the grid (strobe_sampler_sleep). Sampler
 * thread; also for tests. */
uint64_t strobe_sampler_deadline(const struct strobe_sampler *s);
void strobe_sampler_go_on(struct strobe_sampler *s, uint64_t now_ticks);

/* Sleeps until the deadline, and returns it. Sampler thread; also for tests. */
uint64_t strobe_sampler_sleep(struct strobe_sampler *s);

/* Looks at all threads that wait, however short. At the end, with the switch off and the engine quiet; any thread. */
void strobe_sampler_finish(struct strobe_sampler *s);

/* One pass at time now_ticks. Sampler thread; also for tests. */
void strobe_sampler_pass(struct strobe_sampler *s, uint64_t now_ticks);

#endif
