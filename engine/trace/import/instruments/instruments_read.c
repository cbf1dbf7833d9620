#include "engine/trace/import/instruments/instruments_read.h"
#include "engine/base/error_format.h"

#include "engine/util/array.h"
#include "engine/util/cursor.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

#include <expat.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, TEXT_BYTES = 48, PIECE_BYTES = 1 << 28 };
#define NO_VALUE UINT64_MAX

enum ins_kind {
    INS_OTHER,
    INS_ROW,
    INS_SCHEMA,
    INS_TIME,
    INS_THREAD,
    INS_TID,
    INS_PROCESS,
    INS_PID,
    INS_STATE,
    INS_WEIGHT,
    INS_STACK,
    INS_FRAME,
    INS_BINARY,
};

static const struct {
    const char *name;
    enum ins_kind kind;
} ins_elements[] = {
    {"frame", INS_FRAME},        {"binary", INS_BINARY}, {"row", INS_ROW},         {"sample-time", INS_TIME},
    {"thread", INS_THREAD},      {"tid", INS_TID},       {"process", INS_PROCESS}, {"pid", INS_PID},
    {"thread-state", INS_STATE}, {"weight", INS_WEIGHT}, {"backtrace", INS_STACK}, {"tagged-backtrace", INS_STACK},
    {"schema", INS_SCHEMA},
};

/* What an id stands for. The value: a number (time, tid, pid, weight); of a state 1 if the thread ran; an index of
 * threads, processes, stacks or binaries; the frame of a frame. */
struct ins_value {
    enum ins_kind kind;
    uint64_t value;
};

struct ins_thread {
    uint32_t tid, pid;
    bool is_main;
    char name[32];
};

struct ins_process {
    uint32_t pid;
    char name[64];
};

struct ins_binary {
    uint32_t image; /* of samples_store.h */
    uint64_t load_address;
    char name[64];
};

/* An open element. */
struct ins_element {
    enum ins_kind kind;
    bool is_reference; /* its value is that of another element, if that is defined */
    uint32_t id;       /* of `ids`; UINT32_MAX: it has none */
    uint64_t value;    /* NO_VALUE: not known yet */
    size_t text_bytes;
    char text[TEXT_BYTES];
    /* Of a frame: its name, address and binary. Of a stack: the first of its frames. */
    uint32_t name;
    uint64_t address, binary;
    size_t first;
};

struct ins {
    const struct strobe_instruments_options *options;
    struct strobe_sampled *out;
    struct strobe_instruments_stats *stats;
    XML_Parser parser;
    bool survey; /* counts rows only */
    bool failed; /* out of memory */
    bool has_doctype, too_deep;
    bool stopped;  /* one of these; handlers may still be called */
    bool of_table; /* the schema of the current table is one of samples */
    bool is_timed; /* its weights are times */
    bool has_table;

    struct strobe_text_pool ids, names; /* names: of frames */
    struct ins_value *values;           /* by number of the id */
    size_t value_room, value_count;
    struct ins_element open[DEPTH_MAX];
    unsigned depth;

    struct ins_thread *threads;
    struct ins_process *processes;
    struct ins_binary *binaries;
    struct strobe_sampled_stack *stacks;
    size_t thread_count, thread_room, process_count, process_room, binary_count, binary_room, stack_count, stack_room;
    uint64_t *frames, *reversed; /* of open stacks, innermost first */
    size_t frame_count, frame_room, reversed_room;

    struct { /* the current row; NO_VALUE: not known */
        uint64_t time_ns, thread, process, running, weight, stack;
    } row;
    struct strobe_idmap rows_of; /* pid -> index of counts */
    uint64_t *counts;
    uint32_t *count_pids;
    size_t count_count, count_room, pid_room;
    uint64_t *cpu_ns; /* by number of samples_store.h */
    size_t cpu_room;
    uint64_t weight_sum, weight_count;
    uint32_t main_tid;
    char command[64];
};

/* ---- values */

static void stop_ins(struct ins *s, bool *why)
{
    *why = s->stopped = true;
    XML_StopParser(s->parser, XML_FALSE);
}

static void ins_fail(struct ins *s)
{
    stop_ins(s, &s->failed);
}

