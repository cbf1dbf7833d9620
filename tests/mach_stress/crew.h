/* A fixed number of threads that run through the graph (graph.h). Each thread starts its successor before it ends. */
#ifndef STROBE_MACH_STRESS_CREW_H
#define STROBE_MACH_STRESS_CREW_H

#include "tests/mach_stress/graph.h"

enum { CREW_MAX = 64 };

/* A slot of the crew, and the thread in it. */
struct crew_slot {
    _Atomic uint64_t id; /* thread_id; 0: no thread. Each of the others belongs to that thread, or to the next one */
    _Atomic uint64_t stack_high, root_frame;
    _Atomic uint64_t stack_bytes; /* all threads have stacks of one size */
    _Atomic bool rests;           /* the thread sleeps */
};

struct crew {
    struct graph_place place;
    uint32_t size, runs, rest_us; /* runs in a thread's life; longest rest between two runs */
    /* Reports that the thread has taken its slot, or is about to leave it; NULL: no report. Called on that thread. */
    void (*joins)(uint64_t id);
    bool (*leaves)(uint64_t id); /* true: keeps the slot until the next thread takes it, or for ever */
    _Atomic bool stop;
    _Atomic uint32_t alive;
    _Atomic uint64_t started, ended;
    struct crew_slot slot[CREW_MAX];
};

/* Starts all threads. Returns false when one could not be made. */
bool crew_start(struct crew *c, uint64_t seed);

/* Ends all threads and waits for their ends. */
void crew_stop(struct crew *c);

#endif
