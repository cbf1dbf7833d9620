/* Finds an image's GNU build id in its ELF notes. Reads only the notes. Any context. */
#ifndef STROBE_BACKEND_COMMON_BUILD_ID_H
#define STROBE_BACKEND_COMMON_BUILD_ID_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies the build id in notes[0 .. bytes) to `out` and returns its length. Returns 0 when there is no build id of 1 to
 * `most` bytes, or when the notes are damaged before it.
 *
 * A note is a head of three words (bytes of name, bytes of content, type), its name and its content. Both are padded to
 * 8 bytes in segments whose alignment, p_align, is 8, and to 4 in others (System V ABI, generic, "Note Section"). */
static inline uint32_t strobe_build_id(const void *notes, size_t bytes, uint64_t align, uint8_t *out, uint32_t most)
{
    const uint8_t *first = notes;
    const uint64_t padding = align == 8 ? 7 : 3;
    uint32_t head[3];
    for (uint64_t at = 0; at <= bytes && bytes - at >= sizeof head;) {
        memcpy(head, first + at, sizeof head);
        uint64_t name = at + sizeof head, content = (name + head[0] + padding) & ~padding;
        if (content > bytes || head[1] > bytes - content)
            return 0;
        if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && !memcmp(first + name, "GNU", 4) && head[1] &&
            head[1] <= most) {
            memcpy(out, first + content, head[1]);
            return head[1];
        }
        at = (content + head[1] + padding) & ~padding;
    }
    return 0;
}

#endif
