/* The fuzzer's input as a source of decisions, and the check of a property. An input that has ended gives zeros, so
 * that each input, however short, is a whole program for the code under test. Fuzz programs only. */
#ifndef STROBE_FUZZ_SUPPORT_BYTES_H
#define STROBE_FUZZ_SUPPORT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t fuzz_byte(struct fuzz_bytes *b)
{
    if (!b->left)
        return 0;
    b->left--;
    return *b->at++;
}

static inline uint16_t fuzz_pair(struct fuzz_bytes *b)
{
    uint8_t low = fuzz_byte(b);
    return (uint16_t)(low | fuzz_byte(b) << 8);
}

/* Returns a number below `limit`, which is at most 65,536, from as few bytes as it needs. */
static inline uint32_t fuzz_below(struct fuzz_bytes *b, uint32_t limit)
{
    return (limit > 256 ? fuzz_pair(b) : fuzz_byte(b)) % limit;
}

/* Ends the program, which the fuzzer reports as a crash, when a property does not hold. */
#define fuzz_require(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))

static inline _Noreturn void fuzz_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    abort();
}

#endif
