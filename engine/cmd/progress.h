/* A progress bar on standard error. It appears only on a terminal, and only for work that takes a while. One at a
 * time. */
#ifndef STROBE_CMD_PROGRESS_H
#define STROBE_CMD_PROGRESS_H

#include <stdint.h>

struct strobe_progress {
    const char *label;
    int on; /* standard error is a terminal */
    int shown;
    uint64_t begin_ns, drawn_ns;
};

void strobe_progress_begin(struct strobe_progress *p, const char *label);

/* Reports that `done` of `all` is done. `progress` is a struct strobe_progress. Cheap enough to be called often. */
void strobe_progress_step(void *progress, uint64_t done, uint64_t all);

/* Reports a share, 0 .. 1, or < 0 when it is unknown. `more` is shown after the bar. */
void strobe_progress_share(struct strobe_progress *p, double share, const char *more);

/* Removes the bar. */
void strobe_progress_end(struct strobe_progress *p);

#endif
