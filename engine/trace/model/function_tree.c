#include "engine/trace/model/function_tree.h"

#include "engine/trace/symbols/syscall_site.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = STROBE_SYMBOLS_FRAMES_MAX };
#define NO_SYSCALL UINT32_MAX

static const char *const fixed_names[STROBE_NAME_FUNCTIONS] = {
    [STROBE_KIND_NONE] = "[wait]",
    [STROBE_KIND_ASYNC] = "[async]",
    [STROBE_KIND_ALLOC] = "[alloc]",
    [STROBE_KIND_FREE] = "[free]",
    [STROBE_KIND_MUTEX] = "[mutex wait]",
    [STROBE_KIND_RWLOCK] = "[rwlock wait]",
    [STROBE_KIND_COND] = "[cond wait]",
    [STROBE_KIND_SEM] = "[sem wait]",
    [STROBE_KIND_UNLOCK] = "[unlock]",
    [STROBE_KIND_READ] = "[read]",
    [STROBE_KIND_WRITE] = "[write]",
    [STROBE_KIND_OPEN] = "[open]",
    [STROBE_KIND_CLOSE] = "[close]",
    [STROBE_KIND_SYNC] = "[sync]",
    [STROBE_KIND_POLL] = "[poll]",
    [STROBE_KIND_NET] = "[net]",
    [STROBE_KIND_SLEEP] = "[sleep]",
    [STROBE_KIND_CLOCK] = "[clock]",
    [STROBE_KIND_THREAD] = "[thread wait]",
    [STROBE_KIND_LOAD] = "[load]",
    [STROBE_KIND_CHILD] = "[wait for child]",
    [STROBE_KIND_MONITOR] = "[monitor wait]",
    [STROBE_KIND_PARK] = "[park wait]",
    [STROBE_KIND_JNI] = "[jni]",
    [STROBE_KIND_GC] = "[gc wait]",
    [STROBE_KIND_IPC] = "[ipc wait]",
    [STROBE_KIND_WAKE] = "[wake]",
    [STROBE_KIND_COUNTER] = "[counter]",
    [STROBE_KIND_HITCH] = "[hitch]",
    [STROBE_KIND_CPU] = "[cpu]",
    [STROBE_KIND_ANNOTATION] = "[annotation]",
    [STROBE_NAME_UNSEEN] = "[unseen]",
    [STROBE_NAME_OFF_CPU] = STROBE_OFF_CPU_TEXT,
    [STROBE_NAME_RUNNABLE] = STROBE_RUNNABLE_TEXT,
    [STROBE_NAME_KERNEL] = "[kernel]",
    [STROBE_NAME_CUT] = "[stack cut]",
    [STROBE_NAME_LOST] = "[stack lost]",
    [STROBE_NAME_TABLE_FULL] = "[stack table full]",
    [STROBE_NAME_NO_STACK] = "[no stack]",
};

const char *strobe_wait_name(unsigned kind)
{
    return fixed_names[kind < STROBE_KIND_COUNT ? kind : STROBE_KIND_NONE];
}

/* Owner of the code at an address; see struct strobe_resolver. */
enum owner { OF_PROGRAM, OF_SYSTEM, OF_HOOK, OF_ENGINE };

struct place {
    uint32_t first, count;
    enum owner owner;
}; /* the functions at one address: a range of place_names */

/* The path that a stack folds to. */
struct folded {
    uint32_t node;  /* + 1, with all frames except those of the engine's library; 0 = not folded yet */
    uint32_t shown; /* + 1, also without functions that the engine called; equal to `node` if not in_engine */
    uint32_t until; /* if in_engine: stack id of the innermost shown frame */
    int in_engine;
};

struct strobe_function_tree {
    const struct strobe_stack_table *table;
    struct strobe_resolver resolver;
    int (*in_syscall)(void *ctx, uint64_t return_address, struct strobe_symbol *out); /* may be NULL */
    int failed;

    struct strobe_name *names;
    size_t name_count, name_room;
    uint32_t *name_of_function; /* by function id: name + 1; 0 = no name yet */
    size_t function_room;
    const char *image; /* cache of owner_of: the last image and its owner */
    enum owner owner_of_image;

    struct strobe_idmap places; /* (address, is return) -> place */
    struct place *place;
    size_t place_count, place_room;
    uint32_t *place_names;
    size_t place_name_count, place_name_room;

