/* Which thread the sampler visits: a pass polls each thread by these functions, and samples the threads that are due.
 *
 * A thread's visit interval is one interval, and never less than the interval of the thread's gate. Where CPU clocks
 * tick, it is two intervals for threads other than the main thread. A thread is due when the last sample, request or
 * tick that the sampler knows of is about a visit interval old, and one of these holds:
 *
 *   - It has used CPU time since the last poll (S-5); with a ticking clock, more than a period of it without a tick.
 *     And it runs, or lost its processor to the sampler. Where no clock ticks, a running thread must also have used
 *     half of an interval of CPU time since the sampler's last record of it, or be unseen for four intervals; a thread
 *     that waits for a processor need not.
 *   - It has used CPU time since the sampler's last record of it, which is older than the refresh time.
 *
 * When the sampler has sampled a thread, or requested a sample of a call, the thread's own points yield: they are only
 * counted (S-6). They yield for four times the time since the sample or request before, at least 4 and at most 64 visit
 * intervals.
 *
 * A poll reads the CPU time of the thread and words that the thread writes. It does not stop the thread. Of a thread
 * that has hardly used CPU time since the last poll, and is in no hooked call, it also asks the host in which system
 * call the thread waits. All functions:
 * sampler thread, and its tests. */
#ifndef STROBE_CAPTURE_SAMPLER_VISIT_H
#define STROBE_CAPTURE_SAMPLER_VISIT_H

#include "engine/capture/sampler.h"

static inline bool strobe_thread_is_alive(const struct strobe_thread *t)
{
    return strobe_load_relaxed(&t->entry->state) == STROBE_THREAD_LIVE;
}

static inline bool strobe_thread_is_in_call(const struct strobe_thread *t)
{
    return strobe_load_relaxed(&t->entry->scope_kind) != STROBE_KIND_NONE;
}

/* Returns the number of samples of the thread, modulo 2^32. */
static inline uint32_t strobe_sampler_samples_of(const struct strobe_thread *t)
{
    return strobe_load_relaxed(&t->sync_samples) + t->sampled.async_samples;
}

/* Retires a thread that has ended without detaching: marks it as ended, and seals its open chunk. */
void strobe_sampler_retire_thread(struct strobe_engine *e, struct strobe_thread *t, uint64_t now);

/* Keeps the thread's clock of the host ticking. A thread whose clock cannot tick is sampled by stops. */
void strobe_sampler_keep_ticking(struct strobe_sampler *s, struct strobe_thread *t);

/* Frees the clock of a thread that has ended since the last pass. */
void strobe_sampler_end_ticking(struct strobe_sampler *s, struct strobe_thread *t);

/* Returns true when the thread needs no visit: its clock has ticked since the last pass, or the last visit was less
 * than an interval ago, which is too short for a tick to be missing. */
bool strobe_sampler_left_to_ticks(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now);

/* Returns the time after which the last known stack of a thread is refreshed. */
uint64_t strobe_sampler_refresh_ns(const struct strobe_engine *e, const struct strobe_thread *t);

/* Returns true when the thread should be sampled now. Sets s->runs, s->ready, s->stands and s->call. Reads the thread's
 * CPU clock, so that its activity is judged by fresh data. A thread counts as running when it is on a processor, or was
 * on one for all the time since the last visit and is off it only because the sampler took it. Other threads are not
 * sampled: they are where they were taken off the processor, most often at a system call, and a sample of that would
 * look like a sample of their work. */
bool strobe_sampler_is_visit_due(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now);

/* Puts the thread's own points off until the sampler has not come for several times the time between its last two
 * visits. */
void strobe_sampler_expect_back(struct strobe_engine *e, struct strobe_thread *t, uint64_t now);

/* Puts the thread's points off for one more interval, within limits. The sampler could not sample the thread this time
 * but may be able to next time. */
void strobe_sampler_keep_points_waiting(struct strobe_engine *e, struct strobe_thread *t);

/* Requests that the thread takes its own stack when its call ends. It runs, but in a call that a stop must not disturb.
 * Without this the sampler would never see work that is done in many short calls. */
void strobe_sampler_request_own_sample(struct strobe_engine *e, struct strobe_thread *t, uint64_t now);

#endif
