#include "sim/page/run_page.h"

#include "engine/trace/export/html/page.h"
#include "engine/trace/export/html/page_flame.h"
#include "engine/trace/export/html/page_tracks.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"
#include "sim/page/differences.h"
#include "sim/page/page_source.h"
#include "sim/page/page_waits.h"
#include "sim/score/fields.h"

#include <stdlib.h>
#include <string.h>

enum { TRUTH, CLAIM, SIDES };

struct page_node {
    uint32_t parent, name;
    uint64_t ns[SIDES]; /* time in which it is the innermost call */
};

/* A difference as the table shows it. */
struct page_difference {
    struct sim_difference what; /* names are those of the page's pool */
    uint32_t pair;
};

struct sim_run_page {
    uint64_t end_ns;
    struct strobe_text_pool texts;
    unsigned char *classes; /* by text */
    size_t class_room;
    struct strobe_page_names names;
    struct strobe_reader_thread *threads; /* by pair: what tracks refer to */
    struct strobe_page_tracks tracks[SIDES], differences;
    struct strobe_idmap node_of; /* by parent and name */
    struct page_node *nodes;
    size_t node_count, node_room;
    struct strobe_page_flame flame;
    struct page_difference *largest;
    size_t largest_count, largest_room;
    uint64_t difference_count;
    struct sim_page_waits waits;
    bool failed;
};

/* ---- names */

/* Returns the number of a name in the page's pool. */
static uint32_t pool_name(struct sim_run_page *p, const struct sim_tracks *of, uint32_t name, unsigned class)
{
    const char *text = of->names.texts[name];
    uint32_t number = strobe_text_number(&p->texts, text, strlen(text));
    if (number == UINT32_MAX || !strobe_array_reserve_zeroed(&p->classes, &p->class_room, (size_t)number + 1)) {
        p->failed = true;
        return 0;
    }
    if (class != SIM_CALL_METHOD)
        p->classes[number] = class == SIM_CALL_WAIT ? STROBE_SLICE_WAIT : STROBE_SLICE_GAP;
    return number;
}

static uint32_t number_of_page_name(void *ctx, uint32_t name)
{
    struct sim_run_page *p = ctx;
    return strobe_page_name(&p->names, name, p->texts.texts[name], "", (enum strobe_slice_class)p->classes[name]);
}

/* Differences are named by their kinds, which the script knows. */
static uint32_t number_of_kind(void *ctx, uint32_t kind)
{
    (void)ctx;
    return kind;
}

/* ---- calls */

static uint32_t child_node(struct sim_run_page *p, uint32_t parent, uint32_t name)
{
    int fresh = 0;
    uint32_t *node = strobe_idmap_put(&p->node_of, parent, name, &fresh);
    if (!node || !strobe_array_reserve(&p->nodes, &p->node_room, p->node_count + 1)) {
        p->failed = true;
        return 0;
    }
    if (fresh) {
        *node = (uint32_t)p->node_count;
        p->nodes[p->node_count++] = (struct page_node){.parent = parent, .name = name};
    }
    return *node;
}

struct shown_call {
    uint64_t begin_ns;
    uint32_t name, node;
};

/* Adds the calls of one side of a thread to its track and to the tree of paths. */
static void add_page_calls(struct sim_run_page *p, int side, const struct sim_tracks *of, const struct sim_track *track)
{
    struct shown_call *open = calloc(track->event_count + 1, sizeof *open);
    size_t depth = 0; /* open[0] is the root of the tree */
    uint64_t last_ns = track->begin_ns;
    p->failed |= !open;
    for (size_t i = 0; i < track->event_count && !p->failed; i++) {
        const struct sim_event *e = &track->events[i];
        if (depth)
            p->nodes[open[depth].node].ns[side] += e->time_ns - last_ns;
        last_ns = e->time_ns;
        if (e->name == SIM_CALL_END) {
            strobe_page_track_slice(&p->tracks[side], (uint32_t)depth, open[depth].begin_ns, e->time_ns,
                                    open[depth].name);
            depth--;
            continue;
        }
        uint32_t name = pool_name(p, of, e->name, e->class);
        uint32_t node = child_node(p, open[depth].node, name);
        open[++depth] = (struct shown_call){e->time_ns, name, node};
    }
    free(open);
}

