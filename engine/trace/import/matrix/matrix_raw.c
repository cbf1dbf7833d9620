#include "engine/trace/import/matrix/matrix_raw.h"
#include "engine/base/error_format.h"

#include "engine/method/matrix/matrix_entry.h"
#include "engine/util/outfile.h"
#include "engine/util/whole_file.h"

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

static uint64_t read_word(const char *at)
{
    uint64_t word = 0;
    for (int byte = 0; byte < WORD; byte++)
        word |= (uint64_t)(unsigned char)at[byte] << 8 * byte;
    return word;
}

enum strobe_status strobe_matrix_raw_read(const char *path, uint64_t **entries, size_t *count,
                                          struct strobe_error *error)
{
    struct strobe_whole_file file;
    *entries = NULL;
    *count = 0;
    enum strobe_status status = strobe_whole_file_open(path, &file);
    if (status == STROBE_OK && file.bytes % WORD) {
        strobe_error_set(error, "%s: byte %zu: expected a whole entry of 8 bytes, got %zu", path,
                         file.bytes - file.bytes % WORD, file.bytes % WORD);
        status = STROBE_BAD_INPUT;
    } else if (status != STROBE_OK || !(*entries = malloc(file.bytes + 1))) {
        strobe_error_set(error, "%s: %s", path, strerror(errno));
        status = STROBE_IO;
    } else {
        *count = file.bytes / WORD;
        for (size_t i = 0; i < *count; i++)
            (*entries)[i] = read_word(file.at + i * WORD);
    }
    strobe_whole_file_close(&file);
    return status;
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
