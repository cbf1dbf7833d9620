/* One check of UTF-8 (RFC 3629: no longer form than needed, no surrogates, nothing beyond U+10FFFF). Allocates nothing.
 * For the reading half and the lab, never the capture half. */
#ifndef STROBE_UTIL_UTF8_H
#define STROBE_UTIL_UTF8_H

#include <stddef.h>

/* Returns the bytes of the character at `text`, of which `bytes` bytes may be read; 0 when there is none. In a text
 * that ends with NUL, `bytes` may be 4 anywhere: no byte behind a NUL is read. NUL itself is a character of one byte.
 */
static inline size_t strobe_utf8_bytes(const void *text, size_t bytes)
{
    const unsigned char *s = text;
    if (!bytes)
        return 0;
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || bytes < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    int bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
              (s[0] == 0xf4 && s[1] > 0x8f);
    return bad ? 0 : n;
}

#endif
