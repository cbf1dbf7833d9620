#include "engine/trace/import/ftrace/ftrace_convert.h"

#include "engine/trace/import/ftrace/ftrace_forms.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

typedef struct strobe_ftrace_text text;

struct ftrace_thread {
    uint32_t tid, tgid; /* tgid 0 = unknown */
    uint32_t task;      /* number of its name + 1; 0 = unknown */
    bool scheduled;     /* a scheduling event has stated its name */
    bool by_marker;     /* the process is that of a marker */
};

/* ---- states */

uint64_t strobe_ftrace_state_number(text state, int states_of_4_14)
{
    static const struct {
        char letter;
        uint16_t old, new;
    } letters[] = {{'S', 1, 1},     {'D', 2, 2},    {'T', 4, 4},      {'t', 8, 8},
                   {'X', 16, 16},   {'Z', 32, 32},  {'P', 0x200, 64}, {'I', 0x402, 128},
                   {'x', 0x40, 16}, {'K', 0x80, 0}, {'W', 0x100, 0},  {'N', 0x400, 0}};
    const uint64_t invalid = 0xffff;
    uint64_t number = 0;
    if (!state.bytes)
        return invalid;
    if (state.at[0] == 'R')
        return state.bytes > 1 && state.at[1] == '+' ? (states_of_4_14 ? 0x100 : 0x800) : 0;
    for (size_t i = 0; i < state.bytes; i++) {
        size_t k = 0;
        if (state.at[i] == '|')
            continue;
        while (k < sizeof letters / sizeof letters[0] && letters[k].letter != state.at[i])
            k++;
        if (k == sizeof letters / sizeof letters[0])
            return invalid;
        number |= states_of_4_14 ? letters[k].new : letters[k].old;
    }
    return number;
}

/* ---- kinds */

/* Adds the kinds whose forms are known, so that their names have the first numbers. */
static void add_known_kinds(struct strobe_ftrace_convert *c)
{
    for (uint32_t i = 0; i < strobe_ftrace_form_count; i++) {
        const char *event = strobe_ftrace_forms[i].event;
        uint32_t number = strobe_text_number(&c->names, event, strlen(event));
        if ((c->failed |=
             number == UINT32_MAX || !strobe_array_reserve_zeroed(&c->kinds, &c->kind_room, (size_t)number + 1)))
            return;
        if (!c->kinds[number].form_count++)
            c->kinds[number].first_form = i;
    }
}

void strobe_ftrace_convert_open(struct strobe_ftrace_convert *c, struct strobe_ftrace_packets *out,
                                struct strobe_sched_states *states)
{
    *c = (struct strobe_ftrace_convert){.out = out, .states = states};
    add_known_kinds(c);
}

static struct strobe_ftrace_kind *find_kind(struct strobe_ftrace_convert *c, text event)
{
    uint32_t number = strobe_text_number(&c->names, event.at, event.bytes);
    if ((c->failed |=
         number == UINT32_MAX || !strobe_array_reserve_zeroed(&c->kinds, &c->kind_room, (size_t)number + 1)))
        return NULL;
    return &c->kinds[number];
}

bool strobe_ftrace_is_marker(text event)
{
    static const char *const markers[] = {"tracing_mark_write", "print", "0"};
    for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++)
        if (event.bytes == strlen(markers[i]) && !memcmp(event.at, markers[i], event.bytes))
            return true;
    return false;
}

/* ---- threads */

bool strobe_ftrace_marker_process(text marker, uint32_t *pid)
{
    uint64_t n;
    if (marker.bytes < 3 || !strchr("BECSFINGH", marker.at[0]) || marker.at[1] != '|')
        return false;
    text digits = {marker.at + 2, 0};
    while (digits.bytes < marker.bytes - 2 && digits.at[digits.bytes] != '|')
        digits.bytes++;
    if (!strobe_ftrace_number(digits, UINT32_MAX, &n) || !n)
        return false;
    *pid = (uint32_t)n;
    return true;
}

