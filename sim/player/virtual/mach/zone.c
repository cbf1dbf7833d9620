#include "sim/player/virtual/mach/zone.h"

#include "sim/kernel/kernel.h"

enum { HELD_NS = 40, SPINS = 16 };

static struct sim_mutex zone = {.name = "malloc zone"};

/* The lock is adaptive, as the system's are: while its holder runs, another thread waits on its processor. */
static bool zone_spin(void)
{
    for (int i = 0; i < SPINS; i++) {
        if (sim_mutex_trylock(&zone))
            return true;
        if (zone.owner->state != SIM_RUNNING)
            return false;
        sim_compute(HELD_NS);
    }
    return false;
}

static void zone_enter(void)
{
    if (!sim_self())
        return;
    if (!zone_spin())
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
