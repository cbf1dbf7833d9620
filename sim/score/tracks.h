/* Tracks: a timeline thread by thread. Truth and reconstructed timeline have this common form.
 *
 * A track is one incarnation of a thread with its events in time order: a call begins (by name), or the innermost call
 * ends. A blocking call is a call of class WAIT, named after its kind ("[mutex wait]", see strobe_wait_name). In the
 * truth it lasts from the call to the return. Placeholders of the tracer ("[unseen]") are calls of class GAP.
 *
 * To fill in tracks, call the functions below in time order per track. To read them, use the fields. Allocates; not
 * thread-safe. After a failed allocation `failed` stays set. Times are in ns since the begin of the run. */
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
    uint32_t class; /* enum sim_call_class; of an END: 1 if an exception ended the call */
};

/* A blocking call. `events` has it too. */
struct sim_wait {
    uint64_t begin_ns, end_ns;
    enum strobe_kind kind;
    bool blocked;        /* truth: the thread left its core in the wait */
    uint64_t what;       /* identity of the lock, queue, ...; 0: no identity */
    int32_t waker;       /* track of the thread that ended it; SIM_NOBODY */
    uint64_t release_ns; /* when the waker released; begin <= release <= end */
};

/* A message that a loop ran; truth only. Its span in `messages` may be missing, when the message took no time. */
struct sim_loop_turn {
    uint64_t begin_ns, end_ns; /* end_ns: end of the message's span */
    uint64_t due_ns;           /* when the message was due; for a frame: its vsync */
    uint32_t id, queue, name;  /* name: of the message's method */
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
    uint32_t tid, generation; /* unique together; generation counts from 1 per tid */
    char name[32];
    bool is_main;
    uint32_t spec;             /* truth: the thread spec of the scenario */
    uint64_t begin_ns, end_ns; /* end_ns: the latest time so far, until sim_track_end */
    struct sim_event *events;
    size_t event_count, event_room;
    struct sim_wait *waits;
    size_t wait_count, wait_room;
    struct sim_span *cpu;
    size_t cpu_count, cpu_room; /* spans on a core, value = the core; truth only */
    struct sim_span *messages;
    size_t message_count, message_room; /* value = message id, from 1 */
    struct sim_loop_turn *turns;
    size_t turn_count, turn_room; /* in order of begin */
    struct sim_span *idle;        /* reconstruction: spans shown as off the processor, in order */
    size_t idle_count, idle_room; /* value = their name: "[off cpu]", or that of a system call */
    uint64_t samples;             /* reconstruction: samples of this thread; merged ones count one by one */
    uint64_t short_wait_ns;       /* reconstruction: time in blocks of which only the sum is known */
    struct sim_totals totals;
    bool known_cpu, known_alloc, known_switches; /* reconstruction: `totals` holds them */
    uint32_t depth;                              /* number of open calls while the track is filled in */
};

struct sim_tracks {
    struct strobe_text_pool names;
    struct sim_track *tracks;
    size_t track_count, track_room;
    uint64_t end_ns;
    /* reconstruction only */
    uint64_t samples; /* of all tracks */
    uint64_t lost;    /* known losses */
    uint64_t bytes;   /* stored for the samples */
    int failed;
    bool closed; /* nothing is added to a track any more; tracks may be */
};

void sim_tracks_open(struct sim_tracks *t); /* memory need not be zeroed */
void sim_tracks_close(struct sim_tracks *t);

/* Returns the number of a name; adds the name when it is new. */
uint32_t sim_tracks_name(struct sim_tracks *t, const char *name);

/* Adds a track and returns its number. Numbers stay valid; pointers to tracks do not. */
uint32_t sim_track_add(struct sim_tracks *t, uint32_t tid, uint32_t generation, const char *name, bool is_main,
                       uint64_t begin_ns);

void sim_track_call(struct sim_tracks *t, uint32_t track, uint64_t time_ns, uint32_t name, enum sim_call_class class);
void sim_track_return(struct sim_tracks *t, uint32_t track, uint64_t time_ns, bool thrown);

/* Adds the details of a wait when it ends. The wait itself is a call of class WAIT, made with sim_track_call. */
void sim_track_wait(struct sim_tracks *t, uint32_t track, const struct sim_wait *wait);

/* sim_track_core records the core that the thread is on, -1 for none. sim_track_message records that a message begins;
 * it ends when another begins, or with id 0. Spans without length are dropped, and adjacent spans of the same value are
 * joined. */
void sim_track_core(struct sim_tracks *t, uint32_t track, uint64_t time_ns, int core);
void sim_track_message(struct sim_tracks *t, uint32_t track, uint64_t time_ns, uint32_t id);

/* Adds the details of the message that has just begun, matched by id. The turn ends with its message. */
void sim_track_loop(struct sim_tracks *t, uint32_t track, const struct sim_loop_turn *turn);

/* Adds a span in which the reconstruction shows that the thread was off its processor, under this name. */
void sim_track_idle(struct sim_tracks *t, uint32_t track, uint64_t begin_ns, uint64_t end_ns, uint32_t name);

/* Ends the track and what is open in it, except waits: add those before. Every track must be ended. */
void sim_track_end(struct sim_tracks *t, uint32_t track, uint64_t time_ns);

/* Writes a Perfetto trace: calls as slices, waits with flows from their wakers, CPU slices and messages as separate
 * tracks. `process` is the process name that the viewer shows. */
enum strobe_status sim_tracks_write(const struct sim_tracks *t, const char *process, const char *path, int replace);

/* Returns a sink for strobe_timeline_build that appends the engine's timeline to `t` as tracks. The sink frees itself
 * at finish. `origin_ns` is the trace time that counts as 0. Names are those that the trace shows; a placeholder for
 * missing frames becomes a method of its name. The wait for a monitor right inside a wait for a notification becomes no
 * call of its own: the thread enters the monitor again, which the app sees as one wait. Messages, samples, losses,
 * bytes and totals are filled in too. A wait counts as blocked when the trace shows that its thread switched in it, or
 * that the thread used less CPU time than nine tenths of the wait's own time, unless the engine knows that the
 * thread did not wait in it. NULL: out of memory. */
struct strobe_sink;
struct strobe_sink *sim_tracks_sink(struct sim_tracks *t, uint64_t origin_ns);

#endif
