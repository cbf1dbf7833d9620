#include "tests/unit/support/timeline_oracle.h"

#include "tests/unit/support/recording.h"
#include "tests/unit/support/session_builder.h"

#include <setjmp.h>
#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { END = 1200, LEAST = 10, GAP = 60, RECORDS_MAX = 40, EVENTS_MAX = 2000, FRAMES_MAX = 8, SHOWN_MAX = 120 };

struct record {
    uint64_t begin, end;
    uint32_t count, message;
    int call, kind;
    int representative; /* taken by the sampler, or a call that took a sample on its request */
    char path[FRAMES_MAX + 1];
};

enum what { SAMPLE, CALL_BEGIN, CALL_END };
struct event {
    uint64_t at;
    enum what what;
    uint32_t record, index;
};

/* A frame as shown: a function (its letter), a wait (its record), or unseen. `instance` distinguishes it from an
 * equal frame just before. */
struct shown {
    int name;
    uint32_t instance;
};
struct picture {
    struct shown frame[SHOWN_MAX];
    uint32_t depth;
};

static struct record records[RECORDS_MAX];
static uint32_t record_count;
static struct event events[EVENTS_MAX];
static uint32_t event_count;
static struct picture pictures[END];
static int sampled_outside[EVENTS_MAX]; /* by event: a sample by the sampler, outside of calls */
static const struct timeline_oracle_draw *draw;

enum { WAIT = 1000, UNSEEN = 2000, SAMPLED_CALL = 3000 }; /* names; functions are their letters */

/* ---- the random session */

static uint32_t oracle_below(uint32_t limit)
{
    return draw->below(draw->ctx, limit);
}

static void add_event(uint64_t at, enum what what, uint32_t record, uint32_t index)
{
    if (event_count < EVENTS_MAX)
        events[event_count++] = (struct event){at, what, record, index};
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Lists the calls in order of their begins. Returns their number. */
static uint32_t list_calls(struct record **out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < record_count; i++) {
        if (!records[i].call)
            continue;
        uint32_t at = count++;
        for (; at && out[at - 1]->begin > records[i].begin; at--)
            out[at] = out[at - 1];
        out[at] = &records[i];
    }
    return count;
}

/* A call whose end is later than that of its caller ends with its caller. */
static void cut_calls(void)
{
    struct record *calls[RECORDS_MAX];
    uint32_t count = list_calls(calls);
    for (uint32_t i = 0; i < count; i++) {
        const struct record *in = NULL;
        for (uint32_t k = 0; k < i; k++)
            if (calls[k]->begin < calls[i]->begin && calls[k]->end > calls[i]->begin)
                in = calls[k];
        if (in && in->end < calls[i]->end)
            calls[i]->end = in->end;
    }
}

/* Lists all events in order. Returns 0 when two events have the same time, except ends of calls that end together. */
static int list_events(void)
{
    event_count = 0;
    for (uint32_t i = 0; i < record_count; i++) {
        const struct record *r = &records[i];
        if (r->call) {
            add_event(r->begin, CALL_BEGIN, i, 0);
            add_event(r->end, CALL_END, i, 0);
            continue;
        }
        for (uint32_t k = 0; k < r->count; k++)
            add_event(r->count == 1 ? r->begin : r->begin + (r->end - r->begin) * k / (r->count - 1), SAMPLE, i, k);
    }
    qsort(events, event_count, sizeof *events, by_time);
    for (uint32_t i = 1; i < event_count; i++)
        if (events[i].at == events[i - 1].at && (events[i].what != CALL_END || events[i - 1].what != CALL_END))
            return 0;
    return event_count < EVENTS_MAX;
}

static struct record random_record(void)
{
    struct record r = {.begin = oracle_below(END - 40), .count = 1, .message = 1};
    uint32_t depth = 1 + oracle_below(FRAMES_MAX);
    for (uint32_t i = 0; i < depth; i++)
        r.path[i] = (char)('a' + oracle_below(i < 2 ? 2 : 3));
    r.end = r.begin;
    if (oracle_below(8) == 0)
        r.message = 2;
    r.representative = oracle_below(3) == 0;
    r.kind = r.representative ? STROBE_KIND_ASYNC : STROBE_KIND_ALLOC;
    uint32_t shape = oracle_below(10), room = END - 2 - (uint32_t)r.begin;
    if (shape < 2) {
        r.call = 1;
        r.kind = STROBE_KIND_MUTEX + (int)oracle_below(4);
        r.end += 1 + oracle_below(room < 300 ? room : 300);
    } else if (shape < 4) {
        r.count = 2 + oracle_below(12);
        r.end += r.count * (1 + oracle_below(30));
        if (r.end >= END - 1)
            r.end = r.begin, r.count = 1;
    }
    return r;
}

static void make_records(void)
{
    uint32_t wanted = 1 + oracle_below(RECORDS_MAX);
    for (record_count = 0; record_count < wanted;) {
        struct record before[RECORDS_MAX];
        memcpy(before, records, sizeof before);
        records[record_count++] = random_record();
        cut_calls();
        if (!list_events()) {
            memcpy(records, before, sizeof before);
            record_count--;
            wanted--;
        }
    }
    list_events();
}