/* Adds a zeroed item to an array and returns its index; 0 after a failure. */
#define INS_ADD(s, items, count, room)                                                                                 \
    (strobe_array_reserve(&(s)->items, &(s)->room, (s)->count + 1)                                                     \
         ? (memset(&(s)->items[(s)->count], 0, sizeof *(s)->items), (s)->count++)                                      \
         : (ins_fail(s), (size_t)0))

static const char *ins_attribute(const char **attributes, const char *name)
{
    for (; attributes[0]; attributes += 2)
        if (!strcmp(attributes[0], name))
            return attributes[1];
    return NULL;
}

/* Returns the address in a text such as "0x1f"; 0 = it is none. */
static uint64_t ins_address(const char *text)
{
    uint64_t value;
    struct strobe_cursor c = strobe_cursor(text ? text : "", text ? strlen(text) : 0);
    return strobe_cursor_take(&c, "0x") && strobe_cursor_take_hex(&c, &value) && c.at == c.end ? value : 0;
}

static uint64_t ins_number(const struct ins_element *e)
{
    uint64_t value;
    struct strobe_cursor c = strobe_cursor(e->text, e->text_bytes);
    while (c.at < c.end && strchr(" \t\r\n", *c.at))
        c.at++;
    while (c.end > c.at && strchr(" \t\r\n", c.end[-1]))
        c.end--;
    return strobe_cursor_take_number(&c, STROBE_SAMPLED_TIME_MAX - 1, &value) && c.at == c.end ? value : NO_VALUE;
}

/* Returns the value that an id of this kind stands for, or NO_VALUE. */
static uint64_t ins_lookup(struct ins *s, const char *ref, enum ins_kind kind)
{
    uint32_t id = strobe_text_number(&s->ids, ref, strlen(ref));
    if (id == UINT32_MAX)
        ins_fail(s);
    if (id < s->value_count && s->values[id].kind == kind && s->values[id].value != NO_VALUE)
        return s->values[id].value;
    s->stats->undefined += !s->survey;
    return NO_VALUE;
}

static void ins_define(struct ins *s, const struct ins_element *e)
{
    if (e->id == UINT32_MAX || e->value == NO_VALUE)
        return;
    if (!strobe_array_reserve_zeroed(&s->values, &s->value_room, (size_t)e->id + 1)) {
        ins_fail(s);
        return;
    }
    s->value_count = e->id >= s->value_count ? (size_t)e->id + 1 : s->value_count;
    s->values[e->id] = (struct ins_value){e->kind, e->value};
}

/* ---- elements begin */

/* Copies the part of "NAME 0x1f (app, pid: 7)" before the number. */
static void name_ins_thread(struct ins_thread *t, const char *text)
{
    static const char main_thread[] = "Main Thread";
    const char *end = text + strlen(text);
    for (const char *at = text; (at = strstr(at, "0x")); at++)
        if (at == text || at[-1] == ' ') {
            size_t digits = strspn(at + 2, "0123456789abcdefABCDEF");
            if (digits && (at[2 + digits] == ' ' || !at[2 + digits]))
                end = at;
        }
    while (end > text && end[-1] == ' ')
        end--;
    size_t bytes = (size_t)(end - text) < sizeof t->name - 1 ? (size_t)(end - text) : sizeof t->name - 1;
    memcpy(t->name, text, bytes);
    t->is_main = !strncmp(text, main_thread, sizeof main_thread - 1);
}

/* Copies the part of "NAME (7)" before the parenthesis. */
static void name_ins_process(struct ins_process *p, const char *text)
{
    const char *end = strrchr(text, '(');
    size_t bytes = end ? (size_t)(end - text) : strlen(text);
    while (bytes && text[bytes - 1] == ' ')
        bytes--;
    bytes = bytes < sizeof p->name - 1 ? bytes : sizeof p->name - 1;
    memcpy(p->name, text, bytes);
}

static uint64_t begin_ins_thread(struct ins *s, const char **attributes)
{
    const char *text = ins_attribute(attributes, "fmt");
    size_t i = INS_ADD(s, threads, thread_count, thread_room);
    if (!s->failed && text)
        name_ins_thread(&s->threads[i], text);
    return i;
}

