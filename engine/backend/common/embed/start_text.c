#include "engine/backend/common/embed/start_text.h"

#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A part of the text: one option, its name or its value. Not NUL-terminated. */
struct word {
    const char *at;
    size_t bytes;
};

static bool word_is(struct word w, const char *text)
{
    return strlen(text) == w.bytes && !memcmp(w.at, text, w.bytes);
}

static bool is_start_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct word next_start_word(const char **text)
{
    while (is_start_blank(**text))
        ++*text;
    struct word w = {*text, 0};
    while (**text && !is_start_blank(**text))
        ++*text;
    w.bytes = (size_t)(*text - w.at);
    return w;
}

/* Reads the decimal number at the begin of the word, and removes it from the word. */
static bool read_start_number(struct word *w, uint64_t *out)
{
    const char *first = w->at;
    *out = 0;
    while (w->bytes && *w->at >= '0' && *w->at <= '9') {
        if (*out > (UINT64_MAX - 9) / 10)
            return false;
        *out = *out * 10 + (uint64_t)(*w->at - '0');
        w->at++, w->bytes--;
    }
    return w->at > first;
}

static bool read_interval(struct word w, uint64_t *out)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    if (!read_start_number(&w, out))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (word_is(w, units[i].name))
            return !__builtin_mul_overflow(*out, units[i].ns, out);
    return false;
}

static bool read_start_records(struct word w, uint32_t *out)
{
    uint64_t n;
    bool fits = read_start_number(&w, &n) && !w.bytes && n <= UINT32_MAX;
    *out = fits ? (uint32_t)n : 0;
    return fits;
}

/* Copies the path, with the process id in place of each {pid}. Returns false when it does not fit. */
static bool read_path(struct word w, uint32_t pid, char path[STROBE_START_PATH_BYTES])
{
    static const char mark[] = "{pid}";
    size_t n = 0;
    while (w.bytes) {
        char digits[10];
        struct word part = {w.at, 1};
        if (w.bytes >= sizeof mark - 1 && !memcmp(w.at, mark, sizeof mark - 1)) {
            char *first = digits + sizeof digits;
            for (uint32_t rest = pid; rest || first == digits + sizeof digits; rest /= 10)
                *--first = (char)('0' + rest % 10);
            part = (struct word){first, (size_t)(digits + sizeof digits - first)};
            w.at += sizeof mark - 2, w.bytes -= sizeof mark - 2;
        }
        w.at++, w.bytes--;
        if (n + part.bytes >= STROBE_START_PATH_BYTES)
            return false;
        memcpy(path + n, part.at, part.bytes);
        n += part.bytes;
    }
    path[n] = '\0';
    return n > 0;
}

/* Returns NULL, or what was expected of the option. */
static const char *read_start_option(struct word name, struct word value, uint32_t pid, char *path,
                                     struct strobe_capture_options *o)
{
    if (word_is(name, "path")) {
        o->session_path = path;
        return read_path(value, pid, path) ? NULL : "expected a path of at most 1023 bytes";
    }
    if (word_is(name, "interval"))
        return read_interval(value, &o->interval_ns) ? NULL : "expected a number with a unit, such as 1ms";
    if (word_is(name, "records"))
        return read_start_records(value, &o->records_max) ? NULL : "expected a number";
    if (word_is(name, "keep")) {
        o->keep_oldest = word_is(value, "oldest");
        return o->keep_oldest || word_is(value, "newest") ? NULL : "expected newest or oldest";
    }
    if (word_is(name, "replace") && !value.at)
        return o->replace = 1, NULL;
    if (word_is(name, "paused") && !value.at)
        return o->paused = 1, NULL;
    return "expected one of path=, interval=, records=, keep=, replace, paused";
}

enum strobe_status strobe_read_start_text(const char *text, uint32_t pid, char path[STROBE_START_PATH_BYTES],
                                          struct strobe_capture_options *options, struct strobe_error *error)
{
    for (struct word w = next_start_word(&text); w.bytes; w = next_start_word(&text)) {
        const char *equals = memchr(w.at, '=', w.bytes);
        struct word name = {w.at, equals ? (size_t)(equals - w.at) : w.bytes}, value = {NULL, 0};
        if (equals)
            value = (struct word){equals + 1, w.bytes - name.bytes - 1};
        const char *expected = read_start_option(name, value, pid, path, options);
        if (expected) {
            char cut[64];
            size_t n = w.bytes < sizeof cut ? w.bytes : sizeof cut - 1;
            memcpy(cut, w.at, n);
            cut[n] = '\0';
            strobe_error_join(error, cut, expected);
            return STROBE_BAD_INPUT;
        }
    }
    return STROBE_OK;
}
