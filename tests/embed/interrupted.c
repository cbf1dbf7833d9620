/* An event that the end of a capture interrupts continues while the next capture runs: it has read the switch and its
 * thread's state already. One thread plays both. The event belongs to the first capture.
 *
 *   interrupted FIRST SECOND     the sessions */
#include "engine/backend/linux/preload/preload.h"
#include "engine/capture/annotate.h"
#include "engine/include/strobe/capture.h"

#include <stdio.h>
#include <stdlib.h>

static void begin_capture(const char *path)
{
    struct strobe_error error;
    struct strobe_capture_options options = {.session_path = path, .replace = 1, .records_max = 4096};
    if (strobe_start(&options, &error) == STROBE_OK)
        return;
    printf("%s\n", error.text);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    begin_capture(argv[1]);
    free(malloc(100));
    struct strobe_thread *state = strobe_preload_thread();
    if (!state || strobe_stop() != STROBE_OK)
        return 1;
    begin_capture(argv[2]);
    strobe_counter_report(state, "of the first capture", 1);
    strobe_counter("of the second capture", 2);
    return strobe_stop() != STROBE_OK;
}
