/* Reads cost tables: one flat JSON object of numbers and texts, and nothing else, so nothing else is understood. */
#include "sim/runtime/costs.h"

#include "sim/kernel/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sim_costs sim_costs_default = {
    .hook = 3.4, .clock = 25.8, .thread_clock = 595, .usage = 377, .scope = 26, .sample = 50.5, .frame = 10.4,
    .frame_known = 0.5, .release = 75.1, .look = 17.1, .suspend = 6782, .suspend_target = 4416, .tick = 40019,
    .tick_wait = 6221, .copy = 1238, .copy_kib = 118, .resume = 388, .unwind_frame = 7.2, .probe = 2.6,
    .probe_other = 2, .mark = 21.7, .call_record = 4.1, .stop_far = 28386, .stop_far_target = 28419,
    .resume_far = 8860, .sampler_wake = 26288, .start_call = 40235, .start_own = 7311, .end_own = 9995,
    .attach = 54654, .detach = 1882, .clock_start = 24293, .clock_end = 7408, .slice = 3953942,
    .turn = 1400000,
    .sleep_call = {{16237, 17054, 19283, 20796, 32497}},
    .device_call = {{16384, 17373, 18797, 23928, 37655}},
    .wake_call = {{1720, 2531, 3319, 5848, 12007}},
    .wait_call = {{2184, 3141, 3664, 5924, 13293}},
    .sampler_late = {{16713, 20468, 24765, 27779, 33327, 43402, 43402}},
    .stop_late = {{28903, 31817, 32959, 34452, 36434, 60279, 60279}},
    .sleep_late = {{
        {{40205, 67155, 67505, 68427, 72783, 78823, 78823}},
        {{63634, 65366, 67179, 69012, 72116, 81451, 81451}},
        {{55089, 68820, 71374, 75370, 78344, 87618, 87618}},
        {{66587, 77763, 83372, 84774, 90282, 102580, 102580}},
        {{83833, 93597, 101840, 106266, 113607, 120748, 120748}},
    }},
    .device_late = {{
        {{11672, 14496, 14987, 15998, 17010, 22018, 22018}},
        {{14451, 14982, 15763, 16504, 18287, 24516, 24516}},
        {{16112, 17784, 21790, 26408, 29903, 37984, 37984}},
        {{19426, 25887, 31565, 37133, 39597, 50773, 50773}},
        {{36191, 43823, 51205, 54479, 61810, 68049, 68049}},
    }},
    .wake_late = {{
        {{2263, 2273, 2274, 2284, 2313, 5628, 5628}},
        {{2253, 2324, 2825, 3125, 3375, 5267, 5267}},
        {{2394, 2764, 3055, 3696, 4576, 7371, 7371}},
        {{5067, 7401, 8192, 8592, 9514, 12008, 12008}},
        {{18347, 27081, 30846, 32619, 36154, 47421, 47421}},
    }},
};

enum shape { NUMBER, SPAN_COST, LATENESS, SPAN_LATENESS };