    struct strobe_idmap wait_calls; /* (machine, number) -> name */
    struct strobe_text_pool texts;  /* of these names */

    struct strobe_function_node *nodes;
    size_t node_count, node_room;
    struct strobe_idmap children;                           /* (parent, name) -> node */
    struct folded *of_stack[STROBE_STACK_INCOMPLETE_COUNT]; /* by stack id */
    uint32_t *syscall_of; /* by stack id: name of the system call that it ends in, or NO_SYSCALL; 0 = not
                           * known yet */
    uint32_t stack_count;
};

/* ---- the resolver of a session */

static size_t resolve_by_symbols(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    return strobe_symbols_resolve(ctx, return_address, out, max);
}

static enum strobe_status status_of_symbols(void *ctx)
{
    return strobe_symbols_status(ctx);
}

struct strobe_resolver strobe_symbols_resolver(struct strobe_symbols *symbols)
{
    return (struct strobe_resolver){resolve_by_symbols, symbols, status_of_symbols};
}

/* ---- names */

static uint32_t intern_symbol_name(struct strobe_function_tree *t, const struct strobe_symbol *symbol)
{
    if ((t->failed |=
         !strobe_array_reserve_zeroed(&t->name_of_function, &t->function_room, (size_t)symbol->function_id + 1)) ||
        (t->failed |= !strobe_array_reserve_zeroed(&t->names, &t->name_room, t->name_count + 1)))
        return STROBE_NAME_NO_STACK;
    uint32_t *known = &t->name_of_function[symbol->function_id];
    if (!*known) {
        t->names[t->name_count++] =
            (struct strobe_name){symbol->function, symbol->image ? symbol->image : "", symbol->file ? symbol->file : "",
                                 symbol->line, symbol->function_address};
        *known = (uint32_t)t->name_count;
    }
    return *known - 1;
}

uint32_t strobe_function_tree_text(struct strobe_function_tree *t, const char *text)
{
    if ((t->failed |= !strobe_array_reserve_zeroed(&t->names, &t->name_room, t->name_count + 1)))
        return STROBE_NAME_NO_STACK;
    t->names[t->name_count] = (struct strobe_name){text, "", "", 0, 0};
    return (uint32_t)t->name_count++;
}

uint32_t strobe_function_tree_wait_call(struct strobe_function_tree *t, uint64_t call)
{
    uint32_t machine = (uint32_t)(call >> 32), number = (uint32_t)call;
    const uint32_t *known = strobe_idmap_get(&t->wait_calls, machine, number);
    if (known)
        return *known;
    const char *plain = number <= INT32_MAX ? strobe_syscall_name(machine, (int)number) : NULL;
    char bracketed[64];
    uint32_t name = STROBE_NAME_OFF_CPU;
    if (plain) {
        snprintf(bracketed, sizeof bracketed, "[%s]", plain);
        const char *text = strobe_text_keep(&t->texts, bracketed, strlen(bracketed));
        t->failed |= !text;
        name = text ? strobe_function_tree_text(t, text) : STROBE_NAME_OFF_CPU;
    }
    t->failed |= !strobe_idmap_add(&t->wait_calls, machine, number, name);
    return name;
}

int strobe_is_engine_library(const char *file_name)
{
    static const char *const whole[] = {"libstrobe-preload.so", "libstrobe.so", "libstrobe-art.so"};
    static const char embedded[] = "libstrobe-capture.so", player[] = "strobe-player";
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!strcmp(file_name, whole[i]))
            return 1;
    return !strncmp(file_name, embedded, sizeof embedded - 1) || !strncmp(file_name, player, sizeof player - 1);
}

/* Returns the owner of an image's code, derived from its file's name. OF_HOOK means the engine's own library; owner_of
 * distinguishes the functions in it. */
static enum owner owner_of_image(const char *image)
{
    static const struct {
        const char *text;
        size_t length;
    } system[] = {
#define BEGINS(text) {text, sizeof text - 1}
        BEGINS("libc.so"),   BEGINS("libc-"),      BEGINS("libpthread"),  BEGINS("libdl.so"),
        BEGINS("libdl-"),    BEGINS("librt.so"),   BEGINS("librt-"),      BEGINS("ld-"),
        BEGINS("libunwind"), BEGINS("liblzma.so"), BEGINS("libgcc_s.so"), BEGINS("[vdso]"),
#undef BEGINS
    };
    const char *slash = strrchr(image, '/'), *base = slash ? slash + 1 : image;
    if (slash && strobe_is_engine_library(base))
        return OF_HOOK;
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (!strncmp(base, system[i].text, system[i].length))
            return OF_SYSTEM;
    return OF_PROGRAM;
}

