/* The engine's backend for Mach, as it ships. */
#include "sim/real/mach/seat.h"

#include "engine/backend/mach/mach.h"

static enum strobe_status begin(const char *session, char *why, size_t why_bytes)
{
    struct strobe_mach_options options = {.session_path = session};
    return strobe_mach_start(&options, NULL, why, why_bytes);
}

static uint64_t charged_ns(void)
{
    return 0;
}

const struct sim_real_mach_seat sim_real_mach_seat = {.begin = begin, .end = strobe_mach_stop,
                                                      .charged_ns = charged_ns};

/* As on Darwin the main thread's outermost frame has none beyond it; here the C library would. */
int sim_real_mach_child(int argc, char **argv)
{
    void *volatile *record = __builtin_frame_address(0), *was = *record;
    *record = NULL;
    int status = sim_real_mach_player(argc, argv);
    *record = was;
    return status;
}
