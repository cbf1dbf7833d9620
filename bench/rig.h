/* An engine of its own inside the bench, on the genuine Linux host, with the main thread attached to it. Its session
 * is a file that is gone from its folder as soon as it is mapped. Main thread. */
#ifndef STROBE_BENCH_RIG_H
#define STROBE_BENCH_RIG_H

#include "engine/backend/linux/host_linux.h"
#include "engine/capture/sample.h"

struct rig {
    struct strobe_linux host;
    struct strobe_engine engine;
    struct strobe_thread *thread;
};

/* The defaults, but for what concerns one thread's samples: no metrics that cost a call, no sampler. */
struct strobe_config rig_config(void);

/* A new engine; aborts when it cannot be made. Never freed: benches run to the end of the program. */
struct rig *rig_new(const struct strobe_config *config);

/* Makes the thread's stack end at `high`, so that a walk sees what is below it only. */
void rig_limit_stack(struct rig *rig, uint64_t high);

#endif
