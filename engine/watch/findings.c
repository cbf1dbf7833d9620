#include "engine/watch/findings.h"

#include "engine/util/array.h"
#include "engine/watch/finding.h"

#include <stdlib.h>
#include <string.h>

static const char *findings_keep_text(struct strobe_findings *l, const char *text)
{
    const char *kept = strobe_text_keep(&l->texts, text, strlen(text));
    l->failed |= !kept;
    return kept ? kept : "";
}

static void findings_add(void *ctx, const struct strobe_finding *f)
{
    struct strobe_findings *l = ctx;
    if (!strobe_array_reserve(&l->at, &l->room, l->count + 1)) {
        l->failed = true;
        return;
    }
    struct strobe_finding *own = &l->at[l->count++];
    *own = *f;
    own->scene = findings_keep_text(l, f->scene);
    own->blame = findings_keep_text(l, f->blame);
    own->stack = findings_keep_text(l, f->stack);
    own->key = findings_keep_text(l, f->key);
    own->unseen = findings_keep_text(l, f->unseen);
    for (size_t i = 0; i < own->value_count; i++)
        own->values[i].key = findings_keep_text(l, f->values[i].key);
}

struct strobe_finding_sink strobe_findings_sink(struct strobe_findings *f)
{
    return (struct strobe_finding_sink){findings_add, f};
}

void strobe_findings_free(struct strobe_findings *f)
{
    free(f->at);
    strobe_text_pool_free(&f->texts);
    *f = (struct strobe_findings){0};
}

static bool is_before(const struct strobe_finding *a, const struct strobe_finding *b)
{
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns;
    return a->end_ns > b->end_ns;
}

/* Merge sort: stable, and fast for nearly sorted input. Findings come sorted by their end. */
static void merge_findings(struct strobe_finding *at, size_t count, struct strobe_finding *scratch)
{
    size_t half = count / 2, left = 0, right = half;
    if (count < 2)
        return;
    merge_findings(at, half, scratch);
    merge_findings(at + half, count - half, scratch);
    if (!is_before(&at[half], &at[half - 1]))
        return;
    memcpy(scratch, at, half * sizeof *at);
    for (size_t i = 0; left < half; i++)
        at[i] = right < count && is_before(&at[right], &scratch[left]) ? at[right++] : scratch[left++];
}

void strobe_findings_sort(struct strobe_findings *f)
{
    struct strobe_finding *scratch = malloc((f->count / 2 + 1) * sizeof *scratch);
    if (!scratch)
        f->failed = true;
    else
        merge_findings(f->at, f->count, scratch);
    free(scratch);
}

uint64_t strobe_finding_cost_ns(const struct strobe_finding *f)
{
    static const char *const keys[] = {"cost_ms", "cold_ms", "warm_ms", "block_ms", "application_ms"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        double ms = strobe_finding_value(f, keys[k]); /* NaN when the key is missing: both comparisons are then false */
        if (ms >= 0 && ms < 1e12)
            return (uint64_t)(ms * 1e6 + 0.5);
    }
    return f->end_ns - f->begin_ns;
}