/* Returns true for functions of the engine that are no hooks and call the program: its threads' own functions, its
 * signal handlers, and its system calls. What they call belongs to the program, also in a library of the system. */
static bool calls_the_program(const char *function)
{
    static const char *const names[] = {"run_traced_thread", "strobe_signals_foreign", "on_quit", "strobe_syscall_raw"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(function, names[i]))
            return true;
    return false;
}

/* Caches the owner of the last image. A resolver returns the same text pointer for all symbols of one image, so the
 * comparison of pointers is sufficient. */
static enum owner owner_of(struct strobe_function_tree *t, const struct strobe_symbol *symbol)
{
    if (!symbol->image)
        return OF_PROGRAM;
    if (symbol->image != t->image) {
        t->image = symbol->image;
        t->owner_of_image = owner_of_image(symbol->image);
    }
    bool is_own = t->owner_of_image == OF_HOOK && symbol->is_local && !calls_the_program(symbol->function);
    return is_own ? OF_ENGINE : t->owner_of_image;
}

static const struct place *place_of(struct strobe_function_tree *t, uint64_t address)
{
    const uint32_t *known = strobe_idmap_get(&t->places, address, 0);
    if (known)
        return &t->place[*known];
    struct strobe_symbol symbols[FRAMES_MAX];
    size_t count = t->resolver.resolve(t->resolver.ctx, address, symbols, FRAMES_MAX);
    enum owner owner = count ? owner_of(t, &symbols[0]) : OF_PROGRAM;
    if (owner == OF_HOOK || owner == OF_ENGINE)
        count = 0;
    if ((t->failed |= !strobe_array_reserve_zeroed(&t->place, &t->place_room, t->place_count + 1)) ||
        (t->failed |=
         !strobe_array_reserve_zeroed(&t->place_names, &t->place_name_room, t->place_name_count + count)) ||
        (t->failed |= !strobe_idmap_add(&t->places, address, 0, (uint32_t)t->place_count)))
        return NULL;
    struct place *new = &t->place[t->place_count++];
    *new = (struct place){(uint32_t)t->place_name_count, (uint32_t)count, owner};
    for (size_t i = 0; i < count; i++)
        t->place_names[t->place_name_count++] = intern_symbol_name(t, &symbols[i]);
    return new;
}

size_t strobe_function_tree_at(struct strobe_function_tree *t, uint64_t address, const uint32_t **names,
                               uint32_t *first)
{
    const struct place *place = place_of(t, address);
    if (!place)
        return 0;
    *names = place->count ? t->place_names + place->first : NULL; /* there may be no array yet */
    *first = place->first;
    return place->count;
}

/* ---- nodes */

uint32_t strobe_function_tree_child(struct strobe_function_tree *t, uint32_t parent, uint32_t name)
{
    const uint32_t *known = strobe_idmap_get(&t->children, parent, name);
    if (known)
        return *known;
    if ((t->failed |= !strobe_array_reserve_zeroed(&t->nodes, &t->node_room, t->node_count + 1)) ||
        (t->failed |= !strobe_idmap_add(&t->children, parent, name, (uint32_t)t->node_count)))
        return 0;
    t->nodes[t->node_count] = (struct strobe_function_node){parent, name, t->nodes[parent].depth + 1};
    return (uint32_t)t->node_count++;
}

/* Returns `caller` extended by the frame at `address`. `above` is the stack id of `caller`. */
static struct folded descend(struct strobe_function_tree *t, struct folded caller, uint32_t above, uint64_t address)
{
    const struct place *place = place_of(t, address);
    if (!place)
        return caller;
    struct folded f = caller;
    uint32_t node = caller.node - 1, first = place->first, count = place->count;
    enum owner owner = place->owner;
    for (uint32_t i = 0; i < count; i++)
        node = strobe_function_tree_child(t, node, t->place_names[first + i]);
    f.node = node + 1;
    if (owner == OF_ENGINE && !caller.in_engine) {
        f.in_engine = 1;
        f.until = above;
    } else if (owner == OF_PROGRAM || (owner == OF_HOOK && !caller.in_engine)) {
        f.in_engine = 0;
    }
    if (!f.in_engine)
        f.shown = f.node;
    return f;
}

