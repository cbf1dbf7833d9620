#include "engine/base/pid_text.h"

#include <string.h>

bool strobe_insert_pid(const char *text, size_t bytes, uint32_t pid, char *out, size_t out_bytes)
{
    static const char mark[] = "{pid}";
    const size_t mark_bytes = sizeof mark - 1;
    size_t n = 0;
    while (bytes) {
        char digits[10];
        const char *part = text;
        size_t part_bytes = 1;
        bool is_mark = bytes >= mark_bytes && !memcmp(text, mark, mark_bytes);
        if (is_mark) {
            char *first = digits + sizeof digits;
            for (uint32_t rest = pid; rest || first == digits + sizeof digits; rest /= 10)
                *--first = (char)('0' + rest % 10);
            part = first;
            part_bytes = (size_t)(digits + sizeof digits - first);
        }
        text += is_mark ? mark_bytes : 1;
        bytes -= is_mark ? mark_bytes : 1;
        if (n + part_bytes >= out_bytes)
            return false;
        memcpy(out + n, part, part_bytes);
        n += part_bytes;
    }
    out[n] = '\0';
    return n > 0;
}
