#include "engine/base/error_format.h"
#include "sim/fake/art/dex/dexfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers ---- */

uint8_t fake_dex_byte(struct fake_dex_reader *r)
{
    if (r->at >= r->end) {
        r->bad = true;
        return 0;
    }
    return *r->at++;
}

uint32_t fake_dex_uleb(struct fake_dex_reader *r)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint8_t byte = fake_dex_byte(r);
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    r->bad = true;
    return value;
}

int32_t fake_dex_sleb(struct fake_dex_reader *r)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint8_t byte = fake_dex_byte(r);
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if (byte & 0x40 && shift + 7 < 32)
                value |= UINT32_MAX << (shift + 7);
            return (int32_t)value;
        }
    }
    r->bad = true;
    return 0;
}

static bool dex_fits(const struct fake_dex *d, uint32_t offset, uint64_t bytes)
{
    return offset <= d->bytes && bytes <= d->bytes - offset;
}

struct fake_dex_reader fake_dex_read_at(const struct fake_dex *d, uint32_t offset)
{
    const uint8_t *end = d->data + d->bytes;
    return (struct fake_dex_reader){offset < d->bytes ? d->data + offset : end, end, false};
}

static uint32_t dex_word_at(const struct fake_dex *d, uint32_t offset)
{
    uint32_t word = 0;
    if (dex_fits(d, offset, sizeof word))
        memcpy(&word, d->data + offset, sizeof word);
    return word;
}

/* ---- contents of the file ---- */

/* Returns a string's text, or NULL when the file does not contain it up to its end. */
static const char *dex_string_text(const struct fake_dex *d, uint32_t index)
{
    struct fake_dex_reader r = fake_dex_read_at(d, d->strings[index]);
    fake_dex_uleb(&r);
    if (r.bad || !memchr(r.at, 0, (size_t)(r.end - r.at)))
        return NULL;
    return (const char *)r.at;
}

const char *fake_dex_string(const struct fake_dex *d, uint32_t index)
{
    FAKE_CHECK(index < d->string_count);
    return dex_string_text(d, index);
}

const char *fake_dex_type(const struct fake_dex *d, uint32_t index)
{
    FAKE_CHECK(index < d->type_count);
    return dex_string_text(d, d->types[index]);
}

const char *fake_dex_shorty(const struct fake_dex *d, uint32_t proto)
{
    FAKE_CHECK(proto < d->proto_count);
    return dex_string_text(d, d->protos[proto].shorty);
}

const uint16_t *fake_dex_type_list(const struct fake_dex *d, uint32_t offset, uint32_t *count)
{
    *count = 0;
    if (offset == 0 || offset % 4 != 0 || !dex_fits(d, offset, 4))
        return NULL;
    uint32_t n = dex_word_at(d, offset);
    if (!dex_fits(d, offset + 4, 2 * (uint64_t)n))
        return NULL;
    *count = n;
    return (const uint16_t *)(const void *)(d->data + offset + 4);
}

const char *fake_dex_signature(struct fake_dex *d, uint32_t proto)
{
    FAKE_CHECK(proto < d->proto_count);
    if (d->signature_at[proto])
        return d->signature_at[proto];
    uint32_t count;
    const uint16_t *types = fake_dex_type_list(d, d->protos[proto].parameters, &count);
    const char *result = fake_dex_type(d, d->protos[proto].result);
    size_t bytes = strlen(result) + 3;
    for (uint32_t i = 0; i < count; i++)
        bytes += strlen(fake_dex_type(d, types[i]));
    char *out = malloc(bytes), *at = out;
    FAKE_CHECK(out);
    *at++ = '(';
    for (uint32_t i = 0; i < count; i++)
        at = stpcpy(at, fake_dex_type(d, types[i]));
    *at++ = ')';
    strcpy(at, result);
    return d->signature_at[proto] = out;
}

const struct fake_dex_try *fake_dex_tries(const struct fake_dex_code *code)
{
    return (const struct fake_dex_try *)(const void *)(code->code + code->units + (code->units & 1));
}

const struct fake_dex_code *fake_dex_code(const struct fake_dex *d, uint32_t offset)
{
    if (offset == 0 || offset % 4 != 0 || !dex_fits(d, offset, sizeof(struct fake_dex_code)))
        return NULL;
    const struct fake_dex_code *code = (const void *)(d->data + offset);
    uint64_t bytes = sizeof *code + 2 * (uint64_t)code->units;
    if (code->tries > 0)
        bytes += (code->units & 1 ? 2 : 0) + (uint64_t)code->tries * sizeof(struct fake_dex_try) + 1;
    return code->units > 0 && code->ins <= code->registers && dex_fits(d, offset, bytes) ? code : NULL;
}

