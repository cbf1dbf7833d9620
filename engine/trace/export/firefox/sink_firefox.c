#include "engine/trace/export/firefox/sink_firefox.h"

#include "engine/util/array.h"
#include "engine/util/text_pool.h"

#include <stdlib.h>
#include <string.h>

#define NO_INDEX UINT32_MAX /* written as null */

/* Categories, in the order of the list in `meta`. */
enum { CATEGORY_OTHER, CATEGORY_CODE, CATEGORY_WAIT, CATEGORY_OFF_CPU, CATEGORY_UNSEEN, CATEGORY_SECTION };

static const unsigned category_of_class[STROBE_SLICE_CLASS_COUNT] = {
    [STROBE_SLICE_FUNCTION] = CATEGORY_CODE,   [STROBE_SLICE_WAIT] = CATEGORY_WAIT,
    [STROBE_SLICE_GAP] = CATEGORY_UNSEEN,      [STROBE_SLICE_PLACEHOLDER] = CATEGORY_OTHER,
    [STROBE_SLICE_OFF_CPU] = CATEGORY_OFF_CPU,
};

struct fox_sample {
    uint32_t stack;
    uint64_t begin_ns, weight_ns, cpu_ns; /* cpu_ns: since the sample before */
};

enum fox_marker_kind { MARKER_WAIT, MARKER_SECTION, MARKER_HITCH, MARKER_INSTANT };
static const char *const marker_types[] = {"Wait", "Section", "Turn", "Instant"};

struct fox_marker {
    enum fox_marker_kind kind;
    uint32_t name, method; /* numbers in `texts`; method NO_INDEX: none */
    uint64_t begin_ns, end_ns, arg;
};

/* A section or an overlong turn, which comes before its thread does. */
struct fox_early {
    const struct strobe_reader_thread *thread;
    struct fox_marker marker;
};

struct fox_stack {
    uint32_t func, prefix;
    unsigned category;
};

struct fox_func {
    uint32_t name, file, line, resource; /* name, file: numbers in `texts`; file, resource NO_INDEX: none */
};

struct fox_lib {
    uint32_t path; /* number in `paths` */
    char build_id[2 * STROBE_BUILD_ID_BYTES + 1];
};

struct fox {
    struct strobe_sink sink;
    struct strobe_outfile *out;
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    const struct strobe_reader_thread *thread;
    uint64_t base_ns; /* begin of the first session */
    int started, threads, failed;

    struct strobe_text_pool paths; /* of libs, by number */
    struct fox_lib *libs;
    size_t lib_count, lib_room;
    struct strobe_text_pool early_names;
    struct fox_early *early;
    size_t early_count, early_room;

    /* Of the current thread. */
    struct strobe_text_pool texts;
    struct fox_sample *samples;
    struct fox_marker *markers;
    struct fox_stack *stacks;
    struct fox_func *funcs;
    uint32_t *resources; /* libs of the thread's functions */
    size_t sample_count, sample_room, marker_count, marker_room, stack_count, stack_room, func_count, func_room;
    size_t resource_count, resource_room;
    uint32_t *stack_of_node, *func_of_name; /* + 1; 0 = none yet */
    size_t node_room, name_room;
    uint32_t stack; /* of the innermost slice */
    struct strobe_moment since;
    uint64_t begin_ns, cpu_ns; /* begin of the thread; CPU time up to the last sample */
    int has_begun;
};

/* ---- interning */

static uint32_t fox_text(struct fox *f, const char *text)
{
    uint32_t number = strobe_text_number(&f->texts, text, strlen(text));
    f->failed |= number == UINT32_MAX;
    return number;
}

static void find_build_id(const struct fox *f, const char *path, char text[2 * STROBE_BUILD_ID_BYTES + 1])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < f->reader->image_count; i++) {
        const struct strobe_image_entry *image = strobe_reader_image(f->reader, i);
        if (!image || strcmp(image->path, path) != 0 || image->build_id_bytes > STROBE_BUILD_ID_BYTES)
            continue;
        size_t digits = 2 * (size_t)image->build_id_bytes;
        for (size_t k = 0; k < digits; k++)
            text[k] = "0123456789abcdef"[image->build_id[k / 2] >> (k % 2 ? 0 : 4) & 15];
        text[digits] = '\0';
        return;
    }
}

