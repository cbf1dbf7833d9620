/* Notes: what each thread of a player did. They are the truth of real mode.
 *
 * Each thread appends to its own list in time order. Other threads may read the published part of the list. At the end
 * of the run the player writes all lists to one file, which strobe-lab reads as tracks. The file consists of the
 * structs below, because the same build on the same machine writes and reads it. */
#ifndef STROBE_SIM_PLAYER_NOTES_H
#define STROBE_SIM_PLAYER_NOTES_H

#include "engine/base/error.h"
#include "sim/app/scenario.h"
#include "sim/score/tracks.h"

#include <stdatomic.h>
#include <stdio.h>

enum sim_note_kind {
    SIM_NOTE_CALL,    /* value: method */
    SIM_NOTE_RETURN,  /* value: 1 = thrown */
    SIM_NOTE_WAIT,    /* begin of a blocking call; value: enum strobe_kind */
    SIM_NOTE_WAKER,   /* waker of the call; value: its track; time: of the release. Precedes SIM_NOTE_WAITED */
    SIM_NOTE_WAITED,  /* end of the call; value: 1 = it blocked */
    SIM_NOTE_MESSAGE, /* begin of a message; value: its id. 0 = end of the message */
};

struct sim_note {
    uint64_t kind : 8, time_ns : 56, value;
};

struct sim_notes_part;
struct sim_notes {
    struct sim_notes_part *_Atomic first, *last;
    _Atomic bool failed; /* no memory: later notes are missing */
};

/* Appends a note. Called by the thread that owns the list. The first call allocates. */
void sim_notes_add(struct sim_notes *n, enum sim_note_kind kind, uint64_t time_ns, uint64_t value);

/* ---- the file ---- */

struct sim_notes_head {
    uint64_t begin_ns, end_ns; /* of the run, CLOCK_MONOTONIC */
    uint64_t process_cpu_ns;   /* CPU time of the process between begin_ns and end_ns */
    uint64_t charged_ns;       /* the engine's part of it, in virtual time; else 0 */
    uint64_t work_ns;          /* sum of the amounts of `compute` operations */
    uint64_t frames;           /* address of the functions of native methods: struct sim_real_play */
    uint32_t threads, failed;  /* failed: 1 = notes are missing because memory ran out */
};

struct sim_notes_thread {
    uint32_t tid, spec, index, is_main;
    uint64_t begin_ns, end_ns; /* end_ns 0: alive at the end of the run */
    struct sim_totals totals;
    uint64_t notes; /* number of struct sim_note that follow */
};

/* Writes one thread and its notes so far. The caller checks ferror(out). */
void sim_notes_write(const struct sim_notes *n, struct sim_notes_thread thread, FILE *out);

/* Reads the file as tracks, in the file's order of threads. STROBE_IO with `error`. */
enum strobe_status sim_notes_read(const char *path, const struct sim_scenario *scenario, struct sim_notes_head *head,
                                  struct sim_tracks *out, struct strobe_error *error);

/* Stores the name of thread `index` of a spec. */
void sim_notes_name(const struct sim_thread_spec *spec, uint32_t index, char out[32]);

#endif
