#include "engine/trace/symbols/perf_map.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Takes a number of 1 to 16 digits and the blanks behind it off *at. Returns 0 when there is none. */
static int take_hex_number(const char **at, const char *end, uint64_t *out)
{
    const char *p = *at;
    int digits = 0;
    if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
        p += 2;
    for (*out = 0; p < end && hex_digit(*p) >= 0; p++, digits++) {
        if (digits == 16)
            return 0;
        *out = *out << 4 | (uint64_t)hex_digit(*p);
    }
    if (!digits || p == end || (*p != ' ' && *p != '\t'))
        return 0;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    *at = p;
    return 1;
}

/* Returns 0 when the line has another form. */
static int parse_line(const char *at, const char *end, struct strobe_code *out)
{
    *out = (struct strobe_code){0};
    if (!take_hex_number(&at, end, &out->start) || !take_hex_number(&at, end, &out->bytes))
        return 0;
    size_t bytes = (size_t)(end - at);
    out->name = at;
    out->name_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    return 1;
}

enum strobe_status strobe_perf_map_read(const char *text, size_t bytes, struct strobe_code_list *out)
{
    const char *at = text, *end = text + bytes;
    for (uint64_t number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *line_end = newline ? newline : end;
        const char *next = newline ? newline + 1 : end;
        while (line_end > at && strchr(" \t\r", line_end[-1]) && line_end[-1])
            line_end--;
        struct strobe_code code;
        if (line_end > at) {
            if (!parse_line(at, line_end, &code))
                strobe_code_list_add_bad(out, number);
            else if (strobe_code_list_add(out, &code, number) != STROBE_OK)
                return STROBE_IO;
        }
        at = next;
    }
    return STROBE_OK;
}