static void write_session(const char *path)
{
    struct strobe_build build;
    struct strobe_config config = strobe_build_config();
    config.interval_main_ns = LEAST;
    strobe_build_begin(&build, path, &config);
    uint32_t thread = strobe_build_thread(&build, 4242, "main");
    for (uint32_t i = 0; i < record_count; i++) {
        const struct record *r = &records[i];
        uint64_t address[FRAMES_MAX];
        uint32_t depth = (uint32_t)strlen(r->path);
        for (uint32_t k = 0; k < depth; k++)
            address[k] = (uint64_t)(unsigned char)r->path[k] << 8 | oracle_below(3);
        struct strobe_record out = {.ticks = r->begin,
                                    .duration = r->end - r->begin,
                                    .count = r->count,
                                    .message = r->message,
                                    .thread = thread,
                                    .kind = (uint8_t)r->kind,
                                    .stack = strobe_build_stack(&build, address, depth),
                                    .flags = (uint16_t)((r->call ? STROBE_FLAG_SCOPE : 0) |
                                                        (r->call && r->representative ? STROBE_FLAG_ASKED : 0))};
        assert_int_equal(strobe_build_record(&build, out, NULL), STROBE_OK);
    }
    strobe_build_end(&build, END);
}

/* ---- the expected pictures */

/* Finds the calls open at t, outermost first. */
static uint32_t open_calls(uint64_t t, const struct record **out)
{
    struct record *calls[RECORDS_MAX];
    uint32_t all = list_calls(calls), count = 0;
    for (uint32_t i = 0; i < all; i++)
        if (calls[i]->begin <= t && calls[i]->end > t)
            out[count++] = calls[i];
    return count;
}

static void add_frames(struct picture *p, const char *path, const char *under, uint32_t epoch)
{
    uint32_t shared = 0;
    while (under && path[shared] && path[shared] == under[shared])
        shared++;
    for (path += shared; *path; path++)
        p->frame[p->depth++] = (struct shown){*path, epoch};
}

/* Returns true when `next` continues the run of samples of `last`. */
static int follows(const struct event *last, const struct event *next)
{
    return next && last->what == SAMPLE && next->what == SAMPLE && last->record == next->record;
}

/* Returns true when the stack at `next` is shown at t already, which is before it. This applies when only a hook saw
 * the thread at `last`, or when the change between two samples by the sampler is shown in the middle. */
static int reaches_back(uint64_t t, const struct event *last, const struct event *next)
{
    const struct record *before = &records[last->record], *after = &records[next->record];
    int changes = !before->call && !after->call && !follows(last, next);
    return next->what != CALL_END && after->representative && (!before->representative || changes) &&
           before->message == after->message && next->at - last->at <= GAP && next->at - last->at >= 2 &&
           t >= last->at + (next->at - last->at) / 2;
}

/* Returns the sampler's last sample outside of calls up to `at`; NULL when it is too old. */
static const struct record *sampled_before(uint64_t at)
{
    const struct record *found = NULL;
    uint64_t when = 0;
    for (uint32_t i = 0; i < event_count && events[i].at <= at; i++) {
        if (!sampled_outside[i])
            continue;
        found = &records[events[i].record];
        when = events[i].at;
    }
    return found && at - when <= 2 * GAP ? found : NULL;
}

/* Makes the path shown at t between two samples by hooks; NULL = the path of the first sample. `path` has room for
 * it. */
static const char *between_hooks(uint64_t t, const struct event *last, const struct event *next, char *path)
{
    const struct record *before = &records[last->record], *after = &records[next->record];
    const struct record *sampled = sampled_before(last->at);
    uint32_t shared = 0;
    if (next->what == CALL_END || follows(last, next) || before->representative || after->representative || !sampled ||
        before->message != after->message || next->at - last->at > GAP || next->at - last->at < 2 ||
        t < last->at + (next->at - last->at) / 2)
        return NULL;
    while (before->path[shared] && before->path[shared] == after->path[shared])
        shared++;
    snprintf(path, FRAMES_MAX + 1, "%.*s", (int)shared, before->path);
    uint32_t sure = shared && (!before->path[shared] || !after->path[shared]) ? shared - 1 : shared;
    return sampled->message == after->message && !strncmp(sampled->path, path, sure) ? sampled->path : path;
}

/* A call that took a sample on request also stands for the time around it: for its frames, and with the call as
 * another frame. All calls here are too short for a wait. */
static void add_frames_of(struct picture *p, const struct record *r, const char *under, uint32_t epoch)
{
    add_frames(p, r->path, under, epoch);
    if (r->call && r->representative && !under)
        p->frame[p->depth++] = (struct shown){SAMPLED_CALL + r->kind, epoch};
}

