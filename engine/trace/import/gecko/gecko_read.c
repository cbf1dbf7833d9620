#include "engine/trace/import/gecko/gecko_read.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/gecko/gecko_table.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESS_DEPTH_MAX = 4, NAME_BYTES_MAX = 4096 };

struct gecko_stack {
    uint64_t frame;
    size_t prefix; /* + 1; 0 = none */
    struct strobe_sampled_stack made;
    bool is_made;
};

struct section {
    uint64_t begin_ns, end_ns;
    struct strobe_cursor name;
};

/* Tables of one thread, or of its profile. */
struct tables {
    struct strobe_cursor *strings;
    size_t string_count, string_room;
    uint32_t *resources; /* image of each */
    size_t resource_count, resource_room;
    uint64_t *functions; /* frame of each */
    size_t function_count, function_room;
    uint64_t *frames;
    size_t frame_count, frame_room;
    struct gecko_stack *stacks;
    size_t stack_count, stack_room;
};

struct gecko {
    const struct strobe_gecko_options *options;
    struct strobe_sampled *out;
    struct strobe_gecko_stats *stats;
    struct strobe_json_in profile; /* that of the threads being read */
    uint32_t pid;
    double cpu_unit_ns; /* of threadCPUDelta; 0 = not known */
    uint32_t *libs;     /* image of each */
    size_t lib_count, lib_room;
    struct tables tables;
    uint64_t *chain;
    size_t chain_room;
    struct section *sections;
    size_t section_room;
    uint64_t *lanes;
    size_t lane_room;
    uint32_t next_tid; /* for threads without a tid */
    bool failed;
};

/* ---- values */

/* Takes a number that may be a text, such as a pid; 0 = none. */
static uint32_t take_id(struct strobe_json_in json, const char *name)
{
    struct strobe_json_in at;
    struct strobe_cursor text;
    uint64_t id = 0;
    double number;
    if (!strobe_gecko_member(json, name, &at))
        return 0;
    if (strobe_json_peek(&at) == '"')
        return strobe_json_take_text(&at, &text) && strobe_cursor_take_number(&text, UINT32_MAX - 1, &id) ? (uint32_t)id
                                                                                                          : 0;
    return strobe_json_take_number(&at, &number) && number >= 0 && number < UINT32_MAX - 1 ? (uint32_t)number : 0;
}

static bool find_gecko_text(struct strobe_json_in json, const char *name, struct strobe_cursor *out)
{
    struct strobe_json_in at;
    return strobe_gecko_member(json, name, &at) && strobe_json_peek(&at) == '"' && strobe_json_take_text(&at, out);
}

/* Finds a table of the thread, else of those that threads share. `raw_name`: in the raw format; NULL: the same. */
static bool find_table(const struct gecko *g, struct strobe_json_in thread, const char *name, const char *raw_name,
                       struct strobe_json_in *out)
{
    struct strobe_json_in shared;
    if (strobe_gecko_member(thread, name, out) || (raw_name && strobe_gecko_member(thread, raw_name, out)))
        return true;
    return strobe_gecko_member(g->profile, "shared", &shared) && strobe_gecko_member(shared, name, out);
}

/* Takes a time in ms. */
static bool time_in_ns(double ms, uint64_t *ns)
{
    if (!(ms >= 0) || ms * 1e6 >= (double)STROBE_SAMPLED_TIME_MAX)
        return false;
    *ns = (uint64_t)(ms * 1e6 + 0.5);
    return true;
}

/* ---- tables */

static void read_gecko_libs(struct gecko *g)
{
    struct strobe_json_in at;
    struct strobe_cursor path;
    char text[NAME_BYTES_MAX];
    g->lib_count = 0;
    if (!strobe_gecko_member(g->profile, "libs", &at) || strobe_json_peek(&at) != '[')
        return;
    strobe_json_enter(&at, '[');
    for (; strobe_json_item(&at) && !g->failed; strobe_json_skip(&at)) {
        size_t bytes = find_gecko_text(at, "path", &path) || find_gecko_text(at, "name", &path)
                           ? strobe_json_unescape(path, text, sizeof text)
                           : 0;
        if (!strobe_array_reserve(&g->libs, &g->lib_room, g->lib_count + 1))
            g->failed = true;
        else
            g->libs[g->lib_count++] = strobe_sampled_image(g->out, text, bytes);
    }
}

