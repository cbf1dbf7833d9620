/* Reads cost tables: one flat JSON object of numbers and texts. Other JSON values are rejected. */
#include "sim/runtime/costs.h"
#include "engine/base/error_format.h"

#include "engine/util/whole_file.h"
#include "sim/kernel/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sim_costs sim_costs_default = {
    .hook = 5.6,
    .clock = 26.8,
    .thread_clock = 630,
    .usage = 390,
    .scope = 25.5,
    .sample = 59.0,
    .frame = 12.5,
    .frame_known = 0.5,
    .release = 85.9,
    .look = 20.2,
    .suspend = 7467,
    .suspend_target = 4887,
    .tick = 40415,
    .tick_sample = 8376,
    .copy = 1315,
    .copy_kib = 118,
    .resume = 522,
    .unwind_frame = 9.1,
    .probe = 2.7,
    .probe_other = 2.7,
    .mark = 25.8,
    .call_record = 4.2,
    .stop_far = 18488,
    .stop_far_target = 20818,
    .resume_far = 8526,
    .sampler_wake = 50711,
    .sampler_wake_soon = 34755,
    .start_call = 40079,
    .start_own = 7380,
    .end_own = 9301,
    .attach = 25536,
    .detach = 2514,
    .clock_start = 15369,
    .clock_end = 3869,
    .slice = 3955339,
    .turn = 1400000,
    .wait_record = {{2222, 2595, 3730, 3879, 9688}},
    .tick_wait = {{5943, 7075, 8511, 7102, 15003}},
    .sleep_call = {{17364, 17156, 18173, 19894, 38339}},
    .device_call = {{20635, 18012, 19156, 27696, 48742}},
    .wake_call = {{1400, 2363, 3372, 8572, 17728}},
    .wait_call = {{1679, 3134, 3908, 8871, 23258}},
    .sampler_late = {{22360, 28330, 32468, 39123, 48212, 68845, 68845}},
    .stop_late = {{28920, 36020, 38574, 43204, 46907, 78188, 78188}},
    .sleep_late = {{
        {{62470, 72744, 73902, 76102, 78053, 90127, 90127}},
        {{65041, 73061, 74078, 77289, 80253, 99560, 99560}},
        {{68440, 71640, 73465, 77431, 82849, 101874, 101874}},
        {{74663, 79348, 82152, 85120, 89497, 107424, 107424}},
        {{96763, 111586, 125535, 134674, 145619, 162226, 162226}},
    }},
    .device_late = {{
        {{14571, 19325, 21286, 22425, 23593, 26045, 26045}},
        {{18496, 21450, 23442, 26744, 29398, 45739, 45739}},
        {{19369, 22902, 26061, 30797, 36712, 63027, 63027}},
        {{27516, 34322, 39858, 44644, 51083, 59238, 59238}},
        {{48088, 68702, 84372, 93086, 105284, 130981, 130981}},
    }},
    .wake_late = {{
        {{4160, 4639, 4828, 5069, 5180, 6459, 6459}},
        {{2782, 3060, 3224, 3356, 4264, 15530, 15530}},
        {{3118, 3550, 4148, 4723, 5542, 28365, 28365}},
        {{4912, 7066, 7949, 16602, 65379, 503274, 503274}},
        {{17378, 39499, 67776, 77163, 90737, 109543, 109543}},
    }},
};

enum shape { NUMBER, SPAN_COST, LATENESS, SPAN_LATENESS };

