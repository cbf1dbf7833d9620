#include "tests/unit/support/watch_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *copy(const char *text)
{
    char *kept = strdup(text);
    assert_non_null(kept);
    return kept;
}

static void keep(void *ctx, const struct strobe_finding *f)
{
    struct watch_rig *r = ctx;
    assert_true(r->count < WATCH_RIG_FINDINGS);
    assert_true(f->begin_ns <= f->end_ns);
    struct strobe_finding *kept = &r->found[r->count++];
    *kept = *f;
    kept->scene = copy(f->scene);
    kept->blame = copy(f->blame);
    kept->stack = copy(f->stack);
    kept->key = copy(f->key);
    kept->unseen = copy(f->unseen);
}

static void forget(struct watch_rig *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct strobe_finding *f = &r->found[i];
        const char *texts[] = {f->scene, f->blame, f->stack, f->key, f->unseen};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            free((void *)(uintptr_t)texts[t]);
    }
    r->count = 0;
}

void watch_rig_open(struct watch_rig *r)
{
    r->count = 0;
    r->watcher = NULL;
    strobe_watch_defaults(&r->options);
    r->view = (struct strobe_watch_view){.resolution_ns = 1, .knows_due = true};
}

struct watch_rig rig;

int watch_rig_start(void **state)
{
    (void)state;
    watch_rig_open(&rig);
    return 0;
}

int watch_rig_stop(void **state)
{
    (void)state;
    watch_rig_close(&rig);
    return 0;
}

void watch_rig_again(struct watch_rig *r)
{
    if (r->watcher)
        assert_int_equal(r->watcher->close(r->watcher), STROBE_OK);
    r->watcher = NULL;
    forget(r);
}

void watch_rig_close(struct watch_rig *r)
{
    watch_rig_again(r);
}

void watch_notify(struct watch_rig *r, const struct strobe_watch_event *e)
{
    if (!r->watcher)
        r->watcher = strobe_watch_all(&r->options, &r->view, (struct strobe_finding_sink){keep, r});
    assert_non_null(r->watcher);
    r->watcher->take_event(r->watcher, e);
}

void watch_notify_ns(struct watch_rig *r, enum strobe_watch_what what, uint64_t ns, const char *text)
{
    struct strobe_watch_event e = {.what = what, .time_ns = ns, .text = text};
    watch_notify(r, &e);
}

void watch_notify_ms(struct watch_rig *r, enum strobe_watch_what what, double ms, const char *text)
{
    watch_notify_ns(r, what, (uint64_t)(ms * 1e6 + 0.5), text);
}

void watch_message(struct watch_rig *r, double begin_ms, double end_ms, const char *text)
{
    watch_notify_ms(r, STROBE_WATCH_MESSAGE_BEGIN, begin_ms, text);
    watch_notify_ms(r, STROBE_WATCH_MESSAGE_END, end_ms, text);
}

void watch_focus(struct watch_rig *r, double ms, const char *name)
{
    struct strobe_watch_event e = {.what = STROBE_WATCH_ACTIVITY,
                                   .time_ns = (uint64_t)(ms * 1e6 + 0.5),
                                   .code = STROBE_ACTIVITY_FOCUSED,
                                   .text = name};
    watch_notify(r, &e);
}

void watch_end(struct watch_rig *r, double ms)
{
    watch_notify_ms(r, STROBE_WATCH_END, ms, "");
}

size_t watch_count(const struct watch_rig *r, enum strobe_finding_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        count += r->found[i].kind == kind;
    return count;
}

const struct strobe_finding *watch_found(const struct watch_rig *r, enum strobe_finding_kind kind, size_t n)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->found[i].kind == kind && n-- == 0)
            return &r->found[i];
    fail_msg("no such finding: %s", strobe_finding_name[kind]);
    return NULL;
}

double watch_value(const struct strobe_finding *f, const char *key)
{
    double value = strobe_finding_value(f, key);
    if (isnan(value))
        fail_msg("%s without %s", strobe_finding_name[f->kind], key);
    return value;
}