/* Returns the index of a file in the list of libs. */
static uint32_t fox_lib_of(struct fox *f, const char *path)
{
    uint32_t number = strobe_text_number(&f->paths, path, strlen(path));
    if (number < f->lib_count)
        return number;
    if (number == UINT32_MAX || !strobe_array_reserve(&f->libs, &f->lib_room, f->lib_count + 1)) {
        f->failed = 1;
        return 0;
    }
    f->libs[f->lib_count].path = number;
    find_build_id(f, path, f->libs[f->lib_count].build_id);
    return (uint32_t)f->lib_count++;
}

static uint32_t fox_resource_of(struct fox *f, const char *path)
{
    if (!path[0])
        return NO_INDEX;
    uint32_t lib = fox_lib_of(f, path), i = 0;
    while (i < f->resource_count && f->resources[i] != lib)
        i++;
    if (i < f->resource_count)
        return i;
    if (!strobe_array_reserve(&f->resources, &f->resource_room, f->resource_count + 1)) {
        f->failed = 1;
        return NO_INDEX;
    }
    f->resources[f->resource_count] = lib;
    return (uint32_t)f->resource_count++;
}

static uint32_t fox_func_of(struct fox *f, uint32_t name)
{
    if (!strobe_array_reserve_zeroed(&f->func_of_name, &f->name_room, (size_t)name + 1) ||
        !strobe_array_reserve(&f->funcs, &f->func_room, f->func_count + 1)) {
        f->failed = 1;
        return 0;
    }
    if (!f->func_of_name[name]) {
        const struct strobe_name *n = strobe_function_tree_name(f->tree, name);
        f->funcs[f->func_count++] = (struct fox_func){
            fox_text(f, n->text), n->file[0] ? fox_text(f, n->file) : NO_INDEX, n->line, fox_resource_of(f, n->image)};
        f->func_of_name[name] = (uint32_t)f->func_count;
    }
    return f->func_of_name[name] - 1;
}

/* Returns the stack of a node. Slices begin outermost first, so the stacks around it exist. `category` is that of a new
 * stack. */
static uint32_t fox_stack_of(struct fox *f, uint32_t node, unsigned category)
{
    if (!node)
        return NO_INDEX;
    if (!strobe_array_reserve_zeroed(&f->stack_of_node, &f->node_room, (size_t)node + 1)) {
        f->failed = 1;
        return NO_INDEX;
    }
    if (!f->stack_of_node[node]) {
        struct strobe_function_node n = *strobe_function_tree_node(f->tree, node);
        uint32_t prefix = fox_stack_of(f, n.parent, CATEGORY_CODE), func = fox_func_of(f, n.name);
        if (f->failed || !strobe_array_reserve(&f->stacks, &f->stack_room, f->stack_count + 1)) {
            f->failed = 1;
            return NO_INDEX;
        }
        f->stacks[f->stack_count++] = (struct fox_stack){func, prefix, category};
        f->stack_of_node[node] = (uint32_t)f->stack_count;
    }
    return f->stack_of_node[node] - 1;
}

static void fox_add_marker(struct fox *f, struct fox_marker marker)
{
    if (!strobe_array_reserve(&f->markers, &f->marker_room, f->marker_count + 1))
        f->failed = 1;
    else
        f->markers[f->marker_count++] = marker;
}

/* ---- writing */

static void fox_write(struct fox *f, const char *text)
{
    strobe_outfile_text(f->out, text);
}

