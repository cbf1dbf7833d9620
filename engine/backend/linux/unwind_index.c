#include "engine/backend/linux/unwind_index.h"

#include "engine/backend/linux/exidx.h"
#include "engine/base/hint.h"

#include <string.h>

/* ---- the tables of this machine ---- */

#ifdef STROBE_EH_ARM

static struct strobe_unwind_rule read_rule(const struct strobe_eh_frame *e, uint64_t pc)
{
    return strobe_exidx_rule(e, pc);
}

static bool is_covered(const struct strobe_eh_frame *e, uint64_t pc)
{
    return strobe_exidx_covers(e, pc);
}

static bool most_keep_fp(const struct strobe_eh_frame *e)
{
    return strobe_exidx_keeps_fp(e);
}

static bool read_range(const struct strobe_eh_frame *e, uint64_t pc, uint64_t *start, uint64_t *end)
{
    return strobe_exidx_range(e, pc, start, end);
}

#else

static struct strobe_unwind_rule read_rule(const struct strobe_eh_frame *e, uint64_t pc)
{
    return strobe_eh_frame_rule(e, pc);
}

static bool is_covered(const struct strobe_eh_frame *e, uint64_t pc)
{
    return strobe_eh_frame_covers(e, pc);
}

static bool most_keep_fp(const struct strobe_eh_frame *e)
{
    return strobe_eh_frame_keeps_fp(e);
}

static bool read_range(const struct strobe_eh_frame *e, uint64_t pc, uint64_t *start, uint64_t *end)
{
    (void)e, (void)pc, (void)start, (void)end;
    return false;
}

#endif

/* ---- images ---- */

enum { WORD_START, WORD_END, WORD_BYTES, WORD_SIZE, WORD_ADDRESS, WORD_TABLE, WORD_BASE_AND_COUNT };

/* Packs base and count into one word. The header is within 2 GiB of the image's start, and so are the entries of its
 * table. */
static uint64_t pack_base_and_count(const struct strobe_unwind_image *image)
{
    return (image->frames.base - image->frames.address) << 32 | (image->frames.count & 0xffffffff);
}

static void write_image(struct strobe_unwind_slot *slot, const struct strobe_unwind_image *image)
{
    const uint64_t word[STROBE_UNWIND_IMAGE_WORDS] = {
        [WORD_START] = image->start,
        [WORD_END] = image->end,
        [WORD_BYTES] = (uint64_t)(uintptr_t)image->frames.bytes,
        [WORD_SIZE] = image->frames.size,
        [WORD_ADDRESS] = image->frames.address,
        [WORD_TABLE] = image->frames.table,
        [WORD_BASE_AND_COUNT] = pack_base_and_count(image),
    };
    uint32_t seq = strobe_load_relaxed(&slot->seq);
    strobe_store_relaxed(&slot->seq, seq + 1);
    strobe_fence_release();
    for (unsigned i = 0; i < STROBE_UNWIND_IMAGE_WORDS; i++)
        strobe_store_relaxed(&slot->word[i], word[i]);
    strobe_store_release(&slot->seq, seq + 2);
}

static void end_generation(struct strobe_unwind_index *x)
{
    strobe_store_release(&x->generation, strobe_load_relaxed(&x->generation) + 1);
}

static bool is_packable(const struct strobe_unwind_image *image)
{
    return image->frames.base - image->frames.address < (uint64_t)1 << 32 && image->frames.count < (uint64_t)1 << 32;
}

enum strobe_status strobe_unwind_index_add(struct strobe_unwind_index *x, const struct strobe_unwind_image *image,
                                           uint32_t *slot)
{
    uint32_t used = strobe_load_relaxed(&x->images), i = 0;
    while (i < used && strobe_load_relaxed(&x->image[i].word[WORD_END]))
        i++;
    if (i == STROBE_UNWIND_IMAGES || !is_packable(image))
        return STROBE_FULL;
    write_image(&x->image[i], image);
    if (i == used)
        strobe_store_release(&x->images, used + 1);
    end_generation(x);
    *slot = i;
    return STROBE_OK;
}

void strobe_unwind_index_remove(struct strobe_unwind_index *x, uint32_t slot)
{
    write_image(&x->image[slot], &(struct strobe_unwind_image){0});
    end_generation(x);
    strobe_fence_release(); /* comes before the caller's stores to the image's memory, as (B) */
}

/* ---- the memo ---- */

