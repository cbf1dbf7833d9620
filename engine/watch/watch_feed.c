#include "engine/watch/watch_feed.h"

#include "engine/util/array.h"
#include "engine/watch/block.h"
#include "engine/watch/watch_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRETCH = 64 }; /* number of samples passed at the begin, and at the end, of a long time without change */
enum { LAUNCH_ACTIVITY = 100, CLASS_BYTES = 256 };
#define NOWHERE SIZE_MAX

struct call {
    uint64_t begin_ns;
    uint32_t name, node;
    unsigned roles;
    enum strobe_watch_call class;
    const char *text;
};

struct strobe_watch_feed {
    struct strobe_watch_feed_options options;
    char process[CLASS_BYTES];
    struct strobe_watcher *watcher;
    struct strobe_watch_seen seen;
    bool begun, failed;
    bool is_ios;
    uint64_t now_ns;

    struct call *open; /* outermost first */
    size_t depth, room;
    uint64_t *frames; /* stack of a sample; same capacity as `open` */
    const char **names;
    unsigned *roles; /* by name: its roles + 1; 0 = not looked up yet */
    size_t roles_room;

    enum { NO_MESSAGE, HELD, PASSED } message; /* HELD: the event waits until the message's text is known */
    uint64_t message_ns, due_ns;
    size_t message_depth; /* depth of the call that is the message, when its name said so; else NOWHERE */
    uint64_t sample_ns;   /* when the next sample is due */

    size_t frame_depth; /* depth of the open frame, or NOWHERE */
    size_t phase_depth; /* depth of the open phase in it, or NOWHERE */
    uint64_t phase_ns;
    struct strobe_watch_frame frame;

    bool asked;                /* a component was requested */
    size_t create_depth;       /* depth of the open onCreate whose activity will get the focus, or NOWHERE */
    char awaited[CLASS_BYTES]; /* class of the activity that has no focus yet; "" = none */
    uint64_t created_ns;
};

static void feed_pass_event(struct strobe_watch_feed *f, struct strobe_watch_event e)
{
    e.time_ns = f->now_ns;
    e.text = e.text ? e.text : "";
    f->watcher->take_event(f->watcher, &e);
}

/* ---- samples of iOS */

static void feed_pass_sample(struct strobe_watch_feed *f, uint64_t time_ns)
{
    struct strobe_watch_stack stack = {f->frames, (uint32_t)f->depth, f->names};
    struct strobe_watch_event e = {.what = STROBE_WATCH_SAMPLE, .time_ns = time_ns, .text = "", .stack = &stack};
    f->watcher->take_event(f->watcher, &e);
}

/* Passes the samples of the time up to time_ns, during which nothing changes. */
static void feed_pass_samples(struct strobe_watch_feed *f, uint64_t time_ns)
{
    if (f->message != PASSED || !f->is_ios || f->sample_ns >= time_ns || !f->depth)
        return;
    for (size_t i = 0; i < f->depth; i++) {
        f->frames[i] = (uint64_t)f->open[f->depth - 1 - i].name + 1;
        f->names[i] = f->open[f->depth - 1 - i].text;
    }
    for (unsigned i = 0; i < STRETCH && f->sample_ns < time_ns; i++, f->sample_ns += STROBE_BLOCK_SAMPLE_NS)
        feed_pass_sample(f, f->sample_ns);
    if (f->sample_ns >= time_ns)
        return;
    uint64_t left = (time_ns - f->sample_ns) / STROBE_BLOCK_SAMPLE_NS;
    if (left > STRETCH)
        f->sample_ns += (left - STRETCH) * STROBE_BLOCK_SAMPLE_NS;
    for (; f->sample_ns < time_ns; f->sample_ns += STROBE_BLOCK_SAMPLE_NS)
        feed_pass_sample(f, f->sample_ns);
}

/* ---- time */

static void feed_reach_time(struct strobe_watch_feed *f, uint64_t time_ns)
{
    if (time_ns > f->now_ns) {
        feed_pass_samples(f, time_ns);
        f->now_ns = time_ns;
    }
    if (f->begun)
        return;
    f->begun = true;
    f->seen.begin_ns = f->now_ns;
    feed_pass_event(f, (struct strobe_watch_event){
                           .what = STROBE_WATCH_PROCESS, .text = f->options.process, .value = f->options.pid});
}

/* ---- messages */

