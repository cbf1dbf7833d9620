/* Perf maps with any text: reading ends and stays within the bounds. Each name read has a range, and a text within
 * the input. */
#include "engine/trace/symbols/perf_map.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_code_list list = {0};
    const char *text = (const char *)data;
    if (strobe_perf_map_read(text, bytes, &list) != STROBE_OK)
        abort();
    for (size_t i = 0; i < list.count; i++) {
        const struct strobe_code *c = &list.at[i];
        if (!c->bytes || c->start + c->bytes < c->start || !c->name_bytes || c->name < text ||
            c->name + c->name_bytes > text + bytes)
            abort();
    }
    if ((list.bad != 0) != (list.first_bad != 0))
        abort();
    strobe_code_list_free(&list);
    return 0;
}