/* ---- differences */

static int longest_difference_first(const void *left, const void *right)
{
    const struct page_difference *a = left, *b = right;
    uint64_t x = a->what.end_ns - a->what.begin_ns, y = b->what.end_ns - b->what.begin_ns;
    if (x != y)
        return x > y ? -1 : 1;
    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return a->what.begin_ns < b->what.begin_ns ? -1 : a->what.begin_ns > b->what.begin_ns;
}

static void keep_longest_differences(struct sim_run_page *p)
{
    if (p->largest_count)
        qsort(p->largest, p->largest_count, sizeof *p->largest, longest_difference_first);
    if (p->largest_count > SIM_PAGE_ROWS_MOST)
        p->largest_count = SIM_PAGE_ROWS_MOST;
}

static uint32_t pooled_or_none(struct sim_run_page *p, const struct sim_tracks *of, uint32_t name)
{
    return name == SIM_NO_NAME ? SIM_NO_NAME : pool_name(p, of, name, SIM_CALL_METHOD);
}

static void add_differences(struct sim_run_page *p, const struct sim_pairing *of, uint32_t pair,
                            struct sim_differences *list)
{
    p->failed |= !sim_differences_of(of, &of->pairs[pair], list);
    for (size_t i = 0; i < list->count && !p->failed; i++) {
        struct sim_difference d = list->at[i];
        strobe_page_track_slice(&p->differences, 1, d.begin_ns, d.end_ns, (uint32_t)d.kind);
        p->difference_count++;
        if (p->largest_count >= 4 * (size_t)SIM_PAGE_ROWS_MOST)
            keep_longest_differences(p);
        if (!strobe_array_reserve(&p->largest, &p->largest_room, p->largest_count + 1)) {
            p->failed = true;
            return;
        }
        d.true_name = pooled_or_none(p, of->truth, d.true_name);
        d.claimed = pooled_or_none(p, of->reconstruction, d.claimed);
        p->largest[p->largest_count++] = (struct page_difference){d, pair};
    }
}

/* ---- all threads */

static void add_pair(struct sim_run_page *p, const struct sim_pairing *of, uint32_t pair, struct sim_differences *list)
{
    const struct sim_track *sides[SIDES] = {of->pairs[pair].truth, of->pairs[pair].reconstruction};
    const struct sim_tracks *tracks[SIDES] = {of->truth, of->reconstruction};
    const struct sim_track *life = sides[TRUTH] ? sides[TRUTH] : sides[CLAIM];
    struct strobe_reader_thread *thread = &p->threads[pair];
    thread->tid = life->tid;
    thread->generation = life->generation;
    thread->is_main = life->is_main;
    memcpy(thread->name, life->name, sizeof life->name);
    thread->name[sizeof life->name - 1] = 0;
    uint64_t cpu_ns = sides[TRUTH] ? sides[TRUTH]->totals.cpu_ns : 0, wall_ns = life->end_ns - life->begin_ns;
    for (int side = TRUTH; side < SIDES; side++) {
        strobe_page_track_begin(&p->tracks[side], thread);
        if (sides[side])
            add_page_calls(p, side, tracks[side], sides[side]);
        strobe_page_track_end(&p->tracks[side], cpu_ns, wall_ns);
    }
    strobe_page_track_begin(&p->differences, thread);
    add_differences(p, of, pair, list);
    strobe_page_track_end(&p->differences, cpu_ns, wall_ns);
}

