#include "engine/trace/import/simpleperf/simpleperf_read.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/perfetto/proto_read.h"
#include "engine/trace/import/samples_switch.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Fields of Record. */
enum { IN_SAMPLE = 1, IN_LOST, IN_FILE, IN_THREAD, IN_META, IN_SWITCH };

enum { EVENTS_MAX = 64 };

struct sp_text {
    const uint8_t *at;
    size_t bytes;
};

struct sp_file {
    struct sp_text path;
    uint32_t image; /* + 1; 0 = not asked for yet */
    size_t symbols; /* first one in simpleperf.symbols */
    uint32_t symbol_count;
};

struct sp_symbol {
    struct sp_text text;
    uint64_t frame; /* 0: not asked for yet */
};

struct sp_thread {
    uint32_t tid, pid;
    struct sp_text name;
    uint64_t samples;
    uint32_t number; /* in the samples, + 1; 0 = none yet */
    uint64_t count_ns;
    struct strobe_switches switches;
};

struct sp_frame {
    uint64_t address;
    uint32_t file;
    int32_t symbol;
};

struct sp_sample {
    uint64_t time_ns, count;
    uint32_t tid, type;
};

struct simpleperf {
    const struct strobe_simpleperf_options *options;
    struct strobe_sampled *out;
    struct strobe_simpleperf_stats *stats;
    const uint8_t *begin, *at, *end;
    struct strobe_idmap file_of; /* id -> index */
    struct sp_file *files;
    size_t file_count, file_room;
    struct sp_symbol *symbols;
    size_t symbol_count, symbol_room;
    struct strobe_idmap thread_of; /* tid -> index */
    struct sp_thread *threads;
    size_t thread_count, thread_room;
    struct sp_text events[EVENTS_MAX];
    uint64_t event_samples[EVENTS_MAX];
    size_t event_count;
    struct sp_text package;
    struct sp_frame *chain; /* of the current sample, innermost first */
    size_t chain_count, chain_room;
    uint64_t *frames;
    size_t frame_room;
    uint32_t event, pid;
    bool clock, has_switches, failed;
};

/* ---- records */

/* Takes the next record. Returns false at the end, and for a length beyond it. */
static bool next_sp_record(struct simpleperf *s, const uint8_t **at, struct strobe_proto *record)
{
    if (s->end - *at < 4)
        return false;
    uint64_t bytes = strobe_proto_fixed(*at, 4);
    if (!bytes || bytes > (uint64_t)(s->end - *at) - 4)
        return false;
    *record = (struct strobe_proto){*at + 4, *at + 4 + bytes};
    *at += 4 + bytes;
    return true;
}

/* Takes the message of a record. Returns its field, or 0 when the record is damaged or of another kind. */
static uint32_t open_sp_record(struct strobe_proto record, struct strobe_proto *message)
{
    struct strobe_proto_field f;
    while (strobe_proto_next(&record, &f) == STROBE_PROTO_FIELD)
        if (f.wire == STROBE_WIRE_BYTES && f.number >= IN_SAMPLE && f.number <= IN_SWITCH) {
            *message = f.bytes;
            return f.number;
        }
    return 0;
}

static bool is_whole_message(struct strobe_proto m)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&m, &f)) == STROBE_PROTO_FIELD)
        ;
    return step == STROBE_PROTO_END;
}

static struct sp_text sp_text_of(const struct strobe_proto_field *f)
{
    return (struct sp_text){f->bytes.at, (size_t)(f->bytes.end - f->bytes.at)};
}

/* ---- tables */

static void add_sp_symbol(struct simpleperf *s, struct sp_text text)
{
    if (!strobe_array_reserve(&s->symbols, &s->symbol_room, s->symbol_count + 1)) {
        s->failed = true;
        return;
    }
    s->symbols[s->symbol_count++] = (struct sp_symbol){text, 0};
}

static void take_sp_file(struct simpleperf *s, struct strobe_proto m)
{
    struct strobe_proto_field f;
    struct sp_file file = {.symbols = s->symbol_count};
    uint32_t id = 0;
    int fresh;
    while (!s->failed && strobe_proto_next(&m, &f) == STROBE_PROTO_FIELD) {
        if (f.number == 1 && f.wire == STROBE_WIRE_VARINT)
            id = (uint32_t)f.value;
        if (f.number == 2 && f.wire == STROBE_WIRE_BYTES)
            file.path = sp_text_of(&f);
        if (f.number == 3 && f.wire == STROBE_WIRE_BYTES)
            add_sp_symbol(s, sp_text_of(&f));
    }
    file.symbol_count = (uint32_t)(s->symbol_count - file.symbols);
    uint32_t *place = strobe_array_reserve(&s->files, &s->file_room, s->file_count + 1)
                          ? strobe_idmap_put(&s->file_of, id, 0, &fresh)
                          : NULL;
    if (!place) {
        s->failed = true;
        return;
    }
    *place = (uint32_t)s->file_count;
    s->files[s->file_count++] = file;
}

