#include "engine/flight/flight_config.h"

#include "engine/base/error.h"
#include "engine/base/pid_text.h"
#include "engine/base/time_text.h"
#include "engine/store/session.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* A part of the text. Not NUL-terminated. */
struct setting_word {
    const char *at;
    size_t bytes;
};

struct config_reading {
    struct strobe_flight_config *out;
    const struct strobe_flight_device *device;
    uint32_t pid;
    bool enabled, left_out;
};

static bool is_setting_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct setting_word trim_setting(struct setting_word w)
{
    while (w.bytes && is_setting_blank(w.at[0]))
        w.at++, w.bytes--;
    while (w.bytes && is_setting_blank(w.at[w.bytes - 1]))
        w.bytes--;
    return w;
}

static bool setting_is(struct setting_word w, const char *text)
{
    return strlen(text) == w.bytes && !memcmp(w.at, text, w.bytes);
}

static struct setting_word take_first_word(struct setting_word *w)
{
    struct setting_word first = {w->at, 0};
    while (first.bytes < w->bytes && !is_setting_blank(w->at[first.bytes]))
        first.bytes++;
    *w = trim_setting((struct setting_word){w->at + first.bytes, w->bytes - first.bytes});
    return first;
}

/* ---- values */

static bool read_setting_number(struct setting_word w, uint64_t most, uint64_t *out)
{
    size_t digits = strobe_read_decimal(w.at, w.bytes, out);
    return digits && digits == w.bytes && *out && *out <= most;
}

static bool read_setting_count(struct setting_word w, uint64_t most, uint32_t *out)
{
    uint64_t n = 0;
    bool fits = read_setting_number(w, most, &n);
    *out = fits ? (uint32_t)n : *out;
    return fits;
}

static bool read_setting_bytes(struct setting_word w, uint64_t *out)
{
    static const char units[] = "KMG";
    const char *unit = w.bytes ? memchr(units, w.at[w.bytes - 1], 3) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t n;
    w.bytes -= unit != NULL;
    if (!read_setting_number(w, UINT64_MAX >> 1 >> shift, &n))
        return false;
    *out = n << shift;
    return true;
}

static bool read_setting_time(struct setting_word w, uint64_t least_ns, uint64_t *out)
{
    uint64_t ns;
    bool fits = strobe_read_time(w.at, w.bytes, &ns) && ns >= least_ns;
    *out = fits ? ns : *out;
    return fits;
}

static bool read_setting_triggers(struct setting_word w, uint32_t *out)
{
    uint32_t triggers = 0;
    while (w.bytes) {
        struct setting_word one = take_first_word(&w);
        uint32_t k = STROBE_TRIGGER_NONE + 1;
        while (k < STROBE_TRIGGER_COUNT && !setting_is(one, strobe_trigger_name(k)))
            k++;
        if (k == STROBE_TRIGGER_COUNT)
            return false;
        triggers |= 1u << k;
    }
    *out = triggers;
    return triggers != 0;
}

/* ---- devices that are left out */

/* A star stands for any text, also for none. Each star takes as little as the rest of the text allows. */
static bool model_matches(struct setting_word pattern, const char *model)
{
    size_t p = 0, star = SIZE_MAX, again = 0, m = 0, length = strlen(model);
    while (m < length) {
        if (p < pattern.bytes && pattern.at[p] == '*')
            star = p++, again = m;
        else if (p < pattern.bytes && pattern.at[p] == model[m])
            p++, m++;
        else if (star != SIZE_MAX)
            p = star + 1, m = ++again;
        else
            return false;
    }
    while (p < pattern.bytes && pattern.at[p] == '*')
        p++;
    return p == pattern.bytes;
}