enum { MEMO_GROWTH_BITS = 2, LINES_TO_AN_EVICTION = 4 };

static inline uint32_t lines_in_use(const struct strobe_unwind_index *x)
{
    return (uint32_t)STROBE_UNWIND_MEMO_BEGIN << MEMO_GROWTH_BITS * strobe_load_relaxed(&x->memo_growths);
}

static inline struct strobe_unwind_memo *memo_line(struct strobe_unwind_index *x, uint64_t pc)
{
    return x->memo[(pc * 0x9e3779b97f4a7c15u >> 32) & (lines_in_use(x) - 1)];
}

/* Counts an eviction. Of several lookups that reach the limit at once, one makes the memo grow. */
static void count_eviction(struct strobe_unwind_index *x)
{
    uint32_t growths = strobe_load_relaxed(&x->memo_growths), lines = lines_in_use(x);
    if (lines >= STROBE_UNWIND_MEMO_LINES)
        return;
    if (strobe_add_relaxed(&x->memo_evictions, 1) < lines / LINES_TO_AN_EVICTION)
        return;
    if (strobe_cas_relaxed(&x->memo_growths, &growths, growths + 1))
        strobe_store_relaxed(&x->memo_evictions, 0);
}

static inline bool recall_rule(struct strobe_unwind_memo *m, uint64_t pc, uint32_t generation,
                               struct strobe_unwind_rule *out)
{
    uint32_t seq = strobe_load_acquire(&m->seq);
    if (seq & 1 || strobe_load_relaxed(&m->pc) != pc || strobe_load_relaxed(&m->generation) != generation)
        return false;
    const uint64_t word[2] = {strobe_load_relaxed(&m->rule[0]), strobe_load_relaxed(&m->rule[1])};
    strobe_fence_acquire();
    if (strobe_load_relaxed(&m->seq) != seq || seq == 0)
        return false;
    memcpy(out, word, sizeof *out);
    return true;
}

/* Returns the slot of a line to overwrite: one with a stale rule, else the one that was written less often. */
static struct strobe_unwind_memo *choose_victim(struct strobe_unwind_index *x, struct strobe_unwind_memo *line,
                                                uint32_t generation)
{
    for (unsigned i = 0; i < 2; i++)
        if (strobe_load_relaxed(&line[i].generation) != generation)
            return &line[i];
    count_eviction(x);
    return &line[strobe_load_relaxed(&line[1].seq) < strobe_load_relaxed(&line[0].seq)];
}

static void remember_rule(struct strobe_unwind_memo *m, uint64_t pc, uint32_t generation,
                          const struct strobe_unwind_rule *rule)
{
    uint64_t word[2];
    uint32_t seq = strobe_load_relaxed(&m->seq);
    if (seq & 1 || !strobe_cas_acquire(&m->seq, &seq, seq + 1))
        return;
    strobe_fence_release();
    memcpy(word, rule, sizeof word);
    strobe_store_relaxed(&m->pc, pc);
    strobe_store_relaxed(&m->generation, generation);
    strobe_store_relaxed(&m->rule[0], word[0]);
    strobe_store_relaxed(&m->rule[1], word[1]);
    strobe_store_release(&m->seq, seq + 2);
}

/* ---- lookups ---- */

static void read_image(struct strobe_unwind_slot *slot, struct strobe_unwind_image *out)
{
    uint64_t word[STROBE_UNWIND_IMAGE_WORDS];
    for (unsigned i = 0; i < STROBE_UNWIND_IMAGE_WORDS; i++)
        word[i] = strobe_load_relaxed(&slot->word[i]);
    *out = (struct strobe_unwind_image){
        .start = word[WORD_START],
        .end = word[WORD_END],
        .frames = {.bytes = (const uint8_t *)(uintptr_t)word[WORD_BYTES],
                   .size = word[WORD_SIZE],
                   .address = word[WORD_ADDRESS],
                   .table = word[WORD_TABLE],
                   .base = word[WORD_ADDRESS] + (word[WORD_BASE_AND_COUNT] >> 32),
                   .count = word[WORD_BASE_AND_COUNT] & 0xffffffff},
    };
}

static bool is_slot_unchanged(struct strobe_unwind_slot *slot, uint32_t seq)
{
    strobe_fence_acquire();
    return strobe_load_relaxed(&slot->seq) == seq;
}

