/* The stack diff against a slow model: a sequence of samples becomes exactly the slices that a comparison of whole
 * stacks, frame by frame from the outermost one, gives.
 *
 * The engine's way: a stack table interns addresses, a function tree folds them to functions, and a path of open
 * slices climbs from the new leaf to the deepest common node. The model knows no ids: a stack is an array of frames.
 *
 * Input: a byte with the number of stacks; then the stacks, each as the number of frames that it keeps of the stack
 * before, and new frames; then steps of the timeline, two bytes each. */
#include "engine/trace/build/path.h"
#include "tests/fuzz/support/bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum {
    STACKS_MAX = 32,
    DEPTH_MAX = 24, /* addresses of one stack */
    NODES = 1024,
    SHOWN_MAX = 256,
    EVENTS_MAX = 4096,
    STEPS_MAX = 400,
    FUNCTIONS = 6,
    INLINED = 8, /* bit of an address: another function is inlined there */
};

/* A frame as shown: a function, or a name that is none. */
struct frame {
    uint32_t name; /* 0: a function */
    uint64_t function;
};

struct stack {
    uint64_t address[DEPTH_MAX];
    uint32_t count, id;
    struct frame frame[2 * DEPTH_MAX + 1];
    uint32_t frame_count;
};

/* A begin or an end of a slice. `begin_ns` and `samples` are those of an end. */
struct event {
    int ends;
    struct frame frame;
    uint32_t depth;
    uint64_t at_ns, begin_ns, samples;
};

struct log {
    struct event event[EVENTS_MAX];
    uint32_t count;
};

/* The model: the open slices, outermost first. */
static struct {
    struct frame frame[SHOWN_MAX];
    uint64_t begin_ns[SHOWN_MAX], samples[SHOWN_MAX];
    uint32_t depth;
    uint64_t now_ns;
} model;

static _Alignas(64) unsigned char memory[64 << 10];
static struct strobe_stack_table table;
static struct strobe_function_tree *tree;
static struct stack stacks[STACKS_MAX];
static uint32_t stack_count;
static struct log wanted, found;

static void append_event(struct log *log, struct event event)
{
    fuzz_require(log->count < EVENTS_MAX);
    log->event[log->count++] = event;
}

/* ---- stacks */

static uint64_t function_of(uint64_t address)
{
    return 1 + (address >> 4) % FUNCTIONS;
}

/* An address is a place in one of a few functions: several addresses are in one function, and some places have an
 * inlined function, which is one of the others. */
static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    (void)ctx;
    uint64_t function = function_of(address), inlined = 1 + function % FUNCTIONS;
    struct strobe_symbol symbol = {.function = "f", .image = "/usr/lib/libfuzz.so", .file = ""};
    symbol.function_id = (uint32_t)function;
    symbol.function_address = function;
    out[0] = symbol;
    if (!(address & INLINED) || max < 2)
        return 1;
    symbol.function_id = (uint32_t)inlined;
    symbol.function_address = inlined;
    out[1] = symbol;
    return 2;
}

static void name_frames(struct stack *s)
{
    s->frame_count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t function = function_of(s->address[i]);
        s->frame[s->frame_count++] = (struct frame){0, function};
        if (s->address[i] & INLINED)
            s->frame[s->frame_count++] = (struct frame){0, 1 + function % FUNCTIONS};
    }
}

/* Equal stacks have equal ids, other stacks have other ids, and an id resolves to its frames. */
static void check_ids(const struct stack *s)
{
    uint64_t address[DEPTH_MAX];
    uint32_t count = 0;
    fuzz_require(strobe_stack_frames(&table, s->id, address, DEPTH_MAX, &count) == STROBE_OK);
    fuzz_require(count == s->count && !memcmp(address, s->address, count * sizeof *address));
    for (const struct stack *other = stacks; other < s; other++) {
        int equal = other->count == s->count && !memcmp(other->address, s->address, s->count * sizeof *s->address);
        fuzz_require(equal == (other->id == s->id));
    }
}

static void make_stacks(struct fuzz_bytes *in)
{
    struct strobe_stack_cursor cursor = {0};
    stack_count = 1 + fuzz_below(in, STACKS_MAX);
    for (uint32_t i = 0; i < stack_count; i++) {
        struct stack *s = &stacks[i];
        uint32_t kept = i ? fuzz_below(in, stacks[i - 1].count + 1) : 0, added = fuzz_below(in, DEPTH_MAX - kept + 1);
        if (kept)
            memcpy(s->address, stacks[i - 1].address, kept * sizeof *s->address);
        s->count = kept + added;
        for (uint32_t k = kept; k < s->count; k++)
            s->address[k] = 0x1000 + fuzz_byte(in);
        fuzz_require(strobe_stack_intern_onto(&table, &cursor, kept, s->address, s->count, &s->id) == STROBE_OK);
        name_frames(s);
        check_ids(s);
    }
}

/* ---- the engine's slices */

static struct frame frame_of(const struct strobe_slice *s)
{
    if (s->name < STROBE_NAME_FUNCTIONS)
        return (struct frame){s->name, 0};
    return (struct frame){0, strobe_function_tree_name(tree, s->name)->address};
}

static void take_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    (void)sink;
    append_event(&found, (struct event){0, frame_of(s), s->depth, s->begin.time_ns, 0, 0});
}

static void take_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    (void)sink;
    append_event(&found, (struct event){1, frame_of(s), s->depth, now->time_ns, s->begin.time_ns, s->samples});
}

/* ---- the model's slices */

static int same_frame(struct frame a, struct frame b)
{
    return a.name == b.name && a.function == b.function;
}

