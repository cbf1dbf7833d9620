/* What a thread did between two times at which it was seen: was it off its processor, unseen, in another message, at a
 * hook that it left at once? The rules are those of timeline.h (hooks, middle, message, gap).
 *
 * For timeline.c alone: `b` is what that file keeps of the thread, `item` the record that comes next, which sees the
 * thread at `time_ns` in `node` of the function tree. Not thread-safe. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_BETWEEN_H
#define STROBE_TRACE_BUILD_TIMELINE_BETWEEN_H

#include <stdint.h>

struct builder;
struct strobe_item;

/* Before anything is shown at `time_ns`: shows a gap, when there was one, and a change of the message. */
void strobe_between_arrive(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node);

/* Then: shows what the thread did since it was seen last, when the last sample does not stand for it. */
void strobe_between_reach_back(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node);

/* Then: shows for how long it was off its processor. */
void strobe_between_show_off(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node);

/* Fills the time from the last sample to the next, of `node`, 0 = there is none, which goes on with `shared` of the
 * open slices. `off_ns` of it, at its end, are shown for themselves. `ends`: the thread's message does, unseen. */
void strobe_between_fill_gap(struct builder *b, uint64_t time_ns, uint64_t off_ns, uint32_t node, uint32_t shared,
                             int ends);

/* Tells the sink that the thread is busy with message `id` from `time_ns` on, or with none (0). One that has ended does
 * not begin again. */
void strobe_between_emit_message(struct builder *b, uint32_t id, uint64_t time_ns);

/* Whether the sampler, or the thread's CPU clock, has seen the thread not long ago. */
int strobe_between_sampled_lately(const struct builder *b);

#endif
