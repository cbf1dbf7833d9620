#include "engine/trace/merge/merge.h"

#include "engine/base/error_format.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/export/perfetto_ids.h"
#include "engine/trace/merge/merge_packets.h"
#include "engine/trace/merge/merge_sessions.h"
#include "engine/trace/merge/merge_text.h"
#include "engine/trace/session/session_set.h"
#include "engine/util/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct merge_trace {
    const char *path;
    struct strobe_merge_packets packets;
};

struct merge_file {
    const char *path;
    struct strobe_merge_text text;
};

struct merge {
    const struct strobe_merge_options *options;
    struct strobe_merge_stats *stats;
    struct strobe_error *error;
    struct strobe_merge_session *sessions; /* by begin, once all are known */
    size_t session_count, session_room;
    struct merge_trace *traces;
    size_t trace_count, trace_room;
    struct merge_file *texts;
    size_t text_count, text_room;
    struct strobe_merge_reference reference;
    struct strobe_sched_states states;     /* by the system's scheduling */
    struct strobe_sched_states own_states; /* by that of the sessions themselves, used where no other input has any */
    struct strobe_idmap sequences;         /* ids that are taken */
    struct strobe_idmap processes;         /* tracks of processes of sessions, that are taken */
    struct strobe_outfile out;
};

static enum strobe_status fail_merge(const struct merge *m, const char *file, const char *what,
                                     enum strobe_status status)
{
    strobe_error_set(m->error, "%s: %s", file, what);
    return status;
}

static enum strobe_status out_of_memory(const struct merge *m, const char *file)
{
    errno = ENOMEM;
    return fail_merge(m, file, strerror(ENOMEM), STROBE_IO);
}

/* ---- inputs */

static enum strobe_status add_session(struct merge *m, const char *path, size_t input)
{
    if (!strobe_array_reserve_zeroed(&m->sessions, &m->session_room, m->session_count + 1))
        return out_of_memory(m, path);
    struct strobe_merge_session *s = &m->sessions[m->session_count];
    *s = (struct strobe_merge_session){.path = strdup(path), .input = input};
    if (!s->path)
        return out_of_memory(m, path);
    m->session_count++;
    return strobe_merge_session_scan(s, &m->reference, &m->states, &m->own_states, m->error);
}

static enum strobe_status add_folder(struct merge *m, const char *path, size_t input)
{
    struct strobe_session_set set;
    enum strobe_status status = strobe_session_set_list(path, &set);
    if (status == STROBE_NO_ENTRY)
        return fail_merge(m, path, "a folder without sessions", STROBE_BAD_INPUT);
    if (status != STROBE_OK)
        return fail_merge(m, path, strerror(errno), status);
    for (size_t i = 0; i < set.count && status == STROBE_OK; i++)
        status = add_session(m, set.paths[i], input);
    strobe_session_set_free(&set);
    return status;
}

static enum strobe_status add_trace(struct merge *m, const char *path, const struct strobe_whole_file *file)
{
    if (!strobe_array_reserve_zeroed(&m->traces, &m->trace_room, m->trace_count + 1))
        return out_of_memory(m, path);
    m->traces[m->trace_count++] = (struct merge_trace){path, {.file = *file}};
    return STROBE_OK;
}

static enum strobe_status add_text(struct merge *m, const char *path, const struct strobe_whole_file *file)
{
    if (!strobe_array_reserve_zeroed(&m->texts, &m->text_room, m->text_count + 1))
        return out_of_memory(m, path);
    m->texts[m->text_count++] = (struct merge_file){path, {.file = *file}};
    return STROBE_OK;
}

static enum strobe_status add_input(struct merge *m, const char *path, size_t input)
{
    struct strobe_whole_file file;
    if (strobe_session_set_is_folder(path))
        return add_folder(m, path, input);
    enum strobe_status status = strobe_whole_file_open(path, &file);
    if (status != STROBE_OK)
        return fail_merge(m, path, strerror(errno), status);
    if (strobe_merge_is_session(file.at, file.bytes)) {
        strobe_whole_file_close(&file);
        return add_session(m, path, input);
    }
    if (!file.bytes)
        status = fail_merge(m, path, "empty, expected a session, a Perfetto trace or ftrace text", STROBE_BAD_INPUT);
    else if (strobe_merge_is_packets(file.at, file.bytes))
        status = add_trace(m, path, &file);
    else
        status = add_text(m, path, &file);
    if (status != STROBE_OK)
        strobe_whole_file_close(&file);
    return status;
}

/* ---- scans before the output begins */

