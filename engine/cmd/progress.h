/* A progress bar on standard error: on a terminal only, and only for work that takes a while. One at a time. */
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

/* `done` of `all` is done. `progress` is a struct strobe_progress. Cheap enough to call often. */
void strobe_progress_step(void *progress, uint64_t done, uint64_t all);

/* The same where it is known as a share, 0 .. 1, or < 0 when it isn't; `more` stands behind the bar. */
void strobe_progress_share(struct strobe_progress *p, double share, const char *more);

/* Wipes the bar away. */
void strobe_progress_end(struct strobe_progress *p);

#endif
