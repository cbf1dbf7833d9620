/* Method mappings and black lists of Matrix with any text: reading one ends and stays within the bounds. A mapping
 * that was read gives the same methods by id, and accepts new methods. The first byte selects mapping or list. */
#include "engine/base/error.h"
#include "engine/trace/import/matrix/matrix_map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void map(const char *text, size_t bytes)
{
    struct strobe_matrix_map *m;
    struct strobe_error error;
    uint32_t id;
    if (strobe_matrix_map_parse(text, bytes, "input", &m, &error) != STROBE_OK) {
        if (strncmp(error.text, "input:", 6))
            abort();
        return;
    }
    size_t count = strobe_matrix_map_count(m);
    for (size_t i = 0; i < count; i++) {
        const struct strobe_matrix_method *method = strobe_matrix_map_at(m, i);
        if (strobe_matrix_map_of(m, method->id) != method ||
            strobe_matrix_map_id(m, 1, method->name, &id) != STROBE_OK || id != method->id)
            abort();
    }
    enum strobe_status status = strobe_matrix_map_id(m, 1, "no method has\ta tab", &id);
    if (status != STROBE_FULL && (status != STROBE_OK || strobe_matrix_map_of(m, id)->id != id))
        abort();
    strobe_matrix_map_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_error error;
    if (!bytes)
        return 0;
    if (*data & 1) {
        map((const char *)data + 1, bytes - 1);
        return 0;
    }
    struct strobe_matrix_blacklist *l = strobe_matrix_blacklist_open();
    strobe_matrix_blacklist_parse(l, (const char *)data + 1, bytes - 1, "input", &error);
    if (strobe_matrix_blacklist_has(l, "") || !strobe_matrix_blacklist_has(l, "android/os/A"))
        abort();
    strobe_matrix_blacklist_close(l);
    return 0;
}