static void feed_pass_held_message(struct strobe_watch_feed *f, const char *text)
{
    if (f->message != HELD)
        return;
    f->message = PASSED;
    f->seen.messages++;
    struct strobe_watch_event e = {
        .what = STROBE_WATCH_MESSAGE_BEGIN, .time_ns = f->message_ns, .text = text, .when_ns = f->due_ns};
    struct strobe_watch_event turn = {
        .what = STROBE_WATCH_LOOP, .time_ns = f->message_ns, .text = "", .code = STROBE_LOOP_BEFORE_TIMERS};
    if (f->is_ios)
        f->watcher->take_event(f->watcher, &turn);
    f->watcher->take_event(f->watcher, &e);
    uint64_t steps = (f->message_ns - f->seen.begin_ns) / STROBE_BLOCK_SAMPLE_NS + 1;
    f->sample_ns = f->seen.begin_ns + steps * STROBE_BLOCK_SAMPLE_NS;
}

static void feed_end_message(struct strobe_watch_feed *f)
{
    if (f->message == NO_MESSAGE)
        return;
    feed_pass_held_message(f, "");
    f->message = NO_MESSAGE;
    f->message_depth = NOWHERE;
    feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_MESSAGE_END});
    if (f->is_ios)
        feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_LOOP, .code = STROBE_LOOP_BEFORE_WAITING});
}

static void feed_begin_message(struct strobe_watch_feed *f, uint64_t due_ns, size_t depth)
{
    feed_end_message(f);
    f->message = HELD;
    f->message_ns = f->now_ns;
    f->message_depth = depth;
    f->due_ns = due_ns;
}

void strobe_watch_feed_message(struct strobe_watch_feed *f, uint64_t time_ns, uint64_t due_ns)
{
    feed_reach_time(f, time_ns);
    feed_begin_message(f, due_ns, NOWHERE);
}

void strobe_watch_feed_message_end(struct strobe_watch_feed *f, uint64_t time_ns)
{
    feed_reach_time(f, time_ns);
    feed_end_message(f);
}

/* ---- activities */

static void feed_pass_activity(struct strobe_watch_feed *f, enum strobe_activity what, const char *class)
{
    f->seen.activities += what == STROBE_ACTIVITY_CREATED;
    feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_ACTIVITY, .code = what, .text = class});
}

static void feed_pass_focus(struct strobe_watch_feed *f, const char *class)
{
    char text[CLASS_BYTES];
    memcpy(text, class, strlen(class) + 1);
    f->awaited[0] = 0;
    feed_pass_activity(f, STROBE_ACTIVITY_FOCUSED, text);
}

static void feed_take_activity_call(struct strobe_watch_feed *f, const struct call *c, size_t depth)
{
    char class[CLASS_BYTES];
    size_t length;
    const char *at = strobe_class_of(c->text, &length);
    length = length < sizeof class - 1 ? length : sizeof class - 1;
    memcpy(class, at, length);
    class[length] = 0;
    if (c->roles & STROBE_ROLE_CREATE) {
        if (!f->asked)
            feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_COMPONENT, .code = LAUNCH_ACTIVITY});
        f->asked = true;
        /* The activity's onCreate calls the onCreate of its base classes. Only one creation is reported. */
        if (f->create_depth != NOWHERE)
            return;
        memcpy(f->awaited, class, length + 1);
        f->create_depth = depth;
        feed_pass_activity(f, STROBE_ACTIVITY_CREATED, class);
    } else if (c->roles & STROBE_ROLE_FOCUS) {
        feed_pass_focus(f, class);
    } else {
        feed_pass_activity(f, c->roles & STROBE_ROLE_PAUSE ? STROBE_ACTIVITY_PAUSED : STROBE_ACTIVITY_DESTROYED, class);
    }
}

/* ---- frames */

static void begin_in_frame(struct strobe_watch_feed *f, const struct call *c, size_t depth)
{
    const unsigned phases = STROBE_ROLE_INPUT | STROBE_ROLE_ANIMATION | STROBE_ROLE_TRAVERSAL;
    if (f->frame_depth == NOWHERE && c->roles & STROBE_ROLE_FRAME) {
        f->frame_depth = depth;
        f->frame = (struct strobe_watch_frame){.begin_ns = f->now_ns, .is_vsync = true};
    } else if (f->frame_depth != NOWHERE && f->phase_depth == NOWHERE && c->roles & phases) {
        f->phase_depth = depth;
        f->phase_ns = f->now_ns;
    }
}

static void end_in_frame(struct strobe_watch_feed *f, const struct call *c, size_t depth)
{
    if (depth == f->phase_depth) {
        uint64_t span = f->now_ns - f->phase_ns;
        *(c->roles & STROBE_ROLE_INPUT       ? &f->frame.input_ns
          : c->roles & STROBE_ROLE_ANIMATION ? &f->frame.animation_ns
                                             : &f->frame.traversal_ns) += span;
        f->phase_depth = NOWHERE;
    }
    if (depth != f->frame_depth)
        return;
    f->frame_depth = NOWHERE;
    f->frame.end_ns = f->now_ns;
    f->seen.frames++;
    feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_FRAME, .frame = &f->frame});
    if (f->awaited[0] && f->create_depth == NOWHERE && f->frame.begin_ns >= f->created_ns)
        feed_pass_focus(f, f->awaited);
}

