#include "engine/base/time_text.h"

#include <string.h>

size_t strobe_read_decimal(const char *text, size_t bytes, uint64_t *out)
{
    size_t n = 0;
    *out = 0;
    for (; n < bytes && text[n] >= '0' && text[n] <= '9'; n++) {
        if (*out > (UINT64_MAX - 9) / 10)
            return 0;
        *out = *out * 10 + (uint64_t)(text[n] - '0');
    }
    return n;
}

bool strobe_read_time(const char *text, size_t bytes, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    size_t digits = strobe_read_decimal(text, bytes, ns);
    for (size_t i = 0; digits && i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i].name) == bytes - digits && !memcmp(text + digits, units[i].name, bytes - digits))
            return !__builtin_mul_overflow(*ns, units[i].ns, ns);
    return false;
}
