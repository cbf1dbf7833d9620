#include "engine/backend/linux/preload/visits.h"

struct strobe_visits strobe_visits;

uint32_t strobe_visits_running(void)
{
    uint32_t running = 0;
    for (size_t i = 0; i < STROBE_VISIT_SHARDS; i++)
        running += strobe_load_acquire(&strobe_visits.shard[i].running);
    return running;
}
