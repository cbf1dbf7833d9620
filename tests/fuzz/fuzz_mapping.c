/* Mapping files of shrinkers with any text: reading one and looking up names ends and stays within the bounds. The
 * input up to its first NUL is the requested method, the rest is the file. */
#include "engine/base/error.h"
#include "engine/trace/symbols/mapping.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_mapping *m;
    struct strobe_error error;
    const uint8_t *end = bytes ? memchr(data, 0, bytes) : NULL;
    if (!end)
        return 0;
    size_t used = (size_t)(end - data) + 1;
    if (strobe_mapping_parse((const char *)end + 1, bytes - used, "input", &m, &error) == STROBE_OK) {
        free(strobe_mapping_method(m, (const char *)data));
        free(strobe_mapping_method(m, "void a.b.c(int, a.d[])"));
        strobe_mapping_free(m);
    }
    return 0;
}
