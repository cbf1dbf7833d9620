#include "sim/runtime/others.h"

/* Thread ids beyond those of an app, which are counted from 1. */
enum { FIRST_TID = 0x7f000000 };

static const uint64_t PIECE_NS = 1000000000;

static void others_compute_forever(void *arg)
{
    (void)arg;
    for (;;)
        sim_compute(PIECE_NS);
}

bool sim_others_start(struct sim_kernel *k, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sim_thread_options options = {
            .name = "other program", .tid = FIRST_TID + i, .daemon = true, .entry = others_compute_forever};
        if (!sim_thread_start(k, &options))
            return false;
    }
    return true;
}
