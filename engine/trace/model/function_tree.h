/* From stacks of addresses to paths of functions. The session's stack table is a trie of addresses; this is the trie of
 * functions that it folds into: a caller whose return address moves within one function stays one node, while recursion
 * f -> f stays two (S-60). Identity is by function id, never by name (S-59).
 *
 * Node 0 is the root: no function at all. Everything is made when first asked for and kept: each address is resolved
 * once, each stack id folded once.
 *
 * Also holds the names that are no functions: waits, gaps, placeholders. Not thread-safe; allocates. Reading half
 * only. */
#ifndef STROBE_TRACE_MODEL_FUNCTION_TREE_H
#define STROBE_TRACE_MODEL_FUNCTION_TREE_H

#include "engine/base/status.h"
#include "engine/store/record.h"
#include "engine/store/stack_table.h"
#include "engine/trace/symbols/symbols.h"

#include <stddef.h>
#include <stdint.h>

/* What turns a return address into functions; as strobe_symbols_resolve, behind a pointer so that tests and importers
 * bring their own. Texts must outlive the tree.
 *
 * Functions of the engine's own preloaded library are left out of stacks: the program did not call them. What they call
 * for the engine is left out, too: where a function of the library that is not exported has called only functions of
 * the C library, the dynamic linker, libunwind or the kernel's page, the stack ends at the program's function whose
 * call was hooked. Behind an exported one, a hook, is the function that the program meant to call. */
struct strobe_resolver {
    size_t (*resolve)(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max);
    void *ctx;
};

/* Names that are no functions come first: one for a wait of each kind, one for short calls of each kind that one sample
 * stands for (with the text of the wait), then these, then the functions. */
enum {
    STROBE_NAME_SAMPLED_CALL = STROBE_KIND_COUNT,
    STROBE_NAME_UNSEEN = 2 * STROBE_KIND_COUNT, /* "[unseen]": too long without a sample to say where the thread was */
    STROBE_NAME_OFF_CPU,                        /* "[off cpu]": no sample, but little CPU time was used either */
    STROBE_NAME_RUNNABLE,                       /* "[runnable]": waited for a processor */
    STROBE_NAME_KERNEL,                         /* "[kernel]": CPU time in the kernel outside of known calls */
    STROBE_NAME_CUT,                            /* "[stack cut]": outermost frames are missing */
    STROBE_NAME_LOST,                           /* "[stack lost]": the walk met a frame it could not believe */
    STROBE_NAME_TABLE_FULL,                     /* "[stack table full]": innermost frames are missing */
    STROBE_NAME_NO_STACK,                       /* "[no stack]" */
    STROBE_NAME_FUNCTIONS
};

struct strobe_name {
    const char *text;  /* what to show */
    const char *image; /* "" for what is no function */
    const char *file;  /* "" when unknown */
    uint32_t line;
    uint64_t address; /* where the function starts; 0 for what is no function */
};

struct strobe_function_node {
    uint32_t parent;
    uint32_t name;
    uint32_t depth; /* 0 for the root */
};

/* How a stack id is to be read: bits. */
enum {
    STROBE_STACK_CUT = 1,  /* hang it under "[stack cut]" */
    STROBE_STACK_LOST = 2, /* hang it under "[stack lost]" */
    STROBE_STACK_WAYS = 4
};

/* Most names that one stack has: of all functions at each of its addresses, and two that say how it is to be read. What
 * handles stacks has room for all of them, so that no stack is cut when it is read. */
enum { STROBE_STACK_NAMES_MAX = STROBE_STACK_DEPTH_MAX * STROBE_SYMBOLS_FRAMES_MAX + 2 };

struct strobe_function_tree;

/* `table` must outlive the tree. STROBE_IO: out of memory. */
enum strobe_status strobe_function_tree_open(const struct strobe_stack_table *table, struct strobe_resolver resolver,
                                             struct strobe_function_tree **out);
void strobe_function_tree_close(struct strobe_function_tree *tree);

/* From now on a stack that ends in a system call has that call as its innermost name. `in_syscall` is as
 * strobe_symbols_in_syscall, and gets the resolver's ctx; it is asked for the innermost address of a stack only. */
void strobe_function_tree_show_syscalls(struct strobe_function_tree *tree,
                                        int (*in_syscall)(void *ctx, uint64_t return_address,
                                                          struct strobe_symbol *out));

/* Goes on to another session: from here on stacks and addresses are those of `table`, and the resolver answers for it.
 * Names and nodes stay what they are, so those of one function in two sessions are the same where the resolver gives it
 * one id. */
void strobe_function_tree_enter(struct strobe_function_tree *tree, const struct strobe_stack_table *table);

/* STROBE_IO when memory ran out at any time: what was handed out since then may be the root instead. */
enum strobe_status strobe_function_tree_status(const struct strobe_function_tree *tree);

/* The node of a stack, read as `way` says: that of its innermost function, or of the system call that the thread was in
 * below it. An id that is 0, unpublished or damaged gives "[no stack]". */
uint32_t strobe_function_tree_of_stack(struct strobe_function_tree *tree, uint32_t stack, unsigned way);

/* Whether the innermost frames of the stack, read as `way` says, are the engine's doing. */
int strobe_function_tree_in_engine(struct strobe_function_tree *tree, uint32_t stack, unsigned way);

/* The stack without such frames: the stack itself, or one that it continues; 0 when nothing is left. */
uint32_t strobe_function_tree_shown_stack(struct strobe_function_tree *tree, uint32_t stack, unsigned way);

/* The node of `name` called from `parent`. */
uint32_t strobe_function_tree_child(struct strobe_function_tree *tree, uint32_t parent, uint32_t name);

/* A name that is a text and no function of the stack table's: each call makes another. The text must outlive the
 * tree. "[no stack]" when memory ran out. */
uint32_t strobe_function_tree_text(struct strobe_function_tree *tree, const char *text);

/* Nodes and names by id. Nodes stand in one array, so that node 0 gives all; they move when the tree grows, so don't
 * keep the pointer. */
const struct strobe_function_node *strobe_function_tree_node(const struct strobe_function_tree *tree, uint32_t node);
const struct strobe_name *strobe_function_tree_name(const struct strobe_function_tree *tree, uint32_t name);
uint32_t strobe_function_tree_node_count(const struct strobe_function_tree *tree);
uint32_t strobe_function_tree_name_count(const struct strobe_function_tree *tree);

/* What a wait of this kind is shown as: "[mutex wait]" and so on; "[wait]" when out of range. */
const char *strobe_wait_name(unsigned kind);

/* The functions at one address, outermost first: names in *names. `*first` numbers the first of them among all
 * (address, function) pairs, from 0: a dense id for tables of frames. Returns how many: 0 for the engine's own, and
 * when memory ran out. */
size_t strobe_function_tree_at(struct strobe_function_tree *tree, uint64_t address, const uint32_t **names,
                               uint32_t *first);

/* Returns 1 when a file of this name is the engine's own library in a traced program: the preloaded one, or the one
 * that the program is linked with. Its functions are hooks, which traces leave out. */
int strobe_is_engine_library(const char *file_name);

#endif
