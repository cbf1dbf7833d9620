/* Plays scenarios under a tracer, and prints tracks in the notation of story.h. For tests; asserts by CMocka. */
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

/* Returns the default cost table without wake-up delays. The tracer's work has its default costs, and a test can check
 * the engine's rules for each single pass. */
struct sim_costs punctual_costs(void);

/* Plays the scenario `text` under the tracer at these costs. `costs` NULL: all costs are zero. played_close closes the
 * tracer. */
void play(struct played *p, const char *text, struct sim_tracer *tracer, const struct sim_costs *costs);
/* The same with options of one's own; tracer NULL: the app runs alone, and there is no reconstruction. */
void play_as(struct played *p, const char *text, struct sim_tracer *tracer, const struct sim_run_options *options);
void played_close(struct played *p);

/* Reads a scenario of tests/sim/scenarios; `name` is the file's name without ".scn". */
struct sim_scenario *scenario_called(const char *name);
/* Plays a scenario, and takes ownership of it. */
void play_scenario(struct played *p, struct sim_scenario *scenario, struct sim_tracer *tracer,
                   const struct sim_run_options *options);
void play_called(struct played *p, const char *name, struct sim_tracer *tracer, const struct sim_run_options *options);

/* Returns a tracer that adds nested waits, because no operation of scenarios waits within a wait. The clock hooks of
 * one thread report in turn that a call of this kind, for `what`, begins, and that another thread's release ended it.
 * The true timeline lacks these calls, but has all that the thread does in them. One such tracer at a time. */
struct sim_tracer *with_outer_calls(struct sim_tracer *tracer, enum strobe_kind kind, uint64_t what);

/* Returns the session of a policy that uses the engine, after a check of its invariants. */
const struct strobe_reader *captured(struct played *p);

/* Returns the first track with this tid, or NULL. */
const struct sim_track *track_of(const struct sim_tracks *t, uint32_t tid);

/* Returns the calls of a track as "TIME NAME  TIME .", with times in units of `unit_ns`; "" when there is no such
 * track. The text is valid until the next call of this function. */
const char *tracks_text(const struct sim_tracks *t, uint32_t tid, uint64_t unit_ns);

/* Writes the calls of a track that are open at a time, as "a;b;c". Calls that begin at this time count, calls that end
 * do not. */
void calls_at(const struct sim_tracks *t, const struct sim_track *track, uint64_t time_ns, char *out, size_t bytes);

/* Return the number of calls with this name in the track, and the ns in them. Recursive calls count once for the ns. */
uint32_t calls_of(const struct sim_tracks *t, uint32_t tid, const char *name);
uint64_t time_in(const struct sim_tracks *t, uint32_t tid, const char *name);

/* Returns the duration in ns of the shortest call of all tracks; UINT64_MAX when there is no call. */
uint64_t shortest_call(const struct sim_tracks *t);

/* Returns the number of calls that are open at a time. Calls that begin at this time count, calls that end do not. */
uint32_t depth_at(const struct sim_track *track, uint64_t time_ns);

#endif
