/* Method logs of btrace 2.0 with any bytes: reading ends, reads within the bounds, and the calls read nest. The
 * input up to its first NUL is the mapping, the rest is the log. */
#include "engine/base/error.h"
#include "engine/trace/export/btrace2_write.h"
#include "engine/trace/import/btrace/btrace2_read.h"
#include "engine/trace/model/calls_repair.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_calls calls;
    struct strobe_matrix_map *map = NULL;
    struct strobe_repair_stats stats;
    struct strobe_outfile out;
    struct strobe_error error;
    const uint8_t *end = bytes ? memchr(data, 0, bytes) : NULL;
    if (!end)
        return 0;
    size_t used = (size_t)(end - data) + 1;
    if (strobe_matrix_map_parse((const char *)data, used - 1, "mapping", &map, &error) != STROBE_OK)
        map = NULL;
    struct strobe_btrace2_options options = {.map = map};
    if (strobe_btrace2_read(end + 1, bytes - used, &options, &calls, NULL, &error) == STROBE_OK) {
        if (strobe_calls_repair(&calls, STROBE_REPAIR_LAST, &stats) != STROBE_OK || stats.closed || stats.open_at_end ||
            stats.unmatched)
            abort();
        if (strobe_outfile_open(&out, "/dev/null", 1) == STROBE_OK) {
            if (strobe_btrace2_write(&calls, 0, &out, NULL, NULL) != STROBE_OK)
                abort();
            strobe_outfile_finish(&out, 0);
        }
    }
    strobe_calls_close(&calls);
    strobe_matrix_map_close(map);
    return 0;
}
