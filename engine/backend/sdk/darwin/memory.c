/* memcpy, memmove, memset and bzero, private to this library. The compiler also generates calls of them, for example
 * for an assignment. Such a call of the system's function would be bound lazily, at the first call, under the loader's
 * lock. A hook must not wait for that lock, and nor may the sampler while a thread is suspended. All other calls go
 * through pointers that the loader binds when it loads the library. */
#include <stdint.h>
#include <string.h>

/* Without no_builtin the compiler would replace the loops by calls of the same functions. */
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
        copy_up(to, from, bytes); /* overwrites no byte that is read later */
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
