#include "engine/trace/symbols/perf_map.h"

#include "engine/util/cursor.h"

#include <string.h>

/* Reads a number of 1 to 16 digits and the blanks behind it. Returns 0 if there is none. */
static int take_hex_number(struct strobe_cursor *c, uint64_t *out)
{
    if (c->end - c->at > 2 && c->at[0] == '0' && (c->at[1] | 0x20) == 'x')
        c->at += 2;
    if (!strobe_cursor_take_hex(c, out) || c->at == c->end || (*c->at != ' ' && *c->at != '\t'))
        return 0;
    strobe_cursor_skip_blanks(c);
    return 1;
}

/* Returns 0 if the line is malformed. */
static int parse_line(struct strobe_cursor line, struct strobe_code *out)
{
    *out = (struct strobe_code){0};
    if (!take_hex_number(&line, &out->start) || !take_hex_number(&line, &out->bytes))
        return 0;
    size_t bytes = (size_t)(line.end - line.at);
    out->name = line.at;
    out->name_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    return 1;
}

enum strobe_status strobe_perf_map_read(const char *text, size_t bytes, struct strobe_code_list *out)
{
    struct strobe_cursor c = strobe_cursor(text, bytes), line;
    for (uint64_t number = 1; strobe_cursor_take_line(&c, &line); number++) {
        while (line.end > line.at && strchr(" \t\r", line.end[-1]) && line.end[-1])
            line.end--;
        struct strobe_code code;
        if (line.end > line.at) {
            if (!parse_line(line, &code))
                strobe_code_list_add_bad(out, number);
            else if (strobe_code_list_add(out, &code, number) != STROBE_OK)
                return STROBE_IO;
        }
    }
    return STROBE_OK;
}