static void read_gecko_strings(struct gecko *g, struct strobe_json_in thread)
{
    struct tables *t = &g->tables;
    struct strobe_json_in at;
    t->string_count = 0;
    if (!find_table(g, thread, "stringArray", "stringTable", &at) || strobe_json_peek(&at) != '[')
        return;
    strobe_json_enter(&at, '[');
    while (strobe_json_item(&at)) {
        struct strobe_cursor text = {at.at, at.at};
        if (strobe_json_peek(&at) == '"')
            strobe_json_take_text(&at, &text);
        else
            strobe_json_skip(&at);
        if (!strobe_array_reserve(&t->strings, &t->string_room, t->string_count + 1)) {
            g->failed = true;
            return;
        }
        t->strings[t->string_count++] = text;
    }
}

static uint64_t function_of_string(struct gecko *g, size_t string, uint32_t image)
{
    char text[NAME_BYTES_MAX];
    size_t bytes = strobe_json_unescape(g->tables.strings[string], text, sizeof text);
    return strobe_sampled_function(g->out, image, text, bytes);
}

static void read_gecko_resources(struct gecko *g, struct strobe_json_in thread)
{
    static const char *const fields[] = {"lib"};
    struct tables *t = &g->tables;
    struct strobe_gecko_table table;
    struct strobe_json_in at;
    size_t lib;
    t->resource_count = 0;
    if (!find_table(g, thread, "resourceTable", NULL, &at) || !strobe_gecko_table_open(&table, at, fields, 1))
        return;
    while (strobe_gecko_table_next(&table)) {
        if (!strobe_array_reserve(&t->resources, &t->resource_room, t->resource_count + 1)) {
            g->failed = true;
            return;
        }
        bool known = strobe_gecko_index(&table, 0, g->lib_count, &lib);
        t->resources[t->resource_count++] = known ? g->libs[lib] : 0;
    }
}

/* The processed format has functions; the raw one has none. */
static bool read_gecko_functions(struct gecko *g, struct strobe_json_in thread)
{
    static const char *const fields[] = {"name", "resource"};
    struct tables *t = &g->tables;
    struct strobe_gecko_table table;
    struct strobe_json_in at;
    size_t name, resource;
    t->function_count = 0;
    if (!find_table(g, thread, "funcTable", NULL, &at) || !strobe_gecko_table_open(&table, at, fields, 2))
        return false;
    while (strobe_gecko_table_next(&table)) {
        if (!strobe_array_reserve(&t->functions, &t->function_room, t->function_count + 1)) {
            g->failed = true;
            return false;
        }
        uint32_t image = strobe_gecko_index(&table, 1, t->resource_count, &resource) ? t->resources[resource] : 0;
        t->functions[t->function_count++] = strobe_gecko_index(&table, 0, t->string_count, &name)
                                                ? function_of_string(g, name, image)
                                                : strobe_sampled_function(g->out, image, "", 0);
    }
    return true;
}

static bool read_gecko_frames(struct gecko *g, struct strobe_json_in thread)
{
    static const char *const fields[] = {"func", "location"};
    struct tables *t = &g->tables;
    struct strobe_gecko_table table;
    struct strobe_json_in at;
    size_t index;
    t->frame_count = 0;
    if (!find_table(g, thread, "frameTable", NULL, &at) || !strobe_gecko_table_open(&table, at, fields, 2))
        return false;
    while (strobe_gecko_table_next(&table)) {
        if (!strobe_array_reserve(&t->frames, &t->frame_room, t->frame_count + 1)) {
            g->failed = true;
            return false;
        }
        uint64_t frame = strobe_gecko_index(&table, 0, t->function_count, &index) ? t->functions[index]
                         : strobe_gecko_index(&table, 1, t->string_count, &index)
                             ? function_of_string(g, index, 0)
                             : strobe_sampled_function(g->out, 0, "", 0);
        t->frames[t->frame_count++] = frame;
    }
    return true;
}

