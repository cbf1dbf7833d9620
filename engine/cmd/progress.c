#include "engine/cmd/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const uint64_t WAIT_NS = 400000000, REDRAW_NS = 100000000;
enum { BAR = 40 };

static uint64_t progress_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void strobe_progress_begin(struct strobe_progress *p, const char *label)
{
    *p = (struct strobe_progress){.label = label, .on = isatty(STDERR_FILENO), .begin_ns = progress_now_ns()};
}

/* Returns true when it is time to draw. */
static int progress_is_due(struct strobe_progress *p)
{
    uint64_t now = progress_now_ns();
    if (!p->on || now - p->begin_ns < WAIT_NS || now - p->drawn_ns < REDRAW_NS)
        return 0;
    p->shown = 1;
    p->drawn_ns = now;
    return 1;
}

/* Writes one line, cut to the terminal's width: a wrapped line could not be overwritten. */
static void progress_write_line(const char *line)
{
    struct winsize size;
    bool known = !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 1;
    fprintf(stderr, "\r%.*s\033[K", known ? size.ws_col - 1 : 79, line);
    fflush(stderr);
}

static void progress_draw(const struct strobe_progress *p, double share, const char *more)
{
    char bar[BAR + 1], line[512];
    size_t full = (size_t)(share < 1 ? share * BAR : BAR);
    memset(bar, '#', full);
    memset(bar + full, '.', BAR - full);
    bar[BAR] = 0;
    snprintf(line, sizeof line, "%s [%s] %3.0f %%%s", p->label, bar, 100.0 * (double)full / BAR, more);
    progress_write_line(line);
}

void strobe_progress_step(void *progress, uint64_t done, uint64_t all)
{
    struct strobe_progress *p = progress;
    if (all && progress_is_due(p))
        progress_draw(p, (double)done / (double)all, "");
}

void strobe_progress_share(struct strobe_progress *p, double share, const char *more)
{
    char text[300];
    if (!progress_is_due(p))
        return;
    snprintf(text, sizeof text, "%s  %s", share < 0 ? p->label : "", more);
    if (share < 0)
        progress_write_line(text);
    else
        progress_draw(p, share, text);
}

void strobe_progress_end(struct strobe_progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r\033[K");
    p->shown = 0;
}
