/* Finds the function that contains an address of a loaded file. The file's symbols and call frame entries are sorted
 * once, and then searched by bisection (libdwfl's own lookup scans all symbols each time). Code of a section between
 * two known functions counts as one function, because hand-written code of stripped libraries has neither symbols nor
 * call frames.
 *
 * Reading half: allocates. Built once, read by one thread at a time. */
#ifndef STROBE_TRACE_SYMBOLS_FUNCTION_INDEX_H
#define STROBE_TRACE_SYMBOLS_FUNCTION_INDEX_H

#include "engine/base/status.h"

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

/* One function; addresses as loaded. */
struct strobe_function {
    uint64_t start, end; /* [start, end) */
    const char *name;    /* mangled; owned by the module; NULL = no symbol */
    int exported;        /* the symbol is not local: other files can call the function by its name */
    int guessed;         /* the symbol has no size; `end` is the next symbol's start or its section's end */
};

struct strobe_function_index {
    struct strobe_function *named, *framed; /* each in order of start */
    struct strobe_function *sections;       /* sections of code, without names */
    size_t named_count, framed_count, section_count;
};

/* Reads the functions of a module. STROBE_IO: out of memory. A module without symbols or frames gives an empty
 * index. */
enum strobe_status strobe_function_index_build(Dwfl_Module *module, struct strobe_function_index *out);

void strobe_function_index_free(struct strobe_function_index *index);

/* Returns in *out the function that contains `address`: a named one if any, else one known by its call frames, else the
 * code between two functions. Returns 0 if the address is in no section of code. */
int strobe_function_at(const struct strobe_function_index *index, uint64_t address, struct strobe_function *out);

#endif