/* Reads a range such as 28-29, or one number. */
static bool read_levels(struct setting_word w, uint32_t *least, uint32_t *most)
{
    const char *dash = memchr(w.at, '-', w.bytes);
    struct setting_word first = {w.at, dash ? (size_t)(dash - w.at) : w.bytes};
    struct setting_word last = dash ? (struct setting_word){dash + 1, w.bytes - first.bytes - 1} : first;
    return read_setting_count(first, UINT32_MAX, least) && read_setting_count(last, UINT32_MAX, most) &&
           *least <= *most;
}

/* Reads MODEL or MODEL @ LEVELS. */
static bool read_left_out(struct config_reading *r, struct setting_word w)
{
    uint32_t least = 0, most = UINT32_MAX;
    const char *at = memchr(w.at, '@', w.bytes);
    struct setting_word model = trim_setting((struct setting_word){w.at, at ? (size_t)(at - w.at) : w.bytes});
    if (!model.bytes)
        return false;
    if (at &&
        !read_levels(trim_setting((struct setting_word){at + 1, (size_t)(w.at + w.bytes - at - 1)}), &least, &most))
        return false;
    r->left_out |= model_matches(model, r->device->model) && r->device->level >= least && r->device->level <= most;
    return true;
}

/* ---- settings */

static bool read_setting_enabled(struct setting_word w, bool *out)
{
    *out = setting_is(w, "yes");
    return *out || setting_is(w, "no");
}

static bool read_setting_folder(struct config_reading *r, struct setting_word w)
{
    return w.bytes && w.at[0] == '/' &&
           strobe_insert_pid(w.at, w.bytes, r->pid, r->out->folder.path, sizeof r->out->folder.path);
}

/* Returns NULL, or what was expected of the setting. */
static const char *read_limit(struct strobe_dump_folder *f, struct setting_word name, struct setting_word value)
{
    static const char count[] = "expected a number from 1 to 99", bytes[] = "expected a number of bytes, such as 8M";
    if (setting_is(name, "dumps"))
        return read_setting_count(value, STROBE_DUMPS_MAX, &f->dumps) ? NULL : count;
    if (setting_is(name, "dumps-a-day"))
        return read_setting_count(value, STROBE_DUMPS_MAX, &f->dumps_a_day) ? NULL : count;
    if (setting_is(name, "bytes"))
        return read_setting_bytes(value, &f->bytes) ? NULL : bytes;
    if (setting_is(name, "bytes-a-day"))
        return read_setting_bytes(value, &f->bytes_a_day) ? NULL : bytes;
    if (setting_is(name, "dump-bytes"))
        return read_setting_bytes(value, &f->dump_bytes) ? NULL : bytes;
    if (setting_is(name, "free-bytes"))
        return read_setting_bytes(value, &f->free_bytes) ? NULL : bytes;
    return "expected one of folder, enabled, triggers, stall, last, dump-bytes, dumps-a-day, bytes-a-day, dumps, "
           "bytes, free-bytes, leave-out";
}

static const char *read_setting(struct config_reading *r, struct setting_word name, struct setting_word value)
{
    enum { STALL_NS_LEAST = 50000000 };
    if (setting_is(name, "folder"))
        return read_setting_folder(r, value) ? NULL : "expected an absolute path of at most 511 bytes";
    if (setting_is(name, "enabled"))
        return read_setting_enabled(value, &r->enabled) ? NULL : "expected yes or no";
    if (setting_is(name, "triggers"))
        return read_setting_triggers(value, &r->out->triggers) ? NULL
                                                               : "expected some of stall, anr, crash, call, control";
    if (setting_is(name, "stall"))
        return read_setting_time(value, STALL_NS_LEAST, &r->out->stall_ns) ? NULL : "expected a time of at least 50ms";
    if (setting_is(name, "last"))
        return read_setting_time(value, 1, &r->out->last_ns) ? NULL : "expected a time with a unit, such as 5s";
    if (setting_is(name, "leave-out"))
        return read_left_out(r, value) ? NULL : "expected a model of a device, or MODEL @ 28-29";
    return read_limit(&r->out->folder, name, value);
}

/* ---- the text */

