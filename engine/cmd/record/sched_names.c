#include "engine/cmd/record/sched_names.h"

#include "engine/util/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stores the index of the thread's name. Returns false when out of memory. */
static bool find_name_slot(struct strobe_sched_names *n, uint32_t tid, uint32_t *out)
{
    int fresh;
    if (!strobe_array_reserve(&n->names, &n->name_room, n->count + 1) ||
        !strobe_array_reserve(&n->seen, &n->seen_room, n->count + 1))
        return false;
    uint32_t *index = strobe_idmap_put(&n->by_tid, tid, 0, &fresh);
    if (!index)
        return false;
    if (fresh) {
        *index = (uint32_t)n->count++;
        n->names[*index] = (struct strobe_sched_name){.tid = tid};
        n->seen[*index] = (struct strobe_sched_name_seen){.wakes = 0};
    }
    *out = *index;
    return true;
}

static void store_name(struct strobe_sched_name *name, const char *text, size_t bytes)
{
    size_t kept = bytes < sizeof name->name - 1 ? bytes : sizeof name->name - 1;
    memset(name->name, 0, sizeof name->name);
    memcpy(name->name, text, strnlen(text, kept));
}

void strobe_sched_names_set(struct strobe_sched_names *n, uint32_t tid, uint64_t at_ns, const char *text, size_t bytes)
{
    uint32_t index;
    if (!find_name_slot(n, tid, &index) || at_ns < n->seen[index].named_ns)
        return;
    n->seen[index].named_ns = at_ns;
    store_name(&n->names[index], text, bytes);
}

void strobe_sched_names_inherit(struct strobe_sched_names *n, uint32_t tid, uint32_t creator, uint64_t at_ns)
{
    const uint32_t *from = strobe_idmap_get(&n->by_tid, creator, 0);
    const struct strobe_sched_name of_creator = from ? n->names[*from] : (struct strobe_sched_name){.tid = 0};
    strobe_sched_names_set(n, tid, at_ns, of_creator.name, sizeof of_creator.name);
}

void strobe_sched_names_wake(struct strobe_sched_names *n, uint32_t tid)
{
    uint32_t index;
    if (!n->from_proc || !find_name_slot(n, tid, &index))
        return;
    uint32_t *counted = &n->seen[index].wakes, wakes = *counted < UINT32_MAX ? ++*counted : UINT32_MAX;
    bool power_of_two = (wakes & (wakes - 1)) == 0;
    if (power_of_two && strobe_array_reserve(&n->due, &n->due_room, n->due_count + 1))
        n->due[n->due_count++] = tid;
}

void strobe_sched_names_read(struct strobe_sched_names *n)
{
    for (size_t i = 0; i < n->due_count; i++) {
        char path[32], text[64];
        snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", n->due[i]);
        FILE *f = fopen(path, "re");
        size_t bytes = f ? fread(text, 1, sizeof text, f) : 0;
        if (f)
            fclose(f);
        const uint32_t *index = strobe_idmap_get(&n->by_tid, n->due[i], 0);
        if (bytes > 1 && index) /* the name, and the line's end */
            store_name(&n->names[*index], text, bytes - 1);
    }
    n->due_count = 0;
}

static int by_tid(const void *a, const void *b)
{
    const struct strobe_sched_name *v = a, *w = b;
    return v->tid < w->tid ? -1 : v->tid > w->tid;
}

void strobe_sched_names_finish(struct strobe_sched_names *n)
{
    size_t known = 0;
    strobe_sched_names_read(n);
    for (size_t i = 0; i < n->count; i++)
        if (n->names[i].name[0])
            n->names[known++] = n->names[i];
    n->count = known;
    if (known)
        qsort(n->names, known, sizeof *n->names, by_tid);
    strobe_idmap_clear(&n->by_tid);
}

void strobe_sched_names_free(struct strobe_sched_names *n)
{
    strobe_idmap_free(&n->by_tid);
    free(n->names);
    free(n->seen);
    free(n->due);
    *n = (struct strobe_sched_names){.count = 0};
}
