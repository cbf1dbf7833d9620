/* Writes a comparison as a page: its tables, and the call paths of both sides for a differential flame graph. */
#include "engine/trace/diff/diff.h"
#include "engine/trace/export/html/page.h"
#include "engine/trace/export/html/page_flame.h"
#include "engine/util/json.h"

struct diff_page {
    const struct strobe_diff *diff;
    struct strobe_page_names names;
    struct strobe_page_flame flame;
};

static uint32_t diff_page_name(void *ctx, uint32_t path)
{
    static const enum strobe_slice_class classes[] = {
        [STROBE_DIFF_FUNCTION] = STROBE_SLICE_FUNCTION,
        [STROBE_DIFF_WAIT] = STROBE_SLICE_WAIT,
        [STROBE_DIFF_OFF] = STROBE_SLICE_OFF_CPU,
        [STROBE_DIFF_UNSEEN] = STROBE_SLICE_GAP,
    };
    struct diff_page *p = ctx;
    uint32_t number = p->diff->book.paths[path].method;
    const struct strobe_diff_method *method = &p->diff->book.methods[number];
    return strobe_page_name(&p->names, number, method->name, method->image, classes[method->kind]);
}

/* The columns are those of the sides, for each amount. */
static void diff_page_path(void *ctx, uint32_t path, uint32_t *parent, double amounts[STROBE_PAGE_COLUMNS_MOST])
{
    const struct strobe_diff *d = ((struct diff_page *)ctx)->diff;
    *parent = path ? d->book.paths[path].parent : 0;
    for (unsigned i = 0; path && i < STROBE_DIFF_AMOUNTS * STROBE_DIFF_SIDES; i++)
        amounts[i] = d->path_means[i / STROBE_DIFF_SIDES][i % STROBE_DIFF_SIDES][path];
}

static void write_diff_about(void *ctx, FILE *out)
{
    (void)ctx;
    struct strobe_json j = {.out = out, .one_line = 1};
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "page", "diff");
    strobe_json_text(&j, "version", STROBE_VERSION);
    strobe_json_object_end(&j);
}

static void write_diff_tables(void *ctx, FILE *out)
{
    strobe_diff_print_json(((struct diff_page *)ctx)->diff, out);
}

static void write_diff_paths(void *ctx, FILE *out)
{
    struct diff_page *p = ctx;
    struct strobe_json j = {.out = out, .one_line = 1};
    strobe_json_object(&j, NULL);
    strobe_page_flame_write(&p->flame, "flame", &j);
    strobe_page_names_write(&p->names, "names", &j);
    strobe_json_object_end(&j);
}

enum strobe_status strobe_diff_write_page(const struct strobe_diff *d, struct strobe_outfile *out)
{
    struct diff_page p = {.diff = d};
    const struct strobe_page_part parts[] = {
        {"about", write_diff_about, &p}, {"diff", write_diff_tables, &p}, {"session", write_diff_paths, &p}};
    enum strobe_status status = strobe_page_flame_build(
        &p.flame,
        &(struct strobe_page_paths){.count = d->book.path_count ? d->book.path_count : 1,
                                    .path = diff_page_path,
                                    .name = diff_page_name,
                                    .ctx = &p,
                                    .columns = STROBE_DIFF_AMOUNTS * STROBE_DIFF_SIDES,
                                    .column_names = {"wall", "wall new", "cpu", "cpu new", "alloc", "alloc new"}});
    if (status == STROBE_OK)
        status = strobe_page_write(out, "Comparison - Strobe", parts, sizeof parts / sizeof *parts);
    if (p.names.failed)
        status = STROBE_IO;
    strobe_page_names_free(&p.names);
    strobe_page_flame_free(&p.flame);
    return status;
}