/* Computes the picture at t. `last` is the last event up to t (NULL = none), `next` is the next event (NULL = none). */
static struct picture paint(uint64_t t, const struct event *last, const struct event *next, uint32_t epoch)
{
    struct picture p = {.depth = 0};
    const struct record *calls[RECORDS_MAX];
    uint32_t count = open_calls(t, calls);
    if (!last)
        return p;
    if (!count && next && reaches_back(t, last, next)) {
        add_frames_of(&p, &records[next->record], NULL, epoch);
        return p;
    }
    char path[FRAMES_MAX + 1];
    const char *between = !count && next ? between_hooks(t, last, next, path) : NULL;
    if (between) {
        add_frames(&p, between, NULL, epoch);
        return p;
    }
    uint64_t until = next ? next->at : END;
    if (!count && !follows(last, next) && until - last->at > GAP && t >= last->at + LEAST) {
        p.frame[p.depth++] = (struct shown){UNSEEN, epoch};
        return p;
    }
    const char *under = NULL;
    for (uint32_t i = 0; i < count; i++) {
        add_frames(&p, calls[i]->path, under, epoch);
        p.frame[p.depth++] = (struct shown){WAIT + calls[i]->kind, (uint32_t)(calls[i] - records)};
        under = calls[i]->path;
    }
    if (last->what != CALL_BEGIN)
        add_frames_of(&p, &records[last->record], under, epoch);
    return p;
}

static void paint_all(void)
{
    uint32_t e = 0, epoch = 0, message = 0;
    const struct event *last = NULL;
    for (uint32_t i = 0; i < event_count; i++) {
        const struct record *calls[RECORDS_MAX];
        sampled_outside[i] =
            events[i].what == SAMPLE && records[events[i].record].representative && !open_calls(events[i].at, calls);
    }
    for (uint64_t t = 0; t < END; t++) {
        for (; e < event_count && events[e].at <= t; e++) {
            const struct record *calls[RECORDS_MAX];
            const struct record *r = &records[events[e].record];
            int outside = t == 0 || open_calls(t - 1, calls) == 0;
            if (events[e].what != CALL_END && outside) {
                int gap = last && !follows(last, &events[e]) && t - last->at > GAP;
                if (last && (r->message != message || gap))
                    epoch++;
                message = r->message;
            }
            /* Of calls that end together, the outermost one determines the stack afterwards. */
            if (!last || last->at != t || events[e].what != CALL_END || last->what != CALL_END ||
                r->begin < records[last->record].begin)
                last = &events[e];
        }
        pictures[t] = paint(t, last, e < event_count ? &events[e] : NULL, epoch);
    }
}

/* ---- comparing */

static int same_frame(const struct picture *a, const struct picture *b, uint32_t depth)
{
    for (uint32_t d = 0; d <= depth; d++)
        if (d >= a->depth || d >= b->depth || a->frame[d].name != b->frame[d].name ||
            a->frame[d].instance != b->frame[d].instance)
            return 0;
    return 1;
}

static int name_is(const char *text, const struct shown *frame)
{
    char name[32];
    if (frame->name == UNSEEN)
        return strcmp(text, "[unseen]") == 0;
    unsigned kind = (unsigned)(frame->name < SAMPLED_CALL ? frame->name - WAIT : frame->name - SAMPLED_CALL);
    if (frame->name < WAIT) {
        snprintf(name, sizeof name, "f%d", frame->name);
        return strcmp(text, name) == 0;
    }
    snprintf(name, sizeof name, "[%s wait]", strobe_kind_name(kind));
    return strcmp(text, name) == 0;
}

static const struct recorded_slice *slice_at(const struct recording *recording, uint64_t begin, uint32_t depth)
{
    for (size_t i = 0; i < recording->slice_count; i++)
        if (recording->slices[i].begin_ns == begin && recording->slices[i].depth == depth)
            return &recording->slices[i];
    return NULL;
}

/* Each maximal stretch of equal pictures down to a depth must be one slice, and there must be no other. */
static void compare(const struct recording *recording)
{
    size_t expected = 0;
    for (uint64_t t = 0; t < END; t++) {
        for (uint32_t d = 0; d < pictures[t].depth; d++) {
            if (t > 0 && same_frame(&pictures[t - 1], &pictures[t], d))
                continue;
            uint64_t end = t + 1;
            while (end < END && same_frame(&pictures[t], &pictures[end], d))
                end++;
            const struct recorded_slice *s = slice_at(recording, t, d + 1);
            if (!s || s->end_ns != end || !name_is(s->name, &pictures[t].frame[d]))
                fail_msg("at %u ns, depth %u: expected a slice of %d until %u, found %s until %u", (unsigned)t, d + 1,
                         pictures[t].frame[d].name, (unsigned)end, s ? s->name : "none", s ? (unsigned)s->end_ns : 0);
            expected++;
        }
    }
    assert_int_equal(recording->slice_count, expected);
}

void timeline_oracle_check(const struct timeline_oracle_draw *by, const char *path)
{
    const struct strobe_timeline_options options = {.gap_ns = GAP};
    struct recording recording;
    uint64_t samples = 0;
    draw = by;
    make_records();
    write_session(path);
    recording_read(&recording, path, &options);
    paint_all();
    compare(&recording);
    for (uint32_t i = 0; i < record_count; i++)
        samples += records[i].count;
    assert_int_equal(recording.stats.samples, samples);
    recording_free(&recording);
}
