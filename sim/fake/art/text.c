#include "sim/fake/art/dex/class.h"

#include <stdlib.h>
#include <string.h>

/* Strings, as the runtime has stored them since 8.0: one byte for each char when all are ASCII and none is 0, else
 * two. */

static struct {
    struct fake_mutex lock;
    fake_ref *table; /* interned strings, open addressing */
    size_t places, used;
} interned;

__attribute__((constructor)) static void init_interned_texts(void)
{
    fake_mutex_init(&interned.lock);
}

enum { WIDE = 1 };

static const struct fake_text *text_of(const struct fake_object *string)
{
    return (const void *)string;
}

uint32_t fake_string_length(const struct fake_object *string)
{
    return text_of(string)->count >> 1;
}

uint16_t fake_string_char(const struct fake_object *string, uint32_t i)
{
    const void *chars = text_of(string) + 1;
    return text_of(string)->count & WIDE ? ((const uint16_t *)chars)[i] : ((const uint8_t *)chars)[i];
}

struct fake_object *fake_string_of_chars(struct fake_thread *self, const uint16_t *chars, uint32_t count)
{
    bool wide = false;
    for (uint32_t i = 0; i < count; i++)
        wide |= chars[i] == 0 || chars[i] > 0x7f;
    struct fake_class *c = fake_class_find("Ljava/lang/String;");
    FAKE_CHECK(c && c->object_bytes == sizeof(struct fake_text));
    struct fake_text *t = (void *)fake_alloc_slow(self, c, sizeof *t + (wide ? 2 : 1) * (size_t)count);
    if (!t)
        return NULL;
    t->count = count << 1 | (wide ? WIDE : 0);
    if (wide) {
        memcpy(t + 1, chars, 2 * (size_t)count);
    } else {
        for (uint32_t i = 0; i < count; i++)
            ((uint8_t *)(t + 1))[i] = (uint8_t)chars[i];
    }
    return &t->object;
}

/* Reads one char of modified UTF-8: one to three bytes. Damaged sequences are taken as they are. */
static uint16_t next_char(const char **at)
{
    const uint8_t *p = (const uint8_t *)*at;
    if ((p[0] & 0xe0) == 0xc0 && p[1]) {
        *at += 2;
        return (uint16_t)((p[0] & 0x1f) << 6 | (p[1] & 0x3f));
    }
    if ((p[0] & 0xf0) == 0xe0 && p[1] && p[2]) {
        *at += 3;
        return (uint16_t)((p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f));
    }
    *at += 1;
    return p[0];
}

struct fake_object *fake_string_new(struct fake_thread *self, const char *text)
{
    uint16_t *chars = calloc(strlen(text) + 1, sizeof *chars);
    FAKE_CHECK(chars);
    uint32_t count = 0;
    while (*text)
        chars[count++] = next_char(&text);
    struct fake_object *s = fake_string_of_chars(self, chars, count);
    free(chars);
    return s;
}

static unsigned put_char(char *out, uint16_t c)
{
    if (c != 0 && c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3f));
    out[2] = (char)(0x80 | (c & 0x3f));
    return 3;
}

void fake_string_text(const struct fake_object *string, char *out, size_t bytes)
{
    size_t at = 0;
    for (uint32_t i = 0; i < fake_string_length(string); i++) {
        char one[3];
        unsigned n = put_char(one, fake_string_char(string, i));
        if (at + n >= bytes)
            break;
        memcpy(out + at, one, n);
        at += n;
    }
    if (bytes > 0)
        out[at] = 0;
}

char *fake_string_utf(const struct fake_object *string)
{
    size_t bytes = 3 * (size_t)fake_string_length(string) + 1;
    char *out = malloc(bytes);
    FAKE_CHECK(out);
    fake_string_text(string, out, bytes);
    return out;
}

/* ---- interned strings ---- */

static uint32_t string_hash_of(const struct fake_object *s)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < fake_string_length(s); i++)
        hash = 31 * hash + fake_string_char(s, i);
    return hash;
}

static bool strings_equal(const struct fake_object *a, const struct fake_object *b)
{
    if (text_of(a)->count != text_of(b)->count)
        return false;
    size_t width = text_of(a)->count & WIDE ? 2 : 1;
    return memcmp(text_of(a) + 1, text_of(b) + 1, width * fake_string_length(a)) == 0;
}

static fake_ref *intern_table_place(const struct fake_object *s)
{
    size_t i = string_hash_of(s) & (interned.places - 1);
    while (interned.table[i] && !strings_equal(fake_object(interned.table[i]), s))
        i = (i + 1) & (interned.places - 1);
    return &interned.table[i];
}

static void intern_table_grow(void)
{
    if (2 * interned.used < interned.places)
        return;
    fake_ref *old = interned.table;
    size_t count = interned.places;
    interned.places = count ? 2 * count : 256;
    interned.table = calloc(interned.places, sizeof *interned.table);
    FAKE_CHECK(interned.table);
    for (size_t i = 0; i < count; i++)
        if (old[i])
            *intern_table_place(fake_object(old[i])) = old[i];
    free(old);
}

struct fake_object *fake_string_intern(struct fake_object *string)
{
    fake_mutex_lock(&interned.lock);
    intern_table_grow();
    fake_ref *place = intern_table_place(string);
    if (!*place) {
        *place = fake_ref_of(string);
        interned.used++;
    }
    struct fake_object *one = fake_object(*place);
    fake_mutex_unlock(&interned.lock);
    return one;
}

/* Strings that dex files have resolved are interned. */
void fake_string_roots(void (*visit)(fake_ref *, void *), void *ctx)
{
    for (size_t i = 0; i < interned.places; i++)
        if (interned.table[i])
            visit(&interned.table[i], ctx);
}