static uint64_t begin_ins_process(struct ins *s, const char **attributes)
{
    const char *text = ins_attribute(attributes, "fmt");
    size_t i = INS_ADD(s, processes, process_count, process_room);
    if (!s->failed && text)
        name_ins_process(&s->processes[i], text);
    return i;
}

static uint64_t begin_ins_binary(struct ins *s, const char **attributes)
{
    const char *name = ins_attribute(attributes, "name"), *path = ins_attribute(attributes, "path");
    size_t i = INS_ADD(s, binaries, binary_count, binary_room);
    if (s->failed)
        return i;
    struct ins_binary *b = &s->binaries[i];
    path = path && *path ? path : name;
    b->load_address = ins_address(ins_attribute(attributes, "load-addr"));
    b->image = path && !s->survey ? strobe_sampled_image(s->out, path, strlen(path)) : 0;
    snprintf(b->name, sizeof b->name, "%s", name ? name : "");
    return i;
}

static void begin_ins_frame(struct ins *s, struct ins_element *e, const char **attributes)
{
    const char *name = ins_attribute(attributes, "name");
    e->address = ins_address(ins_attribute(attributes, "addr"));
    e->name = name && !s->survey ? strobe_text_number(&s->names, name, strlen(name)) : UINT32_MAX;
    if (name && !s->survey && e->name == UINT32_MAX)
        ins_fail(s);
}

/* Notes which table follows. */
static void begin_ins_schema(struct ins *s, const char **attributes)
{
    const char *name = ins_attribute(attributes, "name");
    s->is_timed = name && !strcmp(name, "time-profile");
    s->of_table = s->is_timed || (name && !strcmp(name, "cpu-profile"));
    s->has_table |= s->of_table;
}

static enum ins_kind ins_kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof ins_elements / sizeof ins_elements[0]; i++)
        if (!strcmp(name, ins_elements[i].name))
            return ins_elements[i].kind;
    return INS_OTHER;
}

static void XMLCALL ins_begin(void *ctx, const char *name, const char **attributes)
{
    struct ins *s = ctx;
    if (s->stopped)
        return;
    if (s->depth == DEPTH_MAX) {
        stop_ins(s, &s->too_deep);
        return;
    }
    struct ins_element *e = &s->open[s->depth++];
    const char *id = ins_attribute(attributes, "id"), *ref = ins_attribute(attributes, "ref");
    *e = (struct ins_element){
        .kind = ins_kind_of(name), .id = UINT32_MAX, .value = NO_VALUE, .binary = NO_VALUE, .first = s->frame_count};
    if (e->kind == INS_OTHER)
        return;
    e->is_reference = ref != NULL;
    if (ref) {
        e->value = ins_lookup(s, ref, e->kind);
        return;
    }
    if (id && (e->id = strobe_text_number(&s->ids, id, strlen(id))) == UINT32_MAX)
        ins_fail(s);
    switch (e->kind) {
    case INS_ROW: memset(&s->row, 0xff, sizeof s->row); break;
    case INS_SCHEMA: begin_ins_schema(s, attributes); break;
    case INS_THREAD: e->value = begin_ins_thread(s, attributes); break;
    case INS_PROCESS: e->value = begin_ins_process(s, attributes); break;
    case INS_BINARY: e->value = begin_ins_binary(s, attributes); break;
    case INS_FRAME: begin_ins_frame(s, e, attributes); break;
    default: break;
    }
}

static void XMLCALL ins_text(void *ctx, const char *text, int bytes)
{
    struct ins *s = ctx;
    struct ins_element *e = s->depth && !s->stopped ? &s->open[s->depth - 1] : NULL;
    if (!e || e->kind == INS_OTHER)
        return;
    size_t room = sizeof e->text - e->text_bytes, n = (size_t)bytes < room ? (size_t)bytes : room;
    memcpy(e->text + e->text_bytes, text, n);
    e->text_bytes += n;
}

/* ---- elements end */