/* Returns the thread of this tid; adds it when it is new. The place is valid until the next call. NULL: out of
 * memory. */
static struct sp_thread *sp_thread_of(struct simpleperf *s, uint32_t tid)
{
    int fresh;
    uint32_t *place = strobe_array_reserve(&s->threads, &s->thread_room, s->thread_count + 1)
                          ? strobe_idmap_put(&s->thread_of, tid, 0, &fresh)
                          : NULL;
    if (!place) {
        s->failed = true;
        return NULL;
    }
    if (fresh) {
        *place = (uint32_t)s->thread_count;
        s->threads[s->thread_count++] = (struct sp_thread){.tid = tid};
    }
    return &s->threads[*place];
}

static void take_sp_thread(struct simpleperf *s, struct strobe_proto m)
{
    struct strobe_proto_field f;
    struct sp_text name = {NULL, 0};
    uint32_t tid = 0, pid = 0;
    while (strobe_proto_next(&m, &f) == STROBE_PROTO_FIELD) {
        if (f.number == 1 && f.wire == STROBE_WIRE_VARINT)
            tid = (uint32_t)f.value;
        if (f.number == 2 && f.wire == STROBE_WIRE_VARINT)
            pid = (uint32_t)f.value;
        if (f.number == 3 && f.wire == STROBE_WIRE_BYTES)
            name = sp_text_of(&f);
    }
    struct sp_thread *t = sp_thread_of(s, tid);
    if (!t)
        return;
    t->pid = pid;
    t->name = name;
}

static void take_sp_meta(struct simpleperf *s, struct strobe_proto m)
{
    struct strobe_proto_field f;
    while (strobe_proto_next(&m, &f) == STROBE_PROTO_FIELD) {
        if (f.number == 1 && f.wire == STROBE_WIRE_BYTES && s->event_count < EVENTS_MAX)
            s->events[s->event_count++] = sp_text_of(&f);
        if (f.number == 2 && f.wire == STROBE_WIRE_BYTES)
            s->package = sp_text_of(&f);
    }
}

/* ---- samples */

static void add_chain_entry(struct simpleperf *s, struct strobe_proto m)
{
    struct strobe_proto_field f;
    struct sp_frame frame = {.symbol = -1};
    while (strobe_proto_next(&m, &f) == STROBE_PROTO_FIELD) {
        if (f.wire != STROBE_WIRE_VARINT)
            continue;
        if (f.number == 1)
            frame.address = f.value;
        if (f.number == 2)
            frame.file = (uint32_t)f.value;
        if (f.number == 3)
            frame.symbol = (int32_t)(uint32_t)f.value;
    }
    if (!strobe_array_reserve(&s->chain, &s->chain_room, s->chain_count + 1))
        s->failed = true;
    else
        s->chain[s->chain_count++] = frame;
}

/* Takes a sample. `chain`: with its call chain. */
static void take_sp_sample(struct simpleperf *s, struct strobe_proto m, bool chain, struct sp_sample *out)
{
    struct strobe_proto_field f;
    *out = (struct sp_sample){0};
    s->chain_count = 0;
    while (!s->failed && strobe_proto_next(&m, &f) == STROBE_PROTO_FIELD) {
        if (f.number == 3 && f.wire == STROBE_WIRE_BYTES && chain)
            add_chain_entry(s, f.bytes);
        if (f.wire != STROBE_WIRE_VARINT)
            continue;
        if (f.number == 1)
            out->time_ns = f.value;
        if (f.number == 2)
            out->tid = (uint32_t)f.value;
        if (f.number == 4)
            out->count = f.value;
        if (f.number == 5)
            out->type = (uint32_t)f.value;
    }
    if (out->type >= EVENTS_MAX)
        out->type = EVENTS_MAX - 1;
}

static bool sp_text_is(struct sp_text t, const char *text)
{
    size_t bytes = strlen(text);
    return t.bytes >= bytes && !memcmp(t.at, text, bytes) && (t.bytes == bytes || t.at[bytes] == ':');
}