static struct ftrace_thread *find_ftrace_thread(struct strobe_ftrace_convert *c, uint32_t tid)
{
    int fresh;
    uint32_t *index = strobe_idmap_put(&c->by_tid, tid, 0, &fresh);
    if ((c->failed |= !index || (fresh && !strobe_array_reserve(&c->threads, &c->thread_room, c->thread_count + 1))))
        return NULL;
    if (fresh) {
        c->threads[c->thread_count] = (struct ftrace_thread){.tid = tid};
        *index = (uint32_t)c->thread_count++;
    }
    return &c->threads[*index];
}

/* Takes the thread's process and name from a line. */
static void note_thread(struct strobe_ftrace_convert *c, const struct strobe_ftrace_line *line, uint64_t time_ns,
                        bool marker)
{
    struct ftrace_thread *t = line->tid ? find_ftrace_thread(c, line->tid) : NULL;
    uint32_t tgid = line->tgid, number;
    if (!t)
        return;
    bool by_marker =
        !tgid && marker && (!t->tgid || t->by_marker) && strobe_ftrace_marker_process(line->payload, &tgid);
    if (tgid && tgid != t->tgid && (!by_marker || !t->tgid)) {
        t->tgid = tgid;
        t->by_marker = by_marker;
        strobe_ftrace_packets_thread(c->out, time_ns, t->tid, tgid, "", 0);
    }
    if (t->scheduled || !line->task.bytes || (line->task.bytes == 5 && !memcmp(line->task.at, "<...>", 5)))
        return;
    number = strobe_text_number(&c->tasks, line->task.at, line->task.bytes);
    c->failed |= number == UINT32_MAX;
    t->task = number + 1;
}

void strobe_ftrace_convert_process(struct strobe_ftrace_convert *c, const struct strobe_ftrace_process *p)
{
    if (p->tid)
        strobe_ftrace_packets_thread(c->out, c->last_ns, p->tid, p->pid, p->name.at, p->name.bytes);
    else
        strobe_ftrace_packets_process(c->out, c->last_ns, p->pid, p->parent, p->name.at, p->name.bytes);
}

/* ---- events */

static uint8_t *write_ftrace_value(struct strobe_ftrace_convert *c, uint8_t *p, const struct strobe_ftrace_value *v)
{
    switch (v->type) {
    case 's':
    case 'p': return pb_bytes(p, v->field, v->text.at, v->text.bytes);
    case 'f': return pb_uint(p, v->field, strobe_ftrace_packets_function(c->out, v->text.at, v->text.bytes));
    case 't': return pb_uint(p, v->field, strobe_ftrace_state_number(v->text, c->states_of_4_14));
    default: return pb_uint(p, v->field, v->number);
    }
}

/* Writes an event whose message has the values. Names of functions go first, because a packet of their own has them. */
static void write_known(struct strobe_ftrace_convert *c, const struct strobe_ftrace_line *line, uint64_t time_ns,
                        uint32_t field, const struct strobe_ftrace_values *values)
{
    uint8_t *event;
    size_t bytes = line->payload.bytes + (values->count + 1) * PB_FIELD_BYTES_MAX;
    uint8_t *p = strobe_ftrace_packets_begin(c->out, line->cpu, time_ns, line->tid, bytes, &event);
    if (!p)
        return;
    uint8_t *message = p = pb_open(p, field);
    for (size_t i = 0; i < values->count; i++)
        if (values->at[i].field)
            p = write_ftrace_value(c, p, &values->at[i]);
    p = pb_close(message, p);
    strobe_ftrace_packets_end(c->out, line->cpu, event, p);
}

static void write_marker(struct strobe_ftrace_convert *c, const struct strobe_ftrace_line *line, uint64_t time_ns)
{
    const struct strobe_ftrace_values values = {{{.field = 2, .type = 'p', .text = line->payload}}, 1};
    write_known(c, line, time_ns, STROBE_FTRACE_PRINT, &values);
}

/* Writes an event of no known form: its name, and a field `text`. */
static void write_generic(struct strobe_ftrace_convert *c, const struct strobe_ftrace_line *line, uint64_t time_ns)
{
    uint8_t *event;
    size_t bytes = line->event.bytes + line->payload.bytes + 6 * PB_FIELD_BYTES_MAX;
    uint8_t *p = strobe_ftrace_packets_begin(c->out, line->cpu, time_ns, line->tid, bytes, &event);
    if (!p)
        return;
    uint8_t *message = p = pb_open(p, STROBE_FTRACE_GENERIC);
    p = pb_bytes(p, 1, line->event.at, line->event.bytes);
    uint8_t *field = p = pb_open(p, 2);
    p = pb_text(p, 1, "text");
    p = pb_bytes(p, 3, line->payload.at, line->payload.bytes);
    p = pb_close(field, p);
    p = pb_close(message, p);
    strobe_ftrace_packets_end(c->out, line->cpu, event, p);
}

