/* Writes calls as profilo's delta text: see profilo_text.h. */
#include "engine/trace/import/rhea/rhea.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct writing {
    struct strobe_outfile *out;
    struct strobe_profilo_state state;
    int32_t id;
    uint64_t blanked;
};

static void write_entry(struct writing *w, struct strobe_profilo_entry *e, const char *type)
{
    char line[STROBE_PROFILO_LINE_BYTES];
    e->id = ++w->id;
    snprintf(e->type, sizeof e->type, "%s", type);
    strobe_outfile_write(w->out, line, strobe_profilo_write(&w->state, e, line, &w->blanked));
}

/* A name may have any length, so it is written in pieces. */
static void put_name(struct writing *w, const char *name)
{
    char head[STROBE_PROFILO_LINE_BYTES];
    struct strobe_profilo_entry e = {.id = w->id + 1, .matchid = w->id, .type = "STRING_NAME", .text = ""};
    size_t bytes = strobe_profilo_write(&w->state, &e, head, &w->blanked);
    strobe_outfile_write(w->out, head, bytes - 1);
    for (const char *c = name; *c; c++) {
        bool blank = *c == '\n' || *c == '\r';
        w->blanked += blank;
        strobe_outfile_write(w->out, blank ? " " : c, 1);
    }
    strobe_outfile_write(w->out, "\n", 1);
    w->id++;
}

static bool put_thread(struct writing *w, const struct strobe_calls *calls, const struct strobe_calls_thread *t)
{
    for (size_t i = 0; i < t->call_count; i++) {
        const struct strobe_call *c = &t->calls[i];
        struct strobe_profilo_entry e = {.timestamp = (int64_t)c->time_ns, .tid = (int32_t)t->tid};
        if (c->what == STROBE_CALL_THROW || w->id > INT32_MAX - 4)
            return false;
        write_entry(w, &e, c->what == STROBE_CALL_BEGIN ? "MARK_PUSH" : "MARK_POP");
        if (c->what == STROBE_CALL_BEGIN && c->name != STROBE_CALL_ANY)
            put_name(w, calls->names.texts[c->name]);
    }
    return true;
}

enum strobe_status strobe_profilo_write_calls(const struct strobe_calls *calls, struct strobe_outfile *out,
                                              uint64_t *blanked)
{
    struct writing w = {.out = out, .state.delta = true};
    struct strobe_profilo_entry e = {.timestamp = (int64_t)calls->begin_ns, .tid = (int32_t)calls->pid};
    strobe_outfile_text(out, "dt\nver|3\nprec|9\n");
    if (calls->pid) {
        strobe_outfile_text(out, "pid|");
        strobe_outfile_number(out, calls->pid);
        strobe_outfile_text(out, "\n");
    }
    strobe_outfile_text(out, "\n");
    write_entry(&w, &e, "TRACE_START");
    bool whole = true;
    for (size_t i = 0; i < calls->thread_count && whole; i++)
        whole = put_thread(&w, calls, &calls->threads[i]);
    e.timestamp = (int64_t)calls->end_ns;
    write_entry(&w, &e, "TRACE_END");
    *blanked = w.blanked;
    return whole ? STROBE_OK : STROBE_BAD_INPUT;
}
