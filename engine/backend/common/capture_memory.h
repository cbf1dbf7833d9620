/* The memory of the last two captures of a process.
 *
 * A hook that read the switch just before it was turned off may use a capture's memory for some more instructions. The
 * memory and the session of a capture therefore stay until the capture after the next starts: a start makes the
 * `present` memory `previous`, and releases what was `previous` before. A start that fails changes neither. On a busy
 * machine a thread may lose its processor within these instructions for longer than two captures last. Where the host
 * knows the states of threads, `await_unused` waits for such threads.
 *
 * The functions belong to the thread that has claimed the start (capture_life.h). */
#ifndef STROBE_BACKEND_COMMON_CAPTURE_MEMORY_H
#define STROBE_BACKEND_COMMON_CAPTURE_MEMORY_H

#include "engine/base/error.h"
#include "engine/store/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strobe_capture_memory {
    void *all;    /* the engine's memory and the backend's tables; the backend lays them out */
    size_t bytes; /* 0: nothing is reserved, and the session is not attached */
    struct strobe_session session;
};

struct strobe_capture_memories {
    /* Sets `all` and `bytes` to zeroed memory for a capture with this config. Returns false, and reserves nothing, when
     * there is no memory. */
    bool (*reserve)(const struct strobe_config *config, struct strobe_capture_memory *m);
    /* Waits until the threads of the memory's session have used their processors since the end of that session, or do
     * not want one. NULL: not known. */
    void (*await_unused)(const struct strobe_session *session);
    /* Releases what `reserve` has reserved. */
    void (*release)(struct strobe_capture_memory *m);
    struct strobe_capture_memory present, previous;
};

static inline void strobe_capture_memories_succeed(struct strobe_capture_memories *m,
                                                   const struct strobe_capture_memory *next)
{
    if (m->previous.bytes) {
        if (m->await_unused)
            m->await_unused(&m->previous.session);
        m->release(&m->previous);
        strobe_session_unmap(&m->previous.session);
    }
    m->previous = m->present;
    m->present = *next;
}

/* Reserves memory for a session that is in memory and that this process has begun. On success `present` is the memory
 * of the new capture. STROBE_IO: there is no memory; the session is unmapped, and `error` has one line. */
static inline enum strobe_status strobe_capture_memories_take(struct strobe_capture_memories *m,
                                                              const struct strobe_session *in_memory,
                                                              struct strobe_error *error)
{
    struct strobe_capture_memory next = {.session = *in_memory};
    if (!m->reserve(&in_memory->header->config, &next)) {
        strobe_session_unmap(&next.session);
        strobe_error_join(error, "", "there is no memory for the engine");
        return STROBE_IO;
    }
    strobe_capture_memories_succeed(m, &next);
    return STROBE_OK;
}

/* Reads the config of the session at `path`, reserves memory for it, and attaches to the session as process `pid`. On
 * success `present` is the memory of the new capture. The attachment is the last step, because it cannot be undone.
 * After a failure nothing is changed, and `error` has one line: STROBE_IO when there is no memory, and the codes of
 * strobe_session_open and strobe_session_attach. */
static inline enum strobe_status strobe_capture_memories_begin(struct strobe_capture_memories *m, const char *path,
                                                               uint32_t pid, struct strobe_error *error)
{
    struct strobe_capture_memory next = {0};
    enum strobe_status status = strobe_session_open(path, &next.session);
    if (status == STROBE_OK) {
        struct strobe_config config = next.session.header->config;
        strobe_session_unmap(&next.session);
        if (!m->reserve(&config, &next)) {
            strobe_error_join(error, "", "there is no memory for the engine");
            return STROBE_IO;
        }
        status = strobe_session_attach(path, pid, &next.session);
        if (status != STROBE_OK)
            m->release(&next);
    }
    if (status != STROBE_OK) {
        strobe_error_join(error, path, strobe_status_text(status));
        return status;
    }
    strobe_capture_memories_succeed(m, &next);
    return STROBE_OK;
}

#endif
