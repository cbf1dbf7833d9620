/* Collapsed stacks with any bytes: reading ends, reads within the bounds, and what was read is a valid session. The
 * first byte selects the options. */
#include "engine/trace/import/collapsed/collapsed_read.h"

#include "tests/fuzz/support/samples.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint64_t units[] = {1, 1000, 1000000, UINT64_MAX};
    struct strobe_sampled *sampled;
    struct strobe_collapsed_stats stats;
    struct strobe_error error;
    if (!bytes || strobe_sampled_open(&sampled) != STROBE_OK)
        return 0;
    struct strobe_collapsed_options options = {units[data[0] % 4], (enum strobe_collapsed_threads)(data[0] / 4 % 3)};
    char *text = malloc(bytes); /* of exactly the size of the text, so that a read beyond its end is found */
    if (!text)
        abort();
    memcpy(text, data + 1, bytes - 1);
    if (strobe_collapsed_read(text, bytes - 1, &options, sampled, &stats, &error) == STROBE_OK) {
        if (strobe_sampled_count(sampled) > STROBE_COLLAPSED_SAMPLES_MAX + stats.stacks)
            abort();
        fuzz_check_session(sampled, data, bytes);
    }
    strobe_sampled_close(sampled);
    free(text);
    return 0;
}
