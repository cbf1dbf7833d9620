#include "engine/watch/startup.h"

#include "engine/util/array.h"
#include "engine/watch/call_sum.h"
#include "engine/watch/context.h"
#include "engine/watch/watch_names.h"

#include <stdlib.h>
#include <string.h>

enum {
    LAUNCH_ACTIVITY = 100,
    RECEIVER = 113,
    CREATE_SERVICE = 114,
    RELAUNCH_ACTIVITY = 126,
    EXECUTE_TRANSACTION = 159
};
#define TOO_LONG_NS 30000000000u

/* A live activity. */
struct activity {
    const char *class;
    uint64_t created_ns;
    bool knows_created, focused;
};

struct startup {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    struct strobe_call_sum calls;
    bool began, has_application, for_activity, shown, splash_shown;
    bool is_cold; /* the cold start is not over */
    bool is_warm; /* a warm start is not over */
    uint64_t begin_ns, application_ns, first_screen_ns, warm_ns;
    uint32_t code;
    struct activity *activities;
    size_t count, room;
};

static bool startup_sums_calls(const struct startup *s)
{
    return s->began && (s->is_cold || s->is_warm);
}

/* ---- findings */

static void add_unseen(const struct startup *s, struct strobe_unseen *unseen)
{
    strobe_unseen_view(unseen, &s->context->view, STROBE_NEEDS_TIMES);
    if (!s->has_application)
        strobe_unseen_add(unseen, "why the application was created");
    if (s->is_cold)
        strobe_unseen_add(unseen, "what the process did before the capture began");
}

static void startup_report(struct startup *s, const char *class, const char *kind, uint64_t begin_ns, uint64_t span_ns)
{
    struct strobe_watch_context *c = s->context;
    uint64_t slow_ns = s->is_cold ? c->options.cold_ns : c->options.warm_ns;
    struct strobe_finding f = strobe_finding(STROBE_FINDING_STARTUP, begin_ns, begin_ns + span_ns);
    struct strobe_unseen unseen = {""};
    bool slow = slow_ns && span_ns >= slow_ns;
    f.scene = class;
    f.key = kind;
    if (s->is_cold && s->has_application) {
        strobe_finding_add_ms(&f, "application_ms", s->application_ns);
        strobe_finding_add(&f, "application_code", s->code);
    }
    if (s->is_cold && s->shown)
        strobe_finding_add_ms(&f, "first_screen_ms", s->first_screen_ns);
    strobe_finding_add_ms(&f, s->is_cold ? "cold_ms" : "warm_ms", span_ns);
    strobe_finding_add(&f, "slow", slow);
    if (slow)
        f.stack = strobe_call_sum_stack(&s->calls, c->now_ns, &f.blame);
    add_unseen(s, &unseen);
    f.unseen = unseen.text;
    strobe_watch_found(c, &f);
}

/* ---- activities */

static struct activity *startup_find_activity(struct startup *s, const char *class)
{
    for (size_t i = s->count; i--;)
        if (!strcmp(s->activities[i].class, class))
            return &s->activities[i];
    return NULL;
}

static struct activity *startup_add_activity(struct startup *s, const char *class)
{
    if (!strobe_array_reserve(&s->activities, &s->room, s->count + 1)) {
        s->context->failed = true;
        return NULL;
    }
    struct activity *a = &s->activities[s->count++];
    *a = (struct activity){.class = strobe_watch_keep(s->context, class)};
    return a;
}

static void startup_activity_created(struct startup *s, const char *class)
{
    if (!s->count && !s->is_cold) {
        s->is_warm = true;
        s->warm_ns = s->context->now_ns;
        s->context->failed |= s->calls.failed;
        strobe_call_sum_free(&s->calls);
    }
    struct activity *a = startup_add_activity(s, class);
    if (a) {
        a->knows_created = true;
        a->created_ns = s->context->now_ns;
    }
}

static void startup_activity_destroyed(struct startup *s, const char *class)
{
    struct activity *a = startup_find_activity(s, class);
    if (!a)
        return;
    size_t after = (size_t)(s->activities + s->count - (a + 1));
    memmove(a, a + 1, after * sizeof *a);
    s->count--;
}

