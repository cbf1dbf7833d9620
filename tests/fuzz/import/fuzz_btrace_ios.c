/* Databases of btrace on iOS with any bytes: reading ends, reads within the bounds, and what was read is a valid
 * session. The first byte selects the trace. Checksums do not guard a database, so mutated pages reach the reader. */
#include "engine/trace/import/btraceios/btrace_ios_read.h"

#include "tests/fuzz/support/samples.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_sampled *sampled;
    struct strobe_btrace_ios_stats stats;
    struct strobe_error error;
    if (!bytes || strobe_sampled_open(&sampled) != STROBE_OK)
        return 0;
    struct strobe_btrace_ios_options options = {data[0] & 1 ? 0 : STROBE_BTRACE_IOS_LAST_TRACE};
    char *file = malloc(bytes); /* of exactly the size of the file, so that a read beyond its end is found */
    if (!file)
        abort();
    memcpy(file, data + 1, bytes - 1);
    strobe_sampled_interval(sampled, 1000000, 0);
    if (strobe_btrace_ios_read(file, bytes - 1, &options, sampled, &stats, &error) == STROBE_OK)
        fuzz_check_session(sampled, data, bytes);
    strobe_sampled_close(sampled);
    free(file);
    return 0;
}
