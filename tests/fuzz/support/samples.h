/* What fuzz programs of importers of samples share: the session of whatever was read is a valid one. */
#ifndef STROBE_FUZZ_SUPPORT_SAMPLES_H
#define STROBE_FUZZ_SUPPORT_SAMPLES_H

#include "engine/base/error.h"
#include "engine/trace/import/samples_store.h"
#include "engine/trace/session/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Makes the session and reads it, for one of eight inputs, chosen by their size: both take far longer than the reader
 * of the input. Aborts when a reader refuses it, when its accounting is not consistent, or when it
 * has another number of samples. */
static inline void fuzz_check_session(struct strobe_sampled *sampled, size_t input_bytes)
{
    struct strobe_reader *reader;
    struct strobe_error error = {""};
    char path[64];
    int fd;
    if (input_bytes % 8)
        return;
    if (strobe_sampled_make(sampled, &fd) != STROBE_OK)
        return; /* more than a session holds */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (strobe_reader_open(path, &reader, &error) != STROBE_OK || !strobe_reader_check(reader, &error) ||
        reader->samples != strobe_sampled_count(sampled)) {
        fprintf(stderr, "the session does not hold: %s\n", error.text);
        abort();
    }
    strobe_reader_close(reader);
    close(fd);
}

#endif
