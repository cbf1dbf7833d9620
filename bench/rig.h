/* An engine inside the bench program, on the Linux host, with the main thread attached. Its session file is unlinked as
 * soon as it is mapped. Main thread. */
#ifndef STROBE_BENCH_RIG_H
#define STROBE_BENCH_RIG_H

#include "engine/backend/linux/host_linux.h"
#include "engine/capture/sample.h"

struct rig {
    struct strobe_linux host;
    struct strobe_engine engine;
    struct strobe_thread *thread;
};

/* Returns the default config, without metrics that need a system call and without a sampler. */
struct strobe_config rig_config(void);

/* Makes an engine. Aborts on failure. The engine is never freed, because benches run to the end of the program. */
struct rig *rig_new(const struct strobe_config *config);

/* Ends the thread's stack at `high`, so that a walk only sees frames below it. */
void rig_limit_stack(struct rig *rig, uint64_t high);

#endif
