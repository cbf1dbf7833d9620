#include "sim/cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t WAIT_NS = 400000000, REDRAW_NS = 100000000;
enum { BAR = 40 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void strobe_progress_begin(struct strobe_progress *p, const char *label)
{
    *p = (struct strobe_progress){.label = label, .on = isatty(STDERR_FILENO), .begin_ns = now_ns()};
}

void strobe_progress_step(void *progress, uint64_t done, uint64_t all)
{
    struct strobe_progress *p = progress;
    if (!p->on || !all)
        return;
    uint64_t now = now_ns();
    if (now - p->begin_ns < WAIT_NS || now - p->drawn_ns < REDRAW_NS)
        return;
    char bar[BAR + 1];
    size_t full = (size_t)(done < all ? (double)done / (double)all * BAR : BAR);
    memset(bar, '#', full);
    memset(bar + full, '.', BAR - full);
    bar[BAR] = 0;
    fprintf(stderr, "\r%s [%s] %3.0f %%", p->label, bar, 100.0 * (double)full / BAR);
    fflush(stderr);
    p->shown = 1;
    p->drawn_ns = now;
}

void strobe_progress_end(struct strobe_progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r\033[K");
    p->shown = 0;
}
