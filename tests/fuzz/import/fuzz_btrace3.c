/* Captures of btrace 3.0 with any bytes: reading ends, reads within the bounds, and what was read is a valid session.
 * The input is u16 bytes of mapping, the mapping, and the capture. */
#include "engine/trace/import/btrace3/btrace3_read.h"

#include "tests/fuzz/support/samples.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Copies to memory of exactly this size, so that a read beyond the end is found. */
static void *copy_exactly(const uint8_t *data, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        abort();
    memcpy(copy, data, bytes);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_sampled *sampled;
    struct strobe_btrace3_stats stats;
    struct strobe_error error;
    bool of_mapping;
    size_t mapping = bytes < 2 ? 0 : data[0] | (size_t)data[1] << 8;
    if (bytes < 2 || mapping > bytes - 2 || strobe_sampled_open(&sampled) != STROBE_OK)
        return 0;
    size_t sampling = bytes - 2 - mapping;
    void *texts = copy_exactly(data + 2, mapping), *records = copy_exactly(data + 2 + mapping, sampling);
    struct strobe_btrace3_files files = {records, mapping ? texts : NULL, sampling, mapping};
    if (strobe_btrace3_read(&files, sampled, &stats, &of_mapping, &error) == STROBE_OK) {
        if (stats.skipped_bytes + stats.tail_bytes > sampling || stats.wakers > stats.waits)
            abort();
        fuzz_check_session(sampled, data, bytes);
    }
    strobe_sampled_close(sampled);
    free(texts);
    free(records);
    return 0;
}