static enum strobe_status scan_traces(struct merge *m)
{
    for (size_t i = 0; i < m->trace_count; i++) {
        struct merge_trace *t = &m->traces[i];
        struct strobe_error what = {""};
        enum strobe_status status = strobe_merge_packets_scan(&t->packets, &m->states, &what);
        if (status == STROBE_IO)
            return out_of_memory(m, t->path);
        if (status != STROBE_OK)
            return fail_merge(m, t->path, what.text, status);
        const struct strobe_merge_clocks *c = &t->packets.clocks;
        strobe_merge_reference_add_clocks(&m->reference, c->boot_ns, c->mono_ns, c->real_ns);
        for (size_t k = 0; c->boot_ns && k < t->packets.part_count; k++)
            strobe_merge_reference_add_time(&m->reference, t->packets.parts[k].boot_ns);
        m->stats->packets += t->packets.packets;
    }
    return STROBE_OK;
}

static enum strobe_status align_text(struct merge *m, struct merge_file *t)
{
    struct strobe_merge_text *text = &t->text;
    if (m->options->has_offset) {
        text->alignment =
            (struct strobe_merge_alignment){m->options->offset_ns, STROBE_MERGE_UNKNOWN, "moved by --offset"};
        return STROBE_OK;
    }
    if (strobe_merge_align(&m->reference, &text->timing, &text->alignment))
        return STROBE_OK;
    strobe_error_set(m->error,
                     "%s: no clock in common: its times are %.3f s to %.3f s, those of the other inputs %.3f s to %.3f "
                     "s; --offset states the difference",
                     t->path, (double)text->timing.first_ns / 1e9, (double)text->timing.last_ns / 1e9,
                     (double)m->reference.first_ns / 1e9, (double)m->reference.last_ns / 1e9);
    return STROBE_BAD_INPUT;
}

static enum strobe_status scan_texts(struct merge *m)
{
    enum strobe_status status = STROBE_OK;
    for (size_t i = 0; i < m->text_count && status == STROBE_OK; i++) {
        struct merge_file *t = &m->texts[i];
        struct strobe_error what = {""};
        status = strobe_merge_text_scan(&t->text, &m->reference, &what);
        if (status == STROBE_IO)
            return out_of_memory(m, t->path);
        if (status != STROBE_OK)
            return fail_merge(m, t->path, what.text, status);
        status = align_text(m, t);
    }
    return status;
}

/* ---- ids */

/* Readers take two processes with one pid for one when both exist at a time. The later one then gets ids that no
 * process has: Linux has pids up to 2^22. */
static void part_equal_pids(struct merge *m)
{
    const uint32_t pids_most = 1 << 22;
    for (size_t i = 1; i < m->session_count; i++) {
        struct strobe_merge_session *s = &m->sessions[i];
        for (size_t k = 0; k < i; k++) {
            const struct strobe_merge_session *t = &m->sessions[k];
            if (t->pid == s->pid && t->end_ns >= s->begin_ns && t->id_offset >= s->id_offset)
                s->id_offset = t->id_offset + pids_most;
        }
        if (s->id_offset && m->options->report)
            fprintf(m->options->report,
                    "%s: another process %" PRIu32 " is recorded at the same time: shown as %" PRIu32
                    ", without scheduling\n",
                    s->path, s->pid, s->pid + s->id_offset);
    }
}

static int take_sequence(struct merge *m, uint32_t id)
{
    int fresh;
    return strobe_idmap_put(&m->sequences, id, 0, &fresh) ? fresh : -1;
}

/* Finds `count` ids that follow one another and are free, at the earliest from `first` on, and takes them. Returns 0
 * when out of memory. */
