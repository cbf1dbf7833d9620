#include "sim/explore/repetition.h"

#include <string.h>

static bool do_alike(const struct explore_event *a, const struct explore_event *b)
{
    return a->kind == b->kind && a->site.code == b->site.code && a->site.text == b->site.text &&
           (a->kind == EXPLORE_E_FENCE || (explore_is_load(a) && a->place == b->place && a->from == b->from));
}

void explore_count_repetition(struct explore_repetition *r, const struct explore_graph *g, uint32_t thread,
                              uint32_t done)
{
    const struct explore_event *last = explore_event_of(g, thread, done - 1);
    for (uint32_t p = 1; p <= EXPLORE_TURN_MAX; p++)
        r->alike[p] = done > p && do_alike(last, explore_event_of(g, thread, done - 1 - p)) ? r->alike[p] + 1 : 0;
}

void explore_forget_repetition(struct explore_repetition *r)
{
    memset(r, 0, sizeof *r);
}

bool explore_seems_to_wait(struct explore_repetition *r)
{
    for (uint32_t p = 1; p <= EXPLORE_TURN_MAX; p++)
        if (r->alike[p] >= p * EXPLORE_TURNS_ALIKE) {
            explore_forget_repetition(r);
            return true;
        }
    return false;
}
