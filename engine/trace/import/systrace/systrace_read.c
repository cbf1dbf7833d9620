#include "engine/trace/import/systrace/systrace_read.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum {
    HEAD_SEARCH_BYTES = 4096, /* in which the line "TRACE:" stands */
    INFLATED_BYTES = 1 << 16,
    TEXT_PIECE_BYTES = 1 << 22,
    ENCODED_LOOK = 64, /* characters by which base64 is recognised */
};

struct systrace {
    const struct strobe_systrace_sink *sink;
    struct strobe_systrace_stats *stats;
    int no_memory;
};

/* ---- compressed parts */

/* RFC 1950 and RFC 1952: the first bytes of a stream. */
static int is_deflated(const char *at, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)at;
    return bytes > 2 && ((p[0] == 0x78 && (p[0] * 256 + p[1]) % 31 == 0) || (p[0] == 0x1f && p[1] == 0x8b));
}

static void inflate_part(struct systrace *s, const char *at, size_t bytes)
{
    enum { ZLIB_OR_GZIP = 47, PIECE_BYTES = 1 << 30 };
    z_stream z = {0};
    char *out = malloc(INFLATED_BYTES);
    if (!out || inflateInit2(&z, ZLIB_OR_GZIP) != Z_OK) {
        s->no_memory = 1;
        free(out);
        return;
    }
    int result = Z_OK;
    while (result == Z_OK) {
        z.next_in = (unsigned char *)(uintptr_t)at;
        z.avail_in = (uInt)(bytes < PIECE_BYTES ? bytes : PIECE_BYTES);
        size_t had = z.avail_in;
        z.next_out = (unsigned char *)out;
        z.avail_out = INFLATED_BYTES;
        result = inflate(&z, Z_NO_FLUSH);
        at += had - z.avail_in;
        bytes -= had - z.avail_in;
        s->sink->feed(s->sink->ctx, out, INFLATED_BYTES - z.avail_out);
        if (result == Z_OK && !bytes && z.avail_out)
            result = Z_BUF_ERROR;
    }
    s->no_memory |= result == Z_MEM_ERROR;
    s->stats->damaged += result != Z_STREAM_END;
    s->stats->parts++;
    inflateEnd(&z);
    free(out);
}

/* ---- base64 */

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static int is_line_break(char c)
{
    return c == '\n' || c == '\r';
}

/* Returns 1 if the text begins with digits of base64 only. */
static int looks_encoded(const char *at, size_t bytes)
{
    size_t n = 0;
    while (n < bytes && n < ENCODED_LOOK && (base64_digit(at[n]) >= 0 || is_line_break(at[n])))
        n++;
    return n == ENCODED_LOOK || (n >= 8 && n + 3 > bytes);
}

/* Decodes in place of a copy. Returns the number of bytes. */
static size_t decode_base64(const char *at, size_t bytes, char *out)
{
    uint32_t bits = 0;
    unsigned count = 0;
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        int digit = base64_digit(at[i]);
        if (digit < 0)
            continue;
        bits = bits << 6 | (uint32_t)digit;
        if ((count += 6) >= 8) {
            count -= 8;
            out[n++] = (char)(bits >> count);
        }
    }
    return n;
}

/* ---- strings of JSON and JavaScript */

static int hex_value(const char *at, const char *end, unsigned digits, uint32_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < digits; i++) {
        char c = at + i < end ? (char)(at[i] | 0x20) : 0;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
        *value = *value << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return 1;
}

/* Writes a character as UTF-8, or as one byte if it is below 256: strings of bytes are written so. */
static char *put_character(char *out, uint32_t c)
{
    if (c < 0x100) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 63));
    } else {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    }
    return out;
}

/* Decodes the string that begins at `at`, behind its quote, up to the closing quote. The result is not longer than the
 * string. A backslash before a line's end joins lines. Returns the number of bytes. */
static size_t decode_string(const char *at, const char *end, char quote, char *out)
{
    static const char letters[] = "nrtbfv0", meanings[] = "\n\r\t\b\f\v";
    char *o = out;
    while (at < end && *at != quote) {
        uint32_t code;
        if (*at != '\\' || at + 1 == end) {
            *o++ = *at++;
            continue;
        }
        char c = at[1];
        const char *letter = c ? strchr(letters, c) : NULL;
        at += 2;
        if (letter) {
            *o++ = meanings[letter - letters];
        } else if (c == 'u' && hex_value(at, end, 4, &code)) {
            o = put_character(o, code);
            at += 4;
        } else if (c == 'x' && hex_value(at, end, 2, &code)) {
            *o++ = (char)code;
            at += 2;
        } else if (!is_line_break(c)) {
            *o++ = c;
        } else if (c == '\r' && at < end && *at == '\n') {
            at++;
        }
    }
    return (size_t)(o - out);
}

/* ---- contents */

static void pass_text(struct systrace *s, const char *at, size_t bytes)
{
    s->stats->parts++;
    for (size_t n; bytes; at += n, bytes -= n) {
        n = bytes < TEXT_PIECE_BYTES ? bytes : TEXT_PIECE_BYTES;
        s->sink->feed(s->sink->ctx, at, n);
    }
}

