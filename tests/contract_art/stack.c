/* Walks of a thread's own managed stack, from a native method that the workload calls. */
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <string.h>

enum { ROOM = 1024, NO_DEX_PC = -1 };

static struct contract *the_case;
static struct strobe_art_walk walk;

/* The code that the native method runs, and the result of its last walk. */
static void (*in_native)(struct strobe_jni *env);
static struct seen {
    uint64_t frames[ROOM];
    uint32_t dex_pcs[ROOM], count, max;
    enum strobe_walk_end end;
} seen;

/* Returns frame i of the walk, counted from the innermost. */
static uint64_t frame(uint32_t i)
{
    return seen.frames[seen.max - 1 - i];
}

static uint32_t dex_pc(uint32_t i)
{
    return seen.dex_pcs[seen.max - 1 - i];
}

static void walk_self(const struct strobe_libart *a, uint32_t max)
{
    memset(&seen, 0, sizeof seen);
    seen.max = max;
    seen.end =
        strobe_art_walk(&walk, a, strobe_art_current(a), seen.frames + max, seen.dex_pcs + max, max, &seen.count);
}

static void walk_all(struct strobe_jni *env)
{
    (void)env;
    walk_self(&the_case->libart, ROOM);
}

static void sample(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class, (void)what;
    in_native(env);
}

static struct strobe_jni *begin(struct contract *c, void (*native)(struct strobe_jni *))
{
    the_case = c;
    in_native = native;
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)sample);
    return c->art.env;
}

static void call_deep(struct strobe_jni *env, int32_t more)
{
    java_static(env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = more});
}

/* Checks that the frames from i on are Main.sample and then Main.deep, `more` + 1 times. Returns the frame after them.
 */
static uint32_t check_deep(struct contract *c, uint32_t i, uint32_t more)
{
    uint64_t native = workload_static(c->art.env, "Main", "sample", "(I)V");
    uint64_t deep = workload_static(c->art.env, "Main", "deep", "(I)V");
    CHECK(c, frame(i) == native, "frame %u of %u", i, seen.count);
    for (uint32_t last = i + more + 1; i++ < last;)
        if (!CHECK(c, frame(i) == deep, "frame %u of %u", i, seen.count))
            break;
    return i;
}

/* ---- cases ---- */

static void a_walk_finds_every_frame_in_order(struct contract *c)
{
    static const uint32_t more[] = {0, 7, 31, 127, 511};
    begin(c, walk_all);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        call_deep(c->art.env, (int32_t)more[i]);
        CHECK(c, seen.count == more[i] + 2, "%u frames at %u calls", seen.count, more[i] + 1);
        CHECK(c, seen.end == STROBE_WALK_ROOT, "%d", seen.end);
        check_deep(c, 0, more[i]);
    }
}

static void different_methods_come_leaf_first(struct contract *c)
{
    struct strobe_jni *env = begin(c, walk_all);
    java_static(env, "Main", "shapes", "()V", &(union strobe_jvalue){0});
    const uint64_t expected[] = {
        workload_static(env, "Main", "sample", "(I)V"), workload_method(env, "Square", "area", "()I"),
        workload_static(env, "Main", "viaVirtual", "(LShape;)V"), workload_static(env, "Main", "shapes", "()V")};
    CHECK(c, seen.count == 4, "%u", seen.count);
    for (uint32_t i = 0; i < 4; i++)
        CHECK(c, frame(i) == expected[i], "frame %u", i);
}

static void walk_five(struct strobe_jni *env)
{
    (void)env;
    walk_self(&the_case->libart, 5);
}

static void a_walk_deeper_than_its_room_keeps_the_leaf_side_and_says_so(struct contract *c)
{
    begin(c, walk_five);
    call_deep(c->art.env, 30);
    CHECK(c, seen.count == 5 && seen.end == STROBE_WALK_CUT, "%u frames, %d", seen.count, seen.end);
    check_deep(c, 0, 3);
    call_deep(c->art.env, 3);
    CHECK(c, seen.count == 5 && seen.end == STROBE_WALK_ROOT, "%u frames, %d", seen.count, seen.end);
    check_deep(c, 0, 3);
}

static void walk_nothing(struct strobe_jni *env)
{
    (void)env;
    walk_self(&the_case->libart, 0);
}

static void a_walk_without_room_writes_nothing_and_is_cut(struct contract *c)
{
    begin(c, walk_nothing);
    call_deep(c->art.env, 3);
    CHECK(c, seen.count == 0 && seen.end == STROBE_WALK_CUT, "%u frames, %d", seen.count, seen.end);
    CHECK(c, seen.frames[0] == 0, "%#llx", (unsigned long long)seen.frames[0]);
}

/* Main.deep calls Main.sample at code unit 3 and itself at 9. */
static void dex_pcs_give_the_position_of_each_frame(struct contract *c)
{
    begin(c, walk_all);
    call_deep(c->art.env, 4);
    CHECK(c, dex_pc(0) == (uint32_t)NO_DEX_PC, "native: %u", dex_pc(0));
    CHECK(c, dex_pc(1) == 3, "%u", dex_pc(1));
    for (uint32_t i = 2; i < seen.count; i++)
        CHECK(c, dex_pc(i) == 9, "frame %u: %u", i, dex_pc(i));
}

