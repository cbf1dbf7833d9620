/* The images whose code native frames may be in, for walks of native frames (frames.h). It says of an address what code
 * is there:
 *
 *   no bits   no image of the dynamic linker's list holds it: managed code, generated code, or no code at all
 *   IMAGE     a library or the program. Files of compiled managed code (.oat, .odex) do not count
 *   RUNTIME   of these, the runtime's own libraries: its interpreter, its bridges, its functions of JNI. Such frames
 *             stand for the managed frames between which they lie
 *   LIBC      of these, the C library. It has the outermost frames of a thread
 *   TABLES    of these, an image whose frames are unwound by its call frame information: it keeps no frame pointers, or
 *             it is the runtime's, whose bridges keep none
 *   READABLE  of the runtime's libraries, those whose code can be read in place; other code may be only executable
 *
 * Layout. One thread, the changer, replaces the list of ranges; any thread looks up addresses.
 *
 *   list[2]     ranges of code, sorted by address; list[generation & 1] is the present one
 *   memo[M]     answers, by page: page << 24 | generation << 8 | bits
 *   generation  number of the present list
 *
 *   changer                                    lookup
 *   fence                  release  (B)        g = generation               acquire  (A)
 *   words of list[g+1 & 1] relaxed             memo of page and g, else
 *   generation = g + 1     release  (A)        words of list[g & 1]         relaxed
 *                                              fence                        acquire
 *                                              generation still g           relaxed  (B)
 *
 *   A  a lookup that sees a generation sees the words of its list
 *   B  a lookup that sees a word of the list after the next one sees that generation g has ended, and looks up again
 *
 * After LOOKUPS_MOST changes during one lookup the answer is "no bits". An image that is unloaded keeps its bits until
 * the next update. A return address in it is then that of a function that has ended, or of an image in its place.
 * Lookups are async-signal-safe and take bounded steps. (explored: artcode/replace) */
#ifndef STROBE_BACKEND_ART_CODE_H
#define STROBE_BACKEND_ART_CODE_H

#include "engine/base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STROBE_ART_CODE_IMAGE = 1,
    STROBE_ART_CODE_RUNTIME = 2,
    STROBE_ART_CODE_LIBC = 4,
    STROBE_ART_CODE_TABLES = 8,
    STROBE_ART_CODE_READABLE = 16,
};

enum { STROBE_ART_CODE_PAGE_BITS = 12 };

enum {
#ifdef STROBE_SMALL
    STROBE_ART_CODE_RANGES = 1,
    STROBE_ART_CODE_MEMO = 2, /* for exploration */
#else
    STROBE_ART_CODE_RANGES = 2048,
    STROBE_ART_CODE_MEMO = 4096,
#endif
};

struct strobe_art_code_range {
    strobe_a64 start, end; /* addresses */
    strobe_a64 bits;
};

/* Zero at first. About 130 KiB, of which only touched pages take memory. */
struct strobe_art_code {
    strobe_a32 generation;
    strobe_a32 count[2];
    struct strobe_art_code_range list[2][STROBE_ART_CODE_RANGES];
    strobe_a64 memo[STROBE_ART_CODE_MEMO];
};

/* Returns the bits of the code at `pc`. Any. */
uint32_t strobe_art_code_find(struct strobe_art_code *c, uint64_t pc);

/* Returns the same from the memo when it has the page, without a call. Any. */
static inline uint32_t strobe_art_code_at(struct strobe_art_code *c, uint64_t pc)
{
    uint64_t page = pc >> STROBE_ART_CODE_PAGE_BITS, generation = strobe_load_acquire(&c->generation) & 0xffff;
    uint64_t word = strobe_load_relaxed(&c->memo[page % STROBE_ART_CODE_MEMO]);
    return word >> 8 == (page << 16 | generation) && word ? (uint32_t)(word & 0xff) : strobe_art_code_find(c, pc);
}

/* A range to put into a new list. Changer. */
struct strobe_art_code_entry {
    uint64_t start, end;
    uint32_t bits;
};

/* Replaces the list. `entries` are sorted by this function; of more than STROBE_ART_CODE_RANGES the rest is left out.
 * Start, or sampler between passes. */
void strobe_art_code_replace(struct strobe_art_code *c, struct strobe_art_code_entry *entries, uint32_t count);

#endif
