#include "engine/trace/report/report_sched.h"

#include "engine/trace/model/sink_threads.h"
#include "engine/trace/report/report_cells.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Who wakes a thread: a thread's id, or this. */
enum { WAKER_INTERRUPT = 0 };

/* A thread's life. Threads may have one tid, one after the other. */
struct sched_life {
    uint32_t tid, thread; /* thread: index in the reader's threads */
    uint64_t begin_ns, end_ns;
    uint32_t cpu; /* of its last switch to a processor, + 1 */
};

struct sched_sum {
    struct strobe_report *report;
    const struct strobe_reader *reader;
    uint64_t from_ns, to_ns;
    struct sched_life *lives;                   /* by tid, by begin */
    struct strobe_report_sched_thread *threads; /* by thread */
    struct strobe_idmap wakers;                 /* by thread and waker: wake-ups */
    struct strobe_report_wait **waits;          /* without a waker; by tid, by begin */
    size_t wait_count;
    int failed;
};

/* ---- lists to search in */

static int by_life(const void *a, const void *b)
{
    const struct sched_life *v = a, *w = b;
    if (v->tid != w->tid)
        return v->tid < w->tid ? -1 : 1;
    return v->begin_ns < w->begin_ns ? -1 : v->begin_ns > w->begin_ns;
}

static int by_wait_begin(const void *a, const void *b)
{
    const struct strobe_report_wait *v = *(struct strobe_report_wait *const *)a,
                                    *w = *(struct strobe_report_wait *const *)b;
    if (v->tid != w->tid)
        return v->tid < w->tid ? -1 : 1;
    return v->begin_ns < w->begin_ns ? -1 : v->begin_ns > w->begin_ns;
}

/* The end of a thread that lives on is that of the session. */
static void list_lives(struct sched_sum *s)
{
    for (uint32_t i = 0; i < s->reader->thread_count; i++) {
        const struct strobe_reader_thread *t = &s->reader->threads[i];
        s->lives[i] = (struct sched_life){
            .tid = t->tid,
            .thread = i,
            .begin_ns = strobe_reader_ns(s->reader, t->start_ticks),
            .end_ns = strobe_reader_ns(s->reader, t->end_ticks ? t->end_ticks : s->reader->last_ticks)};
    }
    qsort(s->lives, s->reader->thread_count, sizeof *s->lives, by_life);
}

static void list_waits(struct sched_sum *s)
{
    for (size_t i = 0; i < s->report->wait_count; i++) {
        struct strobe_report_wait *w = &s->report->waits[i];
        if (!w->waker_tid && !w->nobody && !w->unfinished)
            s->waits[s->wait_count++] = w;
    }
    qsort(s->waits, s->wait_count, sizeof *s->waits, by_wait_begin);
}