static bool is_sp_switch(const struct simpleperf *s, uint32_t type)
{
    return type < s->event_count && sp_text_is(s->events[type], "sched:sched_switch");
}

/* Reads the tables, and counts the samples of events and threads. */
static void survey_simpleperf(struct simpleperf *s)
{
    const uint8_t *at = s->at, *here = at;
    struct strobe_proto record, m;
    struct sp_sample sample;
    for (; !s->failed && next_sp_record(s, &at, &record); here = at) {
        uint32_t kind = open_sp_record(record, &m);
        s->stats->records++;
        if (!kind || !is_whole_message(m)) {
            s->stats->first_damaged = s->stats->damaged++ ? s->stats->first_damaged : (uint64_t)(here - s->begin);
            continue;
        }
        if (kind == IN_FILE)
            take_sp_file(s, m);
        if (kind == IN_THREAD)
            take_sp_thread(s, m);
        if (kind == IN_META)
            take_sp_meta(s, m);
        s->has_switches |= kind == IN_SWITCH;
        if (kind != IN_SAMPLE)
            continue;
        take_sp_sample(s, m, false, &sample);
        s->event_samples[sample.type]++;
        struct sp_thread *t = sp_thread_of(s, sample.tid);
        if (t)
            t->samples++;
    }
    bool ended = s->end - at >= 4 && !strobe_proto_fixed(at, 4);
    s->stats->tail_bytes = (uint64_t)(s->end - at) - (ended ? 4 : 0);
}

/* ---- selection */

static bool select_sp_event(struct simpleperf *s)
{
    uint32_t best = EVENTS_MAX;
    for (uint32_t i = 0; i < EVENTS_MAX; i++) {
        struct sp_text name = i < s->event_count ? s->events[i] : (struct sp_text){(const uint8_t *)"", 0};
        bool fits = s->options->event ? sp_text_is(name, s->options->event) : !is_sp_switch(s, i);
        if (fits && s->event_samples[i] && (best == EVENTS_MAX || s->event_samples[i] > s->event_samples[best]))
            best = i;
    }
    s->event = best;
    if (best == EVENTS_MAX)
        return false;
    struct sp_text name = best < s->event_count ? s->events[best] : (struct sp_text){(const uint8_t *)"unknown", 7};
    s->clock = sp_text_is(name, "task-clock") || sp_text_is(name, "cpu-clock");
    snprintf(s->stats->event, sizeof s->stats->event, "%.*s", (int)(name.bytes < 63 ? name.bytes : 63),
             (const char *)name.at);
    return true;
}

/* Selects the process with most samples. Returns false when the wanted one has none. */
static bool select_sp_process(struct simpleperf *s)
{
    struct strobe_idmap samples = {0};
    uint32_t most = 0;
    bool found = false;
    for (size_t i = 0; i < s->thread_count && !s->failed; i++) {
        int fresh;
        uint32_t *sum = strobe_idmap_put(&samples, s->threads[i].pid, 0, &fresh);
        if (!sum) {
            s->failed = true;
            break;
        }
        *sum += s->threads[i].samples < UINT32_MAX - *sum ? (uint32_t)s->threads[i].samples : UINT32_MAX - *sum;
        if (*sum && (s->options->pid ? s->threads[i].pid == s->options->pid : !found || *sum > most)) {
            most = *sum;
            s->pid = s->threads[i].pid;
            found = true;
        }
    }
    strobe_idmap_free(&samples);
    return found;
}

/* ---- frames */

static uint64_t name_by_address(struct simpleperf *s, const struct sp_file *file, uint32_t image, uint64_t address)
{
    char text[160];
    const uint8_t *name = file && file->path.bytes ? file->path.at + file->path.bytes : NULL;
    while (name && name > file->path.at && name[-1] != '/')
        name--;
    s->stats->nameless++;
    int bytes = name ? snprintf(text, sizeof text, "%.*s+0x%" PRIx64, (int)(file->path.at + file->path.bytes - name),
                                (const char *)name, address)
                     : snprintf(text, sizeof text, "0x%" PRIx64, address);
    return strobe_sampled_function(s->out, image, text, bytes < (int)sizeof text ? (size_t)bytes : sizeof text - 1);
}