static const struct member { const char *name; size_t offset; enum shape shape; } members[] = {
#define MEMBER(name) {#name, offsetof(struct sim_costs, name), NUMBER}
#define SHAPED(name, shape) {#name, offsetof(struct sim_costs, name), shape}
    MEMBER(hook), MEMBER(clock), MEMBER(thread_clock), MEMBER(usage), MEMBER(scope), MEMBER(sample), MEMBER(frame),
    MEMBER(frame_known), MEMBER(release), MEMBER(look), MEMBER(suspend), MEMBER(suspend_target), MEMBER(tick),
    MEMBER(tick_wait), MEMBER(copy), MEMBER(copy_kib), MEMBER(resume), MEMBER(unwind_frame), MEMBER(probe),
    MEMBER(probe_other), MEMBER(mark),
    MEMBER(call_record), MEMBER(stop_far), MEMBER(stop_far_target), MEMBER(resume_far), MEMBER(sampler_wake),
    MEMBER(start_call), MEMBER(start_own), MEMBER(end_own), MEMBER(attach), MEMBER(detach), MEMBER(clock_start),
    MEMBER(clock_end), MEMBER(slice), MEMBER(turn),
    SHAPED(sleep_call, SPAN_COST), SHAPED(device_call, SPAN_COST),
    SHAPED(wake_call, SPAN_COST), SHAPED(wait_call, SPAN_COST), SHAPED(sampler_late, LATENESS),
    SHAPED(stop_late, LATENESS),
    SHAPED(sleep_late, SPAN_LATENESS), SHAPED(device_late, SPAN_LATENESS), SHAPED(wake_late, SPAN_LATENESS),
#undef MEMBER
#undef SHAPED
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

static bool take_lateness(struct input *in, struct sim_lateness *out)
{
    double before = 0, ns;
    for (int i = 0; i < SIM_LATENESS_POINTS; i++) {
        if (!take(in, i ? ',' : '[') || !take_number(in, &ns) || ns < before)
            return false;
        out->ns[i] = (uint64_t)ns;
        before = ns;
    }
    return take(in, ']');
}

static bool take_span_cost(struct input *in, struct sim_span_cost *out)
{
    for (int i = 0; i < SIM_WAIT_SPANS; i++)
        if (!take(in, i ? ',' : '[') || !take_number(in, &out->ns[i]))
            return false;
    return take(in, ']');
}

static bool take_span_lateness(struct input *in, struct sim_span_lateness *out)
{
    for (int i = 0; i < SIM_WAIT_SPANS; i++)
        if (!take(in, i ? ',' : '[') || !take_lateness(in, &out->at[i]))
            return false;
    return take(in, ']');
}

/* What is expected of a member of the shape; NULL when it was there. */
static const char *take_value(struct input *in, enum shape shape, void *out)
{
    switch (shape) {
    case NUMBER: return take_number(in, out) ? NULL : "a number not below 0 for";
    case SPAN_COST: return take_span_cost(in, out) ? NULL : "a list of 5 numbers not below 0 for";
    case LATENESS: return take_lateness(in, out) ? NULL : "a list of 7 numbers that do not fall for";
    case SPAN_LATENESS: return take_span_lateness(in, out) ? NULL : "5 lists of 7 numbers that do not fall for";
    }
    return "another shape for";
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
    const char *missing = take_value(in, m->shape, (char *)out + m->offset);
    return missing ? expected(in, missing, key) : STROBE_OK;
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

/* What a thread does on its way out of the call is charged to it, and so no part of how late it is. */
static struct sim_lateness without(const struct sim_lateness *late, double charged_ns)
{
    struct sim_lateness out;
    uint64_t ns = (uint64_t)charged_ns;
    for (int i = 0; i < SIM_LATENESS_POINTS; i++)
        out.ns[i] = late->ns[i] > ns ? late->ns[i] - ns : 0;
    return out;
}

/* The half of a call that follows the wait. */
static struct sim_span_lateness without_calls(const struct sim_span_lateness *late, const struct sim_span_cost *call)
{
    struct sim_span_lateness out;
    for (int i = 0; i < SIM_WAIT_SPANS; i++)
        out.at[i] = without(&late->at[i], call->ns[i] / 2);
    return out;
}

void sim_costs_machine(const struct sim_costs *costs, struct sim_machine *out)
{
    *out = (struct sim_machine){
        .sleep = without_calls(&costs->sleep_late, &costs->sleep_call), .realtime = costs->sampler_late,
        .device = without_calls(&costs->device_late, &costs->device_call),
        .wake = without_calls(&costs->wake_late, &costs->wait_call), .wake_call = costs->wake_call,
        .wait_call = costs->wait_call, .stop = without(&costs->stop_late, costs->stop_far),
        .start_own_ns = (uint64_t)costs->start_own, .end_own_ns = (uint64_t)costs->end_own,
        .turn_ns = (uint64_t)costs->turn,
    };
}