/* Ends all slices beyond `depth`. A slice that has just begun gets 1 ns. */
static void model_cut(uint32_t depth)
{
    if (model.depth > depth && model.begin_ns[model.depth - 1] == model.now_ns)
        model.now_ns++;
    while (model.depth > depth) {
        uint32_t i = --model.depth;
        append_event(&wanted,
                     (struct event){1, model.frame[i], i + 1, model.now_ns, model.begin_ns[i], model.samples[i]});
    }
}

static void model_push(struct frame frame)
{
    fuzz_require(model.depth < SHOWN_MAX);
    model.frame[model.depth] = frame;
    model.begin_ns[model.depth] = model.now_ns;
    model.samples[model.depth++] = 0;
    append_event(&wanted, (struct event){0, frame, model.depth, model.now_ns, 0, 0});
}

static uint32_t model_shared(const struct frame *frame, uint32_t count)
{
    uint32_t shared = 0;
    while (shared < count && shared < model.depth && same_frame(frame[shared], model.frame[shared]))
        shared++;
    return shared;
}

static void model_show(const struct frame *frame, uint32_t count)
{
    uint32_t shared = model_shared(frame, count);
    model_cut(shared);
    while (shared < count)
        model_push(frame[shared++]);
}

static void model_sample(void)
{
    for (uint32_t i = 0; i < model.depth; i++)
        model.samples[i]++;
}

/* ---- steps */

/* The frames of a sample, with the base frames of a stack that the recorder cut. */
static uint32_t list_frames(const struct stack *s, unsigned incomplete, struct frame *out)
{
    uint32_t count = 0;
    if (s->count && incomplete & STROBE_STACK_LOST)
        out[count++].name = STROBE_NAME_LOST;
    else if (s->count && incomplete & STROBE_STACK_CUT)
        out[count++].name = STROBE_NAME_CUT;
    for (uint32_t i = 0; i < s->frame_count; i++)
        out[count++] = s->frame[i];
    if (!count)
        out[count++].name = STROBE_NAME_NO_STACK;
    return count;
}

static void play_step(struct strobe_path *path, struct fuzz_bytes *in)
{
    struct frame frame[2 * DEPTH_MAX + 2] = {{0}};
    uint32_t what = fuzz_byte(in), with = fuzz_byte(in);
    uint64_t later = path->now.time_ns + (what >> 3) * (what >> 3);
    if (what & 7) {
        strobe_path_move(path, later);
        model.now_ns = later;
    }
    if ((what & 7) < 5) {
        const struct stack *s = &stacks[with % stack_count];
        unsigned incomplete = with >> 6;
        uint32_t node = strobe_function_tree_of_stack(tree, s->id, incomplete);
        uint32_t count = list_frames(s, incomplete, frame);
        fuzz_require(strobe_path_shared(path, node) == model_shared(frame, count));
        strobe_path_show(path, node);
        model_show(frame, count);
        path->open[path->depth - 1].samples++;
        model_sample();
    } else if ((what & 7) == 5) {
        strobe_path_cut(path, with % 8);
        model_cut(with % 8);
    } else if (model.depth < SHOWN_MAX - 2 * DEPTH_MAX - 2) {
        struct frame wait = {1 + with % (STROBE_KIND_COUNT - 1), 0};
        strobe_path_push(path, wait.name, 0, 0);
        model_push(wait);
    }
    fuzz_require(path->depth == model.depth && path->now.time_ns == model.now_ns);
}

static void compare_logs(void)
{
    fuzz_require(found.count == wanted.count);
    for (uint32_t i = 0; i < found.count; i++) {
        const struct event *a = &found.event[i], *b = &wanted.event[i];
        fuzz_require(a->ends == b->ends && a->depth == b->depth && same_frame(a->frame, b->frame));
        fuzz_require(a->at_ns == b->at_ns && a->begin_ns == b->begin_ns && a->samples == b->samples);
        fuzz_require(!a->ends || a->at_ns > a->begin_ns);
    }
    found.count = wanted.count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_bytes in = {data, bytes};
    struct strobe_sink sink = {.slice_begin = take_begin, .slice_end = take_end};
    struct strobe_timeline_stats stats = {0};
    struct strobe_reader reader = {0};
    struct strobe_reader_thread thread = {0};
    uint64_t counter[STROBE_COUNTER_COUNT] = {0};
    size_t table_bytes = strobe_stack_table_bytes(NODES);
    fuzz_require(table_bytes <= sizeof memory);
    memset(memory, 0, table_bytes);
    strobe_stack_table_create(memory, NODES);
    fuzz_require(strobe_stack_table_open(memory, table_bytes, &table) == STROBE_OK);
    make_stacks(&in);
    fuzz_require(strobe_function_tree_open(&table, (struct strobe_resolver){.resolve = resolve, .ctx = NULL}, &tree) ==
                 STROBE_OK);

    struct strobe_path path = {.sink = &sink, .tree = tree, .stats = &stats, .reader = &reader};
    strobe_path_start(&path, &thread, 1000, 0, counter);
    model.depth = 0;
    model.now_ns = 1000;
    for (uint32_t steps = 0; in.left && steps < STEPS_MAX; steps++) {
        play_step(&path, &in);
        compare_logs();
    }
    strobe_path_cut(&path, 0);
    model_cut(0);
    compare_logs();
    fuzz_require(!path.failed && strobe_function_tree_status(tree) == STROBE_OK);
    free(path.open);
    free(path.steps);
    strobe_function_tree_close(tree);
    return 0;
}
