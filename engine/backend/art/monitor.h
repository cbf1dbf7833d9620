/* Reads two fields of the runtime's Monitor: its owner, and the number by which its object's lock word refers to it.
 *
 * The engine learns once where these fields are. The runtime's own constructor makes a Monitor in the engine's memory,
 * with a known owner and number, and the engine searches the Monitor for them. Without that constructor the fields are
 * not known, and the features that use them do without.
 *
 * A lock word is the second half of an object's first eight bytes. When its two upper bits are 1, its lower 28 bits are
 * the number of the object's Monitor ("lock_word.h", platform/art). Start, but for the inline functions. */
#ifndef STROBE_BACKEND_ART_MONITOR_H
#define STROBE_BACKEND_ART_MONITOR_H

#include "engine/backend/art/hooks/events.h"

struct strobe_art_monitor {
    uint16_t owner_offset, number_offset;
}; /* 0 = not known */
extern struct strobe_art_monitor strobe_art_monitor;

/* Finds the fields. By a thread that is attached to the runtime. */
void strobe_art_monitor_learn(void);

/* Returns the identity of the monitor's wait set: a waiter waits for it, and a notifier releases it. It differs from
 * the identity of the monitor's entry. */
static inline uint64_t strobe_art_wait_set(const void *monitor)
{
    uint16_t at = strobe_art_monitor.number_offset;
    return at ? (uint64_t) * (const uint32_t *)(const void *)((const char *)monitor + at) << 1 | 1
              : (uint64_t)(uintptr_t)monitor + 1;
}

/* The same for an object. Returns 0 when no thread can wait in the object, or its number is not known. */
static inline uint64_t strobe_art_wait_set_of_object(const void *object)
{
    enum { FAT = 1, NUMBER_MASK = (1 << 28) - 1 };
    uint32_t word = ((const uint32_t *)object)[1];
    return strobe_art_monitor.number_offset && word >> 30 == FAT ? (uint64_t)(word & NUMBER_MASK) << 1 | 1 : 0;
}

/* Returns false only if the monitor certainly has another owner, or no owner. */
static inline bool strobe_art_may_own(const void *monitor, const void *thread)
{
    uint16_t at = strobe_art_monitor.owner_offset;
    return !at || *(void *const volatile *)(const void *)((const char *)monitor + at) == thread;
}

#endif
