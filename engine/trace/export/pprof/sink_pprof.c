#include "engine/trace/export/pprof/sink_pprof.h"

#include "engine/trace/export/pb.h"
#include "engine/trace/export/pprof/gzip.h"
#include "engine/trace/model/allocations.h"
#include "engine/util/array.h"
#include "engine/util/text_pool.h"
#include "engine/util/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_TIME = 9,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
    PROFILE_DEFAULT_TYPE,
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABELS };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_FILE = 5, MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };

/* The values of a sample, in this order. */
enum { VALUE_SAMPLES, VALUE_CPU, VALUE_WALL, VALUE_OFF_CPU, VALUE_ALLOC, VALUES };
static const char *const value_types[VALUES][2] = {[VALUE_SAMPLES] = {"samples", "count"},
                                                   [VALUE_CPU] = {"cpu", "nanoseconds"},
                                                   [VALUE_WALL] = {"wall", "nanoseconds"},
                                                   [VALUE_OFF_CPU] = {"off-cpu", "nanoseconds"},
                                                   [VALUE_ALLOC] = {"alloc_space", "bytes"}};

struct pprof_values {
    uint64_t of[VALUES];
    int touched;
};

struct pprof_mapping {
    uint32_t file; /* text number of the path */
    uint64_t start, end;
    uint32_t build_id; /* text number; 0 = none */
};

struct pprof {
    struct strobe_sink sink;
    struct strobe_gzip *gzip;
    struct strobe_text_pool texts; /* the string table */
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    const struct strobe_reader_thread *thread;
    uint64_t from_ns, to_ns;     /* of allocations */
    struct pprof_values *values; /* by node of the tree, of this thread */
    size_t value_room;
    uint32_t *touched; /* nodes with values */
    size_t touched_count, touched_room;
    uint8_t *used; /* by name of the tree: it occurs in a sample */
    size_t used_room;
    struct pprof_mapping *mappings;
    size_t mapping_count, mapping_room;
    uint8_t *message; /* the message that is being written */
    size_t message_room;
    uint64_t begin_ns, last_ns, since_ns;
    uint32_t node; /* innermost since since_ns */
    int started, failed;
};

/* ---- messages */

static uint32_t text_of_profile(struct pprof *w, const char *text, size_t bytes)
{
    uint32_t number = strobe_text_number(&w->texts, text, bytes);
    w->failed |= number == UINT32_MAX;
    return number == UINT32_MAX ? 0 : number;
}

static uint32_t intern_profile_text(struct pprof *w, const char *text)
{
    return text_of_profile(w, text, strlen(text));
}

/* Returns the buffer for a message of at most `bytes` bytes; NULL: out of memory. */
static uint8_t *begin_profile_message(struct pprof *w, size_t bytes)
{
    if (!strobe_array_reserve(&w->message, &w->message_room, bytes))
        w->failed = 1;
    return w->failed ? NULL : w->message;
}

/* Writes the message from the buffer to `end` as a field of the profile. */
static void write_profile_message(struct pprof *w, unsigned field, const uint8_t *end)
{
    uint8_t head[PB_FIELD_BYTES_MAX];
    size_t bytes = (size_t)(end - w->message);
    uint8_t *p = strobe_varint_put(strobe_varint_put(head, field << 3 | 2), bytes);
    strobe_gzip_write(w->gzip, head, (size_t)(p - head));
    strobe_gzip_write(w->gzip, w->message, bytes);
}

static void write_profile_number(struct pprof *w, unsigned field, uint64_t value)
{
    uint8_t head[PB_FIELD_BYTES_MAX];
    if (value)
        strobe_gzip_write(w->gzip, head, (size_t)(pb_uint(head, field, value) - head));
}

static void write_value_type(struct pprof *w, unsigned field, const char *const type[2])
{
    uint32_t name = intern_profile_text(w, type[0]), unit = intern_profile_text(w, type[1]);
    uint8_t *p = begin_profile_message(w, 2 * PB_FIELD_BYTES_MAX);
    if (p)
        write_profile_message(w, field, pb_uint(pb_uint(p, TYPE_TYPE, name), TYPE_UNIT, unit));
}

/* ---- values */

