/* The functions of string.h that compilers call on their own, for the libraries that are loaded into programs (hidden).
 * A sanitizer's runtime replaces those of the C library by functions that take the runtime's locks. These must not run
 * in a signal handler, nor in the sampler while a thread is stopped: the interrupted thread may hold such a lock. */
#include <string.h>

/* Keeps the compiler from making a loop over `p` a call of the function that contains it. */
#define IS_A_LOOP(p) __asm__("" : "+r"(p))

void *memcpy(void *restrict out, const void *restrict in, size_t bytes)
{
    unsigned char *to = out;
    const unsigned char *from = in;
#ifdef __x86_64__
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
    for (; bytes; bytes--) {
        *to++ = *from++;
        IS_A_LOOP(to);
    }
#endif
    return out;
}

void *memmove(void *out, const void *in, size_t bytes)
{
    unsigned char *to = out;
    const unsigned char *from = in;
    if (to <= from)
        return memcpy(out, in, bytes);
    while (bytes--) {
        to[bytes] = from[bytes];
        IS_A_LOOP(to);
    }
    return out;
}

void *memset(void *out, int value, size_t bytes)
{
    unsigned char *to = out;
#ifdef __x86_64__
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
#else
    for (; bytes; bytes--) {
        *to++ = (unsigned char)value;
        IS_A_LOOP(to);
    }
#endif
    return out;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    for (; bytes; bytes--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}
