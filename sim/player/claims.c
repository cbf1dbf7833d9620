#include "sim/player/claims.h"
#include "engine/base/error_format.h"

#include "engine/trace/build/timeline.h"
#include "engine/trace/export/sink_perfetto.h"
#include "engine/util/array.h"
#include "engine/util/outfile.h"
#include "sim/player/dex/dex.h"
#include "sim/player/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct named {
    uint64_t address;
    uint32_t method;
    char *native; /* NATIVE and the method's name; NULL: the method is managed */
};

/* A native method has two frames: the runtime's own frame of the method, and the frame of the function that implements
 * it. The truth has one call. The runtime's frame gets a name that begins with this text; see join_native_calls. */
#define NATIVE "native "

struct names {
    const struct sim_scenario *scenario;
    uint64_t frames;
    struct named *list; /* in order of address */
    size_t count, room;
};

/* Resolves an address of frames.h to its method. The address determines the method; no symbols are needed. */
static size_t resolve_player_frame(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    const struct names *n = ctx;
    uint64_t method = (return_address - 1 - n->frames) / SIM_REAL_FRAME_BYTES;
    if (return_address <= n->frames || method >= n->scenario->method_count || max == 0)
        return 0;
    *out = (struct strobe_symbol){.function = n->scenario->methods[method].name,
                                  .image = "",
                                  .file = "",
                                  .function_id = (uint32_t)method,
                                  .function_address = n->frames + method * SIM_REAL_FRAME_BYTES};
    return 1;
}

/* ---- methods of a managed runtime ---- */

/* Returns the scenario's method with a signature such as "void Cache.get(long)", or method_count. */
static uint32_t method_of_text(const struct sim_scenario *s, const char *text, uint32_t bytes)
{
    char whole[1100], class[512], name[512], own[1100];
    snprintf(whole, sizeof whole, "%.*s", (int)bytes, text);
    char *begin = strchr(whole, ' '), *end = strchr(whole, '(');
    if (!begin || !end || begin > end)
        return s->method_count;
    *end = '\0';
    uint32_t i = 0;
    for (; i < s->method_count; i++) {
        sim_dex_method_name(s, i, class, name, sizeof class);
        for (char *c = class; *c; c++)
            *c = *c == '/' ? '.' : *c;
        snprintf(own, sizeof own, "%s.%s", class, name);
        if (!strcmp(own, begin + 1))
            break;
    }
    return i;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct named *)a)->address, y = ((const struct named *)b)->address;
    return (x > y) - (x < y);
}

static enum strobe_status read_names(struct names *n, const struct strobe_session *session)
{
    struct strobe_named_address named;
    for (uint64_t at = 0; strobe_names_next(&session->names, &at, &named);) {
        uint32_t method = method_of_text(n->scenario, named.text, named.bytes);
        if (method == n->scenario->method_count)
            continue;
        if (!strobe_array_reserve(&n->list, &n->room, n->count + 1))
            return STROBE_IO;
        char *native = NULL;
        if (!n->scenario->methods[method].managed &&
            asprintf(&native, NATIVE "%s", n->scenario->methods[method].name) < 0)
            return STROBE_IO;
        n->list[n->count++] = (struct named){named.address, method, native};
    }
    if (n->count)
        qsort(n->list, n->count, sizeof *n->list, by_address);
    return STROBE_OK;
}

static size_t resolve_named(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    const struct names *n = ctx;
    struct named key = {.address = address};
    const struct named *found = n->count ? bsearch(&key, n->list, n->count, sizeof key, by_address) : NULL;
    if (!found)
        return resolve_player_frame(ctx, address, out, max);
    if (max == 0)
        return 0;
    const char *managed = n->scenario->methods[found->method].name;
    *out = (struct strobe_symbol){.function = found->native ? found->native : managed,
                                  .image = "",
                                  .file = "",
                                  .function_id = found->method + (found->native ? n->scenario->method_count : 0),
                                  .function_address = address};
    return 1;
}

/* ---- the session as tracks ---- */

static enum strobe_status player_write_trace(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                             const char *path)
{
    static const struct strobe_timeline_options options;
    struct strobe_perfetto_stats stats;
    struct strobe_outfile out;
    enum strobe_status status = strobe_outfile_open(&out, path, 1);
    if (status != STROBE_OK)
        return status;
    struct strobe_sink *sink = strobe_sink_perfetto(&out, 0, &stats);
    status = sink ? strobe_timeline_build(reader, tree, &options, sink, NULL) : STROBE_IO;
    enum strobe_status written = strobe_outfile_finish(&out, status != STROBE_OK);
    return status == STROBE_OK ? written : status;
}

