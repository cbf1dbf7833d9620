/* A scenario played under a tracer, and tracks written as text, in the language of story.h. For tests; asserts by
 * CMocka. */
#ifndef STROBE_SIM_SUPPORT_PLAYED_H
#define STROBE_SIM_SUPPORT_PLAYED_H

#include "engine/trace/session/reader.h"
#include "sim/runtime/run.h"

struct played {
    struct sim_scenario *scenario;
    struct sim_tracer *tracer;
    struct sim_run run;
    struct sim_tracks reconstruction;
};

/* The default table on a machine that is never late: what the tracer does costs what it costs, and a rule of the engine
 * can be tested to the pass. */
struct sim_costs punctual_costs(void);

/* Plays `text` under the tracer, which is closed with the rest, at those costs; NULL: nothing costs anything. */
void play(struct played *p, const char *text, struct sim_tracer *tracer, const struct sim_costs *costs);
/* The same with options of one's own; tracer NULL: the app runs alone, and there is no reconstruction. */
void play_as(struct played *p, const char *text, struct sim_tracer *tracer, const struct sim_run_options *options);
void played_close(struct played *p);

/* A scenario of tests/sim/scenarios, by its file's name without ".scn"; and it played, by whom the scenario is then
 * owned. */
struct sim_scenario *scenario_called(const char *name);
void play_scenario(struct played *p, struct sim_scenario *scenario, struct sim_tracer *tracer,
                   const struct sim_run_options *options);
void play_called(struct played *p, const char *name, struct sim_tracer *tracer, const struct sim_run_options *options);

/* No operation of scenarios waits within a wait. For a test that needs it, the clock hooks of one thread report to
 * the tracer by turns that a call of this kind, for `what`, begins, and that it has ended since somebody let it. The
 * truth does not know of these calls, but of all that the thread does in them. One tracer at a time. */
struct sim_tracer *with_outer_calls(struct sim_tracer *tracer, enum strobe_kind kind, uint64_t what);

/* What a policy over the engine has captured, after its invariants were checked. */
const struct strobe_reader *captured(struct played *p);

/* The first track of that tid, or NULL. */
const struct sim_track *track_of(const struct sim_tracks *t, uint32_t tid);

/* The calls of a track: "TIME NAME  TIME .", times in units of `unit_ns`. Good until the next call. "" when there is no
 * such track. */
const char *tracks_text(const struct sim_tracks *t, uint32_t tid, uint64_t unit_ns);

/* Calls of that name in the track, and the ns in them, those within themselves counted once. */
uint32_t calls_of(const struct sim_tracks *t, uint32_t tid, const char *name);
uint64_t time_in(const struct sim_tracks *t, uint32_t tid, const char *name);

/* How long the shortest call of all tracks lasts; UINT64_MAX when there is none. */
uint64_t shortest_call(const struct sim_tracks *t);

/* Calls that are open at an instant, of which those that begin there are, and those that end there are not. */
uint32_t depth_at(const struct sim_track *track, uint64_t time_ns);

#endif
