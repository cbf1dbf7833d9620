/* Lines of /proc/PID/maps: whatever the kernel writes, a line that is accepted has an end behind its start and a path
 * that ends. The input is one line. */
#include "engine/backend/linux/maps.h"
#include "tests/fuzz/support/bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_linux_map map;
    char *line = malloc(bytes + 1);
    fuzz_require(line);
    memcpy(line, data, bytes);
    line[bytes] = '\0';
    memset(&map, 0xff, sizeof map);
    if (strobe_linux_parse_map(line, &map))
        fuzz_require(memchr(map.path, 0, sizeof map.path));
    free(line);
    return 0;
}
