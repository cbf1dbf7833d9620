#include "engine/trace/merge/merge_clock.h"

#include "engine/util/array.h"
#include "engine/util/cursor.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t MARKER_ERROR_NS = 1000000; /* a single marker is written soon after its clock was read */
static const uint64_t SAME_CLOCK_ERROR_NS = 1000;

void strobe_merge_reference_add_clocks(struct strobe_merge_reference *k, uint64_t boot_ns, uint64_t mono_ns,
                                       uint64_t real_ns)
{
    int had = (k->mono_ns != 0) + (k->real_ns != 0), has = (mono_ns != 0) + (real_ns != 0);
    if (boot_ns && (!k->boot_ns || has > had)) {
        k->boot_ns = boot_ns;
        k->mono_ns = mono_ns;
        k->real_ns = real_ns;
    }
}

void strobe_merge_reference_add_time(struct strobe_merge_reference *k, uint64_t boot_ns)
{
    if (!k->first_ns || boot_ns < k->first_ns)
        k->first_ns = boot_ns;
    if (boot_ns > k->last_ns)
        k->last_ns = boot_ns;
}

/* ---- markers */

/* Takes `123.456789` as ns. */
static bool take_marker_seconds(struct strobe_cursor *c, uint64_t *ns)
{
    const uint64_t seconds_most = 10000000000; /* more than any clock has */
    uint64_t seconds, unit = 1000000000;
    if (!strobe_cursor_take_number(c, seconds_most, &seconds))
        return false;
    *ns = seconds * unit;
    if (!strobe_cursor_take(c, "."))
        return true;
    for (; strobe_cursor_at_digit(c) && unit > 1; c->at++)
        *ns += (uint64_t)(*c->at - '0') * (unit /= 10);
    return true;
}

void strobe_merge_read_clock_marker(struct strobe_merge_timing *h, uint64_t time_ns, const char *at, size_t bytes)
{
    struct strobe_cursor c = strobe_cursor(at, bytes);
    uint64_t ns, ms;
    if (!strobe_cursor_take(&c, "trace_event_clock_sync:"))
        return;
    strobe_cursor_skip_blanks(&c);
    if (strobe_cursor_take(&c, "parent_ts=") && take_marker_seconds(&c, &ns)) {
        int64_t difference = (int64_t)(ns - time_ns);
        h->parent_least = !h->parents || difference < h->parent_least ? difference : h->parent_least;
        h->parent_most = !h->parents || difference > h->parent_most ? difference : h->parent_most;
        h->parents++;
    } else if (strobe_cursor_take(&c, "realtime_ts=") && strobe_cursor_take_number(&c, INT64_MAX / 1000000, &ms)) {
        int64_t difference = (int64_t)(ms * 1000000 - time_ns);
        h->date_most = !h->dates || difference > h->date_most ? difference : h->date_most;
        h->dates++;
    }
}

/* ---- sections */

static int by_section(const void *a, const void *b)
{
    const struct strobe_merge_section *v = a, *w = b;
    if (v->tid != w->tid)
        return v->tid < w->tid ? -1 : 1;
    if (v->name != w->name)
        return v->name < w->name ? -1 : 1;
    return v->begin_ns < w->begin_ns ? -1 : v->begin_ns > w->begin_ns;
}

static int by_difference(const void *a, const void *b)
{
    int64_t v = *(const int64_t *)a, w = *(const int64_t *)b;
    return v < w ? -1 : v > w;
}

/* Returns how many sections from `i` on have its thread and name. */
static size_t count_same(const struct strobe_merge_section *s, size_t count, size_t i)
{
    size_t n = 1;
    while (i + n < count && s[i + n].tid == s[i].tid && s[i + n].name == s[i].name)
        n++;
    return n;
}

/* Collects the differences of sections that both have, thread by thread and name by name, where both have as many. */
static size_t collect_differences(const struct strobe_merge_section *a, size_t a_count,
                                  const struct strobe_merge_section *b, size_t b_count, int64_t *out)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        size_t same_a = count_same(a, a_count, i), same_b = count_same(b, b_count, k);
        struct strobe_merge_section first = {a[i].tid, a[i].name, b[k].begin_ns};
        int order = by_section(&first, &b[k]);
        for (size_t j = 0; order == 0 && same_a == same_b && j < same_a; j++)
            out[n++] = (int64_t)(a[i + j].begin_ns - b[k + j].begin_ns);
        i += order <= 0 ? same_a : 0;
        k += order >= 0 ? same_b : 0;
    }
    return n;
}