static bool image_keeps_fp(struct strobe_unwind_slot *slot, uint32_t seq, const struct strobe_eh_frame *frames)
{
    uint32_t known = strobe_load_relaxed(&slot->keeps_fp);
    if ((known & ~1u) != seq) {
        known = seq | most_keep_fp(frames);
        strobe_store_relaxed(&slot->keeps_fp, known);
    }
    return known & 1;
}

/* Returns whether the image in the slot holds pc, and then the rule in *out. */
static bool find_in_image(struct strobe_unwind_slot *slot, uint64_t pc, struct strobe_unwind_rule *out)
{
    struct strobe_unwind_image image;
    uint32_t seq = strobe_load_acquire(&slot->seq);
    if (seq & 1 || pc - strobe_load_relaxed(&slot->word[WORD_START]) >=
                       strobe_load_relaxed(&slot->word[WORD_END]) - strobe_load_relaxed(&slot->word[WORD_START]))
        return false;
    read_image(slot, &image);
    if (!is_slot_unchanged(slot, seq))
        return false; /* the words may be of two images */
    if (image.frames.bytes)
        *out = read_rule(&image.frames, pc);
    /* Code whose entry cannot be expressed as a rule does not do as the other functions do. */
    if (image.frames.bytes && out->kind == STROBE_UNWIND_NONE && !is_covered(&image.frames, pc) &&
        image_keeps_fp(slot, seq, &image.frames))
        out->kind = STROBE_UNWIND_BY_FP;
    return is_slot_unchanged(slot, seq);
}

static STROBE_NOINLINE struct strobe_unwind_rule find_in_images(struct strobe_unwind_index *x, uint64_t pc)
{
    struct strobe_unwind_rule rule;
    uint32_t count = strobe_load_acquire(&x->images);
    for (uint32_t i = 0; i < count; i++) {
        rule = (struct strobe_unwind_rule){.kind = STROBE_UNWIND_BY_FP};
        if (find_in_image(&x->image[i], pc, &rule))
            return rule;
    }
    strobe_store_relaxed(&x->missed, 1);
    return (struct strobe_unwind_rule){.kind = STROBE_UNWIND_BY_FP};
}

struct strobe_unwind_rule strobe_unwind_index_find(struct strobe_unwind_index *x, uint64_t pc)
{
    struct strobe_unwind_rule rule;
    uint32_t generation = strobe_load_acquire(&x->generation);
    struct strobe_unwind_memo *line = memo_line(x, pc);
    if (recall_rule(&line[0], pc, generation, &rule) || recall_rule(&line[1], pc, generation, &rule))
        return rule;
    rule = find_in_images(x, pc);
    remember_rule(choose_victim(x, line, generation), pc, generation, &rule);
    return rule;
}

/* Returns the slot of the image that holds pc, and the image, or NULL. */
static struct strobe_unwind_slot *find_image(struct strobe_unwind_index *x, uint64_t pc, uint32_t *seq,
                                             struct strobe_unwind_image *out)
{
    uint32_t count = strobe_load_acquire(&x->images);
    for (uint32_t i = 0; i < count; i++) {
        struct strobe_unwind_slot *slot = &x->image[i];
        *seq = strobe_load_acquire(&slot->seq);
        read_image(slot, out);
        if (!(*seq & 1) && is_slot_unchanged(slot, *seq) && pc - out->start < out->end - out->start)
            return slot;
    }
    return NULL;
}

bool strobe_unwind_index_range(struct strobe_unwind_index *x, uint64_t pc, uint64_t *start, uint64_t *end)
{
    uint32_t seq;
    struct strobe_unwind_image image;
    struct strobe_unwind_slot *slot = find_image(x, pc, &seq, &image);
    return slot && image.frames.bytes && read_range(&image.frames, pc, start, end) && is_slot_unchanged(slot, seq);
}

bool strobe_unwind_index_has_tables(struct strobe_unwind_index *x, uint64_t pc)
{
    uint32_t seq;
    struct strobe_unwind_image image;
    return find_image(x, pc, &seq, &image) && image.frames.bytes;
}

bool strobe_unwind_index_keeps_fp(struct strobe_unwind_index *x, uint64_t pc)
{
    uint32_t seq;
    struct strobe_unwind_image image;
    struct strobe_unwind_slot *slot = find_image(x, pc, &seq, &image);
    return !slot || !image.frames.bytes || image_keeps_fp(slot, seq, &image.frames);
}
