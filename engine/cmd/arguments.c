#include "engine/cmd/arguments.h"

#include "engine/cmd/cmd.h"
#include "engine/util/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool strobe_parse_number(const char *text, uint64_t max, uint64_t *out)
{
    struct strobe_cursor c = strobe_cursor(text, strlen(text));
    uint64_t v;
    if (!strobe_cursor_take_number(&c, max, &v) || c.at != c.end)
        return false;
    *out = v;
    return true;
}

static bool number_with_unit(const char *text, double *value, const char **unit)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    *unit = end;
    return end != text && errno == 0 && *value >= 0 && *value < 1e15;
}

bool strobe_parse_time(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double value;
    const char *unit;
    if (!number_with_unit(text, &value, &unit))
        return false;
    if (value == 0 && *unit == '\0') {
        *ns = 0;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!strcmp(unit, units[i].unit) && value * units[i].ns < (double)INT64_MAX) {
            *ns = (uint64_t)(value * units[i].ns);
            return true;
        }
    }
    return false;
}

bool strobe_parse_count(const char *text, uint32_t low, uint32_t high, uint32_t *out)
{
    double value;
    const char *unit;
    if (!number_with_unit(text, &value, &unit))
        return false;
    value *= !strcmp(unit, "k") ? 1024 : !strcmp(unit, "M") ? 1024 * 1024 : 1;
    if ((*unit && strcmp(unit, "k") && strcmp(unit, "M")) || value < low || value > high)
        return false;
    *out = (uint32_t)value;
    return true;
}

static const struct {
    const char *ending;
    enum strobe_format format;
} endings[] = {
    {".perfetto-trace", STROBE_FORMAT_PERFETTO},
    {".pftrace", STROBE_FORMAT_PERFETTO},
    {".perfetto", STROBE_FORMAT_PERFETTO},
    {".pb", STROBE_FORMAT_PERFETTO},
    {".pb.gz", STROBE_FORMAT_PPROF},
    {".speedscope.json", STROBE_FORMAT_SPEEDSCOPE},
    {".speedscope", STROBE_FORMAT_SPEEDSCOPE},
    {".firefox.json", STROBE_FORMAT_FIREFOX},
    {".json", STROBE_FORMAT_CHROME},
    {".json-trace", STROBE_FORMAT_CHROME},
    {".folded", STROBE_FORMAT_FOLDED},
    {".collapsed", STROBE_FORMAT_FOLDED},
    {".txt", STROBE_FORMAT_FOLDED},
};

size_t strobe_trace_ending(const char *path, enum strobe_format *format)
{
    size_t bytes = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i].ending);
        if (bytes > n && !strcmp(path + bytes - n, endings[i].ending)) {
            *format = endings[i].format;
            return n;
        }
    }
    *format = STROBE_FORMAT_PERFETTO;
    return 0;
}

int strobe_choose_by_ending(const char *path, const char *others, const char *advice, enum strobe_format *format)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    if (strobe_trace_ending(path, format) || !dot || dot == name || !dot[1])
        return 0;
    return strobe_complain("%s: %s is the ending of no format; expected .perfetto-trace, .pftrace, .perfetto or .pb "
                           "(perfetto), .json or .json-trace (chrome), .speedscope or .speedscope.json (speedscope), "
                           ".folded, .collapsed or .txt (folded), .pb.gz (pprof), .firefox.json (firefox)%s; %s",
                           path, dot, others, advice);
}

void strobe_print_word(FILE *out, const char *word)
{
    if (!word[strcspn(word, " \t\n'\"\\$`!*?[](){}<>|&;~#")]) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        *word == '\'' ? fputs("'\\''", out) : fputc(*word, out);
    fputc('\'', out);
}
