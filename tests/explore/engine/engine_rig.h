/* An engine over a simulated host, in the state of a program that explores engine/capture. The clock of each thread
 * counts its readings. The host reads memory word by word, as a copy of racing memory does. It does not stop threads
 * unless a program simulates that. */
#ifndef STROBE_EXPLORE_ENGINE_ENGINE_RIG_H
#define STROBE_EXPLORE_ENGINE_ENGINE_RIG_H

#include "engine/capture/blocking.h"
#include "engine/capture/sampler.h"
#include "sim/explore/program.h"

enum { RIG_THREADS = 4, RIG_WORDS = 8, RIG_WHAT = 1 };

struct explore_rig {
    struct strobe_engine engine;
    struct strobe_host host;
    struct strobe_unwinder unwinder;
    struct strobe_session_header header;
    struct strobe_thread_entry entry[RIG_THREADS];
    struct strobe_thread thread[RIG_THREADS];
    struct strobe_blocking blocking;
    uint32_t living[RIG_THREADS];
    strobe_a32 on;                         /* the switch */
    uint64_t now[EXPLORE_THREADS_MAX + 1]; /* each thread's clock */
    strobe_a64 word[RIG_WORDS];            /* the stack of traced threads; each program chooses its words */
    struct strobe_sampler sampler;
};

/* Sets up an engine that is switched on, with `threads` attached threads in the order of the program's threads. The
 * gate rejects their events. Setup. */
void rig_make(struct explore_rig *r, uint32_t threads);

/* Gives the session a ring and a stack table, and the engine buffers, for programs that take samples. Setup. */
void rig_can_record(struct explore_rig *r);

/* Calls strobe_thread_attach for the thread `tid`. */
struct strobe_thread *rig_attach(struct explore_rig *r, uint32_t tid);

/* Returns the site of a hook: on the rig's stack, at word i. */
struct strobe_site rig_site(struct explore_rig *r, uint32_t i);

#endif