/* ---- scheduling */

static void name_is_scheduled(struct strobe_ftrace_convert *c, uint32_t tid)
{
    struct ftrace_thread *t = tid ? find_ftrace_thread(c, tid) : NULL;
    if (t)
        t->scheduled = true;
}

static uint32_t number_of_field(const struct strobe_ftrace_values *values, uint32_t field)
{
    const struct strobe_ftrace_value *v = strobe_ftrace_value(values, field);
    return v ? (uint32_t)v->number : 0;
}

static void note_scheduling(struct strobe_ftrace_convert *c, uint64_t time_ns, uint32_t field,
                            const struct strobe_ftrace_values *values)
{
    if (field == STROBE_FTRACE_SCHED_SWITCH) {
        text state = strobe_ftrace_value(values, 4)->text;
        uint32_t prev = number_of_field(values, 2), next = number_of_field(values, 6);
        name_is_scheduled(c, prev);
        name_is_scheduled(c, next);
        if (c->states)
            strobe_sched_states_switch(c->states, time_ns, prev, strobe_sched_state_of(state.at, state.bytes), next);
    } else if (field == STROBE_FTRACE_SCHED_WAKING || field == STROBE_FTRACE_SCHED_WAKEUP ||
               field == STROBE_FTRACE_SCHED_WAKEUP_NEW) {
        uint32_t tid = number_of_field(values, 2);
        name_is_scheduled(c, tid);
        if (c->states)
            strobe_sched_states_wake(c->states, time_ns, tid);
    }
}

/* ---- lines */

static uint64_t move_time(struct strobe_ftrace_convert *c, uint64_t time_ns)
{
    uint64_t moved = time_ns + (uint64_t)c->offset_ns;
    if (c->offset_ns < 0 && time_ns < 0 - (uint64_t)c->offset_ns) {
        c->before_zero++;
        moved = 0;
    }
    c->last_ns = moved > c->last_ns ? moved : c->last_ns;
    return moved;
}

void strobe_ftrace_convert_event(struct strobe_ftrace_convert *c, const struct strobe_ftrace_line *line)
{
    struct strobe_ftrace_kind *kind = find_kind(c, line->event);
    struct strobe_ftrace_values values;
    uint64_t time_ns = move_time(c, line->time_ns);
    if (!kind || c->failed)
        return;
    bool marker = !kind->form_count && strobe_ftrace_is_marker(line->event);
    kind->events++;
    note_thread(c, line, time_ns, marker);
    if (c->no_calls && strobe_ftrace_is_read(line))
        return;
    if (marker) {
        write_marker(c, line, time_ns);
        return;
    }
    for (uint32_t i = 0; i < kind->form_count; i++) {
        const struct strobe_ftrace_form *f = &strobe_ftrace_forms[kind->first_form + i];
        if (strobe_ftrace_match(f->form, line->payload, &values)) {
            note_scheduling(c, time_ns, f->field, &values);
            write_known(c, line, time_ns, f->field, &values);
            return;
        }
    }
    kind->unread++;
    write_generic(c, line, time_ns);
}

void strobe_ftrace_convert_finish(struct strobe_ftrace_convert *c)
{
    for (size_t i = 0; i < c->thread_count && !c->failed; i++) {
        const struct ftrace_thread *t = &c->threads[i];
        if (t->scheduled || !t->task || !t->tgid)
            continue;
        const char *name = c->tasks.texts[t->task - 1];
        strobe_ftrace_packets_thread(c->out, c->last_ns, t->tid, t->tgid, name, strlen(name));
    }
}

void strobe_ftrace_convert_close(struct strobe_ftrace_convert *c)
{
    strobe_text_pool_free(&c->names);
    strobe_text_pool_free(&c->tasks);
    strobe_idmap_free(&c->by_tid);
    free(c->kinds);
    free(c->threads);
}
