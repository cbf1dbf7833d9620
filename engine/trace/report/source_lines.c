#include "engine/trace/report/source_lines.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

static struct strobe_source_line *line_of(struct strobe_source_lines *l, uint32_t name,
                                          const struct strobe_symbol *symbol)
{
    int fresh;
    uint32_t file = strobe_text_number(&l->files, symbol->file, strlen(symbol->file));
    if (!strobe_array_reserve(&l->lines, &l->room, l->count + 1))
        return NULL;
    uint32_t *place =
        file == UINT32_MAX ? NULL : strobe_idmap_put(&l->by_place, name, (uint64_t)symbol->line << 32 | file, &fresh);
    if (!place)
        return NULL;
    if (fresh) {
        *place = (uint32_t)l->count;
        l->lines[l->count++] = (struct strobe_source_line){name, symbol->file, symbol->line, 0};
    }
    return &l->lines[*place];
}

void strobe_source_lines_add(struct strobe_source_lines *l, struct strobe_function_tree *tree,
                             const struct strobe_stack_table *table, struct strobe_symbols *symbols,
                             const struct strobe_samples *s)
{
    struct strobe_symbol found[STROBE_SYMBOLS_FRAMES_MAX];
    const uint32_t *names;
    uint32_t first, stack = strobe_function_tree_shown_stack(tree, s->stack, s->incomplete);
    size_t count = 0;
    const struct strobe_stack_node *node = NULL;
    l->samples += s->count;
    /* Frames of the engine's library have no names. */
    while (stack && (node = strobe_stack_node_of(table, stack)) != NULL &&
           !(count = strobe_function_tree_at(tree, node->address, &names, &first)))
        stack = node->parent < stack ? node->parent : 0;
    size_t places = count ? strobe_symbols_resolve(symbols, node->address, found, STROBE_SYMBOLS_FRAMES_MAX) : 0;
    if (!places || !found[places - 1].file[0] || !found[places - 1].line) {
        l->unknown += s->count;
        return;
    }
    struct strobe_source_line *line = line_of(l, names[count - 1], &found[places - 1]);
    if (line)
        line->samples += s->count;
    else
        l->failed = 1;
}

void strobe_source_lines_free(struct strobe_source_lines *l)
{
    free(l->lines);
    strobe_idmap_free(&l->by_place);
    strobe_text_pool_free(&l->files);
    *l = (struct strobe_source_lines){0};
}