static void path_of_page_node(void *ctx, uint32_t path, uint32_t *parent, double amounts[STROBE_PAGE_COLUMNS_MOST])
{
    const struct page_node *node = &((struct sim_run_page *)ctx)->nodes[path];
    *parent = node->parent;
    amounts[TRUTH] = (double)node->ns[TRUTH];
    amounts[CLAIM] = (double)node->ns[CLAIM];
}

static uint32_t name_of_page_node(void *ctx, uint32_t path)
{
    struct sim_run_page *p = ctx;
    return number_of_page_name(p, p->nodes[path].name);
}

static enum strobe_status finish_run_page(struct sim_run_page *p)
{
    enum strobe_status status = p->failed ? STROBE_IO : STROBE_OK;
    struct strobe_page_tracks *tracks[] = {&p->tracks[TRUTH], &p->tracks[CLAIM], &p->differences};
    keep_longest_differences(p);
    for (size_t i = 0; i < sizeof tracks / sizeof *tracks && status == STROBE_OK; i++)
        status = strobe_page_tracks_finish(tracks[i]);
    if (status != STROBE_OK)
        return status;
    return strobe_page_flame_build(&p->flame, &(struct strobe_page_paths){.count = (uint32_t)p->node_count,
                                                                          .path = path_of_page_node,
                                                                          .name = name_of_page_node,
                                                                          .ctx = p,
                                                                          .columns = SIDES,
                                                                          .column_names = {"truth", "claim"}});
}

enum strobe_status sim_run_page_keep(void *page, const struct sim_tracks *truth,
                                     const struct sim_tracks *reconstruction)
{
    struct sim_run_page *p = page;
    struct sim_pairing of;
    struct sim_differences list = {0};
    p->end_ns = truth->end_ns > reconstruction->end_ns ? truth->end_ns : reconstruction->end_ns;
    struct strobe_page_tracks *tracks[] = {&p->tracks[TRUTH], &p->tracks[CLAIM], &p->differences};
    for (size_t i = 0; i < sizeof tracks / sizeof *tracks; i++) {
        strobe_page_tracks_open(tracks[i], p->end_ns);
        tracks[i]->blocks_most = SIM_PAGE_BLOCKS_MOST;
    }
    p->failed |= !sim_pairing_open(&of, truth, reconstruction);
    if (!p->failed)
        p->threads = calloc(of.pair_count + 1, sizeof *p->threads);
    p->failed |= !p->threads;
    child_node(p, 0, UINT32_MAX); /* the root */
    for (uint32_t i = 0; i < of.pair_count && !p->failed; i++)
        add_pair(p, &of, i, &list);
    p->failed |= !p->failed && !sim_page_waits_of(&of, SIM_PAGE_ROWS_MOST, &p->waits);
    enum strobe_status status = finish_run_page(p);
    sim_pairing_close(&of);
    free(list.at);
    return status;
}

struct sim_run_page *sim_run_page_open(void)
{
    return calloc(1, sizeof(struct sim_run_page));
}

void sim_run_page_close(struct sim_run_page *p)
{
    if (!p)
        return;
    strobe_page_tracks_free(&p->tracks[TRUTH]);
    strobe_page_tracks_free(&p->tracks[CLAIM]);
    strobe_page_tracks_free(&p->differences);
    strobe_page_flame_free(&p->flame);
    strobe_page_names_free(&p->names);
    strobe_text_pool_free(&p->texts);
    strobe_idmap_free(&p->node_of);
    sim_page_waits_free(&p->waits);
    free(p->threads);
    free(p->classes);
    free(p->nodes);
    free(p->largest);
    free(p);
}

/* ---- the file */

struct run_page_parts {
    struct sim_run_page *page;
    const struct sim_result *result;
};