/* A stack comes after its prefix. */
static bool read_gecko_stacks(struct gecko *g, struct strobe_json_in thread)
{
    static const char *const fields[] = {"frame", "prefix"};
    struct tables *t = &g->tables;
    struct strobe_gecko_table table;
    struct strobe_json_in at;
    size_t frame, prefix;
    t->stack_count = 0;
    if (!find_table(g, thread, "stackTable", NULL, &at) || !strobe_gecko_table_open(&table, at, fields, 2))
        return false;
    while (strobe_gecko_table_next(&table)) {
        double number;
        if (!strobe_array_reserve(&t->stacks, &t->stack_room, t->stack_count + 1)) {
            g->failed = true;
            return false;
        }
        bool has_prefix = strobe_gecko_number(&table, 1, &number) && number >= 0;
        if (!strobe_gecko_index(&table, 0, t->frame_count, &frame) ||
            (has_prefix && !strobe_gecko_index(&table, 1, t->stack_count, &prefix)))
            return false;
        t->stacks[t->stack_count++] =
            (struct gecko_stack){.frame = t->frames[frame], .prefix = has_prefix ? prefix + 1 : 0};
    }
    return true;
}

static bool read_gecko_tables(struct gecko *g, struct strobe_json_in thread)
{
    read_gecko_strings(g, thread);
    read_gecko_resources(g, thread);
    g->stats->raw |= !read_gecko_functions(g, thread);
    return read_gecko_frames(g, thread) && read_gecko_stacks(g, thread) && !g->failed;
}

static struct strobe_sampled_stack stack_of_index(struct gecko *g, size_t index)
{
    struct gecko_stack *stack = &g->tables.stacks[index];
    size_t depth = 0, place;
    if (stack->is_made)
        return stack->made;
    for (place = index + 1; place; place = g->tables.stacks[place - 1].prefix)
        depth++;
    if (!strobe_array_reserve(&g->chain, &g->chain_room, depth)) {
        g->failed = true;
        return (struct strobe_sampled_stack){0, false};
    }
    size_t at = depth;
    for (place = index + 1; place; place = g->tables.stacks[place - 1].prefix)
        g->chain[--at] = g->tables.stacks[place - 1].frame;
    stack->made = strobe_sampled_stack(g->out, g->chain, depth);
    stack->is_made = true;
    return stack->made;
}

/* ---- samples */

static void read_gecko_samples(struct gecko *g, struct strobe_json_in samples, uint32_t thread)
{
    enum { STACK, TIME, DELTA, CPU };
    static const char *const fields[] = {"stack", "time", "timeDeltas", "threadCPUDelta"};
    struct strobe_gecko_table t;
    double sum_ms = 0, cpu_ns = 0;
    bool known = false;
    if (!strobe_gecko_table_open(&t, samples, fields, 4))
        return;
    while (!g->failed && strobe_gecko_table_next(&t)) {
        struct strobe_sampled_point p = {
            .cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN, .thread = thread, .count = 1, .kind = STROBE_KIND_ASYNC};
        double ms = 0, delta;
        size_t stack;
        bool timed = strobe_gecko_number(&t, TIME, &ms);
        if (!timed && strobe_gecko_number(&t, DELTA, &delta)) {
            sum_ms += delta;
            ms = sum_ms;
            timed = true;
        }
        if (g->cpu_unit_ns > 0 && strobe_gecko_number(&t, CPU, &delta) && delta >= 0) {
            cpu_ns += delta * g->cpu_unit_ns;
            known = true;
        }
        if (!timed || !time_in_ns(ms, &p.first_ns)) {
            g->stats->damaged++;
            continue;
        }
        p.last_ns = p.first_ns;
        if (known && cpu_ns < (double)STROBE_SAMPLED_TIME_MAX)
            p.cpu_ns = (uint64_t)cpu_ns;
        if (!strobe_gecko_index(&t, STACK, g->tables.stack_count, &stack)) {
            g->stats->without_stack++;
            continue;
        }
        p.stack = stack_of_index(g, stack);
        g->stats->samples++;
        g->stats->damaged += !strobe_sampled_point(g->out, &p);
    }
}

/* ---- markers */

static int by_section_begin(const void *a, const void *b)
{
    const struct section *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->name.at < y->name.at ? -1 : x->name.at > y->name.at;
}

