#include "engine/capture/thread.h"
#include "tests/contract_art/capture.h"

#include <string.h>

enum { ROUNDS = 50000, OBJECTS = 2 * ROUNDS };   /* Main.alloc makes two objects a round */

static uint64_t own_allocations(void)
{
    return strobe_load_relaxed(&strobe_local.thread->entry->alloc_count);
}

/* Before 8.0 the runtime has no allocation listener, and says so. Otherwise true. */
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
    uint64_t before = own_allocations();
    capture_call(c, "alloc", "(I)V", ROUNDS);
    uint64_t counted = own_allocations() - before;
    capture_end(&k);
    uint64_t at_end = capture_requests(&k, STROBE_KIND_ALLOC);
    CHECK(c, counted == OBJECTS, "%d allocations, %llu counted", OBJECTS, (unsigned long long)counted);
    CHECK(c, at_end >= OBJECTS + 20, "%llu events", (unsigned long long)at_end);
    capture_call(c, "alloc", "(I)V", 1000);
    CHECK(c, own_allocations() - before == counted, "silence after the end");
    capture_drop(&k);
}

struct seen { const struct capture *k; int allocations, elsewhere; };

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
    capture_call(c, "alloc", "(I)V", 1);   /* makes the class ready, in which others allocate */
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

const struct contract_case contract_cases_engine[] = {
    {"allocations_are_counted_to_the_last", allocations_are_counted_to_the_last, 0},
    {"methods_are_named_at_the_end", methods_are_named_at_the_end, 0},
    {0},
};
