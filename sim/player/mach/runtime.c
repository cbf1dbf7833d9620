/* Runtime of the player on the fake Mach. Methods are functions of frames.h. app.h redirects the player's calls. */
#include "engine/base/error.h"
#include "sim/player/mach/loader.h"

#include "engine/backend/mach/threads.h"
#include "sim/player/mach/calls.h"
#include "sim/player/runtime.h"

#include <pthread_np.h>

enum { STACK_BYTES = 4 << 20 };

static bool captured;

static enum strobe_status mach_player_begin(struct sim_real_play *p, const char *name, const char *session,
                                            struct strobe_error *error)
{
    (void)p;
    (void)name;
    enum strobe_status status = session ? sim_real_mach_loader.begin(session, error) : STROBE_OK;
    captured = session && status == STROBE_OK;
    return status;
}

static void mach_player_end(struct sim_real_play *p)
{
    (void)p;
    if (captured)
        sim_real_mach_loader.end();
}

static uint32_t mach_player_tid(void)
{
    uint64_t id = 0;
    pthread_threadid_np(0, &id);
    return strobe_mach_tid(id);
}

static uint64_t mach_charged_ns(void)
{
    return sim_real_mach_loader.charged_ns();
}

const struct sim_real_runtime sim_real_runtime = {
    .executor = &sim_executor_frames,
    .stack_bytes = STACK_BYTES,
    .open = mach_player_begin,
    .end = mach_player_end,
    .charged_ns = mach_charged_ns,
    .tid = mach_player_tid,
};
