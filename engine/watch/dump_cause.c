#include "engine/watch/dump_cause.h"

#include "engine/watch/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BLAME_BYTES = 600, STACK_BYTES = 8192, NAME_BYTES = 240 };

/* The index + 1 of a damaged session may be any number. */
static const struct strobe_reader_thread *thread_of_cause(const struct strobe_reader *r, uint32_t thread)
{
    return thread && thread <= r->thread_count ? &r->threads[thread - 1] : NULL;
}

/* Returns the node of the thread's last sample with a stack, or 0. */
static uint32_t find_last_node(const struct strobe_reader_thread *t, struct strobe_function_tree *tree)
{
    const struct strobe_record *last = NULL;
    for (size_t i = 0; t && i < t->item_count; i++) {
        const struct strobe_record *r = &t->items[i].record;
        if (r->stack && (!last || r->ticks + r->duration >= last->ticks + last->duration))
            last = r;
    }
    if (!last)
        return 0;
    unsigned incomplete = strobe_stack_incomplete(last);
    uint32_t shown = strobe_function_tree_shown_stack(tree, last->stack, incomplete);
    return shown ? strobe_function_tree_of_stack(tree, shown, incomplete) : 0;
}

static const struct strobe_name *name_of_node(const struct strobe_function_tree *tree, uint32_t node)
{
    return strobe_function_tree_name(tree, strobe_function_tree_node(tree, node)->name);
}

static bool is_system_image(const char *path)
{
    static const char *const names[] = {"libc.",      "libc-", "libart.", "libpthread",
                                        "libsystem_", "ld-",   "linker",  "[vdso]"};
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strncmp(file, names[i], strlen(names[i])))
            return true;
    return false;
}

/* Returns the innermost function that is not of the system's libraries, or the innermost one. */
static const char *name_of_place(const struct strobe_function_tree *tree, uint32_t node)
{
    for (uint32_t at = node; at; at = strobe_function_tree_node(tree, at)->parent)
        if (!is_system_image(name_of_node(tree, at)->image))
            return name_of_node(tree, at)->text;
    return name_of_node(tree, node)->text;
}

/* Writes lines of "depth,method,1,0", outermost first. Innermost frames that do not fit are left out. */
static void write_stack_lines(const struct strobe_function_tree *tree, uint32_t node, char out[STACK_BYTES])
{
    uint32_t path[STROBE_STACK_NAMES_MAX], count = 0;
    size_t used = 0;
    out[0] = '\0';
    for (; node && count < STROBE_STACK_NAMES_MAX; node = strobe_function_tree_node(tree, node)->parent)
        path[count++] = node;
    for (uint32_t depth = 0; count--; depth++) {
        char name[NAME_BYTES];
        strobe_finding_line_name(name_of_node(tree, path[count])->text, name, sizeof name);
        int n = snprintf(out + used, STACK_BYTES - used, "%s%u,%s,1,0", used ? "\n" : "", depth, name);
        if (n < 0 || (size_t)n >= STACK_BYTES - used) {
            out[used] = '\0';
            return;
        }
        used += (size_t)n;
    }
}

/* ---- the text */

struct cause_text {
    char text[BLAME_BYTES];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add_cause_text(struct cause_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->text + t->used, sizeof t->text - t->used, format, args);
    va_end(args);
    if (n > 0)
        t->used = t->used + (size_t)n < sizeof t->text ? t->used + (size_t)n : sizeof t->text - 1;
}

static void describe_blocked(struct cause_text *out, const struct strobe_dump_cause *c,
                             const struct strobe_reader_thread *t, const struct strobe_function_tree *tree,
                             uint32_t node)
{
    add_cause_text(out, "%s", strobe_trigger_name(c->trigger));
    if (c->trigger == STROBE_TRIGGER_CRASH)
        add_cause_text(out, ": signal %u", c->number);
    if (t)
        add_cause_text(out, ": thread %s", t->name);
    if (t && t->open_kind != STROBE_KIND_NONE)
        add_cause_text(out, " in %s", strobe_wait_name(t->open_kind));
    if (t && node)
        add_cause_text(out, " of %.*s", NAME_BYTES, name_of_place(tree, node));
}

static void describe_holder(struct cause_text *out, const struct strobe_reader_thread *holder,
                            const struct strobe_function_tree *tree, uint32_t node)
{
    add_cause_text(out, ", lock held by thread %s (%u)", holder->name, holder->tid);
    if (holder->open_kind != STROBE_KIND_NONE)
        add_cause_text(out, " in %s", strobe_wait_name(holder->open_kind));
    if (node)
        add_cause_text(out, " of %.*s", NAME_BYTES, name_of_place(tree, node));
}

void strobe_dump_cause_find(const struct strobe_reader *r, struct strobe_function_tree *tree,
                            struct strobe_finding_sink sink)
{
    const struct strobe_dump_cause *c = &r->session.header->cause;
    const struct strobe_reader_thread *t = thread_of_cause(r, c->thread), *holder = thread_of_cause(r, c->holder);
    struct cause_text blame = {.used = 0};
    char stack[STACK_BYTES];
    if (c->trigger == STROBE_TRIGGER_NONE || c->trigger >= STROBE_TRIGGER_COUNT)
        return;
    uint32_t node = find_last_node(t, tree), holder_node = find_last_node(holder, tree);
    uint64_t begin = c->begin_ticks && c->begin_ticks < c->ticks ? c->begin_ticks : c->ticks;
    struct strobe_finding f =
        strobe_finding(STROBE_FINDING_DUMP, strobe_reader_ns(r, begin), strobe_reader_ns(r, c->ticks));
    describe_blocked(&blame, c, t, tree, node);
    if (holder)
        describe_holder(&blame, holder, tree, holder_node);
    write_stack_lines(tree, holder ? holder_node : node, stack);
    f.thread = t && !t->is_main ? t->tid : 0;
    f.scene = "";
    f.blame = blame.text;
    f.stack = stack;
    if (holder)
        strobe_finding_add(&f, "holder_tid", holder->tid);
    if (c->number)
        strobe_finding_add(&f, "signal", c->number);
    sink.found(sink.ctx, &f);
}
