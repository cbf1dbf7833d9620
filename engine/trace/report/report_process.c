#include "engine/trace/report/report_process.h"

/* The series only grows, and its values can come in any order. */
static void add_mach_traps(struct strobe_process_sum *p, uint64_t value)
{
    if (!p->knows_traps || value < p->least_traps)
        p->least_traps = value;
    if (!p->knows_traps || value > p->most_traps)
        p->most_traps = value;
    p->knows_traps = 1;
    p->sum.mach_traps = p->most_traps - p->least_traps;
}

void strobe_process_value(struct strobe_process_sum *p, enum strobe_series what, uint64_t time_ns, uint64_t value)
{
    p->sum.values++;
    if (what == STROBE_SERIES_FOOTPRINT_BYTES && value > p->sum.footprint_peak_bytes)
        p->sum.footprint_peak_bytes = value;
    if (what == STROBE_SERIES_THREADS && value > p->sum.threads_max)
        p->sum.threads_max = value;
    if (what == STROBE_SERIES_MACH_TRAPS)
        add_mach_traps(p, value);
    if (what != STROBE_SERIES_CPU_NS)
        return;
    if (!p->knows_cpu || time_ns < p->first_ns) {
        p->first_ns = time_ns;
        p->first_cpu_ns = value;
    }
    if (!p->knows_cpu || time_ns > p->last_ns) {
        p->last_ns = time_ns;
        p->last_cpu_ns = value;
    }
    p->knows_cpu = 1;
}

void strobe_process_hitch(struct strobe_process_sum *p, enum strobe_hitch how, uint64_t begin_ns, uint64_t end_ns,
                          uint32_t thread)
{
    uint64_t duration = end_ns > begin_ns ? end_ns - begin_ns : 0;
    *(how == STROBE_HITCH_HANG ? &p->sum.hangs : &p->sum.hitches) += 1;
    p->sum.late_ns += duration;
    if (duration <= p->sum.longest_ns)
        return;
    p->sum.longest_ns = duration;
    p->begin_ns = begin_ns;
    p->thread = thread;
}

static int is_hitch_thread(const struct strobe_process_sum *p, uint32_t thread)
{
    return p->sum.longest_ns && thread == p->thread;
}

void strobe_process_slice_begin(struct strobe_process_sum *p, uint32_t thread, uint64_t time_ns, uint32_t name)
{
    if (!is_hitch_thread(p, thread))
        return;
    if (p->depth < STROBE_PLACE_DEPTH_MAX) {
        p->open[p->depth].begin_ns = time_ns;
        p->open[p->depth].name = name;
    }
    p->depth++;
}

void strobe_process_slice_end(struct strobe_process_sum *p, uint32_t thread, uint64_t time_ns)
{
    if (!is_hitch_thread(p, thread) || !p->depth)
        return;
    p->depth--;
    if (p->depth >= STROBE_PLACE_DEPTH_MAX || p->depth < p->place_depth)
        return;
    uint64_t from = p->open[p->depth].begin_ns, to = p->begin_ns + p->sum.longest_ns;
    from = from > p->begin_ns ? from : p->begin_ns;
    to = to < time_ns ? to : time_ns;
    if (to > from && to - from >= p->sum.longest_ns - p->sum.longest_ns / 2) {
        p->place = p->open[p->depth].name;
        p->place_depth = p->depth + 1;
    }
}

void strobe_process_finish(const struct strobe_process_sum *p, struct strobe_report *r)
{
    r->process = p->sum;
    r->process.longest_in = "";
    if (p->knows_cpu) {
        r->process.span_ns = p->last_ns - p->first_ns;
        r->process.cpu_ns = p->last_cpu_ns > p->first_cpu_ns ? p->last_cpu_ns - p->first_cpu_ns : 0;
    }
    if (p->sum.longest_ns)
        r->process.longest_begin_ns = p->begin_ns > r->begin_ns ? p->begin_ns - r->begin_ns : 0;
}
