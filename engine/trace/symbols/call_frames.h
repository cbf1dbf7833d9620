/* Reads the call frame entries (.eh_frame) of an ELF file. They contain, for each function, its start and end, also for
 * functions without a symbol, and whether it sets up a frame pointer.
 *
 * Format: DWARF 5, section 6.4, with the pointer encodings of the Linux Standard Base (LSB 5.0 Core, 10.6).
 * Reading half: allocates. Any thread. */
#ifndef STROBE_TRACE_SYMBOLS_CALL_FRAMES_H
#define STROBE_TRACE_SYMBOLS_CALL_FRAMES_H

#include "engine/base/status.h"

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

enum strobe_frame_use {
    STROBE_FRAME_NONE,    /* does not use the stack, or its entry is inconclusive (stubs, entry point) */
    STROBE_FRAME_PLAIN,   /* uses the stack, without a frame pointer */
    STROBE_FRAME_POINTER, /* sets up a frame pointer */
};

struct strobe_call_frame {
    uint64_t start; /* address, on the scale of the file's symbols */
    uint64_t bytes;
    enum strobe_frame_use use;
};

/* Reads all entries, in order of start. The caller frees *out; it is NULL, with *count 0, if the file has no entries.
 * STROBE_BAD_INPUT: the section is damaged; the readable entries are returned anyway. STROBE_IO: out of memory. */
enum strobe_status strobe_call_frames_read(Elf *elf, struct strobe_call_frame **out, size_t *count);

#endif
