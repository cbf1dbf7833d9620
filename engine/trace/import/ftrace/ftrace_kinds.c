#include "engine/trace/import/ftrace/ftrace_kinds.h"

#include "engine/util/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool strobe_ftrace_kinds_count(struct strobe_ftrace_kinds *k, struct strobe_ftrace_text name)
{
    uint32_t number = strobe_text_number(&k->names, name.at, name.bytes);
    if (number == UINT32_MAX || !strobe_array_reserve_zeroed(&k->counts, &k->room, (size_t)number + 1))
        return false;
    k->counts[number]++;
    return true;
}

static int by_kind_count(const void *a, const void *b)
{
    const struct strobe_ftrace_kind_count *v = a, *w = b;
    return v->count != w->count ? (v->count < w->count ? 1 : -1) : strcmp(v->name, w->name);
}

void strobe_ftrace_print_kind_counts(struct strobe_ftrace_kind_count *list, size_t count, FILE *out)
{
    enum { SHOWN = 20 };
    qsort(list, count, sizeof *list, by_kind_count);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        fprintf(out, "%s %s %" PRIu64, i ? "," : "", list[i].name, list[i].count);
    fputs(count > SHOWN ? ", and others\n" : "\n", out);
}

void strobe_ftrace_kinds_print_left_out(const struct strobe_ftrace_kinds *k, const char *file, FILE *out)
{
    struct strobe_ftrace_kind_count *list = calloc(k->names.count + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; list && i < k->names.count && i < k->room; i++)
        if (k->counts[i])
            list[n++] = (struct strobe_ftrace_kind_count){k->names.texts[i], k->counts[i]};
    if (n) {
        fprintf(out, "%s: left out:", file);
        strobe_ftrace_print_kind_counts(list, n, out);
    }
    free(list);
}

void strobe_ftrace_kinds_free(struct strobe_ftrace_kinds *k)
{
    strobe_text_pool_free(&k->names);
    free(k->counts);
    *k = (struct strobe_ftrace_kinds){0};
}