static void call_back_once(struct strobe_jni *env)
{
    in_native = walk_all;
    call_deep(env, 3);
}

/* Native code calls managed code, which calls native code. This makes two fragments of the managed stack. */
static void frames_of_nested_fragments_come_one_after_the_other(struct contract *c)
{
    begin(c, call_back_once);
    call_deep(c->art.env, 6);
    CHECK(c, seen.count == 5 + 8, "%u", seen.count);
    check_deep(c, check_deep(c, 0, 3), 6);
}

static void a_thread_without_managed_frames_has_an_empty_stack(struct contract *c)
{
    begin(c, walk_all);
    walk_all(c->art.env);
    CHECK(c, seen.count == 0 && seen.end == STROBE_WALK_ROOT, "%u frames, %d", seen.count, seen.end);
}

/* ---- a fabricated thread, which exists only as bytes ---- */

enum { THREAD_BYTES = 8192, MADE_MAX = ROOM, FRAGMENTS_MAX = 16, METHOD_BYTES = 64 };

/* 64-bit layouts, the same at all API levels (art/runtime/managed_stack.h and shadow_frame.h of the Android Open Source
 * Project). */
struct made_fragment {
    void *quick;
    struct made_fragment *link;
    struct made_frame *shadow;
};
struct made_frame {
    struct made_frame *link;
    void *method, *result, *dex_pc_pointer, *code, *locks;
    uint32_t register_count, dex_pc;
    uint64_t registers[4];
};

static _Alignas(16) unsigned char made_thread[THREAD_BYTES], made_methods[MADE_MAX][METHOD_BYTES];
static struct made_frame made_frames[MADE_MAX];
static struct made_fragment made_fragments[FRAGMENTS_MAX];

/* Finds the ManagedStack in a Thread: a pointer and the JNIEnv follow it. */
static size_t managed_stack_offset(const struct contract *c)
{
    const char *self = strobe_art_current(&c->libart);
    for (size_t at = sizeof(struct made_fragment); at < 512; at += sizeof(void *))
        if (*(void *const *)(const void *)(self + at) == c->art.env)
            return at - sizeof(void *) - sizeof(struct made_fragment);
    return 0;
}

/* Fabricates a stack of `fragments` fragments with `each` frames each, innermost first. The first fragment is in the
 * thread itself. */
static void make_stack(size_t offset, uint32_t fragments, uint32_t each)
{
    struct made_fragment *fragment = (void *)(made_thread + offset);
    memset(made_thread, 0, sizeof made_thread);
    memset(made_frames, 0, sizeof made_frames);
    for (uint32_t f = 0, k = 0; f < fragments; f++) {
        *fragment = (struct made_fragment){0};
        fragment->shadow = each ? &made_frames[k] : NULL;
        for (uint32_t i = 0; i < each; i++, k++)
            made_frames[k] = (struct made_frame){.link = i + 1 < each ? &made_frames[k + 1] : NULL,
                                                 .method = made_methods[k],
                                                 .register_count = 2,
                                                 .dex_pc = 7 * k};
        fragment->link = f + 1 < fragments ? &made_fragments[f] : NULL;
        fragment = &made_fragments[f];
    }
}

static void a_stack_of_any_shape_is_walked_exactly(struct contract *c)
{
    static const uint32_t shapes[][2] = {{1, 1}, {1, 5}, {3, 4}, {8, 16}, {16, 64}, {1, 1000}, {5, 0}};
    size_t offset = managed_stack_offset(c);
    if (!CHECK(c, offset, "no ManagedStack in a Thread"))
        return;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        uint32_t expected = shapes[i][0] * shapes[i][1], right = 0;
        make_stack(offset, shapes[i][0], shapes[i][1]);
        memset(&seen, 0, sizeof seen);
        seen.max = ROOM;
        seen.end =
            strobe_art_walk(&walk, &c->libart, made_thread, seen.frames + ROOM, seen.dex_pcs + ROOM, ROOM, &seen.count);
        for (uint32_t k = 0; k < expected && k < seen.count; k++)
            right += frame(k) == (uint64_t)(uintptr_t)made_methods[k] && dex_pc(k) == 7 * k;
        CHECK(c, seen.count == expected && right == expected && seen.end == STROBE_WALK_ROOT,
              "%u fragments of %u: %u frames, %u of them right, end %d", shapes[i][0], shapes[i][1], seen.count, right,
              seen.end);
    }
}

#define CASE(f, needs)                                                                                                 \
    {                                                                                                                  \
#f, f, needs                                                                                                   \
    }
const struct contract_case contract_cases_stack[] = {
    CASE(a_walk_finds_every_frame_in_order, 0),
    CASE(different_methods_come_leaf_first, 0),
    CASE(a_walk_deeper_than_its_room_keeps_the_leaf_side_and_says_so, 0),
    CASE(a_walk_without_room_writes_nothing_and_is_cut, 0),
    CASE(dex_pcs_give_the_position_of_each_frame, 0),
    CASE(frames_of_nested_fragments_come_one_after_the_other, 0),
    CASE(a_thread_without_managed_frames_has_an_empty_stack, 0),
    CASE(a_stack_of_any_shape_is_walked_exactly, 0),
    {0},
};
