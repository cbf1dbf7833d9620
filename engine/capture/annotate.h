/* Annotations: sections and counters that the program itself reports, beside the samples of its threads.
 *
 * An annotation is a record of kind ANNOTATION (engine/store/record.h) of the calling thread. Its name is a text. The
 * text is stored in the stack table, packed into words that take the place of frames (strobe_annotation_pack): equal
 * names are stored once, and a name survives when the process is killed.
 *
 * Every call is counted in the thread's account of the kind ANNOTATION:
 *
 *   requests = sampled (recorded) + paused + dropped (the ring or the stack table was full) + reentrant
 *
 * Uses no heap and no lock, and is async-signal-safe (explored: sample/annotations). */
#ifndef STROBE_CAPTURE_ANNOTATE_H
#define STROBE_CAPTURE_ANNOTATE_H

#include "engine/capture/thread.h"

/* Records an annotation of the calling thread. The caller must have read the switch as ON or PAUSED. `name` is not
 * NULL, except for END, which ignores it; bytes beyond STROBE_ANNOTATION_NAME_BYTES are cut. `value` is the
 * counter's value for COUNTER, else 0. */
void strobe_annotate(struct strobe_thread *t, enum strobe_annotation what, const char *name, int64_t value);

#endif
