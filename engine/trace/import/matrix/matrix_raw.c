#include "engine/trace/import/matrix/matrix_raw.h"
#include "engine/base/error_format.h"

#include "engine/method/matrix/matrix_entry.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8 };

enum strobe_status strobe_matrix_raw_write(const char *path, const uint64_t *entries, size_t count, int replace)
{
    struct strobe_outfile out;
    enum strobe_status status = strobe_outfile_open(&out, path, replace);
    if (status != STROBE_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        unsigned char word[WORD];
        for (int byte = 0; byte < WORD; byte++)
            word[byte] = (unsigned char)(entries[i] >> 8 * byte);
        strobe_outfile_write(&out, word, sizeof word);
    }
    return strobe_outfile_finish(&out, 0);
}

/* Whole words of the stream, each turned as this machine has them. Returns how many bytes are left over, or -1. */
static int read_words(FILE *in, uint64_t **entries, size_t *count)
{
    size_t room = 0, have = 0;
    unsigned char *bytes = NULL;
    for (;;) {
        if (have == room) {
            size_t more = room ? 2 * room : 1 << 16;
            unsigned char *larger = realloc(bytes, more);
            if (!larger) {
                free(bytes);
                return -1;
            }
            bytes = larger;
            room = more;
        }
        size_t got = fread(bytes + have, 1, room - have, in);
        if (!got)
            break;
        have += got;
    }
    if (ferror(in)) {
        free(bytes);
        return -1;
    }
    *entries = (uint64_t *)(void *)bytes;
    *count = have / WORD;
    for (size_t i = 0; i < *count; i++) {
        uint64_t word = 0;
        for (int byte = 0; byte < WORD; byte++)
            word |= (uint64_t)bytes[i * WORD + (size_t)byte] << 8 * byte;
        memcpy(bytes + i * WORD, &word, WORD);
    }
    return (int)(have % WORD);
}

enum strobe_status strobe_matrix_raw_read(const char *path, uint64_t **entries, size_t *count,
                                          struct strobe_error *error)
{
    bool is_stdin = !strcmp(path, "-");
    *entries = NULL;
    *count = 0;
    errno = 0;
    FILE *in = is_stdin ? stdin : fopen(path, "rb");
    int left = in ? read_words(in, entries, count) : -1;
    if (left < 0)
        strobe_error_set(error, "%s: %s", path, strerror(errno ? errno : EIO));
    else if (left)
        strobe_error_set(error, "%s: byte %zu: expected a whole entry of 8 bytes, got %d", path, *count * WORD, left);
    if (in && !is_stdin)
        fclose(in);
    if (left > 0) {
        free(*entries);
        *entries = NULL;
        *count = 0;
    }
    return left < 0 ? STROBE_IO : left ? STROBE_BAD_INPUT : STROBE_OK;
}

bool strobe_matrix_next_message(const uint64_t *entries, size_t count, size_t *at, size_t *begin)
{
    size_t depth = 0, i = *at;
    for (; i < count; i++) {
        if (strobe_matrix_id(entries[i]) != STROBE_MATRIX_DISPATCH)
            continue;
        if (strobe_matrix_is_enter(entries[i])) {
            if (!depth++)
                *begin = i;
        } else if (depth && !--depth) {
            i++;
            *at = i;
            return true;
        }
    }
    *at = i;
    return depth > 0;
}
