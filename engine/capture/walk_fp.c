#include "engine/capture/walk_fp.h"

#include <string.h>

enum strobe_walk_end strobe_walk_fp(const struct strobe_window *w, uint64_t fp, uint64_t *frames_end, uint32_t max,
                                    uint32_t *count)
{
    const uint64_t low = w->low, bias = w->bias, span = w->high - low;
    const uint64_t beyond = sizeof(struct strobe_frame_record) - 1;
    const uint64_t room = span > beyond ? span - beyond : 0; /* addresses at which a record may begin */
    uint32_t n = 0;
    uint64_t last = 0;
    enum strobe_walk_end end = STROBE_WALK_DOUBTFUL;

    fp = strobe_frame_pointer(fp);
    while (fp - low < room && !(fp & (sizeof(uintptr_t) - 1))) {
        const struct strobe_frame_record *r = (const struct strobe_frame_record *)(uintptr_t)(fp + bias);
        uint64_t next = strobe_frame_pointer(r->next), address = strobe_frame_strip(r->return_address);
        if (address == 0) {
            end = STROBE_WALK_ROOT;
            break;
        }
        if (n == max) {
            end = STROBE_WALK_CUT;
            break;
        }
        frames_end[-(ptrdiff_t)++n] = address;
        last = fp;
        if (next == 0) {
            end = STROBE_WALK_ROOT;
            break;
        }
        if (next <= fp)
            break;
        fp = next;
    }
    *count = n;
    return end == STROBE_WALK_DOUBTFUL && w->root && last >= w->root ? STROBE_WALK_ROOT : end;
}

int strobe_walk_leaf_slot(uint64_t sp, const uint8_t *code, size_t code_bytes, uint64_t *slot)
{
#ifdef STROBE_FRAMES_X86
#ifdef __i386__
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfb};
    static const uint8_t set_frame[] = {0x89, 0xe5}; /* mov %esp,%ebp */
#else
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const uint8_t set_frame[] = {0x48, 0x89, 0xe5}; /* mov %rsp,%rbp */
#endif
    enum { PUSH_FP = 0x55, RET = 0xc3 };
    if (code_bytes >= sizeof endbr && !memcmp(code, endbr, sizeof endbr))
        *slot = sp;
    else if (code_bytes >= 1 && (code[0] == PUSH_FP || code[0] == RET))
        *slot = sp;
    else if (code_bytes >= sizeof set_frame && !memcmp(code, set_frame, sizeof set_frame))
        *slot = sp + sizeof(uintptr_t);
    else
        return 0;
    return 1;
#else
    (void)sp, (void)code, (void)code_bytes, (void)slot;
    return 0;
#endif
}
