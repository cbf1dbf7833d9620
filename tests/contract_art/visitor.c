/* StackVisitor itself, on fabricated threads and with walk kinds that the engine does not use. */
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <string.h>
#include <unistd.h>

enum {
    THREAD_BYTES = 8192,
    PLACE_FIRST = 0x60,
    PLACE_LAST = 0x120,
    FRAMES_MAX = 256,
    FRAGMENTS_MAX = 16,
    NEAR_BYTES = 65536
};

/* Layouts of the runtime (managed_stack.h, shadow_frame.h). All API levels have the same, except for the fields after
 * dex_pc. */
struct managed_stack {
    uintptr_t quick;
    struct managed_stack *link;
    void *shadow;
};
struct shadow_frame {
    struct shadow_frame *link;
    void *method, *result, *dex_pc_pointer, *code, *locks;
    uint32_t register_count, dex_pc, rest[6];
};
struct method {
    uint64_t words[8];
};

static _Alignas(64) unsigned char thread[THREAD_BYTES];
static struct method methods[FRAMES_MAX];
static struct shadow_frame frames[FRAMES_MAX];
static struct managed_stack fragments[FRAGMENTS_MAX];

/* A visitor of this test and the methods that it visited. It has the place of the C++ object, with space for the
 * runtime's fields. */
struct visitor {
    void (*const *vtable)(void);
    unsigned char fields[STROBE_ART_VISITOR_BYTES];
    const struct strobe_libart *libart;
    void *method[FRAMES_MAX];
    uint32_t dex_pc[FRAMES_MAX], count, nulls, max;
};
static struct visitor v;

static void no_destructor(struct visitor *w)
{
    (void)w;
}

static uintptr_t visit(struct visitor *w)
{
    void *method = ((void *(*)(const void *))(uintptr_t)w->libart->address[STROBE_ART_VISITOR_METHOD])(w);
    if (!method) {
        w->nulls++;
        return true;
    }
    if (w->count == w->max)
        return false;
    w->dex_pc[w->count] =
        ((uint32_t(*)(const void *, bool))(uintptr_t)w->libart->address[STROBE_ART_VISITOR_DEX_PC])(w, false);
    w->method[w->count++] = method;
    return true;
}

static void (*const visitor_calls[])(void) = {
    (void (*)(void))no_destructor,
    (void (*)(void))no_destructor,
    (void (*)(void))visit,
};

/* Returns the walk kind that skips inlined frames. Android 7.0 and 7.1 have one more kind before it. */
static uint32_t skips_inlined(const struct contract *c)
{
    return c->art.api < 26 ? 2 : 1;
}

static void walk(struct contract *c, void *of, uint32_t kind, bool with_transitions, uint32_t max)
{
    memset(&v, 0, sizeof v);
    ((void (*)(void *, void *, void *, uint32_t, bool))(uintptr_t)c->libart.address[STROBE_ART_VISITOR_INIT])(
        &v, of, NULL, kind, false);
    v.vtable = visitor_calls;
    v.libart = &c->libart;
    v.max = max;
    ((void (*)(void *, bool))(uintptr_t)c->libart.address[STROBE_ART_VISITOR_WALK])(&v, with_transitions);
}

/* ---- fabricated threads ---- */

static struct contract *the_case;
static size_t place;

static void fabricate(uint32_t fragment_count, uint32_t each)
{
    struct managed_stack *at = (struct managed_stack *)(void *)(thread + place);
    memset(thread, 0, sizeof thread);
    memset(fragments, 0, sizeof fragments);
    memset(frames, 0, sizeof frames);
    for (uint32_t f = 0, k = 0; f < fragment_count; f++) {
        at->shadow = each ? &frames[k] : NULL;
        for (uint32_t i = 0; i < each; i++, k++) {
            frames[k].method = &methods[k];
            frames[k].dex_pc = 7 * k;
            frames[k].register_count = 2;
            frames[k].link = i + 1 < each ? &frames[k + 1] : NULL;
        }
        at->link = f + 1 < fragment_count ? &fragments[f] : NULL;
        at = &fragments[f];
    }
}

/* Finds the word of a Thread that points to the frame of the native method that it runs. The managed stack begins
 * there. */
static void find_place(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class, (void)what;
    uintptr_t sample = workload_static(env, "Main", "sample", "(I)V"), here = (uintptr_t)&sample;
    const uintptr_t *words = strobe_art_current(&the_case->libart);
    for (size_t i = PLACE_FIRST / sizeof *words; i < PLACE_LAST / sizeof *words; i++) {
        uintptr_t frame = words[i] & ~(uintptr_t)3;
        if (words[i] & 1 && frame > here && frame - here < NEAR_BYTES && *(const uintptr_t *)frame == sample)
            place = i * sizeof *words;
    }
}

static void know_place(struct contract *c)
{
    the_case = c;
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)find_place);
    java_static(c->art.env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = 0});
    if (!CHECK(c, place, "no word of the Thread names the native method's frame"))
        _exit(1);
}