/* Makes the frame of an element: `binary` is an index, or NO_VALUE. */
static uint64_t end_ins_frame(struct ins *s, const struct ins_element *e, uint64_t binary)
{
    const struct ins_binary *b = binary == NO_VALUE ? NULL : &s->binaries[binary];
    const char *name = e->name == UINT32_MAX ? "" : s->names.texts[e->name];
    char text[sizeof b->name + 32];
    if (s->survey)
        return 0;
    bool nameless = !*name || (e->address && ins_address(name) == e->address);
    if (nameless && b && b->name[0] && e->address >= b->load_address) {
        snprintf(text, sizeof text, "%s+0x%" PRIx64, b->name, e->address - b->load_address);
        name = text;
    } else if (nameless) {
        snprintf(text, sizeof text, "0x%" PRIx64, e->address);
        name = text;
    }
    return strobe_sampled_function(s->out, b ? b->image : 0, name, strlen(name));
}

static void push_ins_frame(struct ins *s, uint64_t frame)
{
    if (!strobe_array_reserve(&s->frames, &s->frame_room, s->frame_count + 1))
        ins_fail(s);
    else
        s->frames[s->frame_count++] = frame;
}

/* Makes a stack of the frames of an element. Returns its index; NO_VALUE: it has no frame. */
static uint64_t end_ins_stack(struct ins *s, const struct ins_element *e)
{
    size_t count = s->frame_count - e->first;
    if (!count)
        return e->value; /* that of the element within */
    if (s->survey) {
        s->frame_count = e->first;
        return 0;
    }
    if (!strobe_array_reserve(&s->reversed, &s->reversed_room, count)) {
        ins_fail(s);
        return NO_VALUE;
    }
    for (size_t i = 0; i < count; i++)
        s->reversed[i] = s->frames[s->frame_count - 1 - i];
    s->frame_count = e->first;
    size_t i = INS_ADD(s, stacks, stack_count, stack_room);
    if (!s->failed)
        s->stacks[i] = strobe_sampled_stack(s->out, s->reversed, count);
    return i;
}

static void count_ins_row(struct ins *s, uint32_t pid)
{
    int fresh;
    uint32_t *place = strobe_idmap_put(&s->rows_of, pid, 0, &fresh);
    if (place && fresh) {
        *place = (uint32_t)s->count_count;
        if (!strobe_array_reserve(&s->counts, &s->count_room, s->count_count + 1) ||
            !strobe_array_reserve(&s->count_pids, &s->pid_room, s->count_count + 1))
            place = NULL;
        else {
            s->counts[s->count_count] = 0;
            s->count_pids[s->count_count++] = pid;
        }
    }
    if (place)
        s->counts[*place]++;
    else
        ins_fail(s);
}

/* Adds the row as a point. */
static void add_ins_row(struct ins *s, const struct ins_thread *t)
{
    struct strobe_sampled_stack stack = {0};
    uint32_t number = strobe_sampled_thread(s->out, t->tid);
    if (s->row.stack != NO_VALUE)
        stack = s->stacks[s->row.stack];
    struct strobe_sampled_point p = {.first_ns = s->row.time_ns,
                                     .last_ns = s->row.time_ns,
                                     .cpu_ns = STROBE_SAMPLED_CPU_UNKNOWN,
                                     .stack = stack,
                                     .thread = number,
                                     .count = 1,
                                     .kind = STROBE_KIND_ASYNC};
    if (number == STROBE_SAMPLED_NO_THREAD ||
        !strobe_array_reserve_zeroed(&s->cpu_ns, &s->cpu_room, (size_t)number + 1)) {
        ins_fail(s);
        return;
    }
    if (t->name[0])
        strobe_sampled_rename(s->out, number, t->name, strlen(t->name));
    if (s->is_timed && s->row.weight != NO_VALUE && s->row.weight) {
        bool running = s->row.running == NO_VALUE || s->row.running;
        uint64_t cpu_ns = s->cpu_ns[number] + (running ? s->row.weight : 0);
        p.cpu_ns = s->cpu_ns[number] = cpu_ns < STROBE_SAMPLED_TIME_MAX ? cpu_ns : STROBE_SAMPLED_TIME_MAX;
        p.kind = running ? STROBE_KIND_CPU : STROBE_KIND_ASYNC;
        s->weight_sum = s->weight_sum + s->row.weight < STROBE_SAMPLED_TIME_MAX ? s->weight_sum + s->row.weight
                                                                                : STROBE_SAMPLED_TIME_MAX;
        s->weight_count++;
    }
    s->main_tid = t->is_main ? t->tid : s->main_tid;
    s->stats->without_stack += !p.stack.id;
    if (strobe_sampled_point(s->out, &p))
        s->stats->rows++;
    else
        s->stats->damaged++;
}

