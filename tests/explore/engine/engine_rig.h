/* An engine in a program's state, over a played host: for programs that explore engine/capture. Its clock counts its
 * own readings, thread by thread; memory is read word by word, as a copy of racing memory is; threads are not stopped
 * unless a program plays that. */
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
    strobe_a64 word[RIG_WORDS];            /* a traced thread's stack, in whatever words it likes */
    struct strobe_sampler sampler;
};

/* Lays out an engine that is switched on and has `threads` threads attached, numbered as the program's. Their events do
 * not pass the gate. Setup. */
void rig_make(struct explore_rig *r, uint32_t threads);

/* Gives the session a ring and a stack table, for programs that take samples. Setup. */
void rig_can_record(struct explore_rig *r);

/* As strobe_thread_attach, by the calling thread or for it. */
struct strobe_thread *rig_attach(struct explore_rig *r, uint32_t tid);

/* A hook's place: on the rig's stack, at word i. */
struct strobe_site rig_site(struct explore_rig *r, uint32_t i);

#endif