/* Writes a time of the trace as ms since the base. */
static void fox_write_ms(struct fox *f, uint64_t ns)
{
    char digits[8] = {'.'};
    uint64_t rest = ns % 1000000;
    for (int i = 6; i > 0; i--, rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    strobe_outfile_number(f->out, ns / 1000000);
    fox_write(f, digits);
}

static uint64_t since_base(const struct fox *f, uint64_t time_ns)
{
    return time_ns > f->base_ns ? time_ns - f->base_ns : 0;
}

static void fox_write_index(struct fox *f, uint32_t index)
{
    if (index == NO_INDEX)
        fox_write(f, "null");
    else
        strobe_outfile_number(f->out, index);
}

static void fox_write_text(struct fox *f, const char *text)
{
    fox_write(f, "\"");
    strobe_outfile_json(f->out, text);
    fox_write(f, "\"");
}

/* A column of a table. `write` writes the value of one row. */
struct fox_column {
    const char *name;
    void (*write)(struct fox *f, size_t row);
};

/* Writes a table: its head, its columns as `"name":[...],`, its length. */
static void fox_write_table(struct fox *f, const char *head, size_t rows, const struct fox_column *columns,
                            size_t column_count)
{
    fox_write(f, head);
    for (size_t c = 0; c < column_count; c++) {
        fox_write(f, "\"");
        fox_write(f, columns[c].name);
        fox_write(f, "\":[");
        for (size_t row = 0; row < rows; row++) {
            if (row)
                fox_write(f, ",");
            columns[c].write(f, row);
        }
        fox_write(f, "],");
    }
    fox_write(f, "\"length\":");
    strobe_outfile_number(f->out, rows);
    fox_write(f, "}");
}

static void cell_null(struct fox *f, size_t row)
{
    (void)row;
    fox_write(f, "null");
}

static void cell_zero(struct fox *f, size_t row)
{
    (void)row;
    fox_write(f, "0");
}

static void cell_false(struct fox *f, size_t row)
{
    (void)row;
    fox_write(f, "false");
}

static void cell_minus_one(struct fox *f, size_t row)
{
    (void)row;
    fox_write(f, "-1");
}

static void cell_row(struct fox *f, size_t row)
{
    strobe_outfile_number(f->out, row);
}

static void sample_stack_cell(struct fox *f, size_t row)
{
    fox_write_index(f, f->samples[row].stack);
}

static void sample_time_cell(struct fox *f, size_t row)
{
    fox_write_ms(f, since_base(f, f->samples[row].begin_ns));
}

static void sample_weight_cell(struct fox *f, size_t row)
{
    fox_write_ms(f, f->samples[row].weight_ns);
}

static void sample_cpu_cell(struct fox *f, size_t row)
{
    strobe_outfile_number(f->out, f->samples[row].cpu_ns);
}

static const struct fox_column sample_columns[] = {
    {"stack", sample_stack_cell},
    {"time", sample_time_cell},
    {"weight", sample_weight_cell},
    {"threadCPUDelta", sample_cpu_cell},
};

static void write_fox_samples(struct fox *f)
{
    fox_write_table(f, "\"samples\":{\"weightType\":\"tracing-ms\",", f->sample_count, sample_columns,
                    sizeof sample_columns / sizeof sample_columns[0]);
}

static void marker_name_cell(struct fox *f, size_t row)
{
    strobe_outfile_number(f->out, f->markers[row].name);
}

static void marker_begin_cell(struct fox *f, size_t row)
{
    fox_write_ms(f, since_base(f, f->markers[row].begin_ns));
}

static void marker_end_cell(struct fox *f, size_t row)
{
    if (f->markers[row].kind == MARKER_INSTANT)
        fox_write(f, "null");
    else
        fox_write_ms(f, since_base(f, f->markers[row].end_ns));
}

/* 0: an instant, 1: an interval. */
static void marker_phase_cell(struct fox *f, size_t row)
{
    fox_write(f, f->markers[row].kind == MARKER_INSTANT ? "0" : "1");
}

static void marker_category_cell(struct fox *f, size_t row)
{
    enum fox_marker_kind kind = f->markers[row].kind;
    strobe_outfile_number(f->out, kind == MARKER_WAIT      ? CATEGORY_WAIT
                                  : kind == MARKER_SECTION ? CATEGORY_SECTION
                                                           : CATEGORY_OTHER);
}

static void marker_data_cell(struct fox *f, size_t row)
{
    const struct fox_marker *m = &f->markers[row];
    fox_write(f, "{\"type\":\"");
    fox_write(f, marker_types[m->kind]);
    fox_write(f, "\"");
    if (m->method != NO_INDEX) {
        fox_write(f, ",\"method\":");
        fox_write_text(f, f->texts.texts[m->method]);
    }
    if (m->arg) {
        fox_write(f, ",\"argument\":");
        strobe_outfile_number(f->out, m->arg);
    }
    fox_write(f, "}");
}

static const struct fox_column marker_columns[] = {
    {"data", marker_data_cell},   {"name", marker_name_cell},   {"startTime", marker_begin_cell},
    {"endTime", marker_end_cell}, {"phase", marker_phase_cell}, {"category", marker_category_cell},
};

static void write_fox_markers(struct fox *f)
{
    fox_write_table(f, ",\n\"markers\":{", f->marker_count, marker_columns,
                    sizeof marker_columns / sizeof marker_columns[0]);
}

static void stack_func_cell(struct fox *f, size_t row)
{
    strobe_outfile_number(f->out, f->stacks[row].func);
}

static void stack_prefix_cell(struct fox *f, size_t row)
{
    fox_write_index(f, f->stacks[row].prefix);
}

static void stack_category_cell(struct fox *f, size_t row)
{
    strobe_outfile_number(f->out, f->stacks[row].category);
}

static void func_name_cell(struct fox *f, size_t row)
{
    strobe_outfile_number(f->out, f->funcs[row].name);
}

static void func_file_cell(struct fox *f, size_t row)
{
    fox_write_index(f, f->funcs[row].file);
}

static void func_line_cell(struct fox *f, size_t row)
{
    fox_write_index(f, f->funcs[row].line ? f->funcs[row].line : NO_INDEX);
}

static void func_resource_cell(struct fox *f, size_t row)
{
    if (f->funcs[row].resource == NO_INDEX)
        fox_write(f, "-1");
    else
        strobe_outfile_number(f->out, f->funcs[row].resource);
}

static void resource_lib_cell(struct fox *f, size_t row)
{
    strobe_outfile_number(f->out, f->resources[row]);
}

static const char *fox_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void resource_name_cell(struct fox *f, size_t row)
{
    uint32_t path = f->libs[f->resources[row]].path;
    strobe_outfile_number(f->out, fox_text(f, fox_last_part(f->paths.texts[path])));
}

/* 1: a library. */
static void resource_type_cell(struct fox *f, size_t row)
{
    (void)row;
    fox_write(f, "1");
}

static const struct fox_column stack_columns[] = {
    {"frame", stack_func_cell},
    {"prefix", stack_prefix_cell},
    {"category", stack_category_cell},
    {"subcategory", cell_zero},
};

static const struct fox_column frame_columns[] = {
    {"address", cell_minus_one},  {"inlineDepth", cell_zero},
    {"category", cell_null},      {"subcategory", cell_null},
    {"func", cell_row},           {"nativeSymbol", cell_null},
    {"innerWindowID", cell_null}, {"implementation", cell_null},
    {"line", func_line_cell},     {"column", cell_null},
};

static const struct fox_column func_columns[] = {
    {"isJS", cell_false},         {"relevantForJS", cell_false},
    {"name", func_name_cell},     {"resource", func_resource_cell},
    {"fileName", func_file_cell}, {"lineNumber", func_line_cell},
    {"columnNumber", cell_null},
};

static const struct fox_column resource_columns[] = {
    {"lib", resource_lib_cell},
    {"name", resource_name_cell},
    {"host", cell_null},
    {"type", resource_type_cell},
};

/* Each function has one frame, of the same number. */
static void write_fox_tables(struct fox *f)
{
    fox_write_table(f, ",\n\"stackTable\":{", f->stack_count, stack_columns,
                    sizeof stack_columns / sizeof stack_columns[0]);
    fox_write_table(f, ",\n\"frameTable\":{", f->func_count, frame_columns,
                    sizeof frame_columns / sizeof frame_columns[0]);
    fox_write_table(f, ",\n\"funcTable\":{", f->func_count, func_columns, sizeof func_columns / sizeof func_columns[0]);
    fox_write_table(f, ",\n\"resourceTable\":{", f->resource_count, resource_columns,
                    sizeof resource_columns / sizeof resource_columns[0]);
    fox_write(f, ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}");
    fox_write(f, ",\n\"stringArray\":[");
    for (size_t i = 0; i < f->texts.count; i++) {
        fox_write(f, i ? ",\n" : "");
        fox_write_text(f, f->texts.texts[i]);
    }
    fox_write(f, "]}");
}

static void write_process_name(struct fox *f)
{
    char name[STROBE_PATH_BYTES];
    size_t bytes;
    const char *from = strobe_sink_process_name(f->reader->session.header, &bytes);
    memcpy(name, from, bytes);
    name[bytes] = '\0';
    fox_write_text(f, name);
}

static void write_fox_thread(struct fox *f)
{
    fox_write(f, f->threads++ ? ",\n{\"processType\":\"default\",\"processName\":"
                              : "\n{\"processType\":\"default\",\"processName\":");
    write_process_name(f);
    fox_write(f, ",\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":");
    fox_write_ms(f, since_base(f, f->has_begun ? f->begin_ns : f->base_ns));
    fox_write(f, ",\"unregisterTime\":null,\"pausedRanges\":[],\"name\":");
    fox_write_text(f, f->thread->name);
    fox_write(f, f->thread->is_main ? ",\"isMainThread\":true,\"pid\":\"" : ",\"isMainThread\":false,\"pid\":\"");
    strobe_outfile_number(f->out, f->reader->session.header->pid);
    fox_write(f, "\",\"tid\":");
    strobe_outfile_number(f->out, f->thread->tid);
    fox_write(f, ",\n");
    write_fox_samples(f);
    write_fox_markers(f);
    write_fox_tables(f);
}

/* ---- the sink */

static void write_fox_meta(struct fox *f)
{
    const struct strobe_session_header *h = f->reader->session.header;
    uint64_t interval_ns = h->config.async_interval_ns ? h->config.async_interval_ns : 1000000;
    fox_write(f, "{\"meta\":{\"interval\":");
    fox_write_ms(f, interval_ns);
    fox_write(f, ",\"startTime\":");
    fox_write_ms(f, h->begin.realtime_ns);
    fox_write(f, ",\"processType\":0,\"product\":");
    write_process_name(f);
    fox_write(f, ",\"stackwalk\":1,\"toolkit\":\"\",\"version\":29,\"preprocessedProfileVersion\":48,"
                 "\"symbolicated\":true,\"importedFrom\":\"Strobe\",\"abi\":\"\",\"misc\":\"\",\"oscpu\":\"\","
                 "\"platform\":\"\",\"extensions\":{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0},"
                 "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n\"categories\":["
                 "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
                 "{\"name\":\"Code\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
                 "{\"name\":\"Wait\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
                 "{\"name\":\"Off CPU\",\"color\":\"transparent\",\"subcategories\":[\"Other\"]},"
                 "{\"name\":\"Unseen\",\"color\":\"darkgrey\",\"subcategories\":[\"Other\"]},"
                 "{\"name\":\"Section\",\"color\":\"green\",\"subcategories\":[\"Other\"]}],\n\"markerSchema\":[");
    for (size_t i = 0; i < sizeof marker_types / sizeof marker_types[0]; i++) {
        fox_write(f, i ? ",\n{\"name\":\"" : "{\"name\":\"");
        fox_write(f, marker_types[i]);
        fox_write(f, "\",\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name} {marker.data.method}\","
                     "\"chartLabel\":\"{marker.name}\",\"display\":[\"marker-chart\",\"marker-table\"],\"data\":["
                     "{\"key\":\"method\",\"label\":\"Method\",\"format\":\"string\",\"searchable\":true},"
                     "{\"key\":\"argument\",\"label\":\"Argument\",\"format\":\"integer\"}]}");
    }
    fox_write(f, "]},\n\"threads\":[");
}

static void fox_start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    struct fox *f = (struct fox *)sink;
    f->reader = reader;
    f->tree = tree;
    f->early_count = 0;
    if (!f->started++) {
        f->base_ns = strobe_reader_ns(reader, reader->first_ticks);
        write_fox_meta(f);
    }
}

static void fox_keep_early(struct fox *f, const struct strobe_reader_thread *thread, enum fox_marker_kind kind,
                           const char *name, uint64_t begin_ns, uint64_t end_ns)
{
    uint32_t number = strobe_text_number(&f->early_names, name, strlen(name));
    if (number == UINT32_MAX || !strobe_array_reserve(&f->early, &f->early_room, f->early_count + 1)) {
        f->failed = 1;
        return;
    }
    f->early[f->early_count++] = (struct fox_early){
        thread, {.kind = kind, .name = number, .method = NO_INDEX, .begin_ns = begin_ns, .end_ns = end_ns}};
}

static void fox_mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    if (!m->is_counter && m->thread)
        fox_keep_early((struct fox *)sink, m->thread, MARKER_SECTION, m->name, m->begin_ns, m->end_ns);
}