static void write_run_about(void *ctx, FILE *out)
{
    const struct sim_result *r = ((struct run_page_parts *)ctx)->result;
    struct strobe_json j = {.out = out, .one_line = 1};
    char text[SIM_FIELD_TEXT_BYTES];
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "page", "run");
    strobe_json_text(&j, "version", STROBE_VERSION);
    strobe_json_array(&j, "scores");
    for (size_t i = 0; i < SIM_FIELD_HEADLINES; i++) {
        strobe_json_object(&j, NULL);
        strobe_json_text(&j, "name", sim_fields[i].name);
        strobe_json_text(&j, "text",
                         sim_field_text(sim_fields[i].unit, sim_field_value(&sim_fields[i], &r->score), text));
        strobe_json_object_end(&j);
    }
    strobe_json_array_end(&j);
    strobe_json_object_end(&j);
}

static void write_run_result(void *ctx, FILE *out)
{
    enum { METHODS_MOST = 2000 };
    sim_result_print_line(((struct run_page_parts *)ctx)->result, METHODS_MOST, out);
}

static void write_name_or_null(struct sim_run_page *p, const char *key, uint32_t name, struct strobe_json *j)
{
    strobe_json_text(j, key, name == SIM_NO_NAME ? NULL : p->texts.texts[name]);
}

static void write_largest(struct sim_run_page *p, struct strobe_json *j)
{
    strobe_json_uint(j, "difference_count", p->difference_count);
    strobe_json_array(j, "largest");
    for (size_t i = 0; i < p->largest_count; i++) {
        const struct sim_difference *d = &p->largest[i].what;
        const struct strobe_reader_thread *thread = &p->threads[p->largest[i].pair];
        strobe_json_object(j, NULL);
        strobe_json_uint(j, "kind", (uint64_t)d->kind);
        strobe_json_uint(j, "begin_ns", d->begin_ns);
        strobe_json_uint(j, "ns", d->end_ns - d->begin_ns);
        strobe_json_uint(j, "depth", d->depth);
        write_name_or_null(p, "truth", d->true_name, j);
        write_name_or_null(p, "claim", d->claimed, j);
        strobe_json_text(j, "thread", thread->name);
        strobe_json_uint(j, "tid", thread->tid);
        strobe_json_uint(j, "generation", thread->generation);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
}

static void write_run_timelines(void *ctx, FILE *out)
{
    struct sim_run_page *p = ((struct run_page_parts *)ctx)->page;
    struct strobe_json json = {.out = out, .one_line = 1}, *j = &json;
    strobe_json_object(j, NULL);
    strobe_json_uint(j, "begin_ns", 0);
    strobe_json_uint(j, "end_ns", p->end_ns);
    strobe_page_tracks_write(&p->tracks[TRUTH], "truth", j, number_of_page_name, p);
    strobe_page_tracks_write(&p->tracks[CLAIM], "claim", j, number_of_page_name, p);
    strobe_page_tracks_write(&p->differences, "differences", j, number_of_kind, p);
    write_largest(p, j);
    sim_page_waits_write(&p->waits, "waits", j);
    strobe_page_flame_write(&p->flame, "flame", j);
    strobe_page_names_write(&p->names, "names", j); /* last, because the timelines add names */
    strobe_json_object_end(j);
    p->failed |= p->names.failed != 0;
}

enum strobe_status sim_run_page_write(struct sim_run_page *p, const struct sim_result *result,
                                      struct strobe_outfile *out)
{
    struct run_page_parts ctx = {p, result};
    const struct strobe_page_part parts[] = {
        {"about", write_run_about, &ctx}, {"result", write_run_result, &ctx}, {"session", write_run_timelines, &ctx}};
    char title[256];
    snprintf(title, sizeof title, "%s, %s - Strobe", result->scenario, result->policy);
    enum strobe_status status = strobe_page_write_with(out, title, parts, sizeof parts / sizeof *parts,
                                                       &(struct strobe_page_source){sim_page_css, sim_page_js});
    return status == STROBE_OK && p->failed ? STROBE_IO : status;
}
