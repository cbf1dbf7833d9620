#include "sim/player/virtual/mach/zone.h"

#include "sim/kernel/kernel.h"

enum { HELD_NS = 40 };

static struct sim_mutex zone = {.name = "malloc zone"};

static void zone_enter(void)
{
    if (!sim_self())
        return;
    sim_mutex_lock(&zone);
    sim_compute(HELD_NS);
}

static void zone_leave(void)
{
    if (sim_self())
        sim_mutex_unlock(&zone);
}

void *sim_zone_malloc(size_t bytes)
{
    zone_enter();
    void *p = malloc(bytes);
    zone_leave();
    return p;
}

void *sim_zone_calloc(size_t count, size_t bytes)
{
    zone_enter();
    void *p = calloc(count, bytes);
    zone_leave();
    return p;
}

void *sim_zone_realloc(void *was, size_t bytes)
{
    zone_enter();
    void *p = realloc(was, bytes);
    zone_leave();
    return p;
}

void sim_zone_free(void *p)
{
    zone_enter();
    free(p);
    zone_leave();
}