/* The calls that are open at an event: of each, the name that it has in the truth, and whether it stays in the track.
 */
struct open_call {
    uint32_t name;
    bool is_native, stays;
};

/* Returns the name of the native method's call, or `name` when the name is that of another call. */
static uint32_t name_of_native(struct sim_tracks *t, uint32_t name, bool *is_native)
{
    const char *text = t->names.texts[name];
    *is_native = !strncmp(text, NATIVE, sizeof NATIVE - 1);
    return *is_native ? sim_tracks_name(t, text + sizeof NATIVE - 1) : name;
}

/* Removes the call of a native method's function right inside the runtime's call of that method. */
static void join_native_calls(struct sim_tracks *t, struct sim_track *track)
{
    struct open_call *open = NULL;
    size_t depth = 0, room = 0, kept = 0;
    for (size_t i = 0; i < track->event_count && !t->failed; i++) {
        struct sim_event e = track->events[i];
        if (e.name == SIM_CALL_END) {
            if (open[--depth].stays)
                track->events[kept++] = e;
            continue;
        }
        if (!strobe_array_reserve(&open, &room, depth + 1)) {
            t->failed = 1;
            break;
        }
        struct open_call *o = &open[depth];
        o->name = name_of_native(t, e.name, &o->is_native);
        o->stays = depth == 0 || !o[-1].is_native || o[-1].name != o->name || o->is_native;
        depth++;
        e.name = o->name;
        if (o->stays)
            track->events[kept++] = e;
    }
    track->event_count = kept;
    free(open);
}

/* Adapts the session's tracks to the form of the truth. The generation of a track counts threads with the same tid; the
 * engine's counts all threads. The allocations of the main thread are unknown, because the engine counts them from the
 * start of the process. */
static void fit_to_truth(struct sim_tracks *t)
{
    for (size_t i = 0; i < t->track_count; i++) {
        join_native_calls(t, &t->tracks[i]);
        t->tracks[i].known_alloc &= !t->tracks[i].is_main;
        t->tracks[i].generation = 1;
        for (size_t k = 0; k < i; k++)
            t->tracks[i].generation += t->tracks[k].tid == t->tracks[i].tid;
    }
}

static enum strobe_status tracks_from_session(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                              uint64_t begin_ns, struct sim_tracks *out)
{
    static const struct strobe_timeline_options options = {.no_samples = 1};
    /* Tick 0 of the session is time 0 of CLOCK_MONOTONIC, the clock of the notes. */
    uint64_t second = 1000000000, rate = reader->session.header->ticks_per_second;
    uint64_t begin_ticks = begin_ns / second * rate + begin_ns % second * rate / second;
    struct strobe_sink *sink = sim_tracks_sink(out, strobe_reader_ns(reader, begin_ticks));
    enum strobe_status status = sink ? strobe_timeline_build(reader, tree, &options, sink, NULL) : STROBE_IO;
    fit_to_truth(out);
    return status;
}

enum strobe_status sim_real_read_session(const char *session_path, const struct sim_scenario *scenario,
                                         const struct sim_notes_head *head, bool named, const char *trace_path,
                                         struct sim_tracks *out, struct strobe_error *error)
{
    struct strobe_reader *reader;
    struct strobe_function_tree *tree = NULL;
    struct names names = {.scenario = scenario, .frames = head->frames};
    struct strobe_error what = {""};
    enum strobe_status status = strobe_reader_open(session_path, &reader, &what);
    if (status != STROBE_OK) {
        strobe_error_set(error, "%s: %s", session_path, what.text);
        return status;
    }
    const char *file = session_path;
    if (!strobe_reader_check(reader, &what)) {
        strobe_error_set(error, "%s: its accounting is inconsistent: %s", session_path, what.text);
        strobe_reader_close(reader);
        return STROBE_IO;
    }
    struct strobe_resolver resolver = {.resolve = named ? resolve_named : resolve_player_frame, .ctx = &names};
    status = named ? read_names(&names, &reader->session) : STROBE_OK;
    if (status == STROBE_OK)
        status = strobe_function_tree_open(&reader->session.stacks, resolver, &tree);
    if (status == STROBE_OK)
        status = tracks_from_session(reader, tree, head->begin_ns, out);
    if (status == STROBE_OK && trace_path) {
        file = trace_path;
        status = player_write_trace(reader, tree, trace_path);
    }
    if (status != STROBE_OK)
        strobe_error_set(error, "%s: %s", file, strerror(errno ? errno : ENOMEM));
    strobe_function_tree_close(tree);
    for (size_t i = 0; i < names.count; i++)
        free(names.list[i].native);
    free(names.list);
    strobe_reader_close(reader);
    return status;
}
