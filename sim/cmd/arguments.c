#include "sim/cmd/arguments.h"

int strobe_parse_number(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;
    if (!*text)
        return 0;
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (digit > 9 || v > (max - digit) / 10)
            return 0;
        v = v * 10 + digit;
    }
    *out = v;
    return 1;
}
