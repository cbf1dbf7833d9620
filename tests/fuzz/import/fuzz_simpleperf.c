/* The output of simpleperf report-sample with any bytes: reading ends, reads within the bounds, and what was read is a
 * valid session. The first byte selects the options. */
#include "engine/trace/import/simpleperf/simpleperf_read.h"

#include "tests/fuzz/support/samples.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_sampled *sampled;
    struct strobe_simpleperf_stats stats;
    struct strobe_error error;
    if (!bytes || strobe_sampled_open(&sampled) != STROBE_OK)
        return 0;
    struct strobe_simpleperf_options options = {data[0] & 1 ? "cpu-clock" : NULL, data[0] & 2 ? 7 : 0};
    uint8_t *file = malloc(bytes); /* of exactly the size of the file, so that a read beyond its end is found */
    if (!file)
        abort();
    memcpy(file, data + 1, bytes - 1);
    if (strobe_simpleperf_read(file, bytes - 1, &options, sampled, &stats, &error) == STROBE_OK) {
        if (stats.tail_bytes > bytes)
            abort();
        fuzz_check_session(sampled, data, bytes);
    }
    strobe_sampled_close(sampled);
    free(file);
    return 0;
}