static void fox_hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    struct fox *f = (struct fox *)sink;
    if (l->thread < f->reader->thread_count)
        fox_keep_early(f, &f->reader->threads[l->thread], MARKER_HITCH, strobe_hitch_name[l->how], l->begin_ns,
                       l->end_ns);
}

static void fox_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct fox *f = (struct fox *)sink;
    f->thread = thread;
    f->sample_count = f->marker_count = f->stack_count = f->func_count = f->resource_count = 0;
    f->stack = NO_INDEX;
    f->has_begun = 0;
    strobe_text_pool_free(&f->texts);
    if (f->node_room)
        memset(f->stack_of_node, 0, f->node_room * sizeof *f->stack_of_node);
    if (f->name_room)
        memset(f->func_of_name, 0, f->name_room * sizeof *f->func_of_name);
    for (size_t i = 0; i < f->early_count; i++) {
        struct fox_marker marker = f->early[i].marker;
        if (f->early[i].thread != thread)
            continue;
        marker.name = fox_text(f, f->early_names.texts[marker.name]);
        fox_add_marker(f, marker);
    }
}

/* Ends the sample of the innermost slice at `now`, and begins that of `stack`. */
static void fox_change(struct fox *f, const struct strobe_moment *now, uint32_t stack)
{
    if (!f->has_begun) {
        f->has_begun = 1;
        f->begin_ns = now->time_ns;
        f->cpu_ns = now->cpu_ns;
        f->since = *now;
    }
    if (now->time_ns > f->since.time_ns) {
        if (!strobe_array_reserve(&f->samples, &f->sample_room, f->sample_count + 1)) {
            f->failed = 1;
            return;
        }
        f->samples[f->sample_count++] = (struct fox_sample){f->stack, f->since.time_ns, now->time_ns - f->since.time_ns,
                                                            f->since.cpu_ns - f->cpu_ns};
        f->cpu_ns = f->since.cpu_ns;
        f->since = *now;
    }
    f->stack = stack;
}