/* Returns the life of the thread at that time, or NULL. */
static struct sched_life *find_life(const struct sched_sum *s, uint32_t tid, uint64_t time_ns)
{
    size_t low = 0, high = s->reader->thread_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sched_life *l = &s->lives[middle];
        if (l->tid < tid || (l->tid == tid && l->begin_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low && s->lives[low - 1].tid == tid && s->lives[low - 1].end_ns >= time_ns ? &s->lives[low - 1] : NULL;
}

/* Returns the wait in which the thread is at that time, or NULL. */
static struct strobe_report_wait *find_wait(const struct sched_sum *s, uint32_t tid, uint64_t since_begin_ns)
{
    size_t low = 0, high = s->wait_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct strobe_report_wait *w = s->waits[middle];
        if (w->tid < tid || (w->tid == tid && w->begin_ns <= since_begin_ns))
            low = middle + 1;
        else
            high = middle;
    }
    struct strobe_report_wait *w = low ? s->waits[low - 1] : NULL;
    return w && w->tid == tid && since_begin_ns <= w->begin_ns + w->duration_ns ? w : NULL;
}

/* Returns the name of the thread that had the id at that time. A thread of another process has the one that the
 * recorder found, if it found one. */
static const char *name_waker(const struct sched_sum *s, uint32_t tid, uint64_t time_ns)
{
    const struct sched_life *l = find_life(s, tid, time_ns);
    const char *name = l ? s->reader->threads[l->thread].name : strobe_sched_section_name(&s->reader->sched, tid);
    if (!name)
        name = "(of another process)";
    const char *kept = strobe_text_keep(&s->report->texts, name, strlen(name));
    return kept ? kept : "";
}

/* ---- events */

/* The last wake-up within a wait is the one that ended it. */
static void take_wake(struct sched_sum *s, const struct strobe_sched_event *e, struct sched_life *l)
{
    bool interrupt = e->flags & STROBE_SCHED_IN_INTERRUPT || !e->other;
    struct strobe_report_sched_thread *t = &s->threads[l->thread];
    int fresh;
    uint32_t *count = strobe_idmap_put(&s->wakers, l->thread, interrupt ? WAKER_INTERRUPT : e->other, &fresh);
    t->wakes++;
    if (!count) {
        s->failed = 1;
        return;
    }
    if (++*count > t->waker_wakes) {
        t->waker_wakes = *count;
        t->waker_tid = interrupt ? WAKER_INTERRUPT : e->other;
        t->waker = interrupt ? "(interrupts)" : name_waker(s, e->other, e->time_ns);
    }
    struct strobe_report_wait *w =
        interrupt || e->time_ns < s->report->begin_ns ? NULL : find_wait(s, e->tid, e->time_ns - s->report->begin_ns);
    if (w) {
        w->waker_tid = e->other;
        w->waker = name_waker(s, e->other, e->time_ns);
    }
}

static void take_sched_event(struct sched_sum *s, const struct strobe_sched_event *e)
{
    struct sched_life *l = e->time_ns >= s->from_ns && e->time_ns < s->to_ns ? find_life(s, e->tid, e->time_ns) : NULL;
    if (!l)
        return;
    struct strobe_report_sched_thread *t = &s->threads[l->thread];
    switch (e->what) {
    case STROBE_SCHED_IN:
        t->moves += l->cpu && l->cpu != e->cpu + 1u;
        l->cpu = e->cpu + 1u;
        break;
    case STROBE_SCHED_OUT:
        t->switches++;
        t->preempted += e->state == STROBE_SCHED_RUNNABLE;
        break;
    case STROBE_SCHED_WAKE: take_wake(s, e, l); break;
    default: break;
    }
}

/* ---- threads */

/* Adds up the states of the thread. Returns false when nothing is known of it in the part of the time. */
static bool take_states(struct sched_sum *s, const struct strobe_sched_states *states, const struct sched_life *l)
{
    struct strobe_report_sched_thread *t = &s->threads[l->thread];
    const struct strobe_reader_thread *from = &s->reader->threads[l->thread];
    uint64_t ns[STROBE_SCHED_STATE_COUNT];
    uint64_t begin_ns = l->begin_ns > s->from_ns ? l->begin_ns : s->from_ns;
    uint64_t end_ns = l->end_ns < s->to_ns ? l->end_ns : s->to_ns;
    if (s->report->options.thread && !strobe_is_thread(from, s->report->options.thread))
        return false;
    if (!strobe_sched_states_between(states, l->tid, begin_ns, end_ns, ns))
        return false;
    t->name = strobe_text_keep(&s->report->texts, from->name, strlen(from->name));
    t->tid = l->tid;
    t->begin_ns = begin_ns - s->report->begin_ns;
    t->wall_ns = end_ns - begin_ns;
    t->running_ns = ns[STROBE_SCHED_RUNNING];
    t->runnable_ns = ns[STROBE_SCHED_RUNNABLE];
    t->sleeping_ns = ns[STROBE_SCHED_SLEEPING];
    t->uninterruptible_ns = ns[STROBE_SCHED_UNINTERRUPTIBLE];
    return t->name != NULL;
}

static int by_running(const void *a, const void *b)
{
    const struct strobe_report_sched_thread *v = a, *w = b;
    if (v->running_ns != w->running_ns)
        return v->running_ns < w->running_ns ? 1 : -1;
    return v->tid < w->tid ? -1 : v->tid > w->tid;
}

static void sum_sched(struct sched_sum *s)
{
    struct strobe_sched_states states = {0};
    const struct strobe_sched_section *section = &s->reader->sched;
    list_lives(s);
    list_waits(s);
    for (uint32_t i = 0; i < s->reader->thread_count; i++)
        strobe_sched_states_watch(&states, s->reader->threads[i].tid);
    strobe_sched_section_add_states(section, strobe_reader_ns(s->reader, s->reader->last_ticks), &states);
    for (size_t i = 0; i < section->count; i++)
        take_sched_event(s, &section->events[i]);
    s->failed |= !strobe_sched_states_finish(&states);
    struct strobe_report_sched_thread *kept = calloc((size_t)s->reader->thread_count + 1, sizeof *kept);
    size_t count = 0;
    s->failed |= !kept;
    for (uint32_t i = 0; i < s->reader->thread_count && !s->failed; i++)
        if (take_states(s, &states, &s->lives[i]))
            kept[count++] = s->threads[s->lives[i].thread];
    if (kept)
        qsort(kept, count, sizeof *kept, by_running);
    s->report->sched.threads = kept;
    s->report->sched.thread_count = count;
    strobe_sched_states_free(&states);
}

enum strobe_status strobe_report_take_sched(struct strobe_report *r, const struct strobe_reader *reader)
{
    const struct strobe_sched_head *h = &reader->sched.head;
    struct sched_sum s = {.report = r, .reader = reader, .to_ns = UINT64_MAX};
    if (!h->source)
        return STROBE_OK;
    r->sched.source = h->source;
    r->sched.events = reader->sched.count;
    r->sched.lost = h->lost + h->refused;
    r->sched.damaged = reader->sched.damaged;
    if (r->options.from_ns)
        s.from_ns = r->begin_ns + r->options.from_ns;
    if (r->options.to_ns && r->options.to_ns < UINT64_MAX - r->begin_ns)
        s.to_ns = r->begin_ns + r->options.to_ns;
    s.lives = calloc((size_t)reader->thread_count + 1, sizeof *s.lives);
    s.threads = calloc((size_t)reader->thread_count + 1, sizeof *s.threads);
    s.waits = calloc(r->wait_count + 1, sizeof *s.waits);
    if (s.lives && s.threads && s.waits)
        sum_sched(&s);
    else
        s.failed = 1;
    free(s.lives);
    free(s.threads);
    free(s.waits);
    strobe_idmap_free(&s.wakers);
    return s.failed || r->texts.failed ? STROBE_IO : STROBE_OK;
}

/* ---- output */

void strobe_report_print_sched(const struct strobe_report *r, FILE *out)
{
    const struct strobe_report_sched *s = &r->sched;
    bool wakes = s->source == STROBE_SCHED_BY_TRACEPOINTS;
    if (!s->source)
        return;
    size_t shown = r->options.top && r->options.top < s->thread_count ? r->options.top : s->thread_count;
    fprintf(out, "\nScheduling, as the kernel recorded it\n%10s %11s %11s %11s %11s %9s %9s %7s  %s\n", "tid",
            "running", "runnable", "sleeping", "unint.", "switches", "preempted", "moves",
            wakes ? "name, most woken by" : "name");
    for (size_t i = 0; i < shown; i++) {
        const struct strobe_report_sched_thread *t = &s->threads[i];
        fprintf(out, "%10" PRIu32 " %11s %11s %11s %11s %9" PRIu64 " %9" PRIu64 " %7" PRIu64 "  %s", t->tid,
                strobe_cell_span(t->running_ns).text, strobe_cell_span(t->runnable_ns).text,
                strobe_cell_span(t->sleeping_ns).text, wakes ? strobe_cell_span(t->uninterruptible_ns).text : "-",
                t->switches, t->preempted, t->moves, t->name);
        if (wakes && t->waker_tid)
            fprintf(out, ", %" PRIu32 " %s (%" PRIu64 " of %" PRIu64 ")", t->waker_tid, t->waker, t->waker_wakes,
                    t->wakes);
        else if (wakes && t->waker)
            fprintf(out, ", %s (%" PRIu64 " of %" PRIu64 ")", t->waker, t->waker_wakes, t->wakes);
        putc('\n', out);
    }
    if (shown < s->thread_count)
        fprintf(out, "%10s %zu more\n", "...", s->thread_count - shown);
    if (!wakes)
        fprintf(out, "Wake-ups were not recorded: time from a wake-up to the switch is sleeping, and so is "
                     "uninterruptible sleep.\n");
    if (s->lost)
        fprintf(out, "%" PRIu64 " events of scheduling are lost: times around them are wrong.\n", s->lost);
    if (s->damaged)
        fprintf(out, "%" PRIu64 " events of scheduling are damaged, and left out.\n", s->damaged);
}

void strobe_report_json_sched(const struct strobe_report *r, struct strobe_json *j)
{
    const struct strobe_report_sched *s = &r->sched;
    if (!s->source)
        return;
    strobe_json_object(j, "scheduling");
    strobe_json_text(j, "source", s->source == STROBE_SCHED_BY_TRACEPOINTS ? "tracepoints" : "switches");
    strobe_json_uint(j, "events", s->events);
    strobe_json_uint(j, "lost", s->lost);
    strobe_json_uint(j, "damaged", s->damaged);
    strobe_json_array(j, "threads");
    for (size_t i = 0; i < s->thread_count; i++) {
        const struct strobe_report_sched_thread *t = &s->threads[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", t->name);
        strobe_json_uint(j, "tid", t->tid);
        strobe_json_uint(j, "begin_ns", t->begin_ns);
        strobe_json_uint(j, "wall_ns", t->wall_ns);
        strobe_json_uint(j, "running_ns", t->running_ns);
        strobe_json_uint(j, "runnable_ns", t->runnable_ns);
        strobe_json_uint(j, "sleeping_ns", t->sleeping_ns);
        strobe_json_uint(j, "uninterruptible_ns", t->uninterruptible_ns);
        strobe_json_uint(j, "switches", t->switches);
        strobe_json_uint(j, "preempted", t->preempted);
        strobe_json_uint(j, "moves", t->moves);
        strobe_json_uint(j, "wakes", t->wakes);
        strobe_json_text(j, "waker", t->waker);
        strobe_json_uint(j, "waker_tid", t->waker_tid);
        strobe_json_uint(j, "waker_wakes", t->waker_wakes);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}