/* Adds the sections, each at the least depth where no other one is. */
static void add_sections(struct gecko *g, size_t count, uint32_t thread)
{
    char text[STROBE_ANNOTATION_NAME_BYTES];
    size_t lanes = 0;
    if (count)
        qsort(g->sections, count, sizeof *g->sections, by_section_begin);
    for (size_t i = 0; i < count; i++) {
        const struct section *s = &g->sections[i];
        size_t lane = 0;
        while (lane < lanes && g->lanes[lane] > s->begin_ns)
            lane++;
        if (!strobe_array_reserve(&g->lanes, &g->lane_room, lane + 1)) {
            g->failed = true;
            return;
        }
        lanes = lane < lanes ? lanes : lane + 1;
        g->lanes[lane] = s->end_ns > s->begin_ns ? s->end_ns : s->begin_ns + 1;
        size_t bytes = strobe_json_unescape(s->name, text, sizeof text);
        strobe_sampled_section(g->out, thread, strobe_cursor(text, bytes), (uint32_t)lane + 1, s->begin_ns, s->end_ns);
    }
}

static void read_gecko_markers(struct gecko *g, struct strobe_json_in markers, uint32_t thread)
{
    enum { NAME, BEGIN, END, PHASE };
    static const char *const fields[] = {"name", "startTime", "endTime", "phase"};
    struct strobe_gecko_table t;
    size_t count = 0, name;
    if (!strobe_gecko_table_open(&t, markers, fields, 4))
        return;
    while (!g->failed && strobe_gecko_table_next(&t)) {
        double begin, end, phase;
        struct section s;
        if (!strobe_gecko_number(&t, PHASE, &phase) || phase != 1) {
            g->stats->other_markers++;
            continue;
        }
        if (!strobe_gecko_number(&t, BEGIN, &begin) || !strobe_gecko_number(&t, END, &end) ||
            !time_in_ns(begin, &s.begin_ns) || !time_in_ns(end, &s.end_ns) || s.end_ns < s.begin_ns ||
            !strobe_gecko_index(&t, NAME, g->tables.string_count, &name)) {
            g->stats->damaged++;
            continue;
        }
        s.name = g->tables.strings[name];
        if (!strobe_array_reserve(&g->sections, &g->section_room, count + 1)) {
            g->failed = true;
            return;
        }
        g->sections[count++] = s;
        g->stats->sections++;
    }
    add_sections(g, count, thread);
}

/* ---- threads */

static bool is_main_thread(struct strobe_json_in thread, struct strobe_cursor name)
{
    struct strobe_json_in at;
    return strobe_gecko_member(thread, "isMainThread", &at) ? strobe_json_peek(&at) == 't'
                                                            : strobe_json_is(name, "GeckoMain");
}

static void read_gecko_thread(struct gecko *g, struct strobe_json_in thread)
{
    struct strobe_json_in at;
    struct strobe_cursor name = {NULL, NULL};
    char text[64];
    uint32_t tid = take_id(thread, "tid");
    g->stats->threads++;
    if (!read_gecko_tables(g, thread) || !strobe_gecko_member(thread, "samples", &at)) {
        g->stats->damaged_threads++;
        return;
    }
    tid = tid ? tid : UINT32_MAX - 1 - g->next_tid++;
    uint32_t number = strobe_sampled_thread(g->out, tid);
    if (find_gecko_text(thread, "name", &name))
        strobe_sampled_rename(g->out, number, text, strobe_json_unescape(name, text, sizeof text));
    if (is_main_thread(thread, name))
        strobe_sampled_process(g->out, g->pid, tid, "");
    read_gecko_samples(g, at, number);
    if (strobe_gecko_member(thread, "markers", &at))
        read_gecko_markers(g, at, number);
}

/* ---- profiles */

/* Calls `visit` for each thread of the profile and of the profiles of its other processes. */
static void for_each_thread(struct gecko *g, struct strobe_json_in profile, unsigned depth,
                            void (*visit)(struct gecko *, struct strobe_json_in thread, void *ctx), void *ctx)
{
    static const char *const lists[] = {"threads", "processes"};
    for (unsigned i = 0; i < 2; i++) {
        struct strobe_json_in at;
        if (!strobe_gecko_member(profile, lists[i], &at) || strobe_json_peek(&at) != '[' || depth > PROCESS_DEPTH_MAX)
            continue;
        strobe_json_enter(&at, '[');
        for (; strobe_json_item(&at) && !g->failed; strobe_json_skip(&at)) {
            g->profile = profile;
            if (i == 0)
                visit(g, at, ctx);
            else
                for_each_thread(g, at, depth + 1, visit, ctx);
        }
    }
}

