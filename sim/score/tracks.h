/* What happened, or what a tracer claims has happened, thread by thread: the common form of truth and claim.
 *
 * A track is one incarnation of a thread with its events in time order: a call begins (by name), the innermost call
 * ends, ... A blocking call is a call like others, of class WAIT, named for its kind ("[mutex wait]", see
 * strobe_wait_name), in truth from the call to the return. Placeholders of the tracer ("[unseen]") are calls of class
 * GAP.
 *
 * Whoever fills it in calls the functions below in time order per track; whoever reads it uses the fields. Allocates;
 * not thread-safe. The first lack of memory sticks in `failed`. Times in ns since the begin of the run. */
#ifndef STROBE_SIM_SCORE_TRACKS_H
#define STROBE_SIM_SCORE_TRACKS_H

#include "engine/base/status.h"
#include "engine/store/record.h"
#include "engine/util/text_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_call_class { SIM_CALL_METHOD, SIM_CALL_WAIT, SIM_CALL_GAP };

#define SIM_CALL_END  UINT32_MAX
#define SIM_SPAN_OPEN UINT64_MAX /* end_ns of a span that has not ended yet */
enum { SIM_NOBODY = -1 };

struct sim_event {
    uint64_t time_ns;
    uint32_t name;  /* number in tracks->names, or SIM_CALL_END */
    uint32_t class; /* enum sim_call_class; of an END: 1 = ended by an exception */
};

/* A blocking call, as found in `events` too. */
struct sim_wait {
    uint64_t begin_ns, end_ns;
    enum strobe_kind kind;
    bool blocked;        /* truth: it really gave its core away */
    uint64_t what;       /* identity of the lock, queue, ...; 0 = nothing of the kind */
    int32_t waker;       /* track of the thread that ended it; SIM_NOBODY */
    uint64_t release_ns; /* when that one released; begin <= release <= end */
};

/* A message that a loop ran, beside its span in `messages`, which may be forgotten when it took no time; truth only. */
struct sim_loop_turn {
    uint64_t begin_ns, end_ns; /* end_ns: as of the message's span */
    uint64_t due_ns;           /* when it was to run; of a frame the vsync that it was meant for */
    uint32_t id, queue, name;  /* name: its method's */
    bool is_frame;
};

struct sim_span {
    uint64_t begin_ns, end_ns;
    uint32_t value;
};

struct sim_totals {
    uint64_t cpu_ns;
    uint64_t allocations, alloc_bytes;
    uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
};

struct sim_track {
    uint32_t tid, generation; /* together unique; generation counts from 1 per tid */
    char name[32];
    bool is_main;
    uint64_t begin_ns, end_ns; /* end_ns: of the latest thing told, until sim_track_end */
    struct sim_event *events;
    size_t event_count, event_room;
    struct sim_wait *waits;
    size_t wait_count, wait_room;
    struct sim_span *cpu;
    size_t cpu_count, cpu_room; /* on a core, value = which; truth only */
    struct sim_span *messages;
    size_t message_count, message_room; /* value = message id, from 1 */
    struct sim_loop_turn *turns;
    size_t turn_count, turn_room; /* in order of begin */
    uint64_t samples;             /* claims: taken of this thread, merged ones counted */
    uint64_t short_wait_ns;       /* claims: time in blocks that are known in sum only */
    struct sim_totals totals;
    bool known_cpu, known_alloc, known_switches; /* claims: totals holds them */
    uint32_t depth;                              /* open calls, while it is filled in */
};

struct sim_tracks {
    struct strobe_text_pool names;
    struct sim_track *tracks;
    size_t track_count, track_room;
    uint64_t end_ns;
    /* claims only */
    uint64_t samples; /* of all tracks */
    uint64_t lost;    /* known to be lost */
    uint64_t bytes;   /* stored for them */
    int failed;
};

void sim_tracks_open(struct sim_tracks *t); /* memory may be anything */
void sim_tracks_close(struct sim_tracks *t);

/* The number of a name. */
uint32_t sim_tracks_name(struct sim_tracks *t, const char *name);

/* Adds a track; returns its number. Numbers stay good, pointers to tracks do not. */
uint32_t sim_track_add(struct sim_tracks *t, uint32_t tid, uint32_t generation, const char *name, bool is_main,
                       uint64_t begin_ns);

void sim_track_call(struct sim_tracks *t, uint32_t track, uint64_t time_ns, uint32_t name, enum sim_call_class class);
void sim_track_return(struct sim_tracks *t, uint32_t track, uint64_t time_ns, bool thrown);

/* A wait is a call of class WAIT (made with sim_track_call) whose rest is known at its end, which this is. */
void sim_track_wait(struct sim_tracks *t, uint32_t track, const struct sim_wait *wait);

/* CPU slices: on a core, or -1 off it. Messages: one begins, and ends when another does, or with id 0. Spans without
 * length are forgotten, and what goes on at once with the same value is one span. */
void sim_track_core(struct sim_tracks *t, uint32_t track, uint64_t time_ns, int core);
void sim_track_message(struct sim_tracks *t, uint32_t track, uint64_t time_ns, uint32_t id);

/* The message that has just begun, by its id, was this one. It ends with its message. */
void sim_track_loop(struct sim_tracks *t, uint32_t track, const struct sim_loop_turn *turn);

/* Ends the track: what is open ends with it, but for waits, which are to be told before. Every track is to be ended. */
void sim_track_end(struct sim_tracks *t, uint32_t track, uint64_t time_ns);

/* Writes a Perfetto trace: calls as slices, waits with flows from their wakers, CPU slices and messages as tracks of
 * their own. `process` is what the viewer shows as the process's name. */
enum strobe_status sim_tracks_write(const struct sim_tracks *t, const char *process, const char *path, int replace);

/* A sink that turns the engine's own timeline into tracks, appended to `t`: to be given to strobe_timeline_build, frees
 * itself at finish. `origin_ns` is the trace time that counts as 0. Names are those the trace shows; what stands for
 * missing frames is a method of its name. Messages, samples, losses, bytes and totals are filled in too. A wait counts
 * as blocked when the trace shows that its thread switched in it, or used less CPU time than nine tenths of its own.
 * NULL: out of memory. */
struct strobe_sink;
struct strobe_sink *sim_tracks_sink(struct sim_tracks *t, uint64_t origin_ns);

#endif