static uint64_t frame_of_entry(struct simpleperf *s, const struct sp_frame *f)
{
    const uint32_t *place = strobe_idmap_get(&s->file_of, f->file, 0);
    struct sp_file *file = place ? &s->files[*place] : NULL;
    if (file && !file->image)
        file->image = 1 + strobe_sampled_image(s->out, (const char *)file->path.at, file->path.bytes);
    uint32_t image = file ? file->image - 1 : 0;
    if (!file || f->symbol < 0 || (uint32_t)f->symbol >= file->symbol_count)
        return name_by_address(s, file, image, f->address);
    struct sp_symbol *symbol = &s->symbols[file->symbols + (uint32_t)f->symbol];
    if (!symbol->frame)
        symbol->frame = strobe_sampled_function(s->out, image, (const char *)symbol->text.at, symbol->text.bytes);
    return symbol->frame;
}

static struct strobe_sampled_stack stack_of_chain(struct simpleperf *s)
{
    if (!strobe_array_reserve(&s->frames, &s->frame_room, s->chain_count)) {
        s->failed = true;
        return (struct strobe_sampled_stack){0, false};
    }
    for (size_t i = 0; i < s->chain_count; i++)
        s->frames[s->chain_count - 1 - i] = frame_of_entry(s, &s->chain[i]);
    return strobe_sampled_stack(s->out, s->frames, s->chain_count);
}

/* ---- points */

/* Gives the thread a number in the samples. Returns false after a failure. */
static bool number_sp_thread(struct simpleperf *s, struct sp_thread *t)
{
    if (t->number)
        return true;
    uint32_t number = strobe_sampled_thread(s->out, t->tid);
    if (number == STROBE_SAMPLED_NO_THREAD)
        return false;
    t->number = number + 1;
    if (t->name.bytes)
        strobe_sampled_rename(s->out, number, (const char *)t->name.at, t->name.bytes);
    return true;
}

static void add_sp_sample(struct simpleperf *s, struct sp_thread *t, const struct sp_sample *sample)
{
    struct strobe_sampled_point p = {.first_ns = sample->time_ns,
                                     .last_ns = sample->time_ns,
                                     .cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN,
                                     .stack = stack_of_chain(s),
                                     .thread = t->number - 1,
                                     .count = 1,
                                     .kind = s->clock ? STROBE_KIND_CPU : STROBE_KIND_ASYNC};
    t->count_ns += sample->count < STROBE_SAMPLED_TIME_MAX ? sample->count : 0;
    if (s->has_switches)
        p.cpu_ns = strobe_switch_cpu(&t->switches, sample->time_ns);
    else if (s->clock)
        p.cpu_ns = t->count_ns < STROBE_SAMPLED_TIME_MAX ? t->count_ns : STROBE_SAMPLED_TIME_MAX;
    if (s->clock && (!s->has_switches || t->switches.gave_way))
        p.flags = STROBE_FLAG_GAVE_WAY;
    t->switches.gave_way = false;
    s->stats->samples++;
    if (!strobe_sampled_point(s->out, &p))
        s->stats->refused++;
}

static void read_sp_sample(struct simpleperf *s, struct strobe_proto m)
{
    struct sp_sample sample;
    take_sp_sample(s, m, true, &sample);
    struct sp_thread *t = sp_thread_of(s, sample.tid);
    if (!t)
        return;
    if (t->pid != s->pid) {
        s->stats->other_processes++;
        return;
    }
    if (!number_sp_thread(s, t))
        return;
    if (sample.type == s->event)
        add_sp_sample(s, t, &sample);
    else if (is_sp_switch(s, sample.type) && s->has_switches)
        /* The record of the switch, which comes next, has the same thread. */
        strobe_switch_out(&t->switches, sample.time_ns, false, stack_of_chain(s));
    else
        s->stats->other_events++;
}

static void read_sp_switch(struct simpleperf *s, struct strobe_proto m)
{
    struct strobe_proto_field f;
    uint64_t time_ns = 0;
    uint32_t tid = 0;
    bool on = false;
    while (strobe_proto_next(&m, &f) == STROBE_PROTO_FIELD) {
        if (f.wire != STROBE_WIRE_VARINT)
            continue;
        if (f.number == 1)
            on = f.value != 0;
        if (f.number == 2)
            time_ns = f.value;
        if (f.number == 3)
            tid = (uint32_t)f.value;
    }
    struct sp_thread *t = sp_thread_of(s, tid);
    if (!t || t->pid != s->pid || !number_sp_thread(s, t))
        return;
    s->stats->switches++;
    if (on)
        s->stats->refused += strobe_switch_in(&t->switches, s->out, t->number - 1, time_ns);
    else if (!t->switches.off)
        strobe_switch_out(&t->switches, time_ns, false, (struct strobe_sampled_stack){0, false});
}

