/* Method traces of Android's runtime with any bytes: reading ends, reads within the bounds, and the calls read can be
 * repaired and written. */
#include "engine/base/error.h"
#include "engine/trace/export/ftrace_write.h"
#include "engine/trace/import/artrace/art_trace_read.h"
#include "engine/trace/model/calls_repair.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_calls calls;
    struct strobe_art_trace_stats stats;
    struct strobe_repair_stats repaired;
    struct strobe_outfile out;
    struct strobe_error error;
    uint8_t *trace = malloc(bytes ? bytes : 1); /* of exactly the input's size, so that a read beyond it is found */
    if (!trace)
        abort();
    if (bytes)
        memcpy(trace, data, bytes);
    if (strobe_art_trace_read(trace, bytes, &calls, &stats, &error) == STROBE_OK) {
        if (stats.tail_bytes > bytes || strobe_calls_repair(&calls, STROBE_REPAIR_LAST, &repaired) != STROBE_OK)
            abort();
        if (strobe_outfile_open(&out, "/dev/null", 1) == STROBE_OK) {
            strobe_ftrace_write(&calls, &out);
            strobe_outfile_finish(&out, 0);
        }
    }
    strobe_calls_close(&calls);
    free(trace);
    return 0;
}
