/* Threads that run through the graph (graph.h), so many at a time: each that ends has started the next before. */
#ifndef STROBE_MACH_STRESS_CREW_H
#define STROBE_MACH_STRESS_CREW_H

#include "tests/mach_stress/graph.h"

enum { CREW_MAX = 64 };

/* One of the places of the crew, and who has it now. */
struct crew_slot {
    _Atomic uint64_t id; /* thread_id; 0: nobody. What follows is of that thread, or the next */
    _Atomic uint64_t stack_low, stack_high, root_frame;
    _Atomic bool rests; /* it sleeps */
};

struct crew {
    struct graph_place place;
    uint32_t size, runs, rest_us; /* runs of a thread's life, most rest between two */
    /* The thread has taken its slot, or is about to give it up; NULL: nobody wants to know. On that thread. */
    void (*joins)(uint64_t id);
    bool (*leaves)(uint64_t id); /* true: it keeps the slot until the next takes it, or for ever */
    _Atomic bool stop;
    _Atomic uint32_t alive;
    _Atomic uint64_t started, ended;
    struct crew_slot slot[CREW_MAX];
};

/* Starts all; false: no thread could be made. */
bool crew_start(struct crew *c, uint64_t seed);

/* Has all end, and waits for it. */
void crew_stop(struct crew *c);

#endif
