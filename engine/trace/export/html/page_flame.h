/* The tree of a page's flame graph: call paths with their own amounts. Small paths are summed up, so that the page
 * stays small: see STROBE_PAGE_PATHS_MOST. Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_EXPORT_HTML_PAGE_FLAME_H
#define STROBE_TRACE_EXPORT_HTML_PAGE_FLAME_H

#include "engine/base/status.h"
#include "engine/trace/export/html/page_names.h"
#include "engine/util/json.h"

#include <stddef.h>
#include <stdint.h>

enum { STROBE_PAGE_COLUMNS_MOST = 6 };

/* A path with less than this share of each column's sum is left out. Its amount goes to "(other)" below its parent. The
 * share is doubled until at most STROBE_PAGE_PATHS_MOST paths are left. */
#define STROBE_PAGE_LEAST_SHARE 0.0001
enum { STROBE_PAGE_PATHS_MOST = 25000 };

/* The paths. Path 0 is the root and has no name; the parent of a path has a smaller number. Amounts are those of the
 * path itself, without the paths below it. */
struct strobe_page_paths {
    uint32_t count;
    void (*path)(void *ctx, uint32_t path, uint32_t *parent, double amounts[STROBE_PAGE_COLUMNS_MOST]);
    uint32_t (*name)(void *ctx,
                     uint32_t path); /* number in the page; called for paths that are kept, except the root */
    void *ctx;
    unsigned columns;
    const char *column_names[STROBE_PAGE_COLUMNS_MOST]; /* keys for the scripts: "wall", "cpu", "base wall" ... */
};

/* Paths that are kept: a tree of its own. Zeroed memory is an empty tree. */
struct strobe_page_flame {
    uint32_t *parents, *names; /* by path; the root's are 0 */
    double *amounts;           /* by path, then by column */
    uint32_t count;
    uint32_t *others;      /* by path: paths below it that are left out, at any depth */
    double *other_amounts; /* their sum, by path, then by column */
    double share;          /* paths with less of it are left out */
    uint64_t left_out;     /* number of them */
    unsigned columns;
    const char *column_names[STROBE_PAGE_COLUMNS_MOST];
};

/* Selects the paths to keep, and copies them. STROBE_IO: out of memory. The caller frees the tree in any case. */
enum strobe_status strobe_page_flame_build(struct strobe_page_flame *flame, const struct strobe_page_paths *paths);

/* Writes {"share", "left_out", "columns", "parent": [...], "name": [...], "self": [[...] by column], "other_of": [...],
 * "other_paths": [...], "other_self": [[...] by column]}. The last three are the nodes "(other)". */
void strobe_page_flame_write(const struct strobe_page_flame *flame, const char *key, struct strobe_json *j);

void strobe_page_flame_free(struct strobe_page_flame *flame);

#endif
