#include "sim/score/waits.h"

#include "engine/util/array.h"

#include <stdlib.h>

/* A wait during the comparison. */
struct item {
    const struct sim_wait *wait;
    uint64_t begin_ns, end_ns;
    bool known; /* a wait of the same kind overlaps it on the other side */
    bool right; /* ... with the same waker */
};

struct items {
    struct item *at;
    size_t count;
};

/* Orders waits by begin; waits with equal begins by nesting, the outer one first. */
static int compare_wait_begins(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->wait < b->wait ? -1 : a->wait > b->wait;
}

static struct items sorted(const struct sim_track *t)
{
    size_t count = t ? t->wait_count : 0;
    struct items items = {malloc((count + 1) * sizeof *items.at), count};
    for (size_t i = 0; items.at && i < count; i++)
        items.at[i] = (struct item){&t->waits[i], t->waits[i].begin_ns, t->waits[i].end_ns, false, false};
    if (items.at && count)
        qsort(items.at, count, sizeof *items.at, compare_wait_begins);
    return items;
}

/* Adds the part of [begin, end) that was not spent on a core. `next` is the first core span that may overlap. */
static bool add_off(struct sim_spans *off, const struct sim_track *t, size_t *next, uint64_t begin_ns, uint64_t end_ns)
{
    while (begin_ns < end_ns) {
        while (*next < t->cpu_count && t->cpu[*next].end_ns <= begin_ns)
            ++*next;
        const struct sim_span *on = *next < t->cpu_count ? &t->cpu[*next] : NULL;
        uint64_t till = on && on->begin_ns < end_ns ? on->begin_ns : end_ns;
        if (till > begin_ns) {
            if (!strobe_array_reserve(&off->at, &off->room, off->count + 1))
                return false;
            off->at[off->count++] = (struct sim_span){begin_ns, till, 0};
        }
        begin_ns = till < end_ns ? on->end_ns : end_ns;
    }
    return true;
}

bool sim_waits_off(const struct sim_track *t, struct sim_spans *off)
{
    struct items waits = sorted(t);
    size_t next = 0;
    uint64_t behind_ns = t->begin_ns;
    bool ok = waits.at != NULL;
    off->count = 0;
    for (size_t i = 0; ok && i < waits.count; i++) {
        const struct item *w = &waits.at[i];
        uint64_t begin_ns = w->begin_ns > behind_ns ? w->begin_ns : behind_ns;
        uint64_t end_ns = w->wait->waker == SIM_NOBODY ? w->end_ns : w->wait->release_ns;
        if (end_ns > t->end_ns)
            end_ns = t->end_ns;
        if (!w->wait->blocked || end_ns <= begin_ns)
            continue;
        ok = add_off(off, t, &next, begin_ns, end_ns);
        behind_ns = end_ns;
    }
    free(waits.at);
    return ok;
}

/* Returns the time in blocks within the life of `t`. */
static uint64_t blocked_ns(struct items waits, const struct sim_track *t)
{
    uint64_t sum = 0, behind_ns = t->begin_ns;
    for (size_t i = 0; i < waits.count; i++) {
        const struct item *w = &waits.at[i];
        uint64_t begin_ns = w->begin_ns > behind_ns ? w->begin_ns : behind_ns;
        uint64_t end_ns = w->end_ns < t->end_ns ? w->end_ns : t->end_ns;
        if (!w->wait->blocked || end_ns <= begin_ns)
            continue;
        sum += end_ns - begin_ns;
        behind_ns = end_ns;
    }
    return sum;
}

/* Keeps the waits of `open` that end after `now`, and returns their number. */
static size_t still_open(struct item **open, size_t count, uint64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (open[i]->end_ns > now_ns)
            open[kept++] = open[i];
    return kept;
}

static void compare_track_waits(const struct sim_pairing *p, struct item *truth, struct item *reconstruction)
{
    const struct sim_wait *t = truth->wait, *c = reconstruction->wait;
    if (t->kind != c->kind)
        return;
    truth->known = reconstruction->known = true;
    if (t->waker == SIM_NOBODY || c->waker == SIM_NOBODY || p->track_of[c->waker] != (uint32_t)t->waker)
        return;
    truth->right = reconstruction->right = true;
}

