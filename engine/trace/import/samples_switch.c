#include "engine/trace/import/samples_switch.h"

void strobe_switch_out(struct strobe_switches *t, uint64_t time_ns, bool preempted, struct strobe_sampled_stack stack)
{
    if (t->known && !t->off && time_ns > t->since_ns)
        t->cpu_ns += time_ns - t->since_ns;
    t->known = t->off = true;
    t->since_ns = time_ns;
    t->preempted = preempted;
    t->gave_way |= !preempted;
    t->left = stack;
}

uint64_t strobe_switch_in(struct strobe_switches *t, struct strobe_sampled *out, uint32_t thread, uint64_t time_ns)
{
    uint64_t refused = 0;
    if (t->off && t->left.id && time_ns >= t->since_ns) {
        struct strobe_sampled_point point = {.first_ns = t->since_ns,
                                             .last_ns = t->since_ns,
                                             .cpu_ns = t->cpu_ns,
                                             .stack = t->left,
                                             .thread = thread,
                                             .count = 1,
                                             .kind = STROBE_KIND_ASYNC,
                                             .flags = (uint16_t)(t->preempted ? STROBE_FLAG_READY : 0)};
        refused += !strobe_sampled_point(out, &point);
        point.first_ns = point.last_ns = time_ns;
        point.flags = (uint16_t)(t->preempted ? STROBE_FLAG_READY : STROBE_FLAG_GAVE_WAY);
        refused += !strobe_sampled_point(out, &point);
        t->gave_way = false;
    }
    t->known = true;
    t->off = false;
    t->since_ns = time_ns;
    t->left = (struct strobe_sampled_stack){0, false};
    return refused;
}

uint64_t strobe_switch_cpu(struct strobe_switches *t, uint64_t time_ns)
{
    if (!t->known) {
        t->known = true;
        t->since_ns = time_ns;
    }
    return t->cpu_ns + (!t->off && time_ns > t->since_ns ? time_ns - t->since_ns : 0);
}