/* ---- calls */

static bool feed_make_space(struct strobe_watch_feed *f)
{
    size_t open_room = f->room, frame_room = f->room;
    return strobe_array_reserve(&f->open, &open_room, f->depth + 1) &&
           strobe_array_reserve(&f->frames, &frame_room, f->depth + 1) &&
           strobe_array_reserve(&f->names, &f->room, f->depth + 1);
}

static unsigned feed_name_roles(struct strobe_watch_feed *f, uint32_t name, const char *text)
{
    if ((f->failed |= !strobe_array_reserve_zeroed(&f->roles, &f->roles_room, (size_t)name + 1)))
        return 0;
    if (!f->roles[name])
        f->roles[name] = strobe_name_roles(text, f->options.frames) + 1;
    return f->roles[name] - 1;
}

/* Returns true when this call is a message, by its own name or by its caller's name. */
static bool is_message(const struct strobe_watch_feed *f, const struct call *c)
{
    const struct call *caller = f->depth ? &f->open[f->depth - 1] : NULL;
    if (f->options.has_messages || f->message != NO_MESSAGE || c->class != STROBE_WATCH_METHOD)
        return false;
    return c->roles & STROBE_ROLE_DISPATCH ||
           (caller && caller->roles & STROBE_ROLE_LOOP && !(c->roles & (STROBE_ROLE_QUEUE | STROBE_ROLE_LOOP)));
}

void strobe_watch_feed_call(struct strobe_watch_feed *f, uint64_t time_ns, uint32_t name, const char *text,
                            enum strobe_watch_call class, uint32_t node)
{
    bool first = !f->seen.calls++;
    feed_reach_time(f, time_ns);
    if (!feed_make_space(f)) {
        f->failed = true;
        return;
    }
    struct call c = {f->now_ns, name, node, class == STROBE_WATCH_METHOD ? feed_name_roles(f, name, text) : 0,
                     class,     text};
    f->is_ios |= (c.roles & STROBE_ROLE_IOS) != 0;
    if (first)
        feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_APP_BEGIN});
    if (is_message(f, &c))
        feed_begin_message(f, 0, f->depth);
    feed_pass_held_message(f, text);
    /* This event comes before the call's begin, so that a watcher that begins to sum up calls here includes the
     * call. */
    if (c.roles & STROBE_ROLE_COMPONENT) {
        f->asked = true;
        feed_pass_event(f,
                        (struct strobe_watch_event){.what = STROBE_WATCH_COMPONENT, .code = strobe_component_of(text)});
    }
    if (c.roles & STROBE_ROLE_ACTIVITY)
        feed_take_activity_call(f, &c, f->depth);
    feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_CALL_BEGIN, .text = text, .node = node});
    begin_in_frame(f, &c, f->depth);
    f->open[f->depth++] = c;
}

void strobe_watch_feed_return(struct strobe_watch_feed *f, uint64_t time_ns)
{
    feed_reach_time(f, time_ns);
    if (!f->depth)
        return;
    size_t depth = --f->depth;
    struct call c = f->open[depth];
    feed_pass_held_message(f, "");
    feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_CALL_END, .text = c.text, .node = c.node});
    if (depth == f->create_depth) {
        f->create_depth = NOWHERE;
        f->created_ns = f->now_ns;
    }
    end_in_frame(f, &c, depth);
    if (depth == f->message_depth)
        feed_end_message(f);
}

struct strobe_watch_feed *strobe_watch_feed_open(const struct strobe_watch_feed_options *options,
                                                 struct strobe_watcher *watcher)
{
    struct strobe_watch_feed *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->options = *options;
    snprintf(f->process, sizeof f->process, "%s", options->process ? options->process : "");
    f->options.process = f->process;
    f->watcher = watcher;
    f->message_depth = f->frame_depth = f->phase_depth = f->create_depth = NOWHERE;
    return f;
}

enum strobe_status strobe_watch_feed_close(struct strobe_watch_feed *f, uint64_t time_ns,
                                           struct strobe_watch_seen *seen)
{
    feed_reach_time(f, time_ns);
    while (f->depth)
        strobe_watch_feed_return(f, time_ns);
    feed_end_message(f);
    feed_pass_event(f, (struct strobe_watch_event){.what = STROBE_WATCH_END});
    f->seen.end_ns = f->now_ns;
    if (seen)
        *seen = f->seen;
    bool failed = f->failed;
    free(f->open);
    free(f->frames);
    free(f->names);
    free(f->roles);
    free(f);
    return failed ? STROBE_IO : STROBE_OK;
}
