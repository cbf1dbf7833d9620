/* Starts the engine's backend for Mach, which is linked into the player. */
#include "sim/player/mach/loader.h"
#include "engine/base/error.h"

#include "engine/backend/mach/mach.h"
#include "sim/fake/mach/kernel.h"

static enum strobe_status mach_loader_begin(const char *session, struct strobe_error *error)
{
    struct strobe_mach_options options = {.session_path = session};
    return strobe_mach_start(&options, NULL, error);
}

static uint64_t mach_loader_charged_ns(void)
{
    return 0;
}

const struct sim_real_mach_loader sim_real_mach_loader = {
    .begin = mach_loader_begin, .end = strobe_mach_stop, .charged_ns = mach_loader_charged_ns};

struct played {
    int argc;
    char **argv;
    int status;
};

static void *mach_loader_play(void *p)
{
    struct played *played = p;
    played->status = sim_real_mach_player(played->argc, played->argv);
    return NULL;
}

int sim_real_mach_child(int argc, char **argv)
{
    struct played played = {argc, argv, 0};
    fake_rooted(mach_loader_play, &played);
    return played.status;
}
