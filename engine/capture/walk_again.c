#include "engine/capture/walk_again.h"

#include "engine/base/hint.h"

static inline const struct strobe_frame_record *record_at(uint64_t fp)
{
    return (const struct strobe_frame_record *)(uintptr_t)fp;
}

/* Returns the bits that differ between a remembered frame and its record now. */
static STROBE_READS_STACKS inline uint64_t frame_changes(const struct strobe_walk_memory *m, uint32_t i, uint64_t next)
{
    const struct strobe_frame_record *r = record_at(m->fp[i]);
    return (strobe_frame_pointer(r->next) ^ next) | (strobe_frame_strip(r->return_address) ^ m->address[i]);
}

/* Returns how many of the outermost `count` remembered frames are unchanged, counted from the outermost. */
static STROBE_READS_STACKS uint32_t count_unchanged_frames(const struct strobe_walk_memory *m, uint32_t count)
{
    if (count == 0 || (m->blank_at && strobe_frame_strip(record_at(m->blank_at)->return_address)) ||
        frame_changes(m, 0, m->outer_next))
        return 0;
    uint32_t i = 1;
    for (; i + 4 <= count; i += 4)
        if (frame_changes(m, i, m->fp[i - 1]) | frame_changes(m, i + 1, m->fp[i]) |
            frame_changes(m, i + 2, m->fp[i + 1]) | frame_changes(m, i + 3, m->fp[i + 2]))
            break;
    while (i < count && !frame_changes(m, i, m->fp[i - 1]))
        i++;
    return i;
}

static inline uint32_t not_below(const struct strobe_walk_memory *m, uint32_t count, uint64_t fp)
{
    while (count && m->fp[count - 1] < fp)
        count--;
    return count;
}

/* Appends the new frames inside the kept ones. */
static void append_fresh(struct strobe_walk_memory *m, uint32_t kept, uint32_t fresh)
{
    m->count = kept + fresh;
    for (uint32_t i = 0; i < fresh; i++) {
        m->address[kept + i] = m->fresh_address[fresh - 1 - i];
        m->fp[kept + i] = m->fresh_fp[fresh - 1 - i];
    }
}

STROBE_READS_STACKS enum strobe_walk_end strobe_walk_again(const struct strobe_window *w, uint64_t fp, uint32_t max,
                                                           struct strobe_walk_memory *m, uint32_t *shared)
{
    const uint64_t low = w->low, span = w->high - low;
    const uint64_t beyond = sizeof(struct strobe_frame_record) - 1;
    const uint64_t room = span > beyond ? span - beyond : 0; /* addresses at which a record may begin */
    uint32_t usable = m->high == w->high && m->root == w->root ? m->usable : 0, fresh = 0;
    uint32_t kept = count_unchanged_frames(m, not_below(m, usable, fp > low ? fp : low));
    enum strobe_walk_end end = STROBE_WALK_DOUBTFUL;
    uint64_t next = 0, blank_at = 0;

    fp = strobe_frame_pointer(fp);
    while (fp - low < room && !(fp & (sizeof(uintptr_t) - 1))) {
        kept = not_below(m, kept, fp);
        if (kept && m->fp[kept - 1] == fp && kept + fresh <= max) {
            append_fresh(m, kept, fresh);
            m->usable = m->count;
            *shared = kept;
            return m->end;
        }
        uint64_t address = strobe_frame_strip(record_at(fp)->return_address);
        if (address == 0) {
            end = STROBE_WALK_ROOT;
            blank_at = fp;
            break;
        }
        if (fresh == max) {
            end = STROBE_WALK_CUT;
            break;
        }
        next = strobe_frame_pointer(record_at(fp)->next);
        m->fresh_fp[fresh] = fp;
        m->fresh_address[fresh++] = address;
        if (next == 0)
            end = STROBE_WALK_ROOT;
        if (next <= fp)
            break;
        fp = next;
    }

    if (end == STROBE_WALK_DOUBTFUL && w->root && fresh && m->fresh_fp[fresh - 1] >= w->root)
        end = STROBE_WALK_ROOT;
    append_fresh(m, 0, fresh);
    m->usable = end == STROBE_WALK_CUT ? 0 : fresh;
    m->end = end;
    m->high = w->high;
    m->root = w->root;
    m->outer_next = next;
    m->blank_at = blank_at;
    *shared = 0;
    return end;
}
