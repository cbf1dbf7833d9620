/* Names of functions come from files. With any name, demangling ends in a text or in none. */
#include "engine/trace/symbols/demangle.h"
#include "tests/fuzz/support/bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *name = malloc(bytes + 1);
    fuzz_require(name);
    memcpy(name, data, bytes);
    name[bytes] = '\0';
    char *readable = strobe_demangle(name);
    fuzz_require(!readable || readable[0]);
    free(readable);
    free(name);
    return 0;
}