struct fake_dex_reader fake_dex_handlers(const struct fake_dex *d, const struct fake_dex_code *code,
                                         const struct fake_dex_try *t)
{
    const uint8_t *lists = (const uint8_t *)(fake_dex_tries(code) + code->tries);
    return fake_dex_read_at(d, (uint32_t)(lists - d->data) + t->handlers);
}

bool fake_dex_annotated(const struct fake_dex *d, const struct fake_dex_class *class, uint32_t method,
                        const char *descriptor)
{
    enum { DIRECTORY_BYTES = 16 };
    uint32_t directory = class->annotations;
    if (directory == 0)
        return false;
    uint32_t fields = dex_word_at(d, directory + 4), methods = dex_word_at(d, directory + 8);
    uint64_t at = (uint64_t)directory + DIRECTORY_BYTES + 8 * (uint64_t)fields;
    for (uint32_t i = 0; i < methods && at + 8 <= d->bytes; i++, at += 8) {
        if (dex_word_at(d, (uint32_t)at) != method)
            continue;
        uint32_t set = dex_word_at(d, (uint32_t)at + 4), count = dex_word_at(d, set);
        for (uint32_t k = 0; k < count && dex_fits(d, set, 4 + 4 * ((uint64_t)k + 1)); k++) {
            struct fake_dex_reader r = fake_dex_read_at(d, dex_word_at(d, set + 4 + 4 * k) + 1);
            uint32_t type = fake_dex_uleb(&r);
            if (!r.bad && type < d->type_count && strcmp(fake_dex_type(d, type), descriptor) == 0)
                return true;
        }
    }
    return false;
}

/* ---- checks ---- */

static uint32_t adler32(const uint8_t *data, size_t bytes)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < bytes; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* Returns a table of the header: its size is at `at`, followed by its offset. NULL: it does not fit in the file. */
static const void *dex_header_table(const struct fake_dex *d, uint32_t at, size_t entry, uint32_t *count)
{
    uint32_t offset = dex_word_at(d, at + 4);
    *count = dex_word_at(d, at);
    return offset % 4 == 0 && dex_fits(d, offset, *count * (uint64_t)entry) ? d->data + offset : NULL;
}

static bool names_hold(const struct fake_dex *d)
{
    for (uint32_t i = 0; i < d->string_count; i++)
        if (!dex_string_text(d, i))
            return false;
    for (uint32_t i = 0; i < d->type_count; i++)
        if (d->types[i] >= d->string_count)
            return false;
    for (uint32_t i = 0; i < d->proto_count; i++) {
        uint32_t count;
        const struct fake_dex_proto *p = &d->protos[i];
        const uint16_t *types = fake_dex_type_list(d, p->parameters, &count);
        if (p->shorty >= d->string_count || p->result >= d->type_count || (p->parameters && !types))
            return false;
        for (uint32_t k = 0; k < count; k++)
            if (types[k] >= d->type_count)
                return false;
        if (strlen(dex_string_text(d, p->shorty)) != count + 1)
            return false;
    }
    return true;
}

static bool members_hold(const struct fake_dex *d, const struct fake_dex_member *m, uint32_t count, uint32_t types)
{
    for (uint32_t i = 0; i < count; i++)
        if (m[i].class >= d->type_count || m[i].type >= types || m[i].name >= d->string_count)
            return false;
    return true;
}

static bool handlers_hold(const struct fake_dex *d, const struct fake_dex_code *code)
{
    const struct fake_dex_try *tries = code->tries > 0 ? fake_dex_tries(code) : NULL;
    for (uint32_t i = 0; i < code->tries; i++) {
        struct fake_dex_reader r = fake_dex_handlers(d, code, &tries[i]);
        int32_t count = fake_dex_sleb(&r);
        for (int32_t k = 0; k < abs(count) && !r.bad; k++)
            if (fake_dex_uleb(&r) >= d->type_count || fake_dex_uleb(&r) >= code->units)
                return false;
        if ((count <= 0 && fake_dex_uleb(&r) >= code->units) || r.bad)
            return false;
    }
    return true;
}

