/* Annotations: sections and counters that the program itself reports, beside the samples of its threads.
 *
 * An annotation is a record of kind ANNOTATION (engine/store/record.h) of the calling thread. Its name is a text. The
 * text is stored in the stack table, packed into words that take the place of frames (strobe_annotation_pack): equal
 * names are stored once, and a name survives when the process is killed.
 *
 * The end of a section sets the duration of the section's record while the thread owns the record's chunk: see
 * struct strobe_record, and strobe_ring_extend. Otherwise it is a record of its own. The thread keeps its open sections
 * also while the capture is paused, so that each end belongs to its begin.
 *
 * Every call is counted in the thread's account of the kind ANNOTATION:
 *
 *   requests = sampled (recorded) + paused + dropped (the ring or the stack table was full) + reentrant
 *
 * Uses no heap and no lock, and is async-signal-safe (explored: sample/annotations). */
#ifndef STROBE_CAPTURE_ANNOTATE_H
#define STROBE_CAPTURE_ANNOTATE_H

#include "engine/capture/thread.h"

/* Each function below records an annotation of the calling thread. The caller must have read the switch as ON or
 * PAUSED. Bytes of a name beyond STROBE_ANNOTATION_NAME_BYTES are cut. */

/* Begins a section, and ends the one begun last. */
void strobe_section_begin(struct strobe_thread *t, const char *name);
void strobe_section_end(struct strobe_thread *t);

/* Reports the value of a counter of the process, or of the thread. */
void strobe_counter_report(struct strobe_thread *t, const char *name, int64_t value);
void strobe_thread_counter_report(struct strobe_thread *t, const char *name, int64_t value);

#endif