static void end_ins_row(struct ins *s)
{
    const struct ins_thread *t = s->row.thread == NO_VALUE ? NULL : &s->threads[s->row.thread];
    const struct ins_process *process = s->row.process == NO_VALUE ? NULL : &s->processes[s->row.process];
    uint32_t pid = t && t->pid ? t->pid : process ? process->pid : 0;
    if (!s->of_table) {
        s->stats->other_tables += !s->survey;
    } else if (s->survey) {
        count_ins_row(s, pid);
    } else if (!t || s->row.time_ns == NO_VALUE) {
        s->stats->damaged++;
    } else if (pid != s->stats->pid) {
        s->stats->other_processes++;
    } else {
        if (process && process->name[0])
            memcpy(s->command, process->name, sizeof s->command);
        add_ins_row(s, t);
    }
}

/* Hands the value of an element to the one around it. */
static void hand_ins_value(struct ins *s, const struct ins_element *e, struct ins_element *around)
{
    if (e->value == NO_VALUE)
        return;
    switch (e->kind) {
    case INS_TIME: s->row.time_ns = e->value; return;
    case INS_WEIGHT: s->row.weight = e->value; return;
    case INS_STATE: s->row.running = e->value; return;
    case INS_TID:
        if (around->kind == INS_THREAD && around->value != NO_VALUE && e->value <= UINT32_MAX)
            s->threads[around->value].tid = (uint32_t)e->value;
        return;
    case INS_PID:
        if (around->kind == INS_PROCESS && around->value != NO_VALUE && e->value <= UINT32_MAX)
            s->processes[around->value].pid = (uint32_t)e->value;
        return;
    case INS_PROCESS:
        if (around->kind == INS_THREAD && around->value != NO_VALUE)
            s->threads[around->value].pid = s->processes[e->value].pid;
        s->row.process = e->value;
        return;
    case INS_THREAD: s->row.thread = e->value; return;
    case INS_BINARY: around->binary = e->value; return;
    case INS_FRAME:
        if (around->kind == INS_STACK)
            push_ins_frame(s, e->value);
        return;
    case INS_STACK:
        if (around->kind == INS_STACK)
            around->value = e->value;
        else
            s->row.stack = e->value;
        return;
    default: return;
    }
}

static bool is_running(const struct ins_element *e)
{
    static const char running[] = "Running";
    return e->text_bytes == sizeof running - 1 && !memcmp(e->text, running, sizeof running - 1);
}

static void XMLCALL ins_end(void *ctx, const char *name)
{
    static struct ins_element none;
    struct ins *s = ctx;
    (void)name;
    if (!s->depth || s->stopped)
        return;
    struct ins_element *e = &s->open[--s->depth], *around = s->depth ? &s->open[s->depth - 1] : &none;
    if (e->is_reference)
        s->frame_count = e->first; /* such an element should be empty */
    switch (e->is_reference ? INS_OTHER : e->kind) {
    case INS_ROW: end_ins_row(s); return;
    case INS_TIME:
    case INS_TID:
    case INS_PID:
    case INS_WEIGHT: e->value = ins_number(e); break;
    case INS_STATE: e->value = is_running(e); break;
    case INS_FRAME: e->value = end_ins_frame(s, e, e->binary); break;
    case INS_STACK: e->value = end_ins_stack(s, e); break;
    default: break;
    }
    if (s->stopped)
        return;
    ins_define(s, e);
    hand_ins_value(s, e, around);
}

/* ---- the file */

static void XMLCALL ins_doctype(void *ctx, const char *name, const char *system, const char *public, int has_subset)
{
    struct ins *s = ctx;
    (void)name, (void)system, (void)public, (void)has_subset;
    stop_ins(s, &s->has_doctype);
}

