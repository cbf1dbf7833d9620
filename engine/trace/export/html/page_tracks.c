#include "engine/trace/export/html/page_tracks.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

void strobe_page_tracks_open(struct strobe_page_tracks *t, uint64_t span_ns)
{
    *t = (struct strobe_page_tracks){.resolution_ns = span_ns / STROBE_PAGE_STEPS,
                                     .blocks_most = STROBE_PAGE_BLOCKS_MOST};
}

/* Merges the block into the one before it, if both together are no longer than the resolution. Returns 0 if not. */
static int merge_page_block(struct strobe_page_block *last, const struct strobe_page_block *b, uint64_t resolution_ns)
{
    if (b->end_ns - last->begin_ns > resolution_ns)
        return 0;
    if (b->longest_ns > last->longest_ns) {
        last->longest_ns = b->longest_ns;
        last->name = b->name;
    }
    last->end_ns = b->end_ns;
    last->count += b->count;
    return 1;
}

/* Merges blocks anew, with the double resolution. */
static void coarsen_tracks(struct strobe_page_tracks *t)
{
    t->resolution_ns = t->resolution_ns ? 2 * t->resolution_ns : 1;
    t->blocks = 0;
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->tracks[i].level_count; k++) {
            struct strobe_page_level *l = &t->tracks[i].levels[k];
            size_t kept = 0;
            for (size_t b = 0; b < l->count; b++)
                if (!kept || !merge_page_block(&l->blocks[kept - 1], &l->blocks[b], t->resolution_ns))
                    l->blocks[kept++] = l->blocks[b];
            l->count = kept;
            t->blocks += kept;
        }
}

/* Coarsens while there are too many blocks, unless that merges nothing any more. */
static void limit_blocks(struct strobe_page_tracks *t, size_t most)
{
    while (t->blocks > most && t->resolution_ns < UINT64_MAX / 4)
        coarsen_tracks(t);
}

static void free_page_track(struct strobe_page_track *track)
{
    for (size_t k = 0; k < track->level_count; k++)
        free(track->levels[k].blocks);
    free(track->levels);
}

static int busiest_track_first(const void *a, const void *b)
{
    const struct strobe_page_track *x = a, *y = b;
    if (x->is_main != y->is_main)
        return x->is_main ? -1 : 1;
    if (x->cpu_ns != y->cpu_ns)
        return x->cpu_ns > y->cpu_ns ? -1 : 1;
    if (x->wall_ns != y->wall_ns)
        return x->wall_ns > y->wall_ns ? -1 : 1;
    if (x->generation != y->generation)
        return x->generation < y->generation ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static void keep_busiest_tracks(struct strobe_page_tracks *t)
{
    if (t->count)
        qsort(t->tracks, t->count, sizeof *t->tracks, busiest_track_first);
    while (t->count > STROBE_PAGE_TRACKS_MOST) {
        struct strobe_page_track *track = &t->tracks[--t->count];
        for (size_t k = 0; k < track->level_count; k++)
            t->blocks -= track->levels[k].count;
        free_page_track(track);
        t->left_out++;
    }
}

void strobe_page_track_begin(struct strobe_page_tracks *t, const struct strobe_reader_thread *thread)
{
    if (t->count >= 2 * STROBE_PAGE_TRACKS_MOST)
        keep_busiest_tracks(t);
    if (!strobe_array_reserve(&t->tracks, &t->room, t->count + 1)) {
        t->failed = 1;
        return;
    }
    t->last_slices = 0;
    t->tracks[t->count++] = (struct strobe_page_track){
        .name = thread->name, .tid = thread->tid, .generation = thread->generation, .is_main = thread->is_main};
}

void strobe_page_track_slice(struct strobe_page_tracks *t, uint32_t depth, uint64_t begin_ns, uint64_t end_ns,
                             uint32_t name)
{
    struct strobe_page_block block = {begin_ns, end_ns, end_ns - begin_ns, name, 1};
    struct strobe_page_track *track = t->count ? &t->tracks[t->count - 1] : NULL;
    if (t->failed || !track || !depth)
        return;
    if (!strobe_array_reserve_zeroed(&track->levels, &track->level_room, depth)) {
        t->failed = 1;
        return;
    }
    track->level_count = depth > track->level_count ? depth : track->level_count;
    struct strobe_page_level *level = &track->levels[depth - 1];
    t->slices++;
    t->last_slices++;
    if (level->count && merge_page_block(&level->blocks[level->count - 1], &block, t->resolution_ns))
        return;
    if (!strobe_array_reserve(&level->blocks, &level->room, level->count + 1)) {
        t->failed = 1;
        return;
    }
    level->blocks[level->count++] = block;
    t->blocks++;
    limit_blocks(t, 4 * t->blocks_most);
}

void strobe_page_track_end(struct strobe_page_tracks *t, uint64_t cpu_ns, uint64_t wall_ns)
{
    if (t->failed || !t->count)
        return;
    struct strobe_page_track *track = &t->tracks[t->count - 1];
    track->cpu_ns = cpu_ns;
    track->wall_ns = wall_ns;
    if (!t->last_slices) {
        free_page_track(track);
        t->count--;
    }
}

enum strobe_status strobe_page_tracks_finish(struct strobe_page_tracks *t)
{
    keep_busiest_tracks(t);
    limit_blocks(t, t->blocks_most);
    return t->failed ? STROBE_IO : STROBE_OK;
}

static void write_page_level(const struct strobe_page_level *l, struct strobe_json *j,
                             uint32_t (*name_of)(void *ctx, uint32_t name), void *ctx)
{
    uint64_t last_ns = 0;
    strobe_json_array(j, NULL);
    for (size_t i = 0; i < l->count; i++) {
        const struct strobe_page_block *b = &l->blocks[i];
        int64_t name = (int64_t)name_of(ctx, b->name);
        strobe_json_uint(j, NULL, b->begin_ns - last_ns);
        strobe_json_uint(j, NULL, b->end_ns - b->begin_ns);
        strobe_json_int(j, NULL, b->count > 1 ? -1 - name : name);
        if (b->count > 1)
            strobe_json_uint(j, NULL, b->count);
        last_ns = b->end_ns;
    }
    strobe_json_array_end(j);
}

void strobe_page_tracks_write(const struct strobe_page_tracks *t, const char *key, struct strobe_json *j,
                              uint32_t (*name_of)(void *ctx, uint32_t name), void *ctx)
{
    strobe_json_object(j, key);
    strobe_json_uint(j, "resolution_ns", t->resolution_ns);
    strobe_json_uint(j, "slices", t->slices);
    strobe_json_uint(j, "blocks", t->blocks);
    strobe_json_uint(j, "left_out", t->left_out);
    strobe_json_array(j, "tracks");
    for (size_t i = 0; i < t->count; i++) {
        const struct strobe_page_track *track = &t->tracks[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", track->name);
        strobe_json_uint(j, "tid", track->tid);
        strobe_json_uint(j, "generation", track->generation);
        strobe_json_bool(j, "main", track->is_main);
        strobe_json_uint(j, "cpu_ns", track->cpu_ns);
        strobe_json_array(j, "levels");
        for (size_t k = 0; k < track->level_count; k++)
            write_page_level(&track->levels[k], j, name_of, ctx);
        strobe_json_array_end(j);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}

void strobe_page_tracks_free(struct strobe_page_tracks *t)
{
    for (size_t i = 0; i < t->count; i++)
        free_page_track(&t->tracks[i]);
    free(t->tracks);
    *t = (struct strobe_page_tracks){0};
}
