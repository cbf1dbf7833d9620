/* Folds stacks of addresses to paths of functions. The session's stack table is a trie of addresses. The function tree
 * is a trie of functions. A caller whose return addresses lie at several places of one function stays one node, while
 * recursion f -> f stays two nodes (S-60). Identity is by function id, never by name (S-59).
 *
 * Node 0 is the root and has no function. Nodes are created on first use and kept: each address is resolved once, and
 * each stack id is folded once.
 *
 * The tree also holds names that are not functions: waits, gaps, placeholders. Not thread-safe; allocates. Offline
 * only. */
#ifndef STROBE_TRACE_MODEL_FUNCTION_TREE_H
#define STROBE_TRACE_MODEL_FUNCTION_TREE_H

#include "engine/base/status.h"
#include "engine/store/record.h"
#include "engine/store/stack_table.h"
#include "engine/trace/symbols/symbols.h"

#include <stddef.h>
#include <stdint.h>

/* Resolves a return address to functions. `resolve` has the contract of strobe_symbols_resolve; it is a pointer so that
 * tests and importers can supply another one. Texts must outlive the tree.
 *
 * Functions of the engine's preloaded library are left out of stacks, because the program did not call them. Functions
 * that the library calls for itself are left out too. This applies below a function that the library does not export:
 * if it has called only functions of the C library, the dynamic linker, libunwind or the vDSO, the stack ends at the
 * program's function whose call was hooked. An exported function of the library is a hook; the function below a hook
 * is the one that the program meant to call, and stays. */
struct strobe_resolver {
    size_t (*resolve)(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max);
    void *ctx;
    enum strobe_status (*status)(void *ctx); /* as strobe_symbols_status; NULL: a lookup cannot fail */
};

/* Returns the resolver that looks addresses up in `symbols`, which must outlive the tree. */
struct strobe_resolver strobe_symbols_resolver(struct strobe_symbols *symbols);

/* Names by id: first one for a wait of each kind, then one for sampled short calls of each kind (with the same text),
 * then the constants below, then the functions. */
enum {
    STROBE_NAME_SAMPLED_CALL = STROBE_KIND_COUNT,
    STROBE_NAME_UNSEEN = 2 * STROBE_KIND_COUNT, /* "[unseen]": no sample for too long; position unknown */
    STROBE_NAME_OFF_CPU,                        /* "[off cpu]": no sample, and little CPU time was used */
    STROBE_NAME_RUNNABLE,                       /* "[runnable]": the thread waited for a processor */
    STROBE_NAME_KERNEL,                         /* "[kernel]": CPU time in the kernel outside of known calls */
    STROBE_NAME_CUT,                            /* "[stack cut]": outermost frames are missing */
    STROBE_NAME_LOST,                           /* "[stack lost]": the unwinder stopped at an implausible frame */
    STROBE_NAME_TABLE_FULL,                     /* "[stack table full]": innermost frames are missing */
    STROBE_NAME_NO_STACK,                       /* "[no stack]" */
    STROBE_NAME_FUNCTIONS
};

#define STROBE_OFF_CPU_TEXT  "[off cpu]"
#define STROBE_RUNNABLE_TEXT "[runnable]"

struct strobe_name {
    const char *text;  /* the text to show */
    const char *image; /* "" if not a function */
    const char *file;  /* "" if unknown */
    uint32_t line;
    uint64_t address; /* where the function starts; 0 if not a function */
};

struct strobe_function_node {
    uint32_t parent;
    uint32_t name;
    uint32_t depth; /* 0 for the root */
};

/* Bits of the parameter `incomplete`: why a stack lacks its outermost frames. They select the base node, below which
 * the stack's functions are. Without a bit it is the root. */
enum {
    STROBE_STACK_CUT = 1,  /* the recorder cut the stack; the base node is "[stack cut]" */
    STROBE_STACK_LOST = 2, /* the unwinder stopped at an implausible frame; the base node is "[stack lost]" */
    STROBE_STACK_INCOMPLETE_COUNT = 4
};

/* The largest number of names on one stack: all functions at each of its addresses, and two base nodes. Buffers of this
 * size never truncate a stack. */
enum { STROBE_STACK_NAMES_MAX = STROBE_STACK_DEPTH_MAX * STROBE_SYMBOLS_FRAMES_MAX + 2 };

