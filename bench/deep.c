#include "bench/deep.h"

/* State that the frames share. */
struct way {
    struct deep_place place;
    deep_fn *bottom;
    void *arg;
};

static int small(const struct way *w, int left);
static int middle(const struct way *w, int left);
static int wide(const struct way *w, int left);
static int large(const struct way *w, int left);

static int end(const struct way *w)
{
    w->bottom(&w->place, w->arg);
    return 0;
}

/* Each function adds to the result of its callee, so that no call is a tail call, and fills a pad, so that frames
 * differ in size. */
static __attribute__((noinline)) int small(const struct way *w, int left)
{
    volatile char pad[16] = {1};
    return (left == 1 ? end(w) : middle(w, left - 1)) + pad[0];
}

static __attribute__((noinline)) int middle(const struct way *w, int left)
{
    volatile char pad[96] = {1};
    return (left == 1 ? end(w) : wide(w, left - 1)) + pad[0];
}

static __attribute__((noinline)) int wide(const struct way *w, int left)
{
    volatile char pad[208] = {1};
    return (left == 1 ? end(w) : large(w, left - 1)) + pad[0];
}

static __attribute__((noinline)) int large(const struct way *w, int left)
{
    volatile char pad[400] = {1};
    return (left == 1 ? end(w) : small(w, left - 1)) + pad[0];
}

void deep_call(int depth, deep_fn *bottom, void *arg)
{
    struct way w = {.bottom = bottom, .arg = arg};
    w.place = (struct deep_place){.top = (uint64_t)(uintptr_t)__builtin_frame_address(0), .depth = depth};
    volatile int kept = small(&w, depth);
    (void)kept;
}
