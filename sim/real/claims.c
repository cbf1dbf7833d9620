#include "sim/real/claims.h"

#include "engine/trace/outfile.h"
#include "engine/trace/sink_perfetto.h"
#include "engine/trace/timeline.h"
#include "sim/real/frames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct names { const struct sim_scenario *scenario; uint64_t frames; };

/* A frame's address tells its method: no symbols are looked at. */
static size_t resolve(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    const struct names *n = ctx;
    uint64_t method = (return_address - 1 - n->frames) / SIM_REAL_FRAME_BYTES;
    if (return_address <= n->frames || method >= n->scenario->method_count || max == 0)
        return 0;
    *out = (struct strobe_symbol){.function = n->scenario->methods[method].name, .image = "", .file = "",
                                  .function_id = (uint32_t)method,
                                  .function_address = n->frames + method * SIM_REAL_FRAME_BYTES};
    return 1;
}

static enum strobe_status write_trace(const struct strobe_reader *reader, struct strobe_function_tree *tree,
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

/* The engine numbers all threads of a session; tracks count those that had one tid. And it knows the main thread's
 * allocations from its start, long before the run's. */
static void fit_to_truth(struct sim_tracks *t)
{
    for (size_t i = 0; i < t->track_count; i++) {
        t->tracks[i].known_alloc &= !t->tracks[i].is_main;
        t->tracks[i].generation = 1;
        for (size_t k = 0; k < i; k++)
            t->tracks[i].generation += t->tracks[k].tid == t->tracks[i].tid;
    }
}

static enum strobe_status claim(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                uint64_t begin_ns, struct sim_tracks *out)
{
    static const struct strobe_timeline_options options = {.no_samples = 1};
    /* Ticks are ns of CLOCK_MONOTONIC on Linux, and so are the notes' times. */
    struct strobe_sink *sink = sim_tracks_sink(out, strobe_reader_ns(reader, begin_ns));
    enum strobe_status status = sink ? strobe_timeline_build(reader, tree, &options, sink, NULL) : STROBE_IO;
    fit_to_truth(out);
    return status;
}

enum strobe_status sim_real_claims(const char *session_path, const struct sim_scenario *scenario,
                                   const struct sim_notes_head *head, const char *trace_path, struct sim_tracks *out,
                                   char *why, size_t why_bytes)
{
    struct strobe_reader *reader;
    struct strobe_function_tree *tree = NULL;
    struct names names = {scenario, head->frames};
    char what[256];
    enum strobe_status status = strobe_reader_open(session_path, &reader, what, sizeof what);
    if (status != STROBE_OK) {
        snprintf(why, why_bytes, "%s: %s", session_path, what);
        return status;
    }
    const char *file = session_path;
    if (!strobe_reader_check(reader, what, sizeof what)) {
        snprintf(why, why_bytes, "%s: its books do not balance: %s", session_path, what);
        strobe_reader_close(reader);
        return STROBE_BAD_INPUT;
    }
    status = strobe_function_tree_open(&reader->session.stacks, (struct strobe_resolver){resolve, &names}, &tree);
    if (status == STROBE_OK)
        status = claim(reader, tree, head->begin_ns, out);
    if (status == STROBE_OK && trace_path) {
        file = trace_path;
        status = write_trace(reader, tree, trace_path);
    }
    if (status != STROBE_OK)
        snprintf(why, why_bytes, "%s: %s", file, strerror(errno ? errno : ENOMEM));
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
    return status;
}