static uint32_t take_sequences(struct merge *m, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (first > UINT32_MAX - count)
            first = STROBE_PERFETTO_SEQUENCE_LEAST;
        if (strobe_idmap_get(&m->sequences, first + i, 0)) {
            first += i + 1;
            i = UINT32_MAX; /* begins anew */
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (take_sequence(m, first + i) < 0)
            return 0;
    return first;
}

/* Takes the ids of a trace's sequences. Those that another trace has get new ids. */
static int take_trace_sequences(struct merge *m, struct strobe_merge_packets *p)
{
    for (size_t i = 0; p->sequences.slots && i <= p->sequences.mask; i++) {
        const struct strobe_idmap_slot *slot = &p->sequences.slots[i];
        int taken = slot->used ? take_sequence(m, (uint32_t)slot->a) : 1;
        if (taken < 0)
            return 0;
        if (taken)
            continue;
        uint32_t other = take_sequences(m, strobe_perfetto_first_sequence(slot->a), 1);
        if (!other || !strobe_idmap_add(&p->new_sequences, slot->a, 0, other))
            return 0;
    }
    return 1;
}

static bool is_track_taken(const struct merge *m, uint64_t key)
{
    uint64_t track = strobe_perfetto_track(key, 1);
    if (strobe_idmap_get(&m->processes, track, 0))
        return true;
    for (size_t i = 0; i < m->trace_count; i++)
        if (strobe_idmap_get(&m->traces[i].packets.tracks, track, 0))
            return true;
    return false;
}

/* Chooses the ids of a session. The track of its process shows whether its ids are taken: when the same session is an
 * input twice, or a trace of it is one. */
static int choose_ids(struct merge *m, const struct strobe_merge_session *s, struct strobe_perfetto_ids *ids)
{
    uint64_t key = s->key;
    int fresh;
    *ids = (struct strobe_perfetto_ids){.id_offset = s->id_offset};
    while (is_track_taken(m, key))
        key = strobe_mix_pair(s->key, ++ids->salt);
    ids->first_sequence =
        take_sequences(m, strobe_perfetto_first_sequence(key), s->threads + STROBE_PERFETTO_SEQUENCES);
    return ids->first_sequence && strobe_idmap_put(&m->processes, strobe_perfetto_track(key, 1), 0, &fresh);
}

/* ---- output */

static enum strobe_status write_texts(struct merge *m)
{
    struct strobe_packets packets;
    int states_of_4_14 = 0;
    if (!m->text_count)
        return STROBE_OK;
    for (size_t i = 0; i < m->trace_count; i++)
        if (m->traces[i].packets.has_version)
            states_of_4_14 = m->traces[i].packets.states_of_4_14;
    enum strobe_status status = strobe_packets_open(&packets, &m->out, 0) ? STROBE_OK : STROBE_IO;
    for (size_t i = 0; i < m->text_count && status == STROBE_OK; i++) {
        struct merge_file *t = &m->texts[i];
        uint64_t key = strobe_mix_pair(t->text.timing.first_ns, t->text.timing.last_ns);
        const struct strobe_merge_text_options how = {.sequence =
                                                          take_sequences(m, strobe_perfetto_first_sequence(key), 1),
                                                      .states_of_4_14 = states_of_4_14,
                                                      .states = &m->states,
                                                      .name = t->path,
                                                      .report = m->options->report};
        status = how.sequence ? strobe_merge_text_write(&t->text, &packets, &how) : STROBE_IO;
        m->stats->events += t->text.events;
    }
    strobe_packets_close(&packets);
    if (status == STROBE_OK && !strobe_sched_states_finish(&m->states))
        status = STROBE_IO;
    return status == STROBE_OK ? status : out_of_memory(m, m->texts[0].path);
}

/* Returns the trace whose next part has the earliest snapshot of clocks, or NULL. */
static struct merge_trace *earliest_trace(const struct merge *m)
{
    struct merge_trace *found = NULL;
    for (size_t i = 0; i < m->trace_count; i++) {
        const struct strobe_merge_packets *p = &m->traces[i].packets;
        if (p->next_part < p->part_count &&
            (!found || p->parts[p->next_part].boot_ns < found->packets.parts[found->packets.next_part].boot_ns))
            found = &m->traces[i];
    }
    return found;
}

/* Counts the sessions from `first` on that are written at once: those of one folder that begin before the next part of
 * a trace. They share what is read for names. */
static size_t count_together(const struct merge *m, size_t first, uint64_t before_ns)
{
    size_t n = 0;
    while (first + n < m->session_count && m->sessions[first + n].begin_ns <= before_ns &&
           m->sessions[first + n].input == m->sessions[first].input)
        n++;
    return n;
}

/* Returns true if a trace or a text has scheduling. Two reports of one switch would contradict each other, so that of
 * the sessions is then left out. */
static bool has_system_scheduling(const struct merge *m)
{
    return m->states.last_ns != 0;
}

/* Writes the sessions from `first` on that are written at once. Stores the number of them in *count. */
static enum strobe_status write_sessions(struct merge *m, size_t first, uint64_t before_ns, size_t *count)
{
    struct strobe_session_set set = {0};
    struct strobe_perfetto_stats perfetto;
    struct strobe_convert_stats stats = {0};
    struct strobe_convert_options options = {.symbols = m->options->symbols};
    enum strobe_status status;
    size_t n = *count = count_together(m, first, before_ns);
    if (!n)
        return STROBE_OK;
    struct strobe_perfetto_ids *ids = calloc(n, sizeof *ids);
    struct strobe_sink *sink = NULL;
    int enough = ids != NULL;
    for (size_t i = 0; i < n && enough; i++)
        enough = choose_ids(m, &m->sessions[first + i], &ids[i]) &&
                 strobe_session_set_add(&set, m->sessions[first + i].path) == STROBE_OK;
    bool system = has_system_scheduling(m);
    const struct strobe_perfetto_options how = {.separate = m->options->count > 1,
                                                .states = system ? &m->states : &m->own_states,
                                                .no_scheduling = system,
                                                .ids = ids};
    if (enough)
        sink = strobe_sink_perfetto_with(&m->out, &how, &perfetto);
    if (sink) {
        sink->several = m->session_count > 1;
        status = strobe_convert_emit(&set, sink, &options, &stats, m->error);
    } else {
        status = out_of_memory(m, m->sessions[first].path);
    }
    m->stats->threads += stats.threads;
    m->stats->slices += stats.slices;
    if (status == STROBE_OK && m->options->report)
        strobe_convert_print_nameless(&stats, m->options->report);
    strobe_session_set_free(&set);
    free(ids);
    return status;
}

static int by_merge_begin(const void *a, const void *b)
{
    const struct strobe_merge_session *v = a, *w = b;
    return v->begin_ns < w->begin_ns ? -1 : v->begin_ns > w->begin_ns;
}

/* Writes sessions and parts of traces in the order of their clocks. */
static enum strobe_status write_in_order(struct merge *m)
{
    size_t done = 0, count;
    for (;;) {
        struct merge_trace *t = earliest_trace(m);
        uint64_t next_ns = t ? t->packets.parts[t->packets.next_part].boot_ns : UINT64_MAX;
        enum strobe_status status = write_sessions(m, done, next_ns, &count);
        done += count;
        if (status != STROBE_OK)
            return status;
        if (count)
            continue;
        if (!t)
            return STROBE_OK;
        strobe_merge_packets_copy(&t->packets, &m->out);
    }
}

/* ---- lines for a person */

static const char *length_text(uint64_t ns, char out[32])
{
    if (ns >= 1000000)
        snprintf(out, 32, "%" PRIu64 " ms", (ns + 999999) / 1000000);
    else
        snprintf(out, 32, "%" PRIu64 " us", (ns + 999) / 1000);
    return out;
}

static void report_clocks(const struct merge *m)
{
    char length[32];
    size_t waits;
    FILE *to = m->options->report;
    for (size_t i = 0; i < m->text_count; i++) {
        const struct strobe_merge_alignment *a = &m->texts[i].text.alignment;
        fprintf(to, "clocks: %s: %s", m->texts[i].path, a->how);
        if (a->error_ns == STROBE_MERGE_UNKNOWN)
            fprintf(to, m->reference.last_ns ? ", error not known\n" : "\n");
        else
            fprintf(to, ", error below %s\n", length_text(a->error_ns, length));
    }
    for (size_t i = 0; i < m->trace_count; i++)
        if (m->session_count || m->trace_count > 1 || m->text_count)
            fprintf(to, "clocks: %s: %s\n", m->traces[i].path,
                    m->traces[i].packets.clocks.boot_ns ? "boottime by its snapshots, error below 1 us"
                                                        : "no snapshot, taken as boottime, error not known");
    uint64_t error = strobe_merge_error_by_waits(&m->reference, &m->states, &waits);
    if (error != STROBE_MERGE_UNKNOWN)
        fprintf(to, "clocks: %zu waits end %s after the kernel let their threads run (median)\n", waits,
                length_text(error, length));
}

/* Two recordings of one boot agree on the date of boot, but for adjustments of the date. */
static void report_boots(const struct merge *m)
{
    const int64_t apart_ns = 60000000000;
    for (size_t i = 0; i < m->trace_count; i++) {
        const struct strobe_merge_clocks *c = &m->traces[i].packets.clocks;
        if (!c->boot_ns || !c->real_ns || !m->reference.real_ns)
            continue;
        int64_t apart = (int64_t)(c->real_ns - c->boot_ns) - (int64_t)(m->reference.real_ns - m->reference.boot_ns);
        if (apart > apart_ns || apart < -apart_ns)
            fprintf(m->options->report,
                    "clocks: %s: of another boot or machine than other inputs: the dates of boot differ by %.0f s\n",
                    m->traces[i].path, (double)apart / 1e9);
    }
}

static void report_left_scheduling(const struct merge *m)
{
    for (size_t i = 0; has_system_scheduling(m) && i < m->session_count; i++)
        if (m->sessions[i].has_sched)
            fprintf(m->options->report, "%s: left out: its own scheduling, because another input has the system's\n",
                    m->sessions[i].path);
}

static void report_cut_traces(const struct merge *m)
{
    for (size_t i = 0; i < m->trace_count; i++) {
        const struct strobe_merge_packets *p = &m->traces[i].packets;
        if (p->whole_bytes < p->file.bytes)
            fprintf(m->options->report,
                    "%s: left out: bytes behind the last whole packet, from byte %" PRIu64 " on: %zu\n",
                    m->traces[i].path, p->whole_bytes, p->file.bytes - (size_t)p->whole_bytes);
    }
}

/* ---- all of it */

static enum strobe_status read_inputs(struct merge *m)
{
    enum strobe_status status = STROBE_OK;
    for (size_t i = 0; i < m->options->count && status == STROBE_OK; i++)
        status = add_input(m, m->options->paths[i], i);
    if (status == STROBE_OK)
        status = scan_traces(m);
    if (status == STROBE_OK)
        status = scan_texts(m);
    if (m->session_count)
        qsort(m->sessions, m->session_count, sizeof *m->sessions, by_merge_begin);
    part_equal_pids(m);
    for (size_t i = 0; i < m->trace_count && status == STROBE_OK; i++)
        if (!take_trace_sequences(m, &m->traces[i].packets))
            status = out_of_memory(m, m->traces[i].path);
    m->stats->sessions = m->session_count;
    m->stats->traces = m->trace_count;
    m->stats->texts = m->text_count;
    return status;
}

static enum strobe_status write_merged(struct merge *m)
{
    enum strobe_status status = write_texts(m);
    if (status == STROBE_OK &&
        ((!m->text_count && !strobe_sched_states_finish(&m->states)) || !strobe_sched_states_finish(&m->own_states)))
        status = out_of_memory(m, m->options->paths[0]);
    return status == STROBE_OK ? write_in_order(m) : status;
}

static int is_merge_output(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* The output is opened first, so that one that exists is refused before large inputs are read. */
static enum strobe_status merge_to(struct merge *m, const char *path)
{
    for (size_t i = 0; i < m->options->count; i++)
        if (is_merge_output(m->options->paths[i], path))
            return fail_merge(m, path, "is an input itself, expected another file", STROBE_BAD_INPUT);
    enum strobe_status status = strobe_outfile_open(&m->out, path, m->options->replace);
    if (status != STROBE_OK)
        return fail_merge(m, path, status == STROBE_EXISTS ? "exists already" : strerror(errno), status);
    status = read_inputs(m);
    if (status == STROBE_OK)
        status = write_merged(m);
    m->stats->bytes = m->out.bytes + m->out.used;
    if (status != STROBE_OK) {
        int saved = errno;
        strobe_outfile_finish(&m->out, 1);
        errno = saved;
        return status;
    }
    status = strobe_outfile_finish(&m->out, 0);
    return status == STROBE_OK ? status : fail_merge(m, path, strerror(errno), status);
}

static void free_merge(struct merge *m)
{
    for (size_t i = 0; i < m->session_count; i++)
        free(m->sessions[i].path);
    for (size_t i = 0; i < m->trace_count; i++)
        strobe_merge_packets_close(&m->traces[i].packets);
    for (size_t i = 0; i < m->text_count; i++)
        strobe_merge_text_close(&m->texts[i].text);
    free(m->sessions);
    free(m->traces);
    free(m->texts);
    strobe_merge_reference_free(&m->reference);
    strobe_sched_states_free(&m->states);
    strobe_sched_states_free(&m->own_states);
    strobe_idmap_free(&m->sequences);
    strobe_idmap_free(&m->processes);
}

enum strobe_status strobe_merge(const char *out_path, const struct strobe_merge_options *options,
                                struct strobe_merge_stats *stats, struct strobe_error *error)
{
    struct merge m = {.options = options, .stats = stats, .error = error};
    *stats = (struct strobe_merge_stats){0};
    enum strobe_status status = merge_to(&m, out_path);
    if (status == STROBE_OK && options->report) {
        report_cut_traces(&m);
        report_left_scheduling(&m);
        report_boots(&m);
        report_clocks(&m);
    }
    int saved = errno;
    free_merge(&m);
    errno = saved;
    return status;
}
