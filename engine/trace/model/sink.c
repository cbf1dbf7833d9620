#include "engine/trace/model/sink.h"

#include <stdbool.h>
#include <string.h>

const char *const strobe_series_name[STROBE_SERIES_COUNT] = {
    [STROBE_SERIES_CPU_NS] = "process CPU time",
    [STROBE_SERIES_FOOTPRINT_BYTES] = "memory footprint",
    [STROBE_SERIES_THREADS] = "threads",
    [STROBE_SERIES_MACH_TRAPS] = "Mach traps",
};
const char *const strobe_hitch_name[STROBE_HITCH_COUNT] = {
    [STROBE_HITCH_FRAME] = "hitch",
    [STROBE_HITCH_HANG] = "hang",
};

/* All apps of Android have the same program, /system/bin/app_process, with 32 or 64 behind its name. */
static bool is_android_app(const char *program, size_t bytes)
{
    static const char name[] = "app_process";
    return bytes >= sizeof name - 1 && !memcmp(program, name, sizeof name - 1);
}

const char *strobe_sink_process_name(const struct strobe_session_header *header, size_t *bytes)
{
    static const char unknown[] = "program";
    size_t end = strnlen(header->exe, sizeof header->exe), begin = end;
    while (begin && header->exe[begin - 1] != '/')
        begin--;
    size_t first = strcspn(header->command, " ");
    if (first && is_android_app(header->exe + begin, end - begin)) {
        *bytes = first;
        return header->command;
    }
    *bytes = end > begin ? end - begin : sizeof unknown - 1;
    return end > begin ? header->exe + begin : unknown;
}

const char *strobe_mark_category(const struct strobe_mark *m, size_t *bytes)
{
    const char *end = m->thread && !m->is_counter ? strstr(m->name, ": ") : NULL;
    *bytes = end ? (size_t)(end - m->name) : 0;
    return end ? m->name : "";
}
