#include "sim/score/fields.h"

#include <stdio.h>
#include <string.h>

#define REAL(field, unit)                                                                                              \
    {                                                                                                                  \
#field, offsetof(struct sim_score, field), true, unit                                                          \
    }
#define WHOLE(field, unit)                                                                                             \
    {                                                                                                                  \
#field, offsetof(struct sim_score, field), false, unit                                                         \
    }

const struct sim_field sim_fields[SIM_FIELD_COUNT_ALL] = {
    REAL(agreement, SIM_FIELD_SHARE),
    REAL(agreement_resolved, SIM_FIELD_SHARE),
    REAL(agreement_running, SIM_FIELD_SHARE),
    REAL(agreement_seen, SIM_FIELD_SHARE),
    REAL(unseen, SIM_FIELD_SHARE),
    REAL(overhead, SIM_FIELD_SHARE),
    REAL(recall, SIM_FIELD_SHARE),
    REAL(precision, SIM_FIELD_SHARE),
    WHOLE(false_merges, SIM_FIELD_COUNT),
    WHOLE(false_splits, SIM_FIELD_COUNT),
    REAL(blocked_error, SIM_FIELD_SHARE),
    REAL(waker_precision, SIM_FIELD_SHARE),
    REAL(waker_recall, SIM_FIELD_SHARE),
    REAL(cpu_error, SIM_FIELD_SHARE),
    REAL(alloc_error, SIM_FIELD_SHARE),
    REAL(switch_error, SIM_FIELD_SHARE),
    REAL(false_running, SIM_FIELD_SHARE),
    WHOLE(samples, SIM_FIELD_COUNT),
    WHOLE(lost, SIM_FIELD_COUNT),
    REAL(bytes_per_app_second, SIM_FIELD_BYTES),
    WHOLE(code_bytes, SIM_FIELD_BYTES),
    WHOLE(bytes, SIM_FIELD_BYTES),
    WHOLE(thread_ns, SIM_FIELD_NS),
    WHOLE(agree_ns, SIM_FIELD_NS),
    WHOLE(resolved_ns, SIM_FIELD_NS),
    WHOLE(running_ns, SIM_FIELD_NS),
    WHOLE(running_agree_ns, SIM_FIELD_NS),
    WHOLE(starved_wrong_ns, SIM_FIELD_NS),
    WHOLE(seen_ns, SIM_FIELD_NS),
    WHOLE(seen_agree_ns, SIM_FIELD_NS),
    WHOLE(unseen_ns, SIM_FIELD_NS),
    WHOLE(timed_calls, SIM_FIELD_COUNT),
    REAL(call_error_ns, SIM_FIELD_NS),
    WHOLE(call_error_sum_ns, SIM_FIELD_NS),
    WHOLE(call_error_most_ns, SIM_FIELD_NS),
    WHOLE(methods_in, SIM_FIELD_COUNT),
    WHOLE(methods_out, SIM_FIELD_COUNT),
    WHOLE(true_calls, SIM_FIELD_COUNT),
    WHOLE(found_calls, SIM_FIELD_COUNT),
    WHOLE(claimed_calls, SIM_FIELD_COUNT),
    WHOLE(right_calls, SIM_FIELD_COUNT),
    WHOLE(true_blocked_ns, SIM_FIELD_NS),
    WHOLE(claimed_blocked_ns, SIM_FIELD_NS),
    WHOLE(blocked_wrong_ns, SIM_FIELD_NS),
    WHOLE(false_running_ns, SIM_FIELD_NS),
    REAL(waits_named, SIM_FIELD_SHARE),
    WHOLE(unhooked_ns, SIM_FIELD_NS),
    WHOLE(named_ns, SIM_FIELD_NS),
    WHOLE(true_wakers, SIM_FIELD_COUNT),
    WHOLE(found_wakers, SIM_FIELD_COUNT),
    WHOLE(claimed_wakers, SIM_FIELD_COUNT),
    WHOLE(right_wakers, SIM_FIELD_COUNT),
    WHOLE(app_cpu_ns, SIM_FIELD_NS),
    WHOLE(tracer_cpu_ns, SIM_FIELD_NS),
    WHOLE(held_ns, SIM_FIELD_NS),
    WHOLE(work_ns, SIM_FIELD_NS),
};

double sim_field_value(const struct sim_field *f, const struct sim_score *s)
{
    const char *at = (const char *)s + f->offset;
    double real;
    uint64_t whole;
    if (f->real) {
        memcpy(&real, at, sizeof real);
        return real;
    }
    memcpy(&whole, at, sizeof whole);
    return (double)whole;
}

/* Formats a value in the largest unit in which it is at least 1, with as many decimals as are useful. */
static void scaled(double value, const char *const *units, unsigned count, double step, char *text)
{
    unsigned i = 0;
    for (; i + 1 < count && value >= step; i++)
        value /= step;
    snprintf(text, SIM_FIELD_TEXT_BYTES, i ? "%.2f %s" : "%.0f %s", value, units[i]);
}

const char *sim_field_text(enum sim_field_unit unit, double value, char text[SIM_FIELD_TEXT_BYTES])
{
    static const char *const times[] = {"ns", "us", "ms", "s"}, *const sizes[] = {"B", "KB", "MB", "GB"};
    switch (unit) {
    case SIM_FIELD_SHARE: snprintf(text, SIM_FIELD_TEXT_BYTES, "%.2f %%", 100 * value); break;
    case SIM_FIELD_COUNT:
        snprintf(text, SIM_FIELD_TEXT_BYTES, value == (double)(uint64_t)value ? "%.0f" : "%.1f", value);
        break;
    case SIM_FIELD_NS: scaled(value, times, 4, 1000, text); break;
    case SIM_FIELD_BYTES: scaled(value, sizes, 4, 1000, text); break;
    }
    return text;
}
