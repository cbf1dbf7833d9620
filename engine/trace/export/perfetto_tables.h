/* Names and units of counter tracks, notes of slices and classes of slices in sink_perfetto.c.
 *
 * Included only by that file. */
#ifndef STROBE_TRACE_EXPORT_PERFETTO_TABLES_H
#define STROBE_TRACE_EXPORT_PERFETTO_TABLES_H

#include "engine/trace/model/sched_states.h"
#include "engine/trace/model/sink.h"

/* Counter tracks of a thread, in the order in which events contain their values. */
enum track { TRACK_CPU, TRACK_ALLOC, TRACK_FAULTS, TRACK_SWITCHES, TRACK_COUNT };
static const struct {
    const char *name, *share;
    unsigned type, unit, metric;
} track_kind[TRACK_COUNT] = {
    [TRACK_CPU] = {NULL, NULL, 1, 0, STROBE_METRIC_CPU},
    [TRACK_ALLOC] = {"allocated bytes", "alloc", 0, 3, STROBE_METRIC_ALLOC},
    [TRACK_FAULTS] = {"page faults", "faults", 0, 2, STROBE_METRIC_FAULTS},
    [TRACK_SWITCHES] = {"context switches", "switches", 0, 2, STROBE_METRIC_SWITCHES},
};

enum note {
    NOTE_SAMPLES,
    NOTE_ARG,
    NOTE_UNFINISHED,
    NOTE_COUNTERS,
    NOTE_STATES = NOTE_COUNTERS + STROBE_COUNTER_COUNT, /* ns, from the kernel's scheduling */
    NOTE_COUNT = NOTE_STATES + STROBE_SCHED_STATE_COUNT
};
static const char *const note_name[NOTE_COUNT] = {
    [NOTE_SAMPLES] = "samples",
    [NOTE_ARG] = "arg",
    [NOTE_UNFINISHED] = "unfinished",
    [NOTE_COUNTERS + STROBE_COUNTER_ALLOC_BYTES] = "alloc bytes",
    [NOTE_COUNTERS + STROBE_COUNTER_ALLOCS] = "allocs",
    [NOTE_COUNTERS + STROBE_COUNTER_MINOR_FAULTS] = "minor faults",
    [NOTE_COUNTERS + STROBE_COUNTER_MAJOR_FAULTS] = "major faults",
    [NOTE_COUNTERS + STROBE_COUNTER_SWITCHES] = "switches",
    [NOTE_COUNTERS + STROBE_COUNTER_PREEMPTIONS] = "preemptions",
    [NOTE_STATES + STROBE_SCHED_RUNNING] = "running",
    [NOTE_STATES + STROBE_SCHED_RUNNABLE] = "runnable",
    [NOTE_STATES + STROBE_SCHED_SLEEPING] = "sleeping",
    [NOTE_STATES + STROBE_SCHED_UNINTERRUPTIBLE] = "uninterruptible",
};
static const char *const class_name[] = {
    [STROBE_SLICE_FUNCTION] = "function",       [STROBE_SLICE_WAIT] = "wait",       [STROBE_SLICE_GAP] = "gap",
    [STROBE_SLICE_PLACEHOLDER] = "placeholder", [STROBE_SLICE_OFF_CPU] = "off_cpu",
};

#endif