static const struct member {
    const char *name;
    size_t offset;
    enum shape shape;
} members[] = {
#define MEMBER(name)                                                                                                   \
    {                                                                                                                  \
#name, offsetof(struct sim_costs, name), NUMBER                                                                \
    }
#define SHAPED(name, shape)                                                                                            \
    {                                                                                                                  \
#name, offsetof(struct sim_costs, name), shape                                                                 \
    }
    MEMBER(hook),
    MEMBER(clock),
    MEMBER(thread_clock),
    MEMBER(usage),
    MEMBER(scope),
    MEMBER(sample),
    MEMBER(frame),
    MEMBER(frame_known),
    MEMBER(release),
    MEMBER(look),
    MEMBER(suspend),
    MEMBER(suspend_target),
    MEMBER(tick),
    MEMBER(tick_sample),
    MEMBER(copy),
    MEMBER(copy_kib),
    MEMBER(resume),
    MEMBER(unwind_frame),
    MEMBER(probe),
    MEMBER(probe_other),
    MEMBER(mark),
    MEMBER(call_record),
    MEMBER(stop_far),
    MEMBER(stop_far_target),
    MEMBER(resume_far),
    MEMBER(sampler_wake),
    MEMBER(sampler_wake_soon),
    MEMBER(start_call),
    MEMBER(start_own),
    MEMBER(end_own),
    MEMBER(attach),
    MEMBER(detach),
    MEMBER(clock_start),
    MEMBER(clock_end),
    MEMBER(slice),
    MEMBER(turn),
    SHAPED(wait_record, SPAN_COST),
    SHAPED(tick_wait, SPAN_COST),
    SHAPED(sleep_call, SPAN_COST),
    SHAPED(device_call, SPAN_COST),
    SHAPED(wake_call, SPAN_COST),
    SHAPED(wait_call, SPAN_COST),
    SHAPED(sampler_late, LATENESS),
    SHAPED(stop_late, LATENESS),
    SHAPED(sleep_late, SPAN_LATENESS),
    SHAPED(device_late, SPAN_LATENESS),
    SHAPED(wake_late, SPAN_LATENESS),
#undef MEMBER
#undef SHAPED
};
enum { MEMBERS = sizeof members / sizeof members[0], TABLE_BYTES_MAX = 1 << 16, KEY_BYTES = 64 };

struct input {
    const char *path, *at;
    struct strobe_error *error;
};

static enum strobe_status costs_expected(const struct input *in, const char *what, const char *name)
{
    strobe_error_set(in->error, "%s: expected %s%s%s", in->path, what, *name ? " " : "", name);
    return STROBE_BAD_INPUT;
}

static void skip_space(struct input *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')
        in->at++;
}

static bool costs_take_char(struct input *in, char c)
{
    skip_space(in);
    if (*in->at != c)
        return false;
    in->at++;
    return true;
}

/* Reads a text without escapes except \" and \\, and keeps its first bytes. */
static bool costs_take_text(struct input *in, char *out, size_t bytes)
{
    size_t n = 0;
    if (!costs_take_char(in, '"'))
        return false;
    while (*in->at && *in->at != '"' && (unsigned char)*in->at >= ' ') {
        if (*in->at == '\\' && *++in->at != '"' && *in->at != '\\')
            return false;
        if (n + 1 < bytes)
            out[n++] = *in->at;
        in->at++;
    }
    out[n] = '\0';
    return costs_take_char(in, '"');
}

static bool costs_take_number(struct input *in, double *out)
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
        if (!costs_take_char(in, i ? ',' : '[') || !costs_take_number(in, &ns) || ns < before)
            return false;
        out->ns[i] = (uint64_t)ns;
        before = ns;
    }
    return costs_take_char(in, ']');
}

static bool take_span_cost(struct input *in, struct sim_span_cost *out)
{
    for (int i = 0; i < SIM_WAIT_SPANS; i++)
        if (!costs_take_char(in, i ? ',' : '[') || !costs_take_number(in, &out->ns[i]))
            return false;
    return costs_take_char(in, ']');
}

static bool take_span_lateness(struct input *in, struct sim_span_lateness *out)
{
    for (int i = 0; i < SIM_WAIT_SPANS; i++)
        if (!costs_take_char(in, i ? ',' : '[') || !take_lateness(in, &out->at[i]))
            return false;
    return costs_take_char(in, ']');
}

