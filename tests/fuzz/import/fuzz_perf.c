/* Text of perf script with any bytes: reading ends, reads within the bounds, and what was read is a valid session. The
 * first byte selects the options. */
#include "engine/trace/import/perf/perf_read.h"

#include "tests/fuzz/support/samples.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const events[] = {NULL, NULL, "cycles", "sched:sched_switch"};
    struct strobe_sampled *sampled;
    struct strobe_perf_stats stats;
    struct strobe_error error;
    if (!bytes || strobe_sampled_open(&sampled) != STROBE_OK)
        return 0;
    struct strobe_perf_options options = {events[data[0] % 4], data[0] & 4 ? 7 : 0, 1000000};
    char *text = malloc(bytes); /* of exactly the size of the text, so that a read beyond its end is found */
    if (!text)
        abort();
    memcpy(text, data + 1, bytes - 1);
    if (strobe_perf_read(text, bytes - 1, &options, sampled, &stats, &error) == STROBE_OK)
        fuzz_check_session(sampled, data, bytes);
    strobe_sampled_close(sampled);
    free(text);
    return 0;
}
