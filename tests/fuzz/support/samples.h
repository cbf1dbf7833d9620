/* What fuzz programs of importers of samples share: the session of whatever was read is a valid one. */
#ifndef STROBE_FUZZ_SUPPORT_SAMPLES_H
#define STROBE_FUZZ_SUPPORT_SAMPLES_H

#include "engine/base/error.h"
#include "engine/trace/import/samples_store.h"
#include "engine/trace/session/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* libFuzzer has this function; the program that replays the stored inputs does not. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max) __attribute__((weak));

/* Selects the inputs whose session is made and read, because both take far longer than the reader of the input. The
 * choice depends on nothing but the input, so that a failure repeats. */
static inline bool fuzz_is_chosen(const uint8_t *input, size_t bytes)
{
    enum { OF_REPLAYED = 8, OF_FUZZED = 64 };
    uint32_t hash = 2166136261;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ input[i]) * 16777619;
    return (hash >> 16) % (LLVMFuzzerMutate ? OF_FUZZED : OF_REPLAYED) == 0;
}

/* Makes the session of a chosen input and reads it. Aborts when a reader refuses it, when its accounting is not
 * consistent, or when it has another number of samples. */
static inline void fuzz_check_session(struct strobe_sampled *sampled, const uint8_t *input, size_t bytes)
{
    struct strobe_reader *reader;
    struct strobe_error error = {""};
    char path[64];
    int fd;
    if (!fuzz_is_chosen(input, bytes))
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
