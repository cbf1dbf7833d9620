#include "tests/mach_stress/crew.h"

#include <pthread_np.h>
#include <stdlib.h>
#include <unistd.h>

/* A thread of the crew. Its walker is the first member. */
struct member {
    struct graph_walker walker;
    struct crew *crew;
    uint32_t slot;
};

static bool start_one(struct crew *c, uint32_t slot, uint64_t seed);

static void begins(struct graph_walker *w, uint64_t frame)
{
    struct member *m = (struct member *)w;
    struct crew_slot *s = &m->crew->slot[m->slot];
    uint64_t id = 0;
    pthread_threadid_np(0, &id);
    uint64_t high = (uint64_t)(uintptr_t)pthread_get_stackaddr_np(pthread_self());
    atomic_store(&s->stack_high, high);
    atomic_store(&s->stack_bytes, pthread_get_stacksize_np(pthread_self()));
    atomic_store(&s->root_frame, frame);
    if (m->crew->joins)
        m->crew->joins(id);
    atomic_store_explicit(&s->id, id, memory_order_release);
}

static void ends(struct graph_walker *w)
{
    struct member *m = (struct member *)w;
    struct crew *c = m->crew;
    _Atomic uint64_t *id = &c->slot[m->slot].id;
    if (!c->leaves || !c->leaves(atomic_load(id)))
        atomic_store(id, 0);
    if (!atomic_load(&c->stop) && !start_one(c, m->slot, w->random))
        abort();
    c->place.app->free(m);
    atomic_fetch_add(&c->ended, 1);
    atomic_fetch_sub(&c->alive, 1);
}

static bool start_one(struct crew *c, uint32_t slot, uint64_t seed)
{
    struct member *m = c->place.app->malloc(sizeof *m);
    pthread_attr_t attributes;
    pthread_t thread;
    if (!m)
        return false;
    uint32_t runs = c->runs / 2 + 1 + (uint32_t)(seed % c->runs);
    *m = (struct member){.walker = {.place = &c->place,
                                    .random = seed,
                                    .runs = runs,
                                    .rest_us = c->rest_us,
                                    .rests = &c->slot[slot].rests,
                                    .begins = begins,
                                    .ends = ends},
                         .crew = c,
                         .slot = slot};
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    atomic_fetch_add(&c->alive, 1);
    bool failed = c->place.app->pthread_create(&thread, &attributes, graph_begin, m) != 0;
    pthread_attr_destroy(&attributes);
    if (failed) {
        atomic_fetch_sub(&c->alive, 1);
        c->place.app->free(m);
        return false;
    }
    atomic_fetch_add(&c->started, 1);
    return true;
}

bool crew_start(struct crew *c, uint64_t seed)
{
    pthread_mutex_init(&c->place.mutex, NULL);
    for (uint32_t i = 0; i < c->size; i++)
        if (!start_one(c, i, (seed + i + 1) * 0x9e3779b97f4a7c15u))
            return false;
    return true;
}

void crew_stop(struct crew *c)
{
    atomic_store(&c->stop, true);
    while (atomic_load(&c->alive))
        usleep(1000);
    usleep(20000); /* the last threads may still be in their exit from the C library */
}
