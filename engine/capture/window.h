/* How long threads stood: the lengths of suspended windows, for median, 99th percentile and maximum.
 *
 * A histogram in the session's header with one writer, the sampler: 8 steps for each doubling of ticks, so what is read
 * of it is right to an eighth. A length counts from before the host is asked to suspend to after resume has
 * returned. */
#ifndef STROBE_CAPTURE_WINDOW_H
#define STROBE_CAPTURE_WINDOW_H

#include "engine/store/session.h"

/* Sampler, after resume. */
void strobe_window_note(struct strobe_session_header *head, uint64_t ticks);

#endif
