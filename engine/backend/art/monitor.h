/* What can be told of a Monitor of the runtime's: who owns it, and the number by which its object's lock word names it.
 *
 * Where these stand is learnt once: the runtime's own constructor makes a Monitor in memory of ours, of an owner and a
 * number that we know, and they are looked for in it. Without that constructor they are not known, and what depends on
 * them does without.
 *
 * A lock word is the second half of an object's first eight bytes; its two upper bits are 1 when a Monitor stands
 * for it, whose number then are its lower 28 ("lock_word.h", platform/art). Start, but for the inline functions. */
#ifndef STROBE_BACKEND_ART_MONITOR_H
#define STROBE_BACKEND_ART_MONITOR_H

#include "engine/backend/art/hooks/events.h"

struct strobe_art_monitor {
    uint16_t owner_offset, number_offset;
}; /* 0 = not known */
extern struct strobe_art_monitor strobe_art_monitor;

/* By a thread that is attached. */
void strobe_art_monitor_learn(void);

/* What who waits in a monitor waits for, and what its notifiers release: two that differ from the monitor's entry. */
static inline uint64_t strobe_art_wait_set(const void *monitor)
{
    uint16_t at = strobe_art_monitor.number_offset;
    return at ? (uint64_t) * (const uint32_t *)(const void *)((const char *)monitor + at) << 1 | 1
              : (uint64_t)(uintptr_t)monitor + 1;
}

/* The same for an object; 0: nobody can wait in it, or that is not known. */
static inline uint64_t strobe_art_wait_set_of_object(const void *object)
{
    enum { FAT = 1, NUMBER_MASK = (1 << 28) - 1 };
    uint32_t word = ((const uint32_t *)object)[1];
    return strobe_art_monitor.number_offset && word >> 30 == FAT ? (uint64_t)(word & NUMBER_MASK) << 1 | 1 : 0;
}

/* False only when it is known that it is another's, or nobody's. */
static inline bool strobe_art_may_own(const void *monitor, const void *thread)
{
    uint16_t at = strobe_art_monitor.owner_offset;
    return !at || *(void *const volatile *)(const void *)((const char *)monitor + at) == thread;
}

#endif
