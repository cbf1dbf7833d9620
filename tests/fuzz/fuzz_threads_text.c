/* Texts in captures: dumps of threads, /proc/PID/stat and sched, events. With any content, reading ends and stays
 * within the bounds. A deadlock that is found is a cycle of different threads that begins with the lowest tid. The
 * input up to its first NUL is the key searched for in sched; the rest is used as each of the texts. */
#include "engine/base/error.h"
#include "engine/watch/anr.h"
#include "engine/watch/proc_stat.h"
#include "engine/watch/watch_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void found(void *ctx, const struct strobe_deadlock *d)
{
    ++*(long *)ctx;
    if (!d->thread_count)
        abort();
    for (size_t i = 1; i < d->thread_count; i++)
        if (d->threads[i].tid <= d->threads[0].tid)
            abort();
    for (size_t i = 0; i < d->thread_count; i++)
        if (!d->threads[i].tid || strlen(d->threads[i].name) > SIZE_MAX / 2)
            abort();
}

static void check_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    (void)w;
    if (!e->text || strlen(e->text) > SIZE_MAX / 2 || (e->what == STROBE_WATCH_FRAME) != (e->frame != NULL))
        abort();
    for (uint32_t i = 0; e->stack && i < e->stack->count; i++)
        if (!e->stack->frames[i] || strlen(e->stack->names[i]) > SIZE_MAX / 2)
            abort();
}

/* Reads it as the text of events, ended by NUL. Changes the text. */
static void read_events(const char *text, size_t length)
{
    struct strobe_watcher watcher = {.take_event = check_event};
    struct strobe_watch_view view;
    struct strobe_error error = {""};
    char *copy = malloc(length + 1);
    if (!copy)
        return;
    memcpy(copy, text, length);
    copy[length] = 0;
    strobe_watch_text_view(copy, &view, &error);
    if (strobe_watch_text_read(copy, &watcher, NULL, &error) == STROBE_BAD_INPUT && strncmp(error.text, "line ", 5))
        abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_proc_stat stat;
    long stored = 0;
    int64_t millionths;
    const uint8_t *end = bytes ? memchr(data, 0, bytes) : NULL;
    if (!end)
        return 0;
    /* A separate copy, so that a sanitizer sees every read beyond it. */
    size_t length = bytes - (size_t)(end + 1 - data);
    char *text = malloc(length ? length : 1);
    if (!text)
        return 0;
    memcpy(text, end + 1, length);
    if (strobe_deadlocks_find(text, length, found, &stored) != stored)
        abort();
    if (strobe_proc_stat_read(text, length, &stat) == STROBE_OK &&
        (!memchr(text, ')', length) || strlen(stat.comm) >= sizeof stat.comm))
        abort();
    if (strobe_proc_sched_read(text, length, (const char *)data, &millionths) == STROBE_OK &&
        !memchr(text, ':', length))
        abort();
    read_events(text, length);
    free(text);
    return 0;
}