/* Returns the base node of stacks with these bits. */
static uint32_t base_node_of(struct strobe_function_tree *t, unsigned incomplete)
{
    if (incomplete & STROBE_STACK_LOST)
        return strobe_function_tree_child(t, 0, STROBE_NAME_LOST);
    if (incomplete & STROBE_STACK_CUT)
        return strobe_function_tree_child(t, 0, STROBE_NAME_CUT);
    return 0;
}

/* Lists in `steps` the part of a stack that is not folded yet, innermost first. Returns the stack id below which that
 * part lies. Each step must reduce the depth by one, so that a damaged table cannot cause an endless loop. */
static uint32_t climb(const struct strobe_function_tree *t, uint32_t stack, const struct folded *known, uint32_t *steps,
                      uint32_t *step_count)
{
    uint32_t depth = 0;
    for (*step_count = 0; stack && !known[stack].node; (*step_count)++) {
        const struct strobe_stack_node *node = stack < t->stack_count ? strobe_stack_node_of(t->table, stack) : NULL;
        if (!node || *step_count == STROBE_STACK_DEPTH_MAX || (depth && node->depth != depth - 1) || !node->depth)
            break;
        depth = node->depth;
        steps[*step_count] = stack;
        stack = node->parent;
        if (stack >= t->stack_count)
            stack = 0;
    }
    return stack;
}

static void fold(struct strobe_function_tree *t, uint32_t stack, unsigned incomplete)
{
    struct folded *known = t->of_stack[incomplete], f;
    uint32_t steps[STROBE_STACK_DEPTH_MAX], count;
    uint32_t top = climb(t, stack, known, steps, &count);
    if (top && known[top].node)
        f = known[top];
    else
        f = (struct folded){.node = base_node_of(t, incomplete) + 1, .shown = 0};
    if (!f.shown)
        f.shown = f.node;
    while (count--) {
        f = descend(t, f, top, strobe_stack_node_of(t->table, steps[count])->address);
        top = steps[count];
        known[top] = f;
    }
}

/* Returns the folded stack, and folds it on first use. NULL: no such stack, or out of memory. */
static const struct folded *folded_of(struct strobe_function_tree *t, uint32_t stack, unsigned incomplete)
{
    if (!stack || stack >= t->stack_count || !strobe_stack_node_of(t->table, stack))
        return NULL;
    if (!t->of_stack[incomplete]) {
        t->of_stack[incomplete] = calloc(t->stack_count, sizeof *t->of_stack[incomplete]);
        if (!t->of_stack[incomplete]) {
            t->failed = 1;
            return NULL;
        }
    }
    if (!t->of_stack[incomplete][stack].node)
        fold(t, stack, incomplete);
    return &t->of_stack[incomplete][stack];
}

/* Returns the node of a stack without its system call. */
static uint32_t node_of_functions(struct strobe_function_tree *t, uint32_t stack, unsigned incomplete)
{
    const struct folded *f;
    if (stack && stack < t->stack_count && t->of_stack[incomplete] && t->of_stack[incomplete][stack].node)
        f = &t->of_stack[incomplete][stack];
    else
        f = folded_of(t, stack, incomplete);
    if (t->failed && !f)
        return 0;
    uint32_t node = !f ? 0 : f->node ? f->shown - 1 : base_node_of(t, incomplete);
    return node ? node : strobe_function_tree_child(t, 0, STROBE_NAME_NO_STACK);
}

/* Returns the name of the system call that the stack ends in, or NO_SYSCALL. */
static uint32_t syscall_of(struct strobe_function_tree *t, uint32_t stack)
{
    struct strobe_symbol call;
    if (!t->syscall_of && !(t->syscall_of = calloc(t->stack_count, sizeof *t->syscall_of))) {
        t->failed = 1;
        return NO_SYSCALL;
    }
    uint32_t *known = &t->syscall_of[stack];
    if (!*known) {
        uint64_t address = strobe_stack_node_of(t->table, stack)->address;
        *known = t->in_syscall(t->resolver.ctx, address, &call) ? intern_symbol_name(t, &call) : NO_SYSCALL;
    }
    return *known;
}

int strobe_function_tree_in_engine(struct strobe_function_tree *t, uint32_t stack, unsigned incomplete)
{
    const struct folded *f = folded_of(t, stack, incomplete);
    return f && f->in_engine;
}

