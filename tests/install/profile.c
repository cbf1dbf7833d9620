/* A program of another project, built with the installed files alone: prints the hottest functions of a session, one a
 * line, `samples function`; the status text of a session that does not open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strobe/session.h>
#include <strobe/trace.h>

enum { FUNCTIONS = 4096, FRAMES = 256 };

static struct count {
    char function[200];
    unsigned long samples;
} counts[FUNCTIONS];
static size_t functions;

static void add(const char *function, unsigned long samples)
{
    size_t i = 0;
    while (i < functions && strcmp(counts[i].function, function))
        i++;
    if (i == FUNCTIONS)
        return;
    if (i == functions)
        snprintf(counts[functions++].function, sizeof counts->function, "%s", function);
    counts[i].samples += samples;
}

static int more_samples(const void *a, const void *b)
{
    const struct count *x = a, *y = b;
    return (x->samples < y->samples) - (x->samples > y->samples);
}

int main(int argc, char **argv)
{
    struct strobe_view *view;
    struct strobe_error error;
    if (argc != 2 && argc != 3)
        return 2;
    enum strobe_status status = strobe_view_open(argv[1], STROBE_VIEW_NO_LINES, &view, &error);
    if (status != STROBE_OK) {
        printf("%s: %s\n", strobe_status_text(status), error.text);
        return 1;
    }
    if (strobe_view_check(view, &error) != STROBE_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    unsigned long samples = 0;
    for (uint32_t t = 0; t < strobe_view_get_info(view)->threads; t++)
        for (size_t i = 0; i < strobe_view_get_thread(view, t)->records; i++) {
            struct strobe_view_record r = strobe_view_get_record(view, t, i);
            struct strobe_view_frame frames[FRAMES];
            size_t depth;
            if (strobe_view_get_frames(view, r.stack, frames, FRAMES, &depth) == STROBE_OK && depth)
                add(frames[depth - 1].function, r.samples);
            samples += r.samples;
        }
    qsort(counts, functions, sizeof *counts, more_samples);
    for (size_t i = 0; i < functions && i < 5; i++)
        printf("%lu %s\n", counts[i].samples, counts[i].function);
    if (samples != strobe_view_get_info(view)->samples) {
        printf("%lu samples in the records, %lu in the session\n", samples,
               (unsigned long)strobe_view_get_info(view)->samples);
        return 1;
    }
    if (strobe_view_get_thread(view, strobe_view_get_info(view)->threads) ||
        strobe_view_get_record(view, 0, (size_t)-1).samples)
        return 1;
    strobe_view_close(view);
    if (argc == 3) {
        const struct strobe_trace_options folded = {.format = STROBE_FORMAT_FOLDED};
        status = strobe_trace_write(argv[1], argv[2], &folded, &error);
        if (status != STROBE_OK) {
            printf("%s: %s\n", strobe_status_text(status), error.text);
            return 1;
        }
    }
    return 0;
}
