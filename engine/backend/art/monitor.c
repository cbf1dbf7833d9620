#include "engine/backend/art/monitor.h"

#include <string.h>

struct strobe_art_monitor strobe_art_monitor;

enum { MONITOR_BYTES = 1024, NUMBER = 0x5a17c35 };

/* Returns the offset of the pattern in `bytes`, or 0 when it is not there, at the beginning, or there more than once.
 */
static uint16_t find_unique_pattern(const unsigned char *bytes, const void *pattern, size_t size)
{
    uint16_t found = 0;
    for (size_t at = size; at + size <= MONITOR_BYTES; at += size) {
        if (memcmp(bytes + at, pattern, size) != 0)
            continue;
        if (found)
            return 0;
        found = (uint16_t)at;
    }
    return found;
}

/* Calls Monitor(Thread *self, Thread *owner, Object *, int32_t hash_code, MonitorId). The constructor only fills in the
 * memory: the runtime knows a Monitor through its object, and this one has no object. */
void strobe_art_monitor_learn(void)
{
    static _Alignas(16) unsigned char space[MONITOR_BYTES];
    const struct strobe_libart *a = &strobe_art.libart;
    uint64_t init = a->address[STROBE_ART_MONITOR_INIT];
    void *self = strobe_art_current(a);
    uint32_t number = NUMBER;
    if (!init || sizeof(void *) != 8)
        return;
    memset(space, 0, sizeof space);
    ((void (*)(void *, void *, void *, void *, int32_t, uint32_t))(uintptr_t)init)(space, self, self, NULL, 0, number);
    strobe_art_monitor = (struct strobe_art_monitor){find_unique_pattern(space, &self, sizeof self),
                                                     find_unique_pattern(space, &number, sizeof number)};
}
