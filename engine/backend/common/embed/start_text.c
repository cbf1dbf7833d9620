#include "engine/backend/common/embed/start_text.h"

#include "engine/base/error.h"
#include "engine/base/pid_text.h"
#include "engine/base/time_text.h"

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

static bool read_start_records(struct word w, uint32_t *out)
{
    uint64_t n;
    size_t digits = strobe_read_decimal(w.at, w.bytes, &n);
    bool fits = digits && digits == w.bytes && n <= UINT32_MAX;
    *out = fits ? (uint32_t)n : 0;
    return fits;
}

static bool read_control_port(struct word w, int *out)
{
    uint64_t n;
    *out = -1;
    if (word_is(w, "any"))
        return true;
    size_t digits = strobe_read_decimal(w.at, w.bytes, &n);
    *out = digits && n <= UINT16_MAX ? (int)n : 0;
    return digits == w.bytes && *out;
}

/* Returns NULL, or what was expected of the option. */
static const char *read_start_option(struct word name, struct word value, uint32_t pid,
                                     struct strobe_start_texts *texts, struct strobe_capture_options *o)
{
    if (word_is(name, "path")) {
        o->session_path = texts->path;
        return strobe_insert_pid(value.at, value.bytes, pid, texts->path, sizeof texts->path)
                   ? NULL
                   : "expected a path of at most 1023 bytes";
    }
    if (word_is(name, "control")) {
        o->control = texts->control;
        return strobe_insert_pid(value.at, value.bytes, pid, texts->control, sizeof texts->control)
                   ? NULL
                   : "expected a name of at most 99 bytes";
    }
    if (word_is(name, "flight")) {
        o->flight = texts->flight;
        return strobe_insert_pid(value.at, value.bytes, pid, texts->flight, sizeof texts->flight)
                   ? NULL
                   : "expected a path of at most 1023 bytes";
    }
    if (word_is(name, "control-port"))
        return read_control_port(value, &o->control_port) ? NULL : "expected a number from 1 to 65535, or any";
    if (word_is(name, "interval"))
        return strobe_read_time(value.at, value.bytes, &o->interval_ns) ? NULL
                                                                        : "expected a number with a unit, such as 1ms";
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
    return "expected one of path=, interval=, records=, keep=, replace, paused, control=, control-port=, flight=";
}

enum strobe_status strobe_read_start_text(const char *text, uint32_t pid, struct strobe_start_texts *texts,
                                          struct strobe_capture_options *options, struct strobe_error *error)
{
    for (struct word w = next_start_word(&text); w.bytes; w = next_start_word(&text)) {
        const char *equals = memchr(w.at, '=', w.bytes);
        struct word name = {w.at, equals ? (size_t)(equals - w.at) : w.bytes}, value = {NULL, 0};
        if (equals)
            value = (struct word){equals + 1, w.bytes - name.bytes - 1};
        const char *expected = read_start_option(name, value, pid, texts, options);
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