static bool class_holds(const struct fake_dex *d, const struct fake_dex_class *c)
{
    uint32_t count;
    const uint16_t *interfaces = fake_dex_type_list(d, c->interfaces, &count);
    if (c->type >= d->type_count || (c->super != (uint32_t)FAKE_DEX_NONE && c->super >= d->type_count) ||
        (c->interfaces && !interfaces) || c->annotations >= d->bytes || c->static_values >= d->bytes)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (interfaces[i] >= d->type_count)
            return false;
    if (c->data == 0)
        return true;
    struct fake_dex_reader r = fake_dex_read_at(d, c->data);
    uint32_t counts[4];
    for (int i = 0; i < 4; i++)
        counts[i] = fake_dex_uleb(&r);
    for (int kind = 0; kind < 4; kind++) {
        uint64_t index = 0;
        for (uint32_t i = 0; i < counts[kind] && !r.bad; i++) {
            index += fake_dex_uleb(&r);
            fake_dex_uleb(&r);
            if (index >= (kind < 2 ? d->field_count : d->method_count))
                return false;
            uint32_t at = kind < 2 ? 0 : fake_dex_uleb(&r);
            const struct fake_dex_code *code = fake_dex_code(d, at);
            if (at != 0 && (!code || !handlers_hold(d, code)))
                return false;
        }
    }
    return !r.bad;
}

/* Returns the fault of the file, or NULL when there is none. */
static const char *dex_find_fault(struct fake_dex *d)
{
    enum { HEADER_BYTES = 112, LITTLE = 0x12345678 };
    if (d->bytes < HEADER_BYTES || memcmp(d->data, "dex\n03", 6) != 0 || d->data[7] != 0)
        return "no dex file";
    if (d->data[6] < '5' || d->data[6] > '9')
        return "a dex file of another version than 035 to 039";
    if (dex_word_at(d, 32) != d->bytes || dex_word_at(d, 40) != LITTLE)
        return "truncated, or of another byte order";
    if (dex_word_at(d, 8) != adler32(d->data + 12, d->bytes - 12))
        return "damaged: its checksum is another";
    d->strings = dex_header_table(d, 56, sizeof *d->strings, &d->string_count);
    d->types = dex_header_table(d, 64, sizeof *d->types, &d->type_count);
    d->protos = dex_header_table(d, 72, sizeof *d->protos, &d->proto_count);
    d->fields = dex_header_table(d, 80, sizeof *d->fields, &d->field_count);
    d->methods = dex_header_table(d, 88, sizeof *d->methods, &d->method_count);
    d->classes = dex_header_table(d, 96, sizeof *d->classes, &d->class_count);
    if (!d->strings || !d->types || !d->protos || !d->fields || !d->methods || !d->classes)
        return "a table reaches past its end";
    if (!names_hold(d) || !members_hold(d, d->fields, d->field_count, d->type_count) ||
        !members_hold(d, d->methods, d->method_count, d->proto_count))
        return "a name or a member is out of range";
    for (uint32_t i = 0; i < d->class_count; i++)
        if (!class_holds(d, &d->classes[i]))
            return "a class is out of range";
    return NULL;
}

/* ---- opening ---- */

static void *dex_zeroed(size_t count, size_t bytes)
{
    void *out = calloc(count + 1, bytes);
    FAKE_CHECK(out);
    return out;
}

bool fake_dex_map(const char *path, struct fake_dex *out, struct strobe_error *error)
{
    *out = (struct fake_dex){0};
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0 || st.st_size > INT32_MAX) {
        strobe_error_set(error, "%s: can't be read", path);
        if (fd >= 0)
            close(fd);
        return false;
    }
    out->bytes = (size_t)st.st_size;
    void *data = mmap(NULL, out->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED) {
        strobe_error_set(error, "%s: can't be mapped", path);
        return false;
    }
    out->data = data;
    const char *wrong = dex_find_fault(out);
    if (wrong) {
        strobe_error_set(error, "%s: %s", path, wrong);
        munmap(data, out->bytes);
        return false;
    }
    out->path = strdup(path);
    out->class_at = dex_zeroed(out->type_count, sizeof *out->class_at);
    out->method_at = dex_zeroed(out->method_count, sizeof *out->method_at);
    out->field_at = dex_zeroed(out->field_count, sizeof *out->field_at);
    out->string_at = dex_zeroed(out->string_count, sizeof *out->string_at);
    out->signature_at = dex_zeroed(out->proto_count, sizeof *out->signature_at);
    return true;
}
