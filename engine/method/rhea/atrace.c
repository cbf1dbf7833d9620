#include "engine/method/rhea/atrace.h"

#include <string.h>

static void atrace_count_word(struct strobe_atrace *a, uint32_t word)
{
    strobe_add_relaxed(&a->ring.head->words[word], 1);
}

void strobe_atrace_begin(struct strobe_atrace *a, const struct strobe_packet_ring *ring,
                         const struct strobe_atrace_system *system, uint32_t pid, uint64_t monotonic_ns, bool main_only)
{
    *a = (struct strobe_atrace){.ring = *ring, .system = *system, .main_tid = pid, .main_only = main_only};
    strobe_a64 *words = ring->head->words;
    for (uint32_t i = 0; i < 8; i++)
        strobe_store_relaxed(&words[i], 0);
    strobe_store_relaxed(&words[STROBE_ATRACE_HEAD_PID], pid);
    strobe_store_relaxed(&words[STROBE_ATRACE_HEAD_BOOT_NS], system->boot_ns(system->ctx));
    strobe_store_relaxed(&words[STROBE_ATRACE_HEAD_MONOTONIC_NS], monotonic_ns);
    strobe_store_relaxed(&words[STROBE_ATRACE_HEAD_MAIN_ONLY], main_only);
}

void strobe_atrace_end(struct strobe_atrace *a)
{
    strobe_store_relaxed(&a->ring.head->words[STROBE_ATRACE_HEAD_END_BOOT_NS], a->system.boot_ns(a->system.ctx));
}

bool strobe_atrace_leaves_out(struct strobe_atrace *a)
{
    if (!a->main_only || a->system.tid(a->system.ctx) == a->main_tid)
        return false;
    atrace_count_word(a, STROBE_ATRACE_HEAD_ELSEWHERE);
    return true;
}

static enum strobe_atrace_fate atrace_keep_message(struct strobe_atrace *a, enum strobe_atrace_kind kind,
                                                   const char *text, size_t bytes)
{
    struct strobe_atrace_entry e = {.tid = a->system.tid(a->system.ctx), .kind = kind};
    if (a->main_only && e.tid != a->main_tid) {
        atrace_count_word(a, STROBE_ATRACE_HEAD_ELSEWHERE);
        return STROBE_ATRACE_ELSEWHERE;
    }
    if (bytes > STROBE_ATRACE_TEXT_MAX) {
        bytes = STROBE_ATRACE_TEXT_MAX;
        atrace_count_word(a, STROBE_ATRACE_HEAD_CUT);
    }
    e.time_ns = a->system.boot_ns(a->system.ctx);
    return strobe_packet_write_parts(&a->ring, &e, sizeof e, text, bytes) == STROBE_OK ? STROBE_ATRACE_KEPT
                                                                                       : STROBE_ATRACE_DROPPED;
}

enum strobe_atrace_fate strobe_atrace_message(struct strobe_atrace *a, const char *text, size_t bytes)
{
    if (!bytes)
        return STROBE_ATRACE_PASSED;
    if (text[0] == 'B' || text[0] == 'E')
        return atrace_keep_message(a, STROBE_ATRACE_TEXT, text, bytes);
    atrace_count_word(a, STROBE_ATRACE_HEAD_PASSED);
    return STROBE_ATRACE_PASSED;
}

enum strobe_atrace_fate strobe_atrace_section(struct strobe_atrace *a, enum strobe_atrace_kind kind, const char *name,
                                              size_t bytes)
{
    return atrace_keep_message(a, kind, name, bytes);
}

/* ---- labels */

struct label {
    char *at, *end;
};

static void label_add_text(struct label *l, const char *text, size_t bytes)
{
    size_t left = (size_t)(l->end - l->at);
    bytes = bytes < left ? bytes : left;
    memcpy(l->at, text, bytes);
    l->at += bytes;
}

static void label_add_number(struct label *l, const char *name, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    if (value == STROBE_ATRACE_NONE)
        return;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    label_add_text(l, name, strlen(name));
    label_add_text(l, digits + at, sizeof digits - at);
}

size_t strobe_atrace_label(char *to, size_t capacity, const char *what, const char *path, size_t path_bytes,
                           uint64_t size, uint64_t offset)
{
    char tail[64];
    struct label l = {to, to + capacity}, t = {tail, tail + sizeof tail};
    label_add_number(&t, ",size:", size);
    label_add_number(&t, ",offset:", offset);
    size_t tail_bytes = (size_t)(t.at - tail), head_bytes = strlen(what) + 1;
    size_t most = capacity > tail_bytes + head_bytes ? capacity - tail_bytes - head_bytes : 0;
    label_add_text(&l, what, head_bytes - 1);
    label_add_text(&l, ":", 1);
    label_add_text(&l, path, path_bytes < most ? path_bytes : most);
    label_add_text(&l, tail, tail_bytes);
    return (size_t)(l.at - to);
}
