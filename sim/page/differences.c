#include "sim/page/differences.h"

#include "engine/util/array.h"

#include <stdlib.h>

struct open_call {
    uint32_t name;   /* by the names of its side */
    uint32_t number; /* by the names of the truth, or SIM_UNKNOWN */
    uint32_t class;
};

struct differing_side {
    const struct sim_track *track; /* NULL: none */
    const uint32_t *name_of;       /* numbers in the truth; NULL: this is the truth */
    size_t next;
    struct open_call *open;
    size_t depth, room;
};

static bool enter_differing_call(struct differing_side *s, const struct sim_event *e)
{
    uint32_t number = s->name_of ? s->name_of[e->name] : e->name;
    if (!strobe_array_reserve(&s->open, &s->room, s->depth + 1))
        return false;
    s->open[s->depth++] = (struct open_call){e->name, number, e->class};
    return true;
}

/* Takes the events up to this time. *equal is the length of the common begin, as far as it is known. */
static bool pass_events(struct differing_side *s, uint64_t time_ns, size_t *equal)
{
    for (; s->track && s->next < s->track->event_count && s->track->events[s->next].time_ns <= time_ns; s->next++) {
        const struct sim_event *e = &s->track->events[s->next];
        if (e->name != SIM_CALL_END) {
            if (!enter_differing_call(s, e))
                return false;
            continue;
        }
        s->depth--;
        *equal = *equal < s->depth ? *equal : s->depth;
    }
    return true;
}

static uint64_t next_event_ns(const struct differing_side *s, uint64_t end_ns)
{
    uint64_t next_ns = s->track && s->next < s->track->event_count ? s->track->events[s->next].time_ns : end_ns;
    return next_ns < end_ns ? next_ns : end_ns;
}

/* Returns the difference of two paths that are equal up to `equal`. */
static struct sim_difference difference_at(const struct differing_side *t, const struct differing_side *c, size_t equal)
{
    const struct open_call *a = equal < t->depth ? &t->open[equal] : NULL;
    const struct open_call *b = equal < c->depth ? &c->open[equal] : NULL;
    struct sim_difference d = {.depth = (uint32_t)equal,
                               .true_name = a ? a->name : SIM_NO_NAME,
                               .claimed = b ? b->name : SIM_NO_NAME,
                               .kind = a && b ? SIM_DIFFERS_OTHER
                                       : a    ? SIM_DIFFERS_MISSING
                                              : SIM_DIFFERS_EXTRA};
    if ((a && !c->depth) || (b && b->class == SIM_CALL_GAP))
        d.kind = SIM_DIFFERS_UNSEEN;
    return d;
}

static bool add_difference(struct sim_differences *out, const struct sim_difference *d)
{
    struct sim_difference *last = out->count ? &out->at[out->count - 1] : NULL;
    if (last && last->end_ns == d->begin_ns && last->kind == d->kind && last->depth == d->depth &&
        last->true_name == d->true_name && last->claimed == d->claimed) {
        last->end_ns = d->end_ns;
        return true;
    }
    if (!strobe_array_reserve(&out->at, &out->room, out->count + 1))
        return false;
    out->at[out->count++] = *d;
    return true;
}

bool sim_differences_of(const struct sim_pairing *p, const struct sim_pair *pair, struct sim_differences *out)
{
    const struct sim_track *life = pair->truth ? pair->truth : pair->reconstruction;
    struct differing_side t = {.track = pair->truth}, c = {.track = pair->reconstruction, .name_of = p->name_of};
    uint64_t now_ns = life->begin_ns, end_ns = life->end_ns;
    size_t equal = 0;
    bool ok = true;
    out->count = 0;
    while (ok && now_ns < end_ns) {
        ok = pass_events(&t, now_ns, &equal) && pass_events(&c, now_ns, &equal);
        uint64_t next_ns = next_event_ns(&t, next_event_ns(&c, end_ns));
        while (ok && equal < t.depth && equal < c.depth && t.open[equal].number == c.open[equal].number)
            equal++;
        if (ok && (equal < t.depth || equal < c.depth)) {
            struct sim_difference d = difference_at(&t, &c, equal);
            d.begin_ns = now_ns;
            d.end_ns = next_ns;
            ok = add_difference(out, &d);
        }
        now_ns = next_ns;
    }
    free(t.open);
    free(c.open);
    return ok;
}
