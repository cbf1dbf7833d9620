#include "tests/contract_art/support/graph.h"

#include <stdlib.h>
#include <string.h>

enum { PRINTED_MAX = 5, NAMES = 512, NAME_BYTES = 96 };

/* The calls of the workload: caller and callee, by class and name. A callee with caller "" is the first function of a
 * thread, or native code calls it. */
static const char *const calls[][2] = {
    {"", "Stress.run"},
    {"", "Worker.run"},
    {"", "Main.deep"},
    {"", "Main.alloc"},
    {"", "Main.shapes"},
    {"", "Main.spawn"},
    {"", "Main.thrower"},
    {"", "Main.busy"},
    {"", "Main.contend"},
    {"", "Main.a"},
    {"", "Main.<clinit>"},
    {"", "sun.misc.Unsafe.park"},
    {"", "sun.misc.Unsafe.unpark"},
    {"", "java.lang.Object.notify"},
    {"", "java.lang.Object.notifyAll"},
    {"", "java.lang.Object.wait"},
    {"", "java.lang.Thread.join"},
    {"", "java.lang.Thread.currentThread"},
    {"", "java.lang.Thread.<init>"},
    {"Main.sample", "Main.a"},
    {"Main.sample", "Main.thrower"},
    {"Main.sample", "Main.busy"},
    {"Main.sample", "Main.alloc"},
    {"Main.sample", "Main.deep"},
    {"Main.sample", "java.lang.Object.wait"},
    {"Stress.run", "Main.<clinit>"},
    {"Main.<clinit>", "java.lang.Object.<init>"},
    {"Stress.run", "Main.a"},
    {"Main.a", "Main.b"},
    {"Main.b", "Main.c"},
    {"Main.c", "Main.busy"},
    {"Stress.run", "Main.contend"},
    {"Main.contend", "Main.busy"},
    {"Stress.run", "Main.alloc"},
    {"Main.alloc", "Square.<init>"},
    {"Square.<init>", "Shape.<init>"},
    {"Shape.<init>", "java.lang.Object.<init>"},
    {"Stress.run", "Main.waitMs"},
    {"Main.waitMs", "java.lang.Object.wait"},
    {"java.lang.Object.wait", "java.lang.Object.wait"},
    {"Stress.run", "Main.deep"},
    {"Main.deep", "Main.deep"},
    {"Main.deep", "Main.sample"},
    {"Stress.run", "Stress.overflowCaught"},
    {"Stress.overflowCaught", "Stress.overflow"},
    {"Stress.overflow", "Stress.overflow"},
    {"Stress.overflow", "java.lang.StackOverflowError.<init>"},
    {"Stress.run", "Main.thrower"},
    {"Main.thrower", "java.lang.ArithmeticException.<init>"},
    {"java.lang.ArithmeticException.<init>", "java.lang.RuntimeException.<init>"},
    {"java.lang.RuntimeException.<init>", "java.lang.Exception.<init>"},
    {"java.lang.Exception.<init>", "java.lang.Throwable.<init>"},
    {"java.lang.Throwable.<init>", "java.lang.Object.<init>"},
    {"java.lang.Throwable.<init>", "java.lang.Throwable.nativeFillInStackTrace"},
    {"java.lang.Throwable.<init>", "java.lang.Throwable.fillInStackTrace"},
    {"java.lang.Throwable.fillInStackTrace", "java.lang.Throwable.nativeFillInStackTrace"},
    {"Main.shapes", "Square.<init>"},
    {"Main.shapes", "Main.viaVirtual"},
    {"Main.viaVirtual", "Square.area"},
    {"Square.area", "Main.sample"},
    {"Worker.run", "Main.a"},
    {"Worker.run", "Main.contend"},
    {"Main.spawn", "Worker.<init>"},
    {"Worker.<init>", "java.lang.Thread.<init>"},
    {"java.lang.Thread.<init>", "java.lang.Object.<init>"},
    {"Main.spawn", "java.lang.Thread.start"},
    {"java.lang.Thread.start", "java.lang.Thread.nativeCreate"},
};

/* Removes the types from a name such as "void Main.deep(int)". */
static void plain(const char *pretty, size_t length, char *out)
{
    size_t end = 0, begin = 0;
    while (end < length && pretty[end] != '(')
        end++;
    for (size_t i = 0; i < end; i++)
        if (pretty[i] == ' ')
            begin = i + 1;
    snprintf(out, NAME_BYTES, "%.*s", (int)(end - begin), pretty + begin);
}

