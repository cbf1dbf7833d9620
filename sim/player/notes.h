/* What a played thread notes of itself: the truth of real mode, as it comes.
 *
 * Each thread appends to notes of its own, in time order; others may read what is published. At the end all notes go
 * into one file, which the waiting process reads back as tracks. Both ends are this program on this machine: the file's
 * form is that of these structs. */
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
    SIM_NOTE_WAIT,    /* a blocking call begins; value: enum strobe_kind */
    SIM_NOTE_WAKER,   /* who ends it; value: track; time: of the release. Before its WAITED */
    SIM_NOTE_WAITED,  /* it ends; value: 1 = it really blocked */
    SIM_NOTE_MESSAGE, /* value: id; 0 = none any more */
};

struct sim_note {
    uint64_t kind : 8, time_ns : 56, value;
};

struct sim_notes_part;
struct sim_notes {
    struct sim_notes_part *_Atomic first, *last;
    _Atomic bool failed; /* no memory: what follows is missing */
};

/* By the thread itself. The first call makes room. */
void sim_note(struct sim_notes *n, enum sim_note_kind kind, uint64_t time_ns, uint64_t value);

/* ---- the file ---- */

struct sim_notes_head {
    uint64_t begin_ns, end_ns; /* of the run, CLOCK_MONOTONIC */
    uint64_t process_cpu_ns;   /* used between the two */
    uint64_t charged_ns;       /* of that the engine's, where it is known: in virtual time */
    uint64_t work_ns;          /* computing that was asked for */
    uint64_t frames;           /* address of sim_real_frames there */
    uint32_t threads, failed;  /* failed: 1 = notes are missing, no memory */
};

struct sim_notes_thread {
    uint32_t tid, spec, index, is_main;
    uint64_t begin_ns, end_ns; /* end 0: lived at the end of the run */
    struct sim_totals totals;
    uint64_t notes; /* that follow */
};

/* Writes one thread and its notes so far. Errors are the stream's. */
void sim_notes_write(const struct sim_notes *n, struct sim_notes_thread thread, FILE *out);

/* Reads the file as tracks, in its order of threads. STROBE_IO with `error`. */
enum strobe_status sim_notes_read(const char *path, const struct sim_scenario *scenario, struct sim_notes_head *head,
                                  struct sim_tracks *out, struct strobe_error *error);

/* The name of the index-th thread of a spec. */
void sim_notes_name(const struct sim_thread_spec *spec, uint32_t index, char out[32]);

#endif