static const char *find_text(const char *at, const char *end, const char *what)
{
    return memmem(at, (size_t)(end - at), what, strlen(what));
}

/* Reads a content that is not in a string any more. */
static void read_content(struct systrace *s, const char *at, size_t bytes)
{
    if (is_deflated(at, bytes)) {
        inflate_part(s, at, bytes);
    } else if (looks_encoded(at, bytes)) {
        char *decoded = malloc(bytes);
        if (!decoded) {
            s->no_memory = 1;
            return;
        }
        size_t n = decode_base64(at, bytes, decoded);
        if (is_deflated(decoded, n))
            inflate_part(s, decoded, n);
        else
            s->stats->foreign++;
        free(decoded);
    } else {
        pass_text(s, at, bytes);
    }
}

static void read_string(struct systrace *s, const char *at, const char *end, char quote)
{
    char *decoded = malloc((size_t)(end - at) + 1);
    if (!decoded) {
        s->no_memory = 1;
        return;
    }
    read_content(s, decoded, decode_string(at, end, quote, decoded));
    free(decoded);
}

/* Reads the string that is the value of `key` in an object of JSON. */
static void read_json(struct systrace *s, const char *at, const char *end)
{
    static const char key[] = "\"systemTraceEvents\"";
    const char *value = find_text(at, end, key);
    if (value) {
        value += sizeof key - 1;
        while (value < end && (*value == ' ' || *value == ':' || is_line_break(*value) || *value == '\t'))
            value++;
    }
    if (value && value < end && *value == '"')
        read_string(s, value + 1, end, '"');
    else
        s->stats->foreign++;
}

/* ---- HTML */

static const char *skip_white(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || is_line_break(*at)))
        at++;
    return at;
}

int strobe_systrace_is_html(const char *at, size_t bytes)
{
    const char *end = at + bytes;
    if (bytes >= 3 && !memcmp(at, "\xef\xbb\xbf", 3))
        at += 3;
    at = skip_white(at, end);
    return end - at > 5 && (!strncasecmp(at, "<!doc", 5) || !strncasecmp(at, "<html", 5) || !strncmp(at, "<!--", 4) ||
                            !strncasecmp(at, "<head", 5) || !strncasecmp(at, "<scri", 5));
}

/* Finds `word` from `at` on, in any case of its letters. */
static const char *find_tag(const char *at, const char *end, const char *word)
{
    size_t bytes = strlen(word);
    for (; (at = memchr(at, '<', (size_t)(end - at))) != NULL; at++)
        if ((size_t)(end - at) >= bytes && !strncasecmp(at, word, bytes))
            return at;
    return NULL;
}

/* A line end behind each element keeps the last line of one and the first of the next apart. */
static void read_element(struct systrace *s, const char *at, const char *end)
{
    at = skip_white(at, end);
    if (at < end && *at == '{')
        read_json(s, at, end);
    else if (at < end)
        read_content(s, at, (size_t)(end - at));
    s->sink->feed(s->sink->ctx, "\n", 1);
}

/* Reads `linuxPerfData = "..."` of a script. */
static void read_old_script(struct systrace *s, const char *at, const char *end)
{
    const char *value = find_text(at, end, "linuxPerfData");
    while (value && value < end && *value != '"' && *value != '\'' && !is_line_break(*value))
        value++;
    if (!value || value == end || is_line_break(*value))
        return;
    read_string(s, value + 1, end, *value);
    s->sink->feed(s->sink->ctx, "\n", 1);
}

static void read_html(struct systrace *s, const char *at, const char *end)
{
    while (!s->no_memory && (at = find_tag(at, end, "<script")) != NULL) {
        const char *content = memchr(at, '>', (size_t)(end - at));
        if (!content)
            return;
        const char *close = find_tag(content, end, "</script");
        const char *stop = close ? close : end;
        if (find_text(at, content, "trace-data"))
            read_element(s, content + 1, stop);
        else
            read_old_script(s, content + 1, stop);
        at = stop;
    }
}

enum strobe_status strobe_systrace_read(const char *at, size_t bytes, const struct strobe_systrace_sink *sink,
                                        struct strobe_systrace_stats *stats)
{
    struct systrace s = {sink, stats, 0};
    const char *end = at + bytes;
    const char *head = find_text(at, bytes < HEAD_SEARCH_BYTES ? end : at + HEAD_SEARCH_BYTES, "TRACE:");
    *stats = (struct strobe_systrace_stats){0};
    const char *behind = head ? head + strlen("TRACE:") : at;
    while (head && behind < end && is_line_break(*behind))
        behind++;
    if (strobe_systrace_is_html(at, bytes))
        read_html(&s, at, end);
    else if (bytes && *at == '{')
        read_json(&s, at, end);
    else if (is_deflated(at, bytes))
        inflate_part(&s, at, bytes);
    else if (head && is_deflated(behind, (size_t)(end - behind)))
        inflate_part(&s, behind, (size_t)(end - behind));
    else
        pass_text(&s, at, bytes);
    return s.no_memory ? STROBE_IO : STROBE_OK;
}
