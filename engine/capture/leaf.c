#include "engine/capture/leaf.h"

#include <string.h>

#if defined(__x86_64__) || defined(STROBE_ABI_X86_64)

enum { CALL_BYTES = 5, STEP = 1 };   /* call rel32; code is looked at from every byte on */

static bool calls(const uint8_t *code, uint64_t next, uint64_t *target)
{
    int32_t distance;
    memcpy(&distance, code + 1, sizeof distance);
    *target = next + (uint64_t)(int64_t)distance;
    return code[0] == 0xe8;
}

/* push %rbp; mov %rsp,%rbp */
static bool sets_frame(const uint8_t *code, size_t bytes)
{
    static const uint8_t both[] = {0x55, 0x48, 0x89, 0xe5};
    return bytes >= sizeof both && !memcmp(code, both, sizeof both);
}

#elif defined(__aarch64__)

enum { CALL_BYTES = 4, STEP = 4 };   /* bl */

static bool calls(const uint8_t *code, uint64_t next, uint64_t *target)
{
    uint32_t word;
    memcpy(&word, code, sizeof word);
    int64_t words = (int64_t)((uint64_t)(word & 0x03ffffff) << 38) >> 38;
    *target = next - CALL_BYTES + (uint64_t)(words * 4);
    return word >> 26 == 0x25;
}

/* stp x29, x30, [sp, ...], with or without pre-index */
static bool sets_frame(const uint8_t *code, size_t bytes)
{
    uint32_t word;
    if (bytes < sizeof word)
        return false;
    memcpy(&word, code, sizeof word);
    return (word & 0xfe407fff) == 0xa8007bfd;
}

#else

enum { CALL_BYTES = 4, STEP = 4 };

static bool calls(const uint8_t *code, uint64_t next, uint64_t *target)
{
    (void)code, (void)next, (void)target;
    return false;
}

static bool sets_frame(const uint8_t *code, size_t bytes)
{
    (void)code, (void)bytes;
    return false;
}

#endif

static bool read_all(const struct strobe_host *host, uint64_t address, void *out, size_t bytes)
{
    size_t copied;
    return host->read(host->ctx, address, out, bytes, &copied) == STROBE_OK && copied == bytes;
}

bool strobe_leaf_proven(const struct strobe_host *host, uint64_t pc, uint64_t candidate)
{
    uint8_t call[CALL_BYTES], code[STROBE_LEAF_BYTES_MAX];
    uint64_t start;
    if (candidate < 4096 || !read_all(host, candidate - CALL_BYTES, call, CALL_BYTES) ||
        !calls(call, candidate, &start) || start > pc || pc - start > sizeof code)
        return false;
    size_t bytes = (size_t)(pc - start);
    if (bytes && !read_all(host, start, code, bytes))
        return false;
    for (size_t i = 0; i < bytes; i += STEP)
        if (sets_frame(code + i, bytes - i))
            return false;
    return true;
}