static void fox_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    struct fox *f = (struct fox *)sink;
    fox_change(f, &slice->begin, fox_stack_of(f, slice->node, category_of_class[slice->class]));
}

static void fox_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    struct fox *f = (struct fox *)sink;
    uint32_t parent = strobe_function_tree_node(f->tree, slice->node)->parent;
    fox_change(f, now, fox_stack_of(f, parent, CATEGORY_CODE));
    if (slice->class != STROBE_SLICE_WAIT)
        return;
    uint32_t method = parent ? strobe_function_tree_node(f->tree, parent)->name : NO_INDEX;
    fox_add_marker(f, (struct fox_marker){.kind = MARKER_WAIT,
                                          .name = fox_text(f, strobe_function_tree_name(f->tree, slice->name)->text),
                                          .method = method == NO_INDEX
                                                        ? NO_INDEX
                                                        : fox_text(f, strobe_function_tree_name(f->tree, method)->text),
                                          .begin_ns = slice->begin.time_ns,
                                          .end_ns = now->time_ns,
                                          .arg = slice->arg});
}

static void fox_instant(struct strobe_sink *sink, uint64_t time_ns, const char *name, const struct strobe_note *notes,
                        size_t note_count)
{
    struct fox *f = (struct fox *)sink;
    (void)notes, (void)note_count;
    fox_add_marker(f, (struct fox_marker){.kind = MARKER_INSTANT,
                                          .name = fox_text(f, name),
                                          .method = NO_INDEX,
                                          .begin_ns = time_ns,
                                          .end_ns = time_ns});
}