static bool align_by_sections(const struct strobe_merge_reference *reference, struct strobe_merge_timing *timing,
                              struct strobe_merge_alignment *out)
{
    size_t least = reference->section_count < timing->section_count ? reference->section_count : timing->section_count;
    int64_t *differences = least ? malloc(least * sizeof *differences) : NULL;
    if (!differences)
        return false;
    qsort(reference->sections, reference->section_count, sizeof *reference->sections, by_section);
    qsort(timing->sections, timing->section_count, sizeof *timing->sections, by_section);
    size_t n = collect_differences(reference->sections, reference->section_count, timing->sections,
                                   timing->section_count, differences);
    if (n) {
        qsort(differences, n, sizeof *differences, by_difference);
        out->offset_ns = differences[n / 2];
        out->error_ns = n > 1 ? (uint64_t)differences[n - 1 - n / 10] - (uint64_t)differences[n / 10] : MARKER_ERROR_NS;
        out->how = "by sections that are in both";
    }
    free(differences);
    return n > 0;
}

/* ---- alignment */

/* Returns BOOTTIME minus MONOTONIC. */
static int64_t boot_minus_mono(const struct strobe_merge_reference *reference)
{
    return reference->mono_ns ? (int64_t)(reference->boot_ns - reference->mono_ns) : 0;
}

/* Adds times of a text that may have any contents. */
static int64_t add_times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static bool times_overlap(const struct strobe_merge_reference *reference, const struct strobe_merge_timing *timing,
                          int64_t offset)
{
    int64_t first = add_times((int64_t)timing->first_ns, offset), last = add_times((int64_t)timing->last_ns, offset);
    return first <= (int64_t)reference->last_ns && last >= (int64_t)reference->first_ns;
}

static bool is_clock(const struct strobe_merge_timing *timing, const char *name)
{
    return !strcmp(timing->clock, name);
}

bool strobe_merge_align(const struct strobe_merge_reference *reference, struct strobe_merge_timing *timing,
                        struct strobe_merge_alignment *out)
{
    bool has_mono = reference->mono_ns != 0;
    int64_t from_mono = boot_minus_mono(reference);
    *out = (struct strobe_merge_alignment){0, STROBE_MERGE_UNKNOWN, "taken as they are: no other input has a clock"};
    if (!reference->last_ns)
        return true;
    if (is_clock(timing, "boot")) {
        *out = (struct strobe_merge_alignment){0, SAME_CLOCK_ERROR_NS, "boottime, as the file states"};
    } else if (is_clock(timing, "mono") && has_mono) {
        *out = (struct strobe_merge_alignment){from_mono, SAME_CLOCK_ERROR_NS, "monotonic, as the file states"};
    } else if (timing->parents && has_mono) {
        uint64_t spread = (uint64_t)timing->parent_most - (uint64_t)timing->parent_least;
        *out = (struct strobe_merge_alignment){add_times(timing->parent_most, from_mono),
                                               timing->parents > 1 ? spread + SAME_CLOCK_ERROR_NS : MARKER_ERROR_NS,
                                               "monotonic, by its markers of it"};
    } else if (timing->dates && reference->real_ns) {
        *out = (struct strobe_merge_alignment){
            add_times(timing->date_most, (int64_t)(reference->boot_ns - reference->real_ns)), 2 * MARKER_ERROR_NS,
            "by its markers of the date"};
    } else if (align_by_sections(reference, timing, out)) {
        return true;
    } else if (times_overlap(reference, timing, 0)) {
        *out = (struct strobe_merge_alignment){0, STROBE_MERGE_UNKNOWN,
                                               "taken as boottime, because they overlap those of the other inputs"};
    } else if (has_mono && times_overlap(reference, timing, from_mono)) {
        *out = (struct strobe_merge_alignment){
            from_mono, STROBE_MERGE_UNKNOWN, "taken as monotonic, because they then overlap those of the other inputs"};
    } else {
        return false;
    }
    return true;
}

/* ---- the error */

uint64_t strobe_merge_error_by_waits(const struct strobe_merge_reference *reference,
                                     const struct strobe_sched_states *states, size_t *count)
{
    enum { WAITS_LEAST = 8 };
    const uint64_t slack_ns = 100000000;
    int64_t *delays = malloc((reference->wait_count + 1) * sizeof *delays);
    *count = 0;
    for (size_t i = 0; delays && i < reference->wait_count; i++) {
        const struct strobe_merge_wait *w = &reference->waits[i];
        uint64_t in_ns;
        if (strobe_sched_states_switched_in(states, w->tid, w->end_ns, &in_ns) && w->end_ns - in_ns < slack_ns)
            delays[(*count)++] = (int64_t)(w->end_ns - in_ns);
    }
    uint64_t median = STROBE_MERGE_UNKNOWN;
    if (*count >= WAITS_LEAST) {
        qsort(delays, *count, sizeof *delays, by_difference);
        median = (uint64_t)delays[*count / 2];
    }
    free(delays);
    return median;
}

void strobe_merge_reference_free(struct strobe_merge_reference *k)
{
    strobe_text_pool_free(&k->names);
    free(k->sections);
    free(k->waits);
    *k = (struct strobe_merge_reference){0};
}