uint32_t strobe_function_tree_shown_stack(struct strobe_function_tree *t, uint32_t stack, unsigned incomplete)
{
    const struct folded *f = folded_of(t, stack, incomplete);
    return f && f->in_engine ? f->until : stack;
}

uint32_t strobe_function_tree_of_stack(struct strobe_function_tree *t, uint32_t stack, unsigned incomplete)
{
    uint32_t node = node_of_functions(t, stack, incomplete);
    if (!t->in_syscall || !stack || stack >= t->stack_count || !strobe_stack_node_of(t->table, stack) ||
        strobe_function_tree_in_engine(t, stack, incomplete))
        return node;
    uint32_t name = syscall_of(t, stack);
    return name == NO_SYSCALL ? node : strobe_function_tree_child(t, node, name);
}

/* ---- the tree */

enum strobe_status strobe_function_tree_open(const struct strobe_stack_table *table, struct strobe_resolver resolver,
                                             struct strobe_function_tree **out)
{
    *out = NULL;
    struct strobe_function_tree *t = calloc(1, sizeof *t);
    if (!t)
        return STROBE_IO;
    t->table = table;
    t->resolver = resolver;
    t->stack_count = strobe_stack_node_count(table) + 1;
    if ((t->failed |= !strobe_array_reserve_zeroed(&t->names, &t->name_room, STROBE_NAME_FUNCTIONS)) ||
        (t->failed |= !strobe_array_reserve_zeroed(&t->nodes, &t->node_room, 1))) {
        strobe_function_tree_close(t);
        return STROBE_IO;
    }
    for (size_t i = 0; i < STROBE_NAME_FUNCTIONS; i++) {
        int sampled_call = i >= STROBE_NAME_SAMPLED_CALL && i < STROBE_NAME_UNSEEN;
        const char *text = fixed_names[sampled_call ? i - STROBE_NAME_SAMPLED_CALL : i];
        t->names[i] = (struct strobe_name){text, "", "", 0, 0};
    }
    t->name_count = STROBE_NAME_FUNCTIONS;
    t->node_count = 1;
    *out = t;
    return STROBE_OK;
}

void strobe_function_tree_show_syscalls(struct strobe_function_tree *t,
                                        int (*in_syscall)(void *ctx, uint64_t return_address,
                                                          struct strobe_symbol *out))
{
    t->in_syscall = in_syscall;
}

void strobe_function_tree_close(struct strobe_function_tree *t)
{
    if (!t)
        return;
    for (unsigned incomplete = 0; incomplete < STROBE_STACK_INCOMPLETE_COUNT; incomplete++)
        free(t->of_stack[incomplete]);
    free(t->syscall_of);
    free(t->names);
    free(t->name_of_function);
    strobe_idmap_free(&t->wait_calls);
    strobe_text_pool_free(&t->texts);
    strobe_idmap_free(&t->places);
    free(t->place);
    free(t->place_names);
    free(t->nodes);
    strobe_idmap_free(&t->children);
    free(t);
}

void strobe_function_tree_enter(struct strobe_function_tree *t, const struct strobe_stack_table *table)
{
    for (unsigned incomplete = 0; incomplete < STROBE_STACK_INCOMPLETE_COUNT; incomplete++) {
        free(t->of_stack[incomplete]);
        t->of_stack[incomplete] = NULL;
    }
    free(t->syscall_of);
    t->syscall_of = NULL;
    strobe_idmap_free(&t->places);
    t->table = table;
    t->stack_count = strobe_stack_node_count(table) + 1;
}

enum strobe_status strobe_function_tree_status(const struct strobe_function_tree *t)
{
    if (t->failed)
        return STROBE_IO;
    return t->resolver.status ? t->resolver.status(t->resolver.ctx) : STROBE_OK;
}

const struct strobe_function_node *strobe_function_tree_node(const struct strobe_function_tree *t, uint32_t node)
{
    return &t->nodes[node];
}

const struct strobe_name *strobe_function_tree_name(const struct strobe_function_tree *t, uint32_t name)
{
    return &t->names[name];
}

uint32_t strobe_function_tree_node_count(const struct strobe_function_tree *t)
{
    return (uint32_t)t->node_count;
}

uint32_t strobe_function_tree_name_count(const struct strobe_function_tree *t)
{
    return (uint32_t)t->name_count;
}
