/* Internals of the reader of call frame information: bytes, and the entries in them. Calling context and limits are
 * those of eh_frame.h. */
#ifndef STROBE_BACKEND_LINUX_EH_ENTRY_H
#define STROBE_BACKEND_LINUX_EH_ENTRY_H

#include "engine/backend/linux/eh_frame.h"

/* A read position in the bytes of an image, with the end of the readable part. A read that would pass the end sets
 * `bad`, which stays set. Reads then return 0. */
struct strobe_eh_cursor {
    const struct strobe_eh_frame *image;
    uint64_t at, end; /* offsets in image->bytes, at <= end <= size */
    bool bad;
};

/* The fields that all frame description entries of one common information entry share. */
struct strobe_eh_common {
    uint64_t code_align;
    int64_t data_align;
    struct strobe_eh_cursor program;
    uint8_t pointers; /* encoding of addresses in the entries */
    bool has_lengths; /* entries have a length of augmentation data */
    bool is_signal_frame;
};

/* A function's frame description entry. */
struct strobe_eh_entry {
    struct strobe_eh_common common;
    uint64_t start, end; /* addresses */
    struct strobe_eh_cursor program;
};

/* Reads little-endian numbers of 1, 2, 4 or 8 bytes, and of DWARF's variable length. */
uint64_t strobe_eh_fixed(struct strobe_eh_cursor *c, unsigned bytes);
uint64_t strobe_eh_leb(struct strobe_eh_cursor *c, bool is_signed);

static inline uint64_t strobe_eh_uleb(struct strobe_eh_cursor *c)
{
    return strobe_eh_leb(c, false);
}

static inline int64_t strobe_eh_sleb(struct strobe_eh_cursor *c)
{
    return (int64_t)strobe_eh_leb(c, true);
}

/* Reads an address in one of the encodings DW_EH_PE_*; a pointer to the address (indirect) is not followed. */
uint64_t strobe_eh_address(struct strobe_eh_cursor *c, uint8_t encoding);

void strobe_eh_skip(struct strobe_eh_cursor *c, uint64_t bytes);

/* Finds the entry that covers pc, by the sorted table. Returns false when no entry covers pc, or the entry is
 * damaged. */
bool strobe_eh_find(const struct strobe_eh_frame *e, uint64_t pc, struct strobe_eh_entry *out);

#endif
