#include "engine/trace/export/sinks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members of JSON objects have no order. Events are therefore streamed, and members that are known last are written
 * last: a profile's end after its events, the frames after all profiles. */
struct speedscope {
    struct strobe_sink sink;
    struct strobe_outfile *out;
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    uint64_t begin_ns, last_ns;
    const char *name; /* name of the thread of the open profile */
    uint32_t tid;
    int profiles, events; /* written so far; events of the open profile */
    int open;             /* processes started so far */
};

static void speedscope_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                             struct strobe_function_tree *tree)
{
    struct speedscope *s = (struct speedscope *)sink;
    s->reader = reader;
    s->tree = tree;
    if (s->open++)
        return; /* all processes use the clock of the first */
    s->begin_ns = strobe_reader_ns(reader, 0);
    strobe_outfile_text(s->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                                "\"exporter\":\"strobe\",\"name\":\"");
    strobe_outfile_json(s->out, reader->session.header->command);
    strobe_outfile_text(s->out, "\",\"activeProfileIndex\":0,\"profiles\":[");
}

static void speedscope_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    struct speedscope *s = (struct speedscope *)sink;
    strobe_outfile_text(s->out, s->profiles++ ? ",\n{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"events\":["
                                              : "\n{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"events\":[");
    s->name = t->name;
    s->tid = t->tid;
    s->events = 0;
    s->last_ns = 0;
}

static void write_event(struct speedscope *s, const char *type, uint32_t frame, uint64_t time_ns)
{
    s->last_ns = time_ns - s->begin_ns;
    strobe_outfile_text(s->out, s->events++ ? ",\n{\"type\":\"" : "\n{\"type\":\"");
    strobe_outfile_text(s->out, type);
    strobe_outfile_text(s->out, "\",\"frame\":");
    strobe_outfile_number(s->out, frame);
    strobe_outfile_text(s->out, ",\"at\":");
    strobe_outfile_number(s->out, s->last_ns);
    strobe_outfile_text(s->out, "}");
}

static void speedscope_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    write_event((struct speedscope *)sink, "O", slice->name, slice->begin.time_ns);
}

static void speedscope_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice,
                                 const struct strobe_moment *now)
{
    write_event((struct speedscope *)sink, "C", slice->name, now->time_ns);
}

static void write_process(struct speedscope *s)
{
    const struct strobe_session_header *h = s->reader->session.header;
    char name[STROBE_PATH_BYTES];
    size_t bytes;
    const char *from = strobe_sink_process_name(h, &bytes);
    memcpy(name, from, bytes);
    name[bytes] = '\0';
    strobe_outfile_json(s->out, name);
    strobe_outfile_text(s->out, " ");
    strobe_outfile_number(s->out, h->pid);
    strobe_outfile_text(s->out, ": ");
}

static void speedscope_thread_end(struct strobe_sink *sink)
{
    struct speedscope *s = (struct speedscope *)sink;
    strobe_outfile_text(s->out, "\n],\"startValue\":0,\"endValue\":");
    strobe_outfile_number(s->out, s->last_ns);
    strobe_outfile_text(s->out, ",\"name\":\"");
    if (s->sink.several)
        write_process(s);
    strobe_outfile_json(s->out, s->name);
    strobe_outfile_text(s->out, " (");
    strobe_outfile_number(s->out, s->tid);
    strobe_outfile_text(s->out, ")\"}");
}

static void write_frame_name(struct speedscope *s, const struct strobe_name *name)
{
    strobe_outfile_text(s->out, "{\"name\":\"");
    strobe_outfile_json(s->out, name->text);
    if (name->file[0]) {
        strobe_outfile_text(s->out, "\",\"file\":\"");
        strobe_outfile_json(s->out, name->file);
        if (name->line) {
            strobe_outfile_text(s->out, "\",\"line\":");
            strobe_outfile_number(s->out, name->line);
            strobe_outfile_text(s->out, "}");
            return;
        }
    }
    strobe_outfile_text(s->out, "\"}");
}

static enum strobe_status speedscope_finish(struct strobe_sink *sink)
{
    struct speedscope *s = (struct speedscope *)sink;
    strobe_outfile_text(s->out, "],\"shared\":{\"frames\":[");
    uint32_t count = s->tree ? strobe_function_tree_name_count(s->tree) : 0;
    for (uint32_t i = 0; i < count; i++) {
        strobe_outfile_text(s->out, i ? ",\n" : "\n");
        write_frame_name(s, strobe_function_tree_name(s->tree, i));
    }
    strobe_outfile_text(s->out, "]}}\n");
    free(s);
    return STROBE_OK;
}

struct strobe_sink *strobe_sink_speedscope(struct strobe_outfile *out)
{
    struct speedscope *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = (struct strobe_sink){.start = speedscope_start,
                                   .thread_begin = speedscope_thread_begin,
                                   .slice_begin = speedscope_slice_begin,
                                   .slice_end = speedscope_slice_end,
                                   .thread_end = speedscope_thread_end,
                                   .finish = speedscope_finish};
    s->out = out;
    return &s->sink;
}