/* The session's named addresses, sorted by address. */
struct named {
    uint64_t address;
    char name[NAME_BYTES];
};
struct names {
    struct named at[NAMES];
    size_t count;
};

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct named *)a)->address, y = ((const struct named *)b)->address;
    return x < y ? -1 : x > y;
}

static void read_names(const struct capture *k, struct names *out)
{
    uint64_t at = 0;
    struct strobe_named_address n;
    for (out->count = 0; out->count < NAMES && strobe_names_next(&k->session.names, &at, &n); out->count++) {
        out->at[out->count].address = n.address;
        plain(n.text, n.bytes, out->at[out->count].name);
    }
    qsort(out->at, out->count, sizeof out->at[0], by_address);
}

static const char *name_of(const struct names *n, uint64_t address)
{
    struct named key = {.address = address};
    const struct named *found = bsearch(&key, n->at, n->count, sizeof n->at[0], by_address);
    return found ? found->name : "?";
}

static bool is_called(const char *caller, const char *callee)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (!strcmp(calls[i][0], caller) && !strcmp(calls[i][1], callee))
            return true;
    return false;
}

struct check {
    const struct capture *k;
    struct names names;
    struct graph_tally tally;
    unsigned char *seen; /* by 2 * stack id + cut: 1 right, 2 wrong */
    uint32_t seen_count;
};

/* Returns true when each frame calls the next one in the call graph. `frames` begins with the outermost one. */
static bool is_right(const struct check *c, const uint64_t *frames, uint32_t count, bool cut)
{
    for (uint32_t i = 0; i < count; i++)
        if ((i > 0 || !cut) && (i == 0 || frames[i] != frames[i - 1] || i == 1) &&
            !is_called(i ? name_of(&c->names, frames[i - 1]) : "", name_of(&c->names, frames[i])))
            return false;
    return true;
}

static void print_odd_stack(const struct check *c, const struct strobe_record *r, const uint64_t *frames,
                            uint32_t count)
{
    fprintf(stderr, "odd stack of %s (%s%s):", c->k->session.threads[r->thread].name, strobe_kind_name(r->kind),
            r->flags & STROBE_FLAG_CUT ? ", cut" : "");
    for (uint32_t i = 0; i < count; i++)
        if (i < 2 || frames[i] != frames[i - 1] || i + 1 == count)
            fprintf(stderr, " %s", name_of(&c->names, frames[i]));
    fprintf(stderr, "\n");
}

static bool is_native(const struct strobe_session *s, uint64_t address)
{
    for (uint32_t i = 0; i < strobe_session_image_count(s); i++)
        if (address - 1 - s->images[i].start < s->images[i].end - s->images[i].start)
            return true;
    return false;
}

/* The call graph is that of managed methods. Returns the number of managed frames, which it moves to the begin. */
static uint32_t drop_native_frames(const struct strobe_session *s, uint64_t *frames, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!is_native(s, frames[i]))
            frames[kept++] = frames[i];
    return kept;
}

static void check_record(void *ctx, const struct strobe_record *r)
{
    struct check *c = ctx;
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    /* The stack of a WAKE record is its waker's. */
    if (r->kind == STROBE_KIND_WAKE || !r->stack || c->k->session.threads[r->thread].is_main ||
        strobe_stack_frames(&c->k->session.stacks, r->stack, frames, STROBE_STACK_DEPTH_MAX, &count) != STROBE_OK)
        return;
    bool cut = r->flags & (STROBE_FLAG_CUT | STROBE_FLAG_TABLE_FULL);
    uint32_t key = r->stack * 2 + cut;
    c->tally.records++;
    if (key >= c->seen_count)
        return;
    count = drop_native_frames(&c->k->session, frames, count);
    if (!c->seen[key] && count) {
        c->seen[key] = is_right(c, frames, count, cut) ? 1 : 2;
        c->tally.stacks++;
        c->tally.cut += cut;
        if (c->seen[key] == 2 && c->tally.wrong++ < PRINTED_MAX)
            print_odd_stack(c, r, frames, count);
    }
}

struct graph_tally graph_check(const struct capture *k)
{
    static struct check c;
    c = (struct check){.k = k, .seen_count = 2 * k->session.header->config.stack_nodes + 2};
    c.seen = calloc(c.seen_count, 1);
    if (!c.seen)
        return (struct graph_tally){.wrong = 1};
    read_names(k, &c.names);
    capture_visit(k, check_record, &c);
    free(c.seen);
    return c.tally;
}