static void count_gecko_thread(struct gecko *g, struct strobe_json_in thread, void *ctx)
{
    int fresh;
    uint32_t pid = take_id(thread, "pid"), *count = strobe_idmap_put(ctx, pid, 0, &fresh);
    if (!count) {
        g->failed = true;
        return;
    }
    const uint32_t *most = strobe_idmap_get(ctx, g->pid, 0);
    if (++*count > *most || pid == g->options->pid)
        g->pid = g->options->pid ? g->options->pid : pid;
}

/* Reads what a thread needs of its profile. */
static void enter_profile(struct gecko *g)
{
    struct strobe_json_in meta, at;
    struct strobe_cursor unit;
    double interval_ms;
    uint64_t interval_ns;
    g->cpu_unit_ns = 0;
    read_gecko_libs(g);
    if (!strobe_gecko_member(g->profile, "meta", &meta))
        return;
    if (strobe_gecko_member(meta, "interval", &at) && strobe_json_take_number(&at, &interval_ms) &&
        time_in_ns(interval_ms, &interval_ns))
        strobe_sampled_interval(g->out, interval_ns, 0);
    if (strobe_gecko_member(meta, "sampleUnits", &at) && find_gecko_text(at, "threadCPUDelta", &unit)) {
        bool us = strobe_json_is(unit, "us") || strobe_json_is(unit, "\xc2\xb5s") || strobe_json_is(unit, "\\u00b5s");
        g->cpu_unit_ns = strobe_json_is(unit, "ns") ? 1 : us ? 1000 : 0;
    }
}

static void import_gecko_thread(struct gecko *g, struct strobe_json_in thread, void *ctx)
{
    const char **profile = ctx;
    if (take_id(thread, "pid") != g->pid) {
        g->stats->other_processes++;
        return;
    }
    if (*profile != g->profile.at)
        enter_profile(g);
    *profile = g->profile.at;
    read_gecko_thread(g, thread);
}

static enum strobe_status read_gecko(struct gecko *g, struct strobe_json_in json, struct strobe_error *error)
{
    struct strobe_idmap pids = {0};
    struct strobe_json_in at = json, whole = json;
    const char *profile = NULL;
    int fresh;
    if (strobe_json_peek(&at) != '{' || !strobe_gecko_member(json, "threads", &at)) {
        strobe_error_set(error, "byte 0: expected a profile of Firefox's profiler: an object with `threads`");
        return STROBE_BAD_INPUT;
    }
    if (!strobe_json_skip(&whole))
        g->stats->cut_at = (uint64_t)(whole.at - json.at);
    g->pid = g->options->pid;
    g->failed = !strobe_idmap_put(&pids, g->pid, 0, &fresh);
    for_each_thread(g, json, 0, count_gecko_thread, &pids);
    strobe_idmap_free(&pids);
    strobe_sampled_process(g->out, g->pid, UINT32_MAX, "");
    for_each_thread(g, json, 0, import_gecko_thread, &profile);
    if (!g->failed && g->stats->cut_at && !g->stats->samples) {
        strobe_error_set(error, "byte %" PRIu64 ": expected the rest of the profile", g->stats->cut_at);
        return STROBE_BAD_INPUT;
    }
    if (!g->failed && !g->stats->threads) {
        strobe_error_set(error, "no thread of process %" PRIu32, g->options->pid);
        return STROBE_BAD_INPUT;
    }
    return g->failed ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_gecko_read(const char *text, size_t bytes, const struct strobe_gecko_options *options,
                                     struct strobe_sampled *out, struct strobe_gecko_stats *stats,
                                     struct strobe_error *error)
{
    *stats = (struct strobe_gecko_stats){0};
    struct gecko g = {.options = options, .out = out, .stats = stats};
    enum strobe_status status = read_gecko(&g, strobe_json_in(text, bytes), error);
    free(g.libs);
    free(g.tables.strings);
    free(g.tables.resources);
    free(g.tables.functions);
    free(g.tables.frames);
    free(g.tables.stacks);
    free(g.chain);
    free(g.sections);
    free(g.lanes);
    return status;
}
