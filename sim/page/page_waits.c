#include "sim/page/page_waits.h"

#include "engine/trace/model/function_tree.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

/* A true wait before its table row is made. */
struct long_wait {
    const struct sim_wait *wait;
    uint32_t pair, number;
};

static uint64_t wait_ns(const struct sim_wait *w)
{
    return w->end_ns - w->begin_ns;
}

static int longest_true_wait_first(const void *left, const void *right)
{
    const struct long_wait *a = left, *b = right;
    if (wait_ns(a->wait) != wait_ns(b->wait))
        return wait_ns(a->wait) > wait_ns(b->wait) ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static uint64_t common_ns(const struct sim_wait *a, const struct sim_wait *b)
{
    uint64_t begin_ns = a->begin_ns > b->begin_ns ? a->begin_ns : b->begin_ns;
    uint64_t end_ns = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static void find_claimed_wait(const struct sim_pairing *p, const struct long_wait *of, struct sim_page_wait *row)
{
    const struct sim_track *c = p->pairs[of->pair].reconstruction;
    uint64_t most_ns = 0;
    for (size_t i = 0; c && i < c->wait_count; i++) {
        const struct sim_wait *w = &c->waits[i];
        uint64_t both_ns = w->kind == of->wait->kind ? common_ns(w, of->wait) : 0;
        if (!both_ns)
            continue;
        bool right = w->waker != SIM_NOBODY && of->wait->waker != SIM_NOBODY &&
                     p->track_of[w->waker] == (uint32_t)of->wait->waker;
        row->is_claimed = true;
        if (w->waker != SIM_NOBODY && !row->is_right && (right || both_ns > most_ns))
            memcpy(row->claimed_waker, p->reconstruction->tracks[w->waker].name, sizeof row->claimed_waker);
        row->is_right |= right;
        if (both_ns > most_ns)
            row->claimed_ns = wait_ns(w);
        most_ns = both_ns > most_ns ? both_ns : most_ns;
    }
}

static void make_wait_row(const struct sim_pairing *p, const struct long_wait *of, struct sim_page_wait *row)
{
    const struct sim_track *t = p->pairs[of->pair].truth;
    *row = (struct sim_page_wait){.begin_ns = of->wait->begin_ns,
                                  .end_ns = of->wait->end_ns,
                                  .kind = of->wait->kind,
                                  .tid = t->tid,
                                  .generation = t->generation};
    memcpy(row->thread, t->name, sizeof row->thread);
    if (of->wait->waker != SIM_NOBODY)
        memcpy(row->waker, p->truth->tracks[of->wait->waker].name, sizeof row->waker);
    find_claimed_wait(p, of, row);
}

bool sim_page_waits_of(const struct sim_pairing *p, size_t most, struct sim_page_waits *out)
{
    struct long_wait *all = NULL;
    size_t count = 0, room = 0;
    bool ok = true;
    for (uint32_t i = 0; i < p->pair_count && ok; i++)
        for (size_t k = 0; p->pairs[i].truth && k < p->pairs[i].truth->wait_count && ok; k++) {
            if (!p->pairs[i].truth->waits[k].blocked)
                continue;
            ok = strobe_array_reserve(&all, &room, count + 1);
            if (ok) {
                all[count] = (struct long_wait){&p->pairs[i].truth->waits[k], i, (uint32_t)count};
                count++;
            }
        }
    if (count)
        qsort(all, count, sizeof *all, longest_true_wait_first);
    count = count < most ? count : most;
    ok = ok && strobe_array_reserve(&out->at, &out->room, count + 1);
    for (out->count = 0; ok && out->count < count; out->count++)
        make_wait_row(p, &all[out->count], &out->at[out->count]);
    free(all);
    return ok;
}

void sim_page_waits_write(const struct sim_page_waits *waits, const char *key, struct strobe_json *j)
{
    strobe_json_array(j, key);
    for (size_t i = 0; i < waits->count; i++) {
        const struct sim_page_wait *w = &waits->at[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "kind", strobe_wait_name(w->kind));
        strobe_json_text(j, "thread", w->thread);
        strobe_json_uint(j, "tid", w->tid);
        strobe_json_uint(j, "generation", w->generation);
        strobe_json_uint(j, "begin_ns", w->begin_ns);
        strobe_json_uint(j, "ns", w->end_ns - w->begin_ns);
        strobe_json_uint(j, "claimed_ns", w->claimed_ns);
        strobe_json_text(j, "waker", w->waker);
        strobe_json_text(j, "claimed_waker", w->claimed_waker);
        strobe_json_bool(j, "is_claimed", w->is_claimed);
        strobe_json_bool(j, "is_right", w->is_right);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
}

void sim_page_waits_free(struct sim_page_waits *w)
{
    free(w->at);
    *w = (struct sim_page_waits){0};
}