/* Walks both sides by begin and compares each wait with the open waits of the other side. Few waits are open at once,
 * because they nest. */
static bool match_waits(const struct sim_pairing *p, struct items truth, struct items reconstruction)
{
    struct item **open[2] = {NULL, NULL};
    size_t count[2] = {0, 0}, room[2] = {0, 0}, i = 0, j = 0;
    bool ok = true;
    while (ok && (i < truth.count || j < reconstruction.count)) {
        bool reconstructed =
            i == truth.count || (j < reconstruction.count && reconstruction.at[j].begin_ns < truth.at[i].begin_ns);
        struct item *now = reconstructed ? &reconstruction.at[j++] : &truth.at[i++];
        if (now->begin_ns == now->end_ns)
            continue;
        for (int side = 0; side < 2; side++)
            count[side] = still_open(open[side], count[side], now->begin_ns);
        for (size_t k = 0; k < count[!reconstructed]; k++)
            compare_track_waits(p, reconstructed ? open[0][k] : now, reconstructed ? now : open[1][k]);
        ok = strobe_array_reserve(&open[reconstructed], &room[reconstructed], count[reconstructed] + 1);
        if (ok)
            open[reconstructed][count[reconstructed]++] = now;
    }
    free(open[0]);
    free(open[1]);
    return ok;
}

static bool is_within(const struct item *w, const struct item *outer)
{
    return w->end_ns <= outer->end_ns && (w->begin_ns > outer->begin_ns || w->end_ns < outer->end_ns);
}

/* `end_ns`: end of the thread's true track. The truth does not know what ended a true wait that lasted longer. */
static void count_wakers(struct items truth, struct items reconstruction, uint64_t blocked_min_ns, uint64_t end_ns,
                         struct sim_score *out)
{
    for (size_t i = 0; i < truth.count; i++) {
        const struct item *w = &truth.at[i];
        if (!w->wait->blocked || w->wait->waker == SIM_NOBODY || w->end_ns - w->begin_ns < blocked_min_ns)
            continue;
        out->true_wakers++;
        out->found_wakers += w->right;
    }
    const struct item *outer = NULL; /* the previous wait that ends last */
    for (size_t i = 0; i < reconstruction.count; i++) {
        const struct item *w = &reconstruction.at[i];
        bool part = !w->known && outer && is_within(w, outer);
        bool outlasts = w->known && !w->right && w->end_ns > end_ns;
        out->claimed_wakers += w->wait->waker != SIM_NOBODY && !part && !outlasts;
        out->right_wakers += w->right;
        outer = !outer || w->end_ns > outer->end_ns ? w : outer;
    }
}

bool sim_waits_score(const struct sim_pairing *p, const struct sim_pair *pair, uint64_t blocked_min_ns,
                     struct sim_score *out, struct sim_thread_score *thread)
{
    struct items truth = sorted(pair->truth), reconstruction = sorted(pair->reconstruction);
    const struct sim_track *life = pair->truth ? pair->truth : pair->reconstruction;
    bool ok = truth.at && reconstruction.at && match_waits(p, truth, reconstruction);
    if (ok) {
        uint64_t true_ns = blocked_ns(truth, life), reconstructed_ns = blocked_ns(reconstruction, life);
        reconstructed_ns += pair->reconstruction ? pair->reconstruction->short_wait_ns : 0;
        out->true_blocked_ns += true_ns;
        out->claimed_blocked_ns += reconstructed_ns;
        out->blocked_wrong_ns += true_ns > reconstructed_ns ? true_ns - reconstructed_ns : reconstructed_ns - true_ns;
        if (thread) {
            thread->true_blocked_ns = true_ns;
            thread->claimed_blocked_ns = reconstructed_ns;
        }
        count_wakers(truth, reconstruction, blocked_min_ns, life->end_ns, out);
    }
    free(truth.at);
    free(reconstruction.at);
    return ok;
}
