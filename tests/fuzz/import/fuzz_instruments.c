/* Exports of Instruments with any bytes: reading ends, reads within the bounds, and what was read is a valid session.
 * The first byte selects the process. */
#include "engine/trace/import/instruments/instruments_read.h"

#include "tests/fuzz/support/samples.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_sampled *sampled;
    struct strobe_instruments_stats stats;
    struct strobe_error error;
    if (!bytes || strobe_sampled_open(&sampled) != STROBE_OK)
        return 0;
    struct strobe_instruments_options options = {data[0] & 1 ? 7 : 0};
    char *text = malloc(bytes); /* of exactly the size of the text, so that a read beyond its end is found */
    if (!text)
        abort();
    memcpy(text, data + 1, bytes - 1);
    if (strobe_instruments_read(text, bytes - 1, &options, sampled, &stats, &error) == STROBE_OK) {
        if (strobe_sampled_count(sampled) != stats.rows)
            abort();
        fuzz_check_session(sampled, data, bytes);
    }
    strobe_sampled_close(sampled);
    free(text);
    return 0;
}
