/* Jitdump files with any bytes: reading ends and stays within the bounds. Each name read has a range, and a text
 * within the input. */
#include "engine/trace/symbols/jitdump.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_code_list list = {0};
    struct strobe_jitdump head;
    const char *begin = (const char *)data;
    enum strobe_status status = strobe_jitdump_read(data, bytes, &head, &list);
    if (status != STROBE_OK && (status != STROBE_BAD_INPUT || list.count))
        abort();
    for (size_t i = 0; i < list.count; i++) {
        const struct strobe_code *c = &list.at[i];
        if (!c->bytes || c->start + c->bytes < c->start || !c->name_bytes || c->name < begin ||
            c->name + c->name_bytes >= begin + bytes)
            abort();
    }
    strobe_code_list_free(&list);
    return 0;
}
