/* How the sampler records a thread that is due (sampler_visit.h):
 *
 *     suspend -> re-check -> copy the stack's memory -> resume -> unwind, intern, record
 *     (where the runtime walks its own stacks: suspend -> re-check -> walk -> resume -> intern, record)
 *
 * While a thread is suspended, the sampler only does the re-check and one copy by the host's safe read, or one walk
 * by the runtime. It does not allocate, take a lock, or unwind otherwise (guard.h enforces it). A thread that runs
 * but cannot be suspended in time is skipped and counted, and the sampler does not try again for a time that doubles
 * with each failure.
 *
 * A wait is recorded when it ends. The sampler also samples a wait once when it has lasted for the refresh time. So
 * a process that is killed, or a thread that waits for ever, leaves the stack of the wait in the trace. The thread
 * need not be suspended for that: the stack above the frame of the hook cannot change before the call returns. The copy
 * counts only if the same call is open before and after it.
 *
 * Each record belongs to the sampler's own chunk of the ring. A record of the same thread, stack and message extends
 * the record before it (struct strobe_pending). */
#ifndef STROBE_CAPTURE_SAMPLER_RECORD_H
#define STROBE_CAPTURE_SAMPLER_RECORD_H

#include "engine/capture/sampler.h"

#include <stddef.h>

/* Suspends the thread, copies or walks its stack, and resumes it. Returns false when there is nothing to record, and
 * counts the outcome. *at is the current time on entry, and the time of the stop on return, because a thread may run on
 * before it stops. *taken: the bytes of the copy or the frames of the walk. Sampler thread. */
bool strobe_sampler_suspend_and_copy(struct strobe_sampler *s, struct strobe_thread *t, uint64_t *at, size_t *taken);

/* Records the stack of a stopped thread, from `taken` bytes or frames. Sampler thread. */
void strobe_sampler_take_stopped(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now, size_t taken);

/* Takes the stack of a thread in a blocking call, once for each call, when the call has lasted `least_ns`. Impossible
 * with an unwinder that only walks the calling thread. Sampler thread, or at the end of a capture. */
void strobe_sampler_take_waiting(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now, uint64_t least_ns);

/* Records the thread's last stack once more, without a stop, when it waits for a processor where that stack shows it
 * (s->stands). Sampler thread. */
void strobe_sampler_record_standing(struct strobe_sampler *s, struct strobe_thread *t, uint64_t now);

/* Records the system call in which the thread polled last waits (s->call). Sampler thread. */
void strobe_sampler_record_wait_call(struct strobe_sampler *s, struct strobe_thread *t);

/* Records the CPU time of a thread that is in no recorded call. It shows the timeline whether the thread has run since
 * its last sample. At the end of a capture. */
void strobe_sampler_record_final_cpu(struct strobe_sampler *s, const struct strobe_thread *t);

#endif
