/* Reads cost tables: one flat JSON object of numbers and texts, and nothing else, so nothing else is understood. */
#include "sim/runtime/costs.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sim_costs sim_costs_default = {
    .hook = 3.6, .clock = 19.7, .thread_clock = 215, .usage = 176, .scope = 21.9, .sample = 28.8, .frame = 5,
    .frame_known = 0.4, .release = 24.7, .look = 6.2, .suspend = 2409, .suspend_target = 1717, .copy = 336,
    .copy_kib = 51, .resume = 130, .unwind_frame = 6.1, .probe = 1.4, .probe_other = 1.4, .mark = 14,
    .call_record = 2.9,
};

static const struct member { const char *name; size_t offset; } members[] = {
#define MEMBER(name) {#name, offsetof(struct sim_costs, name)}
    MEMBER(hook), MEMBER(clock), MEMBER(thread_clock), MEMBER(usage), MEMBER(scope), MEMBER(sample), MEMBER(frame),
    MEMBER(frame_known), MEMBER(release), MEMBER(look), MEMBER(suspend), MEMBER(suspend_target), MEMBER(copy),
    MEMBER(copy_kib), MEMBER(resume), MEMBER(unwind_frame), MEMBER(probe), MEMBER(probe_other), MEMBER(mark),
    MEMBER(call_record),
#undef MEMBER
};
enum { MEMBERS = sizeof members / sizeof members[0], TABLE_BYTES_MAX = 1 << 16, KEY_BYTES = 64 };

struct input {
    const char *path, *at;
    char *why;
    size_t why_bytes;
};

static enum strobe_status expected(const struct input *in, const char *what, const char *name)
{
    if (in->why_bytes)
        snprintf(in->why, in->why_bytes, "%s: expected %s%s%s", in->path, what, *name ? " " : "", name);
    return STROBE_BAD_INPUT;
}

static void skip_space(struct input *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')
        in->at++;
}

static bool take(struct input *in, char c)
{
    skip_space(in);
    if (*in->at != c)
        return false;
    in->at++;
    return true;
}

/* A text without escapes but \" and \\, of which the first bytes are kept. */
static bool take_text(struct input *in, char *out, size_t bytes)
{
    size_t n = 0;
    if (!take(in, '"'))
        return false;
    while (*in->at && *in->at != '"' && (unsigned char)*in->at >= ' ') {
        if (*in->at == '\\' && *++in->at != '"' && *in->at != '\\')
            return false;
        if (n + 1 < bytes)
            out[n++] = *in->at;
        in->at++;
    }
    out[n] = '\0';
    return take(in, '"');
}

static bool take_number(struct input *in, double *out)
{
    skip_space(in);
    char *end;
    if (!isdigit((unsigned char)*in->at))
        return false;
    *out = strtod(in->at, &end);
    in->at = end;
    return *out < 1e9;
}

static const struct member *member_of(const char *key)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (strcmp(members[i].name, key) == 0)
            return &members[i];
    return NULL;
}

static enum strobe_status take_member(struct input *in, struct sim_costs *out, bool *seen)
{
    char key[KEY_BYTES], text[KEY_BYTES];
    if (!take_text(in, key, sizeof key))
        return expected(in, "a member's name", "");
    if (!take(in, ':'))
        return expected(in, "':' after", key);
    if (strcmp(key, "machine") == 0 || strcmp(key, "measured_with") == 0)
        return take_text(in, text, sizeof text) ? STROBE_OK : expected(in, "a text for", key);
    const struct member *m = member_of(key);
    if (!m)
        return expected(in, "no member", key);
    if (seen[m - members])
        return expected(in, "only once", key);
    seen[m - members] = true;
    if (!take_number(in, (double *)((char *)out + m->offset)))
        return expected(in, "a number not below 0 for", key);
    return STROBE_OK;
}

static enum strobe_status parse(struct input *in, struct sim_costs *out)
{
    bool seen[MEMBERS] = {false};
    if (!take(in, '{'))
        return expected(in, "a JSON object", "");
    do {
        enum strobe_status status = take_member(in, out, seen);
        if (status != STROBE_OK)
            return status;
    } while (take(in, ','));
    if (!take(in, '}'))
        return expected(in, "',' or '}'", "");
    skip_space(in);
    if (*in->at)
        return expected(in, "nothing after the object", "");
    for (size_t i = 0; i < MEMBERS; i++)
        if (!seen[i])
            return expected(in, "the member", members[i].name);
    return STROBE_OK;
}

enum strobe_status sim_costs_read(const char *path, struct sim_costs *out, char *why, size_t why_bytes)
{
    static const size_t room = TABLE_BYTES_MAX;
    char *text = malloc(room);
    FILE *file = text ? fopen(path, "r") : NULL;
    if (!file) {
        if (why_bytes)
            snprintf(why, why_bytes, "%s: %s", path, strerror(text ? errno : ENOMEM));
        free(text);
        return STROBE_IO;
    }
    size_t bytes = fread(text, 1, room - 1, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    text[bytes] = '\0';
    struct input in = {.path = path, .at = text, .why = why, .why_bytes = why_bytes};
    enum strobe_status status;
    if (failed || bytes == room - 1)
        status = expected(&in, "a readable file of less than 64 KiB", "");
    else
        status = strlen(text) == bytes ? parse(&in, out) : expected(&in, "text", "");
    free(text);
    return status;
}