static struct pprof_values *values_of_node(struct pprof *w, uint32_t node)
{
    if (!strobe_array_reserve_zeroed(&w->values, &w->value_room, (size_t)node + 1) ||
        !strobe_array_reserve(&w->touched, &w->touched_room, w->touched_count + 1)) {
        w->failed = 1;
        return NULL;
    }
    if (!w->values[node].touched)
        w->touched[w->touched_count++] = node;
    w->values[node].touched = 1;
    return &w->values[node];
}

static void add_profile_value(struct pprof *w, uint32_t node, unsigned which, uint64_t value)
{
    struct pprof_values *v = node && value ? values_of_node(w, node) : NULL;
    if (v)
        v->of[which] += value;
}

static void pprof_advance(struct pprof *w, uint64_t now_ns, uint32_t node)
{
    if (now_ns > w->since_ns)
        add_profile_value(w, w->node, VALUE_WALL, now_ns - w->since_ns);
    w->last_ns = now_ns > w->last_ns ? now_ns : w->last_ns;
    w->since_ns = now_ns;
    w->node = node;
}

/* ---- mappings */

static void set_build_id(struct pprof *w, struct pprof_mapping *m, const struct strobe_image_entry *image)
{
    char text[2 * STROBE_BUILD_ID_BYTES];
    size_t bytes = image->build_id_bytes <= STROBE_BUILD_ID_BYTES ? image->build_id_bytes : 0;
    for (size_t i = 0; i < 2 * bytes; i++)
        text[i] = "0123456789abcdef"[image->build_id[i / 2] >> (i % 2 ? 0 : 4) & 15];
    m->build_id = bytes ? text_of_profile(w, text, 2 * bytes) : 0;
}

/* Returns the id of the mapping of a file, which is added if needed; 0 for functions of no file. */
static uint32_t mapping_of_file(struct pprof *w, const char *path)
{
    if (!path[0])
        return 0;
    uint32_t file = intern_profile_text(w, path);
    for (size_t i = 0; i < w->mapping_count; i++)
        if (w->mappings[i].file == file)
            return (uint32_t)i + 1;
    if (!strobe_array_reserve(&w->mappings, &w->mapping_room, w->mapping_count + 1)) {
        w->failed = 1;
        return 0;
    }
    w->mappings[w->mapping_count] = (struct pprof_mapping){.file = file};
    return (uint32_t)++w->mapping_count;
}

/* The first mapping of a profile is the program's, as the images of a session begin with it. */
static void take_images(struct pprof *w)
{
    for (uint32_t i = 0; i < w->reader->image_count; i++) {
        const struct strobe_image_entry *image = strobe_reader_image(w->reader, i);
        size_t before = w->mapping_count;
        uint32_t id = image ? mapping_of_file(w, image->path) : 0;
        if (id <= before)
            continue;
        w->mappings[id - 1].start = image->start;
        w->mappings[id - 1].end = image->end;
        set_build_id(w, &w->mappings[id - 1], image);
    }
}

static void write_mappings(struct pprof *w)
{
    for (size_t i = 0; i < w->mapping_count && !w->failed; i++) {
        const struct pprof_mapping *m = &w->mappings[i];
        uint8_t *p = begin_profile_message(w, 6 * PB_FIELD_BYTES_MAX);
        if (!p)
            return;
        p = pb_uint(p, MAPPING_ID, i + 1);
        p = pb_uint(pb_uint(p, MAPPING_START, m->start), MAPPING_LIMIT, m->end);
        p = pb_uint(pb_uint(p, MAPPING_FILE, m->file), MAPPING_BUILD_ID, m->build_id);
        write_profile_message(w, PROFILE_MAPPING, pb_uint(p, MAPPING_HAS_FUNCTIONS, 1));
    }
}

/* ---- the sink */