static void a_thread_of_bytes_is_walked_by_what_it_holds(struct contract *c)
{
    static const uint32_t shapes[][2] = {{1, 1}, {1, 5}, {3, 4}, {8, 16}, {16, 16}, {1, 256}, {5, 0}};
    know_place(c);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        uint32_t count = shapes[s][0] * shapes[s][1];
        fabricate(shapes[s][0], shapes[s][1]);
        walk(c, thread, skips_inlined(c), false, FRAMES_MAX);
        CHECK(c, v.count == count && v.nulls == 0, "shape %zu: %u frames", s, v.count);
        for (uint32_t i = 0; i < v.count; i++)
            if (!CHECK(c, v.method[i] == &methods[i] && v.dex_pc[i] == 7 * i, "shape %zu: frame %u", s, i))
                break;
        walk(c, thread, skips_inlined(c), true, FRAMES_MAX);
        CHECK(c, v.count == count && v.nulls == shapes[s][0], "shape %zu: %u transitions", s, v.nulls);
        walk(c, thread, skips_inlined(c), false, count / 2);
        CHECK(c, v.count == count / 2, "shape %zu: %u frames after no was said", s, v.count);
    }
}

static enum strobe_walk_end walk_as_engine(struct contract *c, uint32_t *count)
{
    static struct strobe_art_walk w;
    static uint64_t found[FRAMES_MAX];
    return strobe_art_walk(&w, &c->libart, thread, found + FRAMES_MAX, NULL, FRAMES_MAX, count);
}

/* S-44 */
static void a_stack_that_leads_in_a_circle_is_walked_to_an_end(struct contract *c)
{
    uint32_t count;
    know_place(c);
    fabricate(1, 5);
    frames[4].link = &frames[1];
    CHECK(c, walk_as_engine(c, &count) == STROBE_WALK_CUT && count == FRAMES_MAX, "%u frames of methods", count);
    memset(methods, 0xff, sizeof methods); /* pseudo-methods of the runtime, which the walk omits */
    CHECK(c, walk_as_engine(c, &count) == STROBE_WALK_CUT && count == 0, "%u frames of pseudo-methods", count);
    memset(methods, 0, sizeof methods);
    fabricate(2, 3);
    fragments[0].link = &fragments[0];
    CHECK(c, walk_as_engine(c, &count) == STROBE_WALK_CUT && count == FRAMES_MAX, "%u frames of fragments", count);
}

static void the_constructor_writes_its_own_fields_alone(struct contract *c)
{
    memset(&v, 0xa5, sizeof v);
    ((void (*)(void *, void *, void *, uint32_t, bool))(uintptr_t)c->libart.address[STROBE_ART_VISITOR_INIT])(
        &v, thread, NULL, skips_inlined(c), false);
    size_t written = sizeof v;
    while (written && ((unsigned char *)&v)[written - 1] == 0xa5)
        written--;
    CHECK(c, written >= 0x50 && written <= 600, "%zu bytes", written);
    CHECK(c, c->art.api != 30 || written == 513, "%zu bytes", written);
    CHECK(c, c->art.api != 34 || written == 489, "%zu bytes", written);
}

/* ---- inlined callees ---- */

static uint32_t with, without;
static bool inner_first;

/* Main.deep is recursive, so it is not inlined. Main.viaVirtual is inlined into Main.shapes. */
static void look_both_ways(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class, (void)what;
    void *self = strobe_art_current(&the_case->libart);
    void *inlined = (void *)(uintptr_t)workload_static(env, "Main", "viaVirtual", "(LShape;)V");
    void *into = (void *)(uintptr_t)workload_static(env, "Main", "shapes", "()V");
    walk(the_case, self, 0, false, FRAMES_MAX);
    with = v.count;
    for (uint32_t i = 0; i + 1 < v.count; i++)
        inner_first |= v.method[i] == inlined && v.method[i + 1] == into;
    walk(the_case, self, skips_inlined(the_case), false, FRAMES_MAX);
    without = v.count;
    for (uint32_t i = 0; i < v.count; i++)
        CHECK(the_case, v.method[i] != inlined, "frame %u is of a callee that has none", i);
}

static void inlined_callees_come_before_their_caller_or_not_at_all(struct contract *c)
{
    the_case = c;
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)look_both_ways);
    java_static(c->art.env, "Main", "shapes", "()V", NULL);
    CHECK(c, inner_first, "not before");
    CHECK(c, with == without + 1, "%u frames with, %u without", with, without);
}

const struct contract_case contract_cases_visitor[] = {
    {"a_thread_of_bytes_is_walked_by_what_it_holds", a_thread_of_bytes_is_walked_by_what_it_holds, 0},
    {"a_stack_that_leads_in_a_circle_is_walked_to_an_end", a_stack_that_leads_in_a_circle_is_walked_to_an_end, 0},
    {"the_constructor_writes_its_own_fields_alone", the_constructor_writes_its_own_fields_alone, 0},
    {"inlined_callees_come_before_their_caller_or_not_at_all", inlined_callees_come_before_their_caller_or_not_at_all,
     CONTRACT_INLINED},
    {0},
};