/* Returns true when the cold start ends with the first focus of this activity. *span_ns is then its length. */
static bool cold_ends(struct startup *s, const char *class, uint64_t *span_ns)
{
    const char *splash = s->context->options.splash;
    *span_ns = s->context->now_ns - s->begin_ns;
    if (!s->shown)
        s->first_screen_ns = *span_ns;
    s->shown = true;
    if (s->splash_shown)
        return true;
    if (splash && strobe_name_is_of(class, splash)) {
        s->splash_shown = true;
        return false;
    }
    if (s->has_application && !s->for_activity) {
        s->shown = false;
        *span_ns = s->application_ns;
    }
    return true;
}

static void startup_activity_focused(struct startup *s, const char *class)
{
    struct activity *a = startup_find_activity(s, class);
    if (!s->began || (a && a->focused))
        return;
    /* An activity that gets the focus is alive, also when its creation was not captured. */
    a = a ? a : startup_add_activity(s, class);
    if (!a)
        return;
    a->focused = true;
    bool too_long = a->knows_created && s->context->now_ns - a->created_ns >= TOO_LONG_NS;
    uint64_t span_ns;
    if (s->is_cold && cold_ends(s, class, &span_ns)) {
        if (!too_long)
            startup_report(s, class, "cold", s->begin_ns, span_ns);
        s->is_cold = false;
    } else if (s->is_warm) {
        if (!too_long)
            startup_report(s, class, "warm", s->warm_ns, s->context->now_ns - s->warm_ns);
        s->is_warm = false;
    }
}

/* ---- events */

static void startup_take_component(struct startup *s, const struct strobe_watch_event *e)
{
    bool activity = e->code == LAUNCH_ACTIVITY || e->code == RELAUNCH_ACTIVITY ||
                    (e->code == EXECUTE_TRANSACTION && strstr(e->text, "LaunchActivityItem"));
    if (!s->began || s->has_application || (!activity && e->code != CREATE_SERVICE && e->code != RECEIVER))
        return;
    s->has_application = true;
    s->for_activity = activity;
    s->application_ns = e->time_ns - s->begin_ns;
    s->code = e->code;
}

static void startup_take_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    struct startup *s = (struct startup *)w;
    if (e->what == STROBE_WATCH_CALL_BEGIN) {
        if (e->thread == 0 && startup_sums_calls(s))
            strobe_call_sum_begin(&s->calls, strobe_watch_keep(s->context, e->text), e->time_ns);
    } else if (e->what == STROBE_WATCH_CALL_END) {
        if (e->thread == 0 && startup_sums_calls(s))
            strobe_call_sum_end(&s->calls, e->time_ns);
    } else if (e->what == STROBE_WATCH_APP_BEGIN && !s->began) {
        s->began = true;
        s->begin_ns = e->time_ns;
    } else if (e->what == STROBE_WATCH_COMPONENT) {
        startup_take_component(s, e);
    } else if (e->what == STROBE_WATCH_ACTIVITY && e->code == STROBE_ACTIVITY_CREATED) {
        startup_activity_created(s, e->text);
    } else if (e->what == STROBE_WATCH_ACTIVITY && e->code == STROBE_ACTIVITY_FOCUSED) {
        startup_activity_focused(s, e->text);
    } else if (e->what == STROBE_WATCH_ACTIVITY && e->code == STROBE_ACTIVITY_DESTROYED) {
        startup_activity_destroyed(s, e->text);
    } else if (e->what == STROBE_WATCH_END && s->is_cold && s->has_application && !s->for_activity) {
        startup_report(s, "", "cold", s->begin_ns, s->application_ns);
    }
}

static enum strobe_status startup_close(struct strobe_watcher *w)
{
    struct startup *s = (struct startup *)w;
    enum strobe_status status = s->calls.failed ? STROBE_IO : STROBE_OK;
    strobe_call_sum_free(&s->calls);
    free(s->activities);
    free(s);
    return status;
}

struct strobe_watcher *strobe_watch_startup(struct strobe_watch_context *c)
{
    enum {
        MINE = 1u << STROBE_WATCH_CALL_BEGIN | 1u << STROBE_WATCH_CALL_END | 1u << STROBE_WATCH_APP_BEGIN |
               1u << STROBE_WATCH_COMPONENT | 1u << STROBE_WATCH_ACTIVITY | 1u << STROBE_WATCH_END
    };
    struct startup *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->watcher = (struct strobe_watcher){startup_take_event, startup_close, ~(uint32_t)MINE};
    s->context = c;
    s->is_cold = true;
    return &s->watcher;
}