static void pprof_start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    struct pprof *w = (struct pprof *)sink;
    w->reader = reader;
    w->tree = tree;
    if (!w->started++) {
        w->begin_ns = strobe_reader_ns(reader, reader->first_ticks);
        intern_profile_text(w, ""); /* number 0 of the string table */
        for (unsigned i = 0; i < VALUES; i++)
            write_value_type(w, PROFILE_SAMPLE_TYPE, value_types[i]);
        write_value_type(w, PROFILE_PERIOD_TYPE, value_types[VALUE_CPU]);
        write_profile_number(w, PROFILE_PERIOD, reader->session.header->config.async_interval_ns);
        write_profile_number(w, PROFILE_TIME, reader->session.header->begin.realtime_ns);
        write_profile_number(w, PROFILE_DEFAULT_TYPE, intern_profile_text(w, value_types[VALUE_CPU][0]));
    }
    take_images(w);
}

static void pprof_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct pprof *w = (struct pprof *)sink;
    w->thread = thread;
    w->node = 0;
    w->touched_count = 0;
}

static void pprof_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    pprof_advance((struct pprof *)sink, slice->begin.time_ns, slice->node);
}

static void pprof_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    struct pprof *w = (struct pprof *)sink;
    pprof_advance(w, now->time_ns, strobe_function_tree_node(w->tree, slice->node)->parent);
}

static void pprof_samples(struct strobe_sink *sink, const struct strobe_samples *s)
{
    struct pprof *w = (struct pprof *)sink;
    add_profile_value(w, strobe_function_tree_of_stack(w->tree, s->stack, s->incomplete), VALUE_SAMPLES, s->count);
}

static void pprof_cpu(struct strobe_sink *sink, const struct strobe_cpu_share *s)
{
    add_profile_value((struct pprof *)sink, s->node, VALUE_CPU, s->cpu_ns);
}

static uint8_t *put_label(struct pprof *w, uint8_t *p, const char *key, uint32_t text, uint64_t number)
{
    uint32_t key_text = intern_profile_text(w, key);
    uint8_t *label = pb_open(p, SAMPLE_LABELS);
    p = pb_uint(label, LABEL_KEY, key_text);
    p = text ? pb_uint(p, LABEL_TEXT, text) : pb_uint(p, LABEL_NUMBER, number);
    return pb_close(label, p);
}

static void write_profile_sample(struct pprof *w, uint32_t leaf, const struct pprof_values *v)
{
    const struct strobe_function_node *nodes = strobe_function_tree_node(w->tree, 0);
    enum { FIELDS = 2 + VALUES + 4 * 4 };
    uint8_t *p = begin_profile_message(w, ((size_t)nodes[leaf].depth + FIELDS) * PB_FIELD_BYTES_MAX);
    if (!p || !strobe_array_reserve_zeroed(&w->used, &w->used_room, strobe_function_tree_name_count(w->tree))) {
        w->failed = 1;
        return;
    }
    for (uint32_t node = leaf; node; node = nodes[node].parent) {
        p = pb_uint(p, SAMPLE_LOCATIONS, nodes[node].name + 1u);
        w->used[nodes[node].name] = 1;
    }
    for (unsigned i = 0; i < VALUES; i++)
        p = pb_uint(p, SAMPLE_VALUES, v->of[i]);
    p = put_label(w, p, "thread", intern_profile_text(w, w->thread->name), 0);
    p = put_label(w, p, "tid", 0, w->thread->tid);
    if (w->sink.several) {
        size_t bytes;
        const char *name = strobe_sink_process_name(w->reader->session.header, &bytes);
        p = put_label(w, p, "process", text_of_profile(w, name, bytes), 0);
        p = put_label(w, p, "pid", 0, w->reader->session.header->pid);
    }
    write_profile_message(w, PROFILE_SAMPLE, p);
}

static void take_profile_allocations(struct pprof *w)
{
    struct strobe_allocation_sum sum = {0};
    if (strobe_allocations_add(&sum, w->reader, w->thread, w->tree, w->from_ns, w->to_ns) != STROBE_OK)
        w->failed = 1;
    for (uint32_t node = 0; node < sum.node_room; node++)
        add_profile_value(w, node, VALUE_ALLOC, sum.of_node[node].bytes);
    strobe_allocations_free(&sum);
}

