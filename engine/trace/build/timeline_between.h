/* Shows what a thread did between two times at which it was seen: whether it was off its processor, unseen, in another
 * message, or at a hook that it left at once. The rules are those of timeline.h (hooks, middle, message, gap).
 *
 * Used by timeline.c only. `b` is the state of the thread. `item` is the next record, which sees the thread at
 * `time_ns` in `node` of the function tree. Calls for one record come in the order of the declarations. Not
 * thread-safe. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_BETWEEN_H
#define STROBE_TRACE_BUILD_TIMELINE_BETWEEN_H

#include <stdint.h>

struct builder;
struct strobe_item;

/* Shows a gap before `time_ns`, if there was one, and a change of the message. Call it before anything is shown at
 * `time_ns`. */
void strobe_between_arrive(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node);

/* Shows what the thread did since it was last seen, if the last sample does not stand for that time. */
void strobe_between_reach_back(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node);

/* Shows the time that the thread was off its processor. */
void strobe_between_show_off(struct builder *b, const struct strobe_item *item, uint64_t time_ns, uint32_t node);

/* Fills the time from the last sample to the next one at `time_ns`. `node` is the next sample's (0: unknown), `shared`
 * the number of open slices that stay open. The last `off_ns` of the time are left out, because they are shown
 * separately. `ends`: the thread's message ends at an unknown time within the gap. */
void strobe_between_fill_gap(struct builder *b, uint64_t time_ns, uint64_t off_ns, uint32_t node, uint32_t shared,
                             int ends);

/* Emits that the thread processes message `id` from `time_ns` on, or none (0). A message that has ended does not begin
 * again. */
void strobe_between_emit_message(struct builder *b, uint32_t id, uint64_t time_ns);

/* Returns 1 if the sampler or the thread's CPU clock has sampled the thread recently. */
int strobe_between_sampled_lately(const struct builder *b);

#endif
