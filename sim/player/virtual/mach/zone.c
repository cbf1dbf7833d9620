#include "sim/player/virtual/mach/zone.h"

#include "sim/kernel/kernel.h"

enum { HELD_NS = 40 };

static struct sim_mutex zone = {.name = "malloc zone"};

static void enter(void)
{
    if (!sim_self())
        return;
    sim_mutex_lock(&zone);
    sim_compute(HELD_NS);
}

static void leave(void)
{
    if (sim_self())
        sim_mutex_unlock(&zone);
}

void *sim_zone_malloc(size_t bytes)
{
    enter();
    void *p = malloc(bytes);
    leave();
    return p;
}

void *sim_zone_calloc(size_t count, size_t bytes)
{
    enter();
    void *p = calloc(count, bytes);
    leave();
    return p;
}

void *sim_zone_realloc(void *was, size_t bytes)
{
    enter();
    void *p = realloc(was, bytes);
    leave();
    return p;
}

void sim_zone_free(void *p)
{
    enter();
    free(p);
    leave();
}