/* Forgets what the elements of the first pass were. */
static void clear_ins_elements(struct ins *s)
{
    strobe_text_pool_free(&s->ids);
    if (s->value_count)
        memset(s->values, 0, s->value_count * sizeof *s->values);
    s->value_count = s->thread_count = s->process_count = s->binary_count = s->stack_count = s->frame_count = 0;
    s->depth = 0;
    s->of_table = false;
}

/* Feeds the file to a parser. Returns true when all of it is well-formed; else `error` says what is not. */
static bool parse_ins(struct ins *s, const char *file, size_t bytes, struct strobe_error *error)
{
    s->parser = XML_ParserCreate(NULL);
    if (!s->parser) {
        s->failed = true;
        return false;
    }
    XML_SetUserData(s->parser, s);
    XML_SetElementHandler(s->parser, ins_begin, ins_end);
    XML_SetCharacterDataHandler(s->parser, ins_text);
    XML_SetStartDoctypeDeclHandler(s->parser, ins_doctype);
    enum XML_Status status = XML_STATUS_OK;
    do {
        size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        status = XML_Parse(s->parser, file, (int)piece, piece == bytes);
        file += piece;
        bytes -= piece;
    } while (bytes && status == XML_STATUS_OK);
    s->stats->fault_line = status == XML_STATUS_OK ? 0 : XML_GetCurrentLineNumber(s->parser);
    s->failed |= XML_GetErrorCode(s->parser) == XML_ERROR_NO_MEMORY;
    bool malformed = !s->has_doctype && !s->too_deep;
    strobe_error_set(error, "line %" PRIu64 ": %s%s", s->stats->fault_line,
                     s->has_doctype ? "a document type declaration, which exports of Instruments do not have"
                     : s->too_deep  ? "elements are nested too deeply for an export of Instruments"
                                    : XML_ErrorString(XML_GetErrorCode(s->parser)),
                     malformed ? "; expected XML that `xctrace export` writes" : "");
    XML_ParserFree(s->parser);
    return status == XML_STATUS_OK;
}

static uint32_t largest_ins_process(const struct ins *s)
{
    size_t most = 0;
    for (size_t i = 1; i < s->count_count; i++)
        if (s->counts[i] > s->counts[most])
            most = i;
    return s->count_count ? s->count_pids[most] : 0;
}

static enum strobe_status read_instruments(struct ins *s, const void *file, size_t bytes, struct strobe_error *error)
{
    struct strobe_instruments_stats *stats = s->stats;
    bool whole = true;
    stats->pid = s->options->pid;
    if (!stats->pid) {
        s->survey = true;
        parse_ins(s, file, bytes, error);
        s->survey = false;
        clear_ins_elements(s);
        stats->pid = largest_ins_process(s);
    }
    if (!s->stopped)
        whole = parse_ins(s, file, bytes, error);
    if (s->failed)
        return STROBE_IO;
    if (s->stopped || (!whole && !stats->rows))
        return STROBE_BAD_INPUT;
    if (!s->has_table) {
        strobe_error_set(error, "no table: expected an export of Instruments with the schema time-profile or "
                                "cpu-profile");
        return STROBE_BAD_INPUT;
    }
    uint64_t weight_ns = s->weight_count ? s->weight_sum / s->weight_count : 0;
    strobe_sampled_interval(s->out, weight_ns, weight_ns);
    strobe_sampled_process(s->out, stats->pid, s->main_tid, s->command);
    return STROBE_OK;
}

enum strobe_status strobe_instruments_read(const void *file, size_t bytes,
                                           const struct strobe_instruments_options *options, struct strobe_sampled *out,
                                           struct strobe_instruments_stats *stats, struct strobe_error *error)
{
    *stats = (struct strobe_instruments_stats){0};
    struct ins *s = calloc(1, sizeof *s);
    if (!s)
        return STROBE_IO;
    s->options = options;
    s->out = out;
    s->stats = stats;
    enum strobe_status status = read_instruments(s, file, bytes, error);
    strobe_text_pool_free(&s->ids);
    strobe_text_pool_free(&s->names);
    strobe_idmap_free(&s->rows_of);
    free(s->values);
    free(s->threads);
    free(s->processes);
    free(s->binaries);
    free(s->stacks);
    free(s->frames);
    free(s->reversed);
    free(s->counts);
    free(s->count_pids);
    free(s->cpu_ns);
    free(s);
    return status;
}
