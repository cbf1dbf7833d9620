#include "engine/backend/art/names.h"
#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/workload.h"

#include <string.h>
#include <sys/mman.h>

enum { LOW_FIRST = 0x04000000, LOW_LAST = 0x7c000000, LOW_STEP = 0x04000000 };
enum { ROUNDS = 50000, OBJECTS = 2 * ROUNDS }; /* Main.alloc makes two objects a round */

/* Returns the allocations that the engine has counted for the calling thread so far, read from the session during the
 * capture. */
static uint64_t own_allocations(const struct capture *k)
{
    struct strobe_session s;
    uint64_t count = 0;
    if (strobe_session_open(k->path, &s) != STROBE_OK)
        return 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&s); i++)
        if (s.threads[i].tid == workload_tid())
            count += strobe_load_relaxed(&s.threads[i].alloc_count);
    strobe_session_unmap(&s);
    return count;
}

/* Returns true when allocations are captured. Before Android 8.0 the runtime has no allocation listener, and the status
 * must state that. */
static bool has_listener(struct contract *c, struct capture *k)
{
    if (capture_has(k, STROBE_ART_ALLOC))
        return true;
    CHECK(c, c->art.api < 26 && strstr(k->status.off[STROBE_ART_ALLOC], "SetAllocationListener"), "%s",
          k->status.off[STROBE_ART_ALLOC]);
    capture_end(k);
    capture_drop(k);
    return false;
}

static void allocations_are_counted_to_the_last(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = 1000000;
    if (!capture_begin(c, &config, &k))
        return;
    if (!has_listener(c, &k))
        return;
    capture_call(c, "alloc", "(I)V", 10);
    uint64_t before = own_allocations(&k);
    capture_call(c, "alloc", "(I)V", ROUNDS);
    uint64_t counted = own_allocations(&k) - before;
    capture_end(&k);
    uint64_t at_end = capture_requests(&k, STROBE_KIND_ALLOC);
    CHECK(c, counted == OBJECTS, "%d allocations, %llu counted", OBJECTS, (unsigned long long)counted);
    CHECK(c, at_end >= OBJECTS + 20, "%llu events", (unsigned long long)at_end);
    capture_call(c, "alloc", "(I)V", 1000);
    CHECK(c, capture_requests(&k, STROBE_KIND_ALLOC) == at_end, "silence after the end");
    capture_drop(&k);
}

struct seen {
    const struct capture *k;
    int allocations, elsewhere;
};

static void look_at_allocation(void *ctx, const struct strobe_record *r)
{
    struct seen *s = ctx;
    if (r->kind != STROBE_KIND_ALLOC)
        return;
    s->allocations++;
    s->elsewhere += strcmp(capture_frame(s->k, r->stack, 0), "void Main.alloc(int)") != 0;
}

static void methods_are_named_at_the_end(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    capture_config(&config);
    capture_call(c, "alloc", "(I)V", 1); /* initializes the class, which allocates, too */
    if (!capture_begin(c, &config, &k))
        return;
    if (!has_listener(c, &k))
        return;
    capture_call(c, "alloc", "(I)V", 100);
    capture_end(&k);
    struct seen s = {.k = &k};
    capture_visit(&k, look_at_allocation, &s);
    CHECK(c, s.allocations >= 1 && s.elsewhere == 0, "%d records of allocations, %d not in Main.alloc", s.allocations,
          s.elsewhere);
    capture_drop(&k);
}

/* Maps a page at an address that a 32-bit reference can hold. NULL: no such address is free. */
static void *low_page(void)
{
    for (uintptr_t at = LOW_FIRST; at < LOW_LAST; at += LOW_STEP) {
        void *page = mmap((void *)at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if ((uintptr_t)page == at)
            return page;
        if (page != MAP_FAILED)
            munmap(page, 4096);
    }
    return NULL;
}

/* Pointers whose memory no longer holds the method that it held when they were captured. */
static void a_pointer_that_is_no_method_any_more_gets_no_name(struct contract *c)
{
    static uint64_t zeros[16], ones[16];
    uint32_t *no_class = low_page();
    const struct strobe_host *host = &workload_host(c)->linux.host;
    uint64_t method = workload_static(c->art.env, "Main", "alloc", "(I)V");
    uint64_t copied[16];
    char name[128] = "";
    memset(ones, 0xff, sizeof ones);
    memcpy(copied, (const void *)(uintptr_t)method, c->libart.level->method_bytes);
    CHECK(c,
          strobe_art_method_name(&c->libart, host, method, name, sizeof name) && !strcmp(name, "void Main.alloc(int)"),
          "%s", name);
    uint64_t wrong[] = {0,
                        8,
                        0x1000,
                        method + 1,
                        method + 4,
                        (uint64_t)(uintptr_t)zeros,
                        (uint64_t)(uintptr_t)ones,
                        (uint64_t)(uintptr_t)&strobe_art_method_name,
                        UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(c, !strobe_art_method_name(&c->libart, host, wrong[i], name, sizeof name), "%#llx is called %s",
              (unsigned long long)wrong[i], name);
    if (CHECK(c, no_class, "no memory that a reference leads to")) {
        no_class[0] = (uint32_t)(uintptr_t)no_class + 64; /* a reference to an object whose class is not a class */
        no_class[16] = 1;
        memcpy(copied, &(uint32_t){(uint32_t)(uintptr_t)no_class}, sizeof(uint32_t));
        CHECK(c, !strobe_art_method_name(&c->libart, host, (uint64_t)(uintptr_t)copied, name, sizeof name),
              "a method of what is no class is called %s", name);
        memcpy(copied, (const void *)(uintptr_t)method, sizeof(uint32_t));
    }
    if (c->art.genuine) /* there a class lists its own methods */
        CHECK(c, !strobe_art_method_name(&c->libart, host, (uint64_t)(uintptr_t)copied, name, sizeof name),
              "a method's bytes elsewhere are called %s", name);
}

const struct contract_case contract_cases_engine[] = {
    {"allocations_are_counted_to_the_last", allocations_are_counted_to_the_last, 0},
    {"methods_are_named_at_the_end", methods_are_named_at_the_end, 0},
    {"a_pointer_that_is_no_method_any_more_gets_no_name", a_pointer_that_is_no_method_any_more_gets_no_name, 0},
    {0},
};