static void read_sp_lost(struct simpleperf *s, struct strobe_proto m)
{
    struct strobe_proto_field f;
    while (strobe_proto_next(&m, &f) == STROBE_PROTO_FIELD)
        if (f.number == 2 && f.wire == STROBE_WIRE_VARINT)
            s->stats->lost = f.value;
}

static void read_sp_records(struct simpleperf *s)
{
    const uint8_t *at = s->at;
    struct strobe_proto record, m;
    while (!s->failed && next_sp_record(s, &at, &record)) {
        uint32_t kind = open_sp_record(record, &m);
        if (!kind || !is_whole_message(m))
            continue;
        if (kind == IN_SAMPLE)
            read_sp_sample(s, m);
        if (kind == IN_SWITCH)
            read_sp_switch(s, m);
        if (kind == IN_LOST)
            read_sp_lost(s, m);
    }
}

/* Sets the interval of a clock's samples: the mean of their counts. */
static void set_sp_interval(struct simpleperf *s)
{
    uint64_t sum = 0, samples = s->event_samples[s->event];
    for (size_t i = 0; i < s->thread_count && s->clock; i++)
        sum += s->threads[i].pid == s->pid && s->threads[i].count_ns < STROBE_SAMPLED_TIME_MAX / 2
                   ? s->threads[i].count_ns / samples
                   : 0;
    if (sum)
        strobe_sampled_interval(s->out, sum, sum);
}

static enum strobe_status read_simpleperf(struct simpleperf *s, size_t bytes, struct strobe_error *error)
{
    static const size_t magic = sizeof STROBE_SIMPLEPERF_MAGIC - 1;
    if (bytes < STROBE_SIMPLEPERF_HEADER_BYTES) {
        strobe_error_set(error, "byte %zu: expected the header of a report, %d bytes", bytes,
                         STROBE_SIMPLEPERF_HEADER_BYTES);
        return STROBE_TRUNCATED;
    }
    if (memcmp(s->begin, STROBE_SIMPLEPERF_MAGIC, magic) != 0) {
        strobe_error_set(error,
                         "byte 0: expected %s, with which the output of `simpleperf report-sample --protobuf` "
                         "begins",
                         STROBE_SIMPLEPERF_MAGIC);
        return STROBE_BAD_INPUT;
    }
    uint64_t version = strobe_proto_fixed(s->begin + magic, 2);
    if (version != STROBE_SIMPLEPERF_VERSION) {
        strobe_error_set(error, "byte %zu: version %" PRIu64 ", expected %d", magic, version,
                         STROBE_SIMPLEPERF_VERSION);
        return STROBE_BAD_VERSION;
    }
    s->at = s->begin + STROBE_SIMPLEPERF_HEADER_BYTES;
    survey_simpleperf(s);
    if (!s->failed && !select_sp_event(s)) {
        strobe_error_set(error, "no sample%s%s", s->options->event ? " of the event " : "",
                         s->options->event ? s->options->event : "");
        return STROBE_BAD_INPUT;
    }
    if (!s->failed && !select_sp_process(s)) {
        strobe_error_set(error, "no sample of process %" PRIu32, s->options->pid);
        return STROBE_BAD_INPUT;
    }
    char package[256];
    snprintf(package, sizeof package, "%.*s", (int)(s->package.bytes < 255 ? s->package.bytes : 255),
             s->package.at ? (const char *)s->package.at : "");
    strobe_sampled_process(s->out, s->pid, s->pid, package);
    read_sp_records(s);
    set_sp_interval(s);
    return s->failed ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_simpleperf_read(const void *file, size_t bytes,
                                          const struct strobe_simpleperf_options *options, struct strobe_sampled *out,
                                          struct strobe_simpleperf_stats *stats, struct strobe_error *error)
{
    *stats = (struct strobe_simpleperf_stats){0};
    struct simpleperf s = {.options = options, .out = out, .stats = stats, .begin = file};
    s.end = s.begin + bytes;
    enum strobe_status status = read_simpleperf(&s, bytes, error);
    strobe_idmap_free(&s.file_of);
    strobe_idmap_free(&s.thread_of);
    free(s.files);
    free(s.symbols);
    free(s.threads);
    free(s.chain);
    free(s.frames);
    return status;
}