/* Returns the STROBE_STACK_* bits of a record's stack. */
static inline unsigned strobe_stack_incomplete(const struct strobe_record *r)
{
    return (r->flags & STROBE_FLAG_CUT ? STROBE_STACK_CUT : 0u) |
           (r->flags & STROBE_FLAG_DOUBTFUL ? STROBE_STACK_LOST : 0u);
}

struct strobe_function_tree;

/* `table` must outlive the tree. STROBE_IO: out of memory. */
enum strobe_status strobe_function_tree_open(const struct strobe_stack_table *table, struct strobe_resolver resolver,
                                             struct strobe_function_tree **out);
void strobe_function_tree_close(struct strobe_function_tree *tree);

/* After this call, a stack that ends in a system call has that call as its innermost name. `in_syscall` has the
 * contract of strobe_symbols_in_syscall and gets the resolver's ctx. The tree calls it only for the innermost address
 * of a stack. */
void strobe_function_tree_show_syscalls(struct strobe_function_tree *tree,
                                        int (*in_syscall)(void *ctx, uint64_t return_address,
                                                          struct strobe_symbol *out));

/* Switches the tree to another session. From now on stacks and addresses are those of `table`, and the resolver must
 * answer for that session. Names and nodes stay valid. A function of two sessions has one name and one node if the
 * resolver gives it the same id in both. */
void strobe_function_tree_enter(struct strobe_function_tree *tree, const struct strobe_stack_table *table);

/* STROBE_IO: an allocation failed earlier, here or in the resolver; nodes returned since then may be the root instead.
 */
enum strobe_status strobe_function_tree_status(const struct strobe_function_tree *tree);

/* Returns the node of a stack, with the bits `incomplete`. It is the node of the innermost function, or of the system
 * call that this function was in. An id that is 0, unpublished or damaged gives "[no stack]". */
uint32_t strobe_function_tree_of_stack(struct strobe_function_tree *tree, uint32_t stack, unsigned incomplete);

/* Returns 1 if the innermost frames of the stack, with the bits `incomplete`, are calls that the engine made
 * for itself. */
int strobe_function_tree_in_engine(struct strobe_function_tree *tree, uint32_t stack, unsigned incomplete);

/* Returns the stack without such frames: the stack itself, or one of its prefixes; 0 if no frame is left. */
uint32_t strobe_function_tree_shown_stack(struct strobe_function_tree *tree, uint32_t stack, unsigned incomplete);

/* Returns the node of `name` called from `parent`. Creates it if needed. */
uint32_t strobe_function_tree_child(struct strobe_function_tree *tree, uint32_t parent, uint32_t name);

/* Adds a name with this text that is not a function of the stack table, and returns it. Each call adds another name.
 * The text must outlive the tree. Returns "[no stack]" when memory runs out. */
uint32_t strobe_function_tree_text(struct strobe_function_tree *tree, const char *text);

/* Returns the name of time in which a thread waits in a system call (strobe_wait_call): "[futex]", or "[off cpu]" when
 * the call is unknown. */
uint32_t strobe_function_tree_wait_call(struct strobe_function_tree *tree, uint64_t call);

/* Nodes and names by id. All nodes are in one array, so node 0 gives access to all. The array moves when the tree
 * grows: do not keep the pointer. */
const struct strobe_function_node *strobe_function_tree_node(const struct strobe_function_tree *tree, uint32_t node);
const struct strobe_name *strobe_function_tree_name(const struct strobe_function_tree *tree, uint32_t name);
uint32_t strobe_function_tree_node_count(const struct strobe_function_tree *tree);
uint32_t strobe_function_tree_name_count(const struct strobe_function_tree *tree);

/* Returns the text for a wait of this kind, such as "[mutex wait]"; "[wait]" when `kind` is out of range. */
const char *strobe_wait_name(unsigned kind);

/* Returns the functions at one address, outermost first, as names in *names. `*first` is the index of the first of them
 * among all (address, function) pairs, from 0: a dense id for tables of frames. Returns the number of functions: 0 for
 * the engine's functions and when memory runs out. */
size_t strobe_function_tree_at(struct strobe_function_tree *tree, uint64_t address, const uint32_t **names,
                               uint32_t *first);

/* Returns 1 when a file of this name is the engine's own library in a traced program: the preloaded one, the one that
 * the program is linked with, the one for Android (libstrobe.so; in the lab libstrobe-art.so), or the lab's player
 * (sim/player). Its functions are hooks, or perform the operations of a scenario. Traces leave them out. */
int strobe_is_engine_library(const char *file_name);

#endif