/* The last sample has the CPU time since the one before it. */
static void fox_thread_end(struct strobe_sink *sink)
{
    struct fox *f = (struct fox *)sink;
    if (f->has_begun && !f->failed) {
        if (strobe_array_reserve(&f->samples, &f->sample_room, f->sample_count + 1))
            f->samples[f->sample_count++] =
                (struct fox_sample){NO_INDEX, f->since.time_ns, 0, f->since.cpu_ns - f->cpu_ns};
        else
            f->failed = 1;
    }
    if (!f->failed)
        write_fox_thread(f);
}

static void write_fox_libs(struct fox *f)
{
    fox_write(f, "\n],\n\"libs\":[");
    for (size_t i = 0; i < f->lib_count; i++) {
        const char *path = f->paths.texts[f->libs[i].path];
        fox_write(f, i ? ",\n{\"arch\":\"\",\"name\":" : "\n{\"arch\":\"\",\"name\":");
        fox_write_text(f, fox_last_part(path));
        fox_write(f, ",\"path\":");
        fox_write_text(f, path);
        fox_write(f, ",\"debugName\":");
        fox_write_text(f, fox_last_part(path));
        fox_write(f, ",\"debugPath\":");
        fox_write_text(f, path);
        fox_write(f, ",\"breakpadId\":\"\",\"codeId\":");
        if (f->libs[i].build_id[0])
            fox_write_text(f, f->libs[i].build_id);
        else
            fox_write(f, "null");
        fox_write(f, "}");
    }
    fox_write(f, "]}\n");
}

static enum strobe_status fox_finish(struct strobe_sink *sink)
{
    struct fox *f = (struct fox *)sink;
    if (f->started && !f->failed)
        write_fox_libs(f);
    enum strobe_status status = f->failed ? STROBE_IO : STROBE_OK;
    strobe_text_pool_free(&f->paths);
    strobe_text_pool_free(&f->early_names);
    strobe_text_pool_free(&f->texts);
    free(f->libs);
    free(f->early);
    free(f->samples);
    free(f->markers);
    free(f->stacks);
    free(f->funcs);
    free(f->resources);
    free(f->stack_of_node);
    free(f->func_of_name);
    free(f);
    return status;
}

struct strobe_sink *strobe_sink_firefox(struct strobe_outfile *out)
{
    struct fox *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->sink = (struct strobe_sink){.start = fox_start,
                                   .thread_begin = fox_thread_begin,
                                   .slice_begin = fox_slice_begin,
                                   .slice_end = fox_slice_end,
                                   .instant = fox_instant,
                                   .thread_end = fox_thread_end,
                                   .finish = fox_finish,
                                   .hitch = fox_hitch,
                                   .mark = fox_mark};
    f->out = out;
    return &f->sink;
}
