/* What the call frame entries (.eh_frame) of an ELF file tell about its functions: where each starts and ends, also
 * where there is no symbol, and whether it sets up a frame pointer.
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
    STROBE_FRAME_NONE,    /* leaves the stack alone, or says nothing we can judge by (stubs, entry point) */
    STROBE_FRAME_PLAIN,   /* uses the stack, without a frame pointer */
    STROBE_FRAME_POINTER, /* sets up a frame pointer */
};

struct strobe_call_frame {
    uint64_t start; /* address as the file's symbols have it */
    uint64_t bytes;
    enum strobe_frame_use use;
};

/* Reads all entries, in order of start. *out is the caller's to free; NULL with *count 0 when the file has none.
 * STROBE_BAD_INPUT: the section does not hold together; what was read up to there is still given.
 * STROBE_IO: out of memory. */
enum strobe_status strobe_call_frames_read(Elf *elf, struct strobe_call_frame **out, size_t *count);

#endif
