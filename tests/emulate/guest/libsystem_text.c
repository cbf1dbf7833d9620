#include "tests/emulate/guest/libsystem.h"

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    char *out = to;
    const char *in = from;
    for (; bytes >= 8; bytes -= 8, out += 8, in += 8)
        __builtin_memcpy_inline(out, in, 8);
    for (; bytes; bytes--)
        *out++ = *in++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    char *out = to;
    const char *in = from;
    if (out <= in)
        return memcpy(to, from, bytes);
    while (bytes--)
        out[bytes] = in[bytes];
    return to;
}

void *memset(void *to, int byte, size_t bytes)
{
    char *out = to;
    uint64_t eight = UINT64_C(0x0101010101010101) * (uint8_t)byte;
    for (; bytes >= 8; bytes -= 8, out += 8)
        __builtin_memcpy_inline(out, &eight, 8);
    for (; bytes; bytes--)
        *out++ = (char)byte;
    return to;
}

void bzero(void *to, size_t bytes)
{
    memset(to, 0, bytes);
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *x = a, *y = b;
    for (; bytes; bytes--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

void *memchr(const void *in, int byte, size_t bytes)
{
    for (const uint8_t *at = in; bytes; bytes--, at++)
        if (*at == (uint8_t)byte)
            return (void *)at;
    return NULL;
}

size_t strnlen(const char *text, size_t most)
{
    size_t n = 0;
    while (n < most && text[n])
        n++;
    return n;
}

size_t strlen(const char *text)
{
    return strnlen(text, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t most)
{
    for (; most; most--, a++, b++)
        if (*a != *b || !*a)
            return (uint8_t)*a - (uint8_t)*b;
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *text, int byte)
{
    for (;; text++) {
        if (*text == (char)byte)
            return (char *)text;
        if (!*text)
            return NULL;
    }
}

char *strrchr(const char *text, int byte)
{
    const char *found = NULL;
    for (const char *at = strchr(text, byte); at; at = *at ? strchr(at + 1, byte) : NULL)
        found = at;
    return (char *)found;
}

char *strstr(const char *text, const char *part)
{
    size_t bytes = strlen(part);
    for (; *text; text++)
        if (!strncmp(text, part, bytes))
            return (char *)text;
    return bytes ? NULL : (char *)text;
}
