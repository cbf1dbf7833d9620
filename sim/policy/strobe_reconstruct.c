#include "engine/base/error_format.h"
#include "sim/policy/strobe.h"

#include "engine/trace/build/timeline.h"
#include "engine/trace/export/sink_perfetto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum strobe_status strobe_policy_fail(struct strobe_error *error, const char *what, enum strobe_status status)
{
    strobe_error_set(error, "%s", what);
    return status;
}

/* ---- the end of the session ---- */

/* When a run ends while the engine is at work on some thread, this is like a kill for the engine. */
static void strobe_policy_finish_session(struct sim_strobe *s)
{
    uint64_t now = sim_strobe_ticks(s, s->run->end_ns);
    struct strobe_clock_pair end = {now, now, now, now};
    strobe_store_relaxed(strobe_switch, STROBE_OFF);
    if (!strobe_engine_quiet(&s->engine) || sim_stopped_count(s->run->kernel) != 0)
        return;
    if (s->sampler)
        strobe_sampler_finish(s->sampler);
    strobe_session_finish(&s->session, &end);
}

/* ---- names ---- */

/* Ids: the scenario's methods, then the blocking functions by kind, then one id for all other addresses. */
static size_t resolve_virtual_frame(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    const struct sim_run *run = ctx;
    const struct sim_scenario *sc = run->scenario;
    uint64_t address = return_address - 1;
    uint32_t method = sim_run_method_at(run, address);
    enum strobe_kind wait = sim_wait_kind(method);
    if (max == 0)
        return 0;
    *out = (struct strobe_symbol){.image = "", .file = "", .function_address = address};
    if (method < sc->method_count) {
        out->function = sc->methods[method].name;
        out->image = sc->images[sc->methods[method].image].name;
        out->function_id = method;
        out->function_address = sc->methods[method].address;
    } else if (wait != STROBE_KIND_NONE) {
        out->function = strobe_wait_name(wait);
        out->function_id = sc->method_count + (uint32_t)wait;
    } else if (sim_run_is_hook(address)) {
        return 0;
    } else {
        out->function = "[nowhere]";
        out->function_id = sc->method_count + STROBE_KIND_COUNT;
    }
    return 1;
}

/* ---- reconstruction ---- */

struct of_tid {
    uint32_t tid, index;
};

static int compare_traced_tids(const void *a, const void *b)
{
    const struct of_tid *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Returns generations by thread of the session (malloc); NULL: out of memory. The session numbers all threads; tracks
 * number the threads of one tid, from 1. */
static uint32_t *generations(const struct strobe_reader *reader)
{
    uint32_t count = reader->thread_count;
    struct of_tid *threads = malloc((count + 1) * sizeof *threads);
    uint32_t *generation = threads ? malloc((count + 1) * sizeof *generation) : NULL;
    if (generation) {
        for (uint32_t i = 0; i < count; i++)
            threads[i] = (struct of_tid){reader->threads[i].tid, i};
        qsort(threads, count, sizeof *threads, compare_traced_tids);
        for (uint32_t i = 0; i < count; i++)
            generation[threads[i].index] =
                i && threads[i].tid == threads[i - 1].tid ? generation[threads[i - 1].index] + 1 : 1;
    }
    free(threads);
    return generation;
}

/* Sets the generations of the tracks from `first` on, which came from this session. */
static bool renumber(const struct strobe_reader *reader, struct sim_tracks *out, size_t first)
{
    uint32_t *generation = generations(reader);
    for (size_t i = first; generation && i < out->track_count; i++)
        out->tracks[i].generation = generation[out->tracks[i].generation - 1];
    free(generation);
    return generation != NULL;
}

enum strobe_status sim_strobe_build(const struct sim_strobe *s, struct strobe_sink *sink)
{
    struct strobe_function_tree *tree;
    if (!sink)
        return STROBE_IO;
    enum strobe_status status = strobe_function_tree_open(
        &s->reader->session.stacks, (struct strobe_resolver){.resolve = resolve_virtual_frame, .ctx = s->run}, &tree);
    if (status == STROBE_OK)
        status = strobe_timeline_build(s->reader, tree, &(struct strobe_timeline_options){0}, sink, NULL);
    else
        sink->finish(sink);
    strobe_function_tree_close(tree);
    return status;
}

enum strobe_status sim_strobe_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                          struct strobe_error *error)
{
    struct sim_strobe *s = (struct sim_strobe *)t;
    size_t first = out->track_count;
    (void)run;
    strobe_policy_finish_session(s);
    enum strobe_status status = strobe_reader_open(s->path, &s->reader, error);
    if (status != STROBE_OK)
        return status;
    status = sim_strobe_build(s, sim_tracks_sink(out, SIM_STROBE_ORIGIN_NS));
    if (status == STROBE_OK && !renumber(s->reader, out, first))
        status = STROBE_IO;
    return status == STROBE_OK ? status : strobe_policy_fail(error, "out of memory", status);
}

