/* Source lines for code addresses of this process, from its debug information (elfutils' libdwfl). The text of a line
 * is read from the source file, if it still exists.
 *
 * Allocates memory; one thread. Missing information is empty, and no error. */
#ifndef STROBE_SIM_EXPLORE_SOURCE_H
#define STROBE_SIM_EXPLORE_SOURCE_H

#include <stdint.h>

struct explore_sources;

/* Opens the code that is loaded in this process. Returns NULL when there is no debug information. The other functions
 * accept NULL and find nothing. */
struct explore_sources *explore_sources_open(void);
void explore_sources_close(struct explore_sources *sources);

enum { EXPLORE_SOURCE_FILE = 128, EXPLORE_SOURCE_TEXT = 160 };

struct explore_source {
    char file[EXPLORE_SOURCE_FILE]; /* as passed to the compiler: "engine/store/ring.c"; "" when unknown */
    uint32_t line;                  /* 0 when unknown */
    char text[EXPLORE_SOURCE_TEXT]; /* the line without its indentation and comment; "" when unknown */
};

/* `code`: an address inside the instruction, not the address after it. */
void explore_source_find(struct explore_sources *sources, const void *code, struct explore_source *out);

#endif
