#include "engine/trace/sink.h"

const char *const strobe_series_name[STROBE_SERIES_COUNT] = {
    [STROBE_SERIES_CPU_NS] = "process CPU time",
    [STROBE_SERIES_FOOTPRINT_BYTES] = "memory footprint",
    [STROBE_SERIES_THREADS] = "threads",
};
const char *const strobe_hitch_name[STROBE_HITCH_COUNT] = {
    [STROBE_HITCH_FRAME] = "hitch",
    [STROBE_HITCH_HANG] = "hang",
};
