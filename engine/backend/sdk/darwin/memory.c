/* Copies and fills, which the compiler makes calls of where the source has only an assignment. The system's would be
 * bound when they are first called, under the loader's lock, which a hook, or the sampler while a thread stands, must
 * not wait for; all other calls go by pointers that are bound when the library is loaded. These are of this library
 * alone, and need no pointer. */
#include <stdint.h>
#include <string.h>

/* Of these loops the compiler would make calls of themselves. */
#if __has_attribute(no_builtin)
#define OWN __attribute__((no_builtin))
#else
#define OWN
#endif

struct __attribute__((may_alias)) block {
    char byte[16];
};

void bzero(void *to, size_t bytes);

OWN static inline __attribute__((always_inline)) void copy_up(char *out, const char *in, size_t bytes)
{
    for (; bytes >= sizeof(struct block); bytes -= sizeof(struct block)) {
        const struct block whole = *(const struct block *)in; /* read before it is written: the two may overlap */
        *(struct block *)out = whole;
        out += sizeof(struct block), in += sizeof(struct block);
    }
    for (; bytes; bytes--)
        *out++ = *in++;
}

OWN void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    copy_up(to, from, bytes);
    return to;
}

OWN void *memmove(void *to, const void *from, size_t bytes)
{
    char *out = to;
    const char *in = from;
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        copy_up(to, from, bytes); /* writes nothing that is yet to be read */
    else
        while (bytes--)
            out[bytes] = in[bytes];
    return to;
}

OWN void *memset(void *to, int byte, size_t bytes)
{
    char *out = to;
    const char b = (char)byte;
    const struct block filled = {{b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b}};
    for (; bytes >= sizeof filled; bytes -= sizeof filled, out += sizeof filled)
        *(struct block *)out = filled;
    for (; bytes; bytes--)
        *out++ = b;
    return to;
}

OWN void bzero(void *to, size_t bytes)
{
    char *out = to;
    const struct block zeros = {{0}};
    for (; bytes >= sizeof zeros; bytes -= sizeof zeros, out += sizeof zeros)
        *(struct block *)out = zeros;
    for (; bytes; bytes--)
        *out++ = 0;
}