/* ---- files ---- */

static enum strobe_status fail_file(const char *path, struct strobe_error *error, enum strobe_status status)
{
    strobe_error_set(error, "%s: %s", path, status == STROBE_EXISTS ? "exists already" : strerror(errno));
    return status;
}

enum { BLOCK = 4096 };

static bool fault_strikes_session(const struct sim_strobe *s, enum sim_fault_kind kind)
{
    uint64_t amount;
    return sim_fault_strikes(s->run->faults, kind, UINT32_MAX, s->run->end_ns, &amount);
}

/* Performs one write, with the injected faults. */
static ssize_t write_some(const struct sim_strobe *s, int fd, const char *from, size_t bytes, off_t at)
{
    if (fault_strikes_session(s, SIM_FAULT_WRITE_INTERRUPTED)) {
        errno = EINTR;
        return -1;
    }
    if (fault_strikes_session(s, SIM_FAULT_NO_SPACE)) {
        errno = ENOSPC;
        return -1;
    }
    return pwrite(fd, from, fault_strikes_session(s, SIM_FAULT_SHORT_WRITE) ? (bytes + 1) / 2 : bytes, at);
}

static bool write_block(const struct sim_strobe *s, int fd, const char *from, off_t at)
{
    for (size_t done = 0; done < BLOCK;) {
        ssize_t n = write_some(s, fd, from + done, BLOCK - done, at + (off_t)done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Writes the session as it stands in memory, with holes where it is empty. After a failure no file is left. */
static enum strobe_status strobe_policy_write_session(const struct sim_strobe *s, const char *path)
{
    static const char zeros[BLOCK];
    const char *from = (const char *)s->session.header;
    uint64_t bytes = s->session.header->file_bytes;
    if (fault_strikes_session(s, SIM_FAULT_UNWRITABLE)) {
        errno = EACCES;
        return STROBE_IO;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (s->run->options.replace ? O_TRUNC : O_EXCL), 0600);
    if (fd < 0)
        return errno == EEXIST ? STROBE_EXISTS : STROBE_IO;
    bool good = ftruncate(fd, (off_t)bytes) == 0;
    for (uint64_t at = 0; good && at < bytes; at += BLOCK)
        if (memcmp(from + at, zeros, BLOCK) != 0)
            good = write_block(s, fd, from + at, (off_t)at);
    int error = errno;
    good = close(fd) == 0 && good;
    if (!good)
        unlink(path);
    errno = error;
    return good ? STROBE_OK : STROBE_IO;
}

static enum strobe_status strobe_policy_write_trace(const struct sim_strobe *s, const char *path)
{
    struct strobe_outfile out;
    struct strobe_perfetto_stats stats;
    enum strobe_status status = strobe_outfile_open(&out, path, s->run->options.replace);
    if (status != STROBE_OK)
        return status;
    bool built = sim_strobe_build(s, strobe_sink_perfetto(&out, 1, &stats)) == STROBE_OK;
    status = strobe_outfile_finish(&out, !built);
    if (!built)
        errno = ENOMEM;
    return built ? status : STROBE_IO;
}

enum strobe_status sim_strobe_save(struct sim_tracer *t, struct sim_run *run, const char *folder,
                                   struct strobe_error *error)
{
    const struct sim_strobe *s = (const struct sim_strobe *)t;
    char path[4096];
    enum strobe_status status = STROBE_OK;
    if (!run->options.session_path) {
        snprintf(path, sizeof path, "%s/session.strobe", folder);
        status = strobe_policy_write_session(s, path);
    } else {
        strobe_session_trim_closed(run->options.session_path);
    }
    if (status == STROBE_OK) {
        snprintf(path, sizeof path, "%s/trace.pftrace", folder);
        status = strobe_policy_write_trace(s, path);
    }
    return status == STROBE_OK ? status : fail_file(path, error, status);
}

/* ---- invariants ---- */

/* Returns the true track of a thread of the session, which usually has the same index. */
static const struct sim_track *true_track(const struct sim_run *run, uint32_t tid, uint32_t generation, uint32_t near)
{
    for (size_t i = 0; i < run->truth.track_count; i++) {
        const struct sim_track *t = &run->truth.tracks[(near + i) % run->truth.track_count];
        if (t->tid == tid && t->generation == generation)
            return t;
    }
    return NULL;
}

/* Time that may pass between a sample's clock read and its stack, and between the truth's clock and the tracer's. */
enum { SLACK_NS = 20000 };

/* True when the thread was running that message (0: none) at some time of the span. */
static bool was_running_message(const struct sim_track *t, uint32_t message, uint64_t from_ns, uint64_t to_ns)
{
    size_t low = 0, high = t->message_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->messages[middle].end_ns < from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    bool within = false;
    for (; low < t->message_count && t->messages[low].begin_ns <= to_ns; low++) {
        const struct sim_span *m = &t->messages[low];
        if (m->value == message)
            return true;
        within |= m->begin_ns < from_ns && to_ns < m->end_ns;
    }
    return message == 0 && !within;
}

/* True for a message without span, because the run ended at its begin. */
static bool was_cut_off(const struct sim_track *t, uint32_t message)
{
    const struct sim_loop_turn *last = t->turn_count ? &t->turns[t->turn_count - 1] : NULL;
    return last && last->id == message && last->begin_ns == t->end_ns;
}

/* True when a sample names its thread's current message. A merged sample belongs to one message (S-50). */
static bool names_its_message(const struct sim_strobe *s, const struct sim_track *t, const struct strobe_record *r)
{
    uint64_t begin = r->ticks - SIM_STROBE_ORIGIN_NS, end = begin + (r->count > 1 ? r->duration : 0);
    /* The run has ended, but the thread has not computed its last charge. */
    if (begin >= t->end_ns && was_cut_off(t, r->message))
        return true;
    begin = begin < t->end_ns ? begin : t->end_ns;
    end = end < t->end_ns ? end : t->end_ns;
    /* The sampler reads the clock before it asks the thread to stop. In the adversarial schedule the stop may take up
     * to the timeout. */
    bool late = r->kind == STROBE_KIND_ASYNC && s->run->options.schedule == SIM_ADVERSARIAL;
    uint64_t after = SLACK_NS + (late ? s->config.suspend_timeout_ns : 0);
    uint64_t before = begin < SLACK_NS ? begin : SLACK_NS;
    return was_running_message(t, r->message, begin - before, begin + after) &&
           was_running_message(t, r->message, end - before, end + after);
}

static bool samples_name_their_messages(const struct sim_strobe *s, struct strobe_error *error)
{
    const struct strobe_reader *r = s->reader;
    uint32_t *generation = generations(r);
    const struct strobe_record *bad = NULL;
    for (uint32_t i = 0; generation && !bad && i < r->thread_count; i++) {
        const struct strobe_reader_thread *thread = &r->threads[i];
        const struct sim_track *t = true_track(s->run, thread->tid, generation[i], i);
        for (size_t k = 0; t && !bad && k < thread->item_count; k++) {
            const struct strobe_record *item = &thread->items[k].record;
            if (item->kind != STROBE_KIND_WAKE && !names_its_message(s, t, item))
                bad = item;
        }
    }
    free(generation);
    if (!bad)
        return true;
    strobe_error_set(error, "false merge: %u samples of %s from %llu ns on, for %llu ns, are not all of message %u",
                     bad->count, r->threads[bad->thread].name, (unsigned long long)(bad->ticks - SIM_STROBE_ORIGIN_NS),
                     (unsigned long long)bad->duration, bad->message);
    return false;
}

static bool clock_jumps_in_session(const struct sim_scenario *s)
{
    for (uint32_t i = 0; i < s->fault_count; i++)
        if (s->faults[i].kind == SIM_FAULT_CLOCK_BACK || s->faults[i].kind == SIM_FAULT_CLOCK_FORWARD)
            return true;
    return false;
}

bool sim_strobe_check(struct sim_tracer *t, struct sim_run *run, struct strobe_error *error)
{
    const struct sim_strobe *s = (const struct sim_strobe *)t;
    if (!strobe_reader_check(s->reader, error))
        return false;
    if (s->tracer.message && !clock_jumps_in_session(run->scenario) && !samples_name_their_messages(s, error))
        return false;
    /* Only the thread that the sampler was working on at the run's end may still be stopped. */
    uint32_t stopped = sim_stopped_count(run->kernel);
    if (stopped <= s->standing + (s->held || s->asked_tid ? 1u : 0u))
        return true;
    strobe_error_set(error, "%u threads are stopped at the end", stopped);
    return false;
}