static enum strobe_status refuse_line(struct strobe_error *error, const char *source, uint32_t line,
                                      struct setting_word setting, const char *expected)
{
    char place[64] = "line ", *at = place + 5, digits[10];
    size_t n = 0, shown = setting.bytes < 32 ? setting.bytes : 32;
    for (; line; line /= 10)
        digits[n++] = (char)('0' + line % 10);
    while (n)
        *at++ = digits[--n];
    *at++ = ':';
    *at++ = ' ';
    memcpy(at, setting.at, shown);
    at[shown] = '\0';
    struct strobe_error named;
    strobe_error_join(&named, source, place);
    strobe_error_join(error, named.text, expected);
    return STROBE_BAD_INPUT;
}

static struct setting_word next_config_line(const char **text)
{
    const char *end = memchr(*text, '\n', strlen(*text));
    size_t bytes = end ? (size_t)(end - *text) : strlen(*text);
    const char *comment = memchr(*text, '#', bytes);
    struct setting_word line = {*text, comment ? (size_t)(comment - *text) : bytes};
    *text += bytes + ((*text)[bytes] == '\n');
    return trim_setting(line);
}

static enum strobe_status read_config_line(struct config_reading *r, struct setting_word line, uint32_t number,
                                           const char *source, struct strobe_error *error)
{
    const char *equals = memchr(line.at, '=', line.bytes);
    if (!line.bytes)
        return STROBE_OK;
    if (!equals)
        return refuse_line(error, source, number, line, "expected NAME = VALUE");
    struct setting_word name = trim_setting((struct setting_word){line.at, (size_t)(equals - line.at)});
    struct setting_word value =
        trim_setting((struct setting_word){equals + 1, (size_t)(line.at + line.bytes - equals - 1)});
    const char *expected = read_setting(r, name, value);
    return expected ? refuse_line(error, source, number, line, expected) : STROBE_OK;
}

static void set_flight_defaults(struct strobe_flight_config *c)
{
    *c = (struct strobe_flight_config){
        .folder = {.dumps = 20,
                   .dumps_a_day = 10,
                   .dump_bytes = 8 * MIB,
                   .bytes_a_day = 64 * MIB,
                   .bytes = 128 * MIB,
                   .free_bytes = 256 * MIB},
        .triggers = (1u << STROBE_TRIGGER_COUNT) - 1 - (1u << STROBE_TRIGGER_NONE),
        .stall_ns = 2000000000,
        .last_ns = 5000000000,
    };
}

enum strobe_status strobe_flight_read_config(const char *text, const char *source, uint32_t pid,
                                             const struct strobe_flight_device *device,
                                             struct strobe_flight_config *out, struct strobe_error *error)
{
    struct config_reading r = {out, device, pid, true, false};
    set_flight_defaults(out);
    for (uint32_t number = 1; *text; number++) {
        enum strobe_status status = read_config_line(&r, next_config_line(&text), number, source, error);
        if (status != STROBE_OK)
            return status;
    }
    if (!r.enabled || r.left_out) {
        strobe_error_join(error, source, r.enabled ? "this device is left out" : "the recorder is not enabled");
        return STROBE_UNSUPPORTED;
    }
    if (!out->folder.path[0]) {
        strobe_error_join(error, source, "expected a line with folder =");
        return STROBE_BAD_INPUT;
    }
    return STROBE_OK;
}

enum strobe_status strobe_flight_load_config(const char *path, uint32_t pid, const struct strobe_flight_device *device,
                                             struct strobe_flight_config *out, struct strobe_error *error)
{
    char text[STROBE_FLIGHT_CONFIG_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    if (n < 0) {
        strobe_error_join(error, path, "cannot be read");
        return STROBE_IO;
    }
    if (n == (ssize_t)sizeof text || memchr(text, '\0', (size_t)n)) {
        strobe_error_join(error, path, "expected a text of at most 8191 bytes");
        return STROBE_BAD_INPUT;
    }
    text[n] = '\0';
    return strobe_flight_read_config(text, path, pid, device, out, error);
}