/* Reads a member of the given shape. Returns NULL, or what was expected. */
static const char *costs_take_value(struct input *in, enum shape shape, void *out)
{
    switch (shape) {
    case NUMBER: return costs_take_number(in, out) ? NULL : "a number not below 0 for";
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

static enum strobe_status costs_take_member(struct input *in, struct sim_costs *out, bool *seen)
{
    char key[KEY_BYTES], text[KEY_BYTES];
    if (!costs_take_text(in, key, sizeof key))
        return costs_expected(in, "a member's name", "");
    if (!costs_take_char(in, ':'))
        return costs_expected(in, "':' after", key);
    if (strcmp(key, "machine") == 0 || strcmp(key, "measured_with") == 0)
        return costs_take_text(in, text, sizeof text) ? STROBE_OK : costs_expected(in, "a text for", key);
    const struct member *m = member_of(key);
    if (!m)
        return costs_expected(in, "no member", key);
    if (seen[m - members])
        return costs_expected(in, "only once", key);
    seen[m - members] = true;
    const char *missing = costs_take_value(in, m->shape, (char *)out + m->offset);
    return missing ? costs_expected(in, missing, key) : STROBE_OK;
}

static enum strobe_status costs_parse(struct input *in, struct sim_costs *out)
{
    bool seen[MEMBERS] = {false};
    if (!costs_take_char(in, '{'))
        return costs_expected(in, "a JSON object", "");
    do {
        enum strobe_status status = costs_take_member(in, out, seen);
        if (status != STROBE_OK)
            return status;
    } while (costs_take_char(in, ','));
    if (!costs_take_char(in, '}'))
        return costs_expected(in, "',' or '}'", "");
    skip_space(in);
    if (*in->at)
        return costs_expected(in, "nothing after the object", "");
    for (size_t i = 0; i < MEMBERS; i++)
        if (!seen[i])
            return costs_expected(in, "the member", members[i].name);
    return STROBE_OK;
}

enum strobe_status sim_costs_read(const char *path, struct sim_costs *out, struct strobe_error *error)
{
    char *text;
    size_t bytes;
    enum strobe_status status = strobe_whole_file_read(path, TABLE_BYTES_MAX - 2, &text, &bytes);
    struct input in = {.path = path, .at = text ? text : "", .error = error};
    if (status == STROBE_OK)
        status = strlen(text) == bytes ? costs_parse(&in, out) : costs_expected(&in, "text", "");
    else if (errno == EFBIG || errno == EISDIR)
        status = costs_expected(&in, "a readable file of less than 64 KiB", "");
    else
        strobe_error_set(error, "%s: %s", path, strerror(errno));
    free(text);
    return status;
}

/* Removes from the lateness what the thread is charged when it leaves the call. */
static struct sim_lateness lateness_without_charge(const struct sim_lateness *late, double charged_ns)
{
    struct sim_lateness out;
    uint64_t ns = (uint64_t)charged_ns;
    for (int i = 0; i < SIM_LATENESS_POINTS; i++)
        out.ns[i] = late->ns[i] > ns ? late->ns[i] - ns : 0;
    return out;
}

/* Removes from the lateness the half of a call that follows the wait. */
static struct sim_span_lateness without_calls(const struct sim_span_lateness *late, const struct sim_span_cost *call)
{
    struct sim_span_lateness out;
    for (int i = 0; i < SIM_WAIT_SPANS; i++)
        out.at[i] = lateness_without_charge(&late->at[i], call->ns[i] / 2);
    return out;
}

void sim_costs_machine(const struct sim_costs *costs, struct sim_machine *out)
{
    *out = (struct sim_machine){
        .sleep = without_calls(&costs->sleep_late, &costs->sleep_call),
        .realtime = costs->sampler_late,
        .device = without_calls(&costs->device_late, &costs->device_call),
        .wake = without_calls(&costs->wake_late, &costs->wait_call),
        .wake_call = costs->wake_call,
        .wait_call = costs->wait_call,
        .stop = lateness_without_charge(&costs->stop_late, costs->stop_far),
        .start_own_ns = (uint64_t)costs->start_own,
        .end_own_ns = (uint64_t)costs->end_own,
        .turn_ns = (uint64_t)costs->turn,
    };
}