static void pprof_thread_end(struct strobe_sink *sink)
{
    struct pprof *w = (struct pprof *)sink;
    take_profile_allocations(w);
    for (size_t i = 0; i < w->touched_count; i++) {
        struct pprof_values *v = &w->values[w->touched[i]];
        v->of[VALUE_OFF_CPU] = v->of[VALUE_WALL] > v->of[VALUE_CPU] ? v->of[VALUE_WALL] - v->of[VALUE_CPU] : 0;
        if (!w->failed)
            write_profile_sample(w, w->touched[i], v);
        *v = (struct pprof_values){0};
    }
}

/* ---- tables */

static void write_profile_functions(struct pprof *w)
{
    uint32_t count = w->tree ? strobe_function_tree_name_count(w->tree) : 0;
    for (uint32_t i = 0; i < count && i < w->used_room && !w->failed; i++) {
        if (!w->used[i])
            continue;
        const struct strobe_name *name = strobe_function_tree_name(w->tree, i);
        uint32_t text = intern_profile_text(w, name->text), file = intern_profile_text(w, name->file);
        uint32_t mapping = mapping_of_file(w, name->image);
        uint8_t *p = begin_profile_message(w, 7 * PB_FIELD_BYTES_MAX);
        if (!p)
            return;
        p = pb_uint(pb_uint(p, LOCATION_ID, i + 1u), LOCATION_MAPPING, mapping);
        p = pb_uint(p, LOCATION_ADDRESS, name->address);
        uint8_t *line = pb_open(p, LOCATION_LINE);
        p = pb_uint(pb_uint(line, LINE_FUNCTION, i + 1u), LINE_LINE, name->line);
        write_profile_message(w, PROFILE_LOCATION, pb_close(line, p));
        p = pb_uint(pb_uint(w->message, FUNCTION_ID, i + 1u), FUNCTION_NAME, text);
        p = pb_uint(pb_uint(p, FUNCTION_SYSTEM_NAME, text), FUNCTION_FILE, file);
        write_profile_message(w, PROFILE_FUNCTION, pb_uint(p, FUNCTION_LINE, name->line));
    }
}

/* Writes the string table. Each byte that is not valid UTF-8 becomes U+FFFD. */
static void write_strings(struct pprof *w)
{
    static const char replacement[] = "\xef\xbf\xbd";
    for (size_t i = 0; i < w->texts.count && !w->failed; i++) {
        const char *text = w->texts.texts[i];
        uint8_t *p = begin_profile_message(w, strlen(text) * (sizeof replacement - 1) + 1);
        while (p && *text) {
            size_t bytes = strobe_utf8_bytes(text, 4);
            const char *from = bytes ? text : replacement;
            size_t count = bytes ? bytes : sizeof replacement - 1;
            memcpy(p, from, count);
            p += count;
            text += bytes ? bytes : 1;
        }
        if (p)
            write_profile_message(w, PROFILE_STRING, p);
    }
}

static enum strobe_status pprof_finish(struct strobe_sink *sink)
{
    struct pprof *w = (struct pprof *)sink;
    if (w->started && !w->failed) {
        write_profile_functions(w);
        write_mappings(w);
        write_profile_number(w, PROFILE_DURATION, w->last_ns > w->begin_ns ? w->last_ns - w->begin_ns : 0);
        write_strings(w);
    }
    int failed = strobe_gzip_close(w->gzip) != STROBE_OK || w->failed;
    strobe_text_pool_free(&w->texts);
    free(w->values);
    free(w->touched);
    free(w->used);
    free(w->mappings);
    free(w->message);
    free(w);
    return failed ? STROBE_IO : STROBE_OK;
}

struct strobe_sink *strobe_sink_pprof(struct strobe_outfile *out, uint64_t from_ns, uint64_t to_ns)
{
    struct pprof *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->sink = (struct strobe_sink){.start = pprof_start,
                                   .thread_begin = pprof_thread_begin,
                                   .slice_begin = pprof_slice_begin,
                                   .slice_end = pprof_slice_end,
                                   .samples = pprof_samples,
                                   .thread_end = pprof_thread_end,
                                   .finish = pprof_finish,
                                   .cpu = pprof_cpu};
    w->from_ns = from_ns;
    w->to_ns = to_ns;
    w->gzip = strobe_gzip_open(out);
    if (w->gzip)
        return &w->sink;
    free(w);
    return NULL;
}
