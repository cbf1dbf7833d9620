/* Session files of followed processes. All of them are in the folder of the session S that the command created.
 *
 *   main.strobe      S: the program that the command ran
 *   PID.strobe       a process, from its fork (forked.h) or its exec on
 *   PID.N.strobe     the same process id again, N = 2, 3, ...: another program after an exec, or a later process
 *
 * Most followed processes are short-lived, so only the first part of a file has its blocks reserved. The session is
 * limited to that part: on a full disk, a store to a page without a block would end the process with SIGBUS. The other
 * blocks are reserved
 *
 *   by the sampler  when the process is as old as STROBE_FOLLOWED_PART_NS, or the session nears its limit
 *                   (strobe_session_nears_limit)
 *   at once         when a thread or an image finds no free entry
 *
 * All blocks of a session with a call log, with names or without a sampler are reserved when it is created. It has no
 * limit.
 *
 * On a full disk the limit stays. The ring and the stack table then count their losses, and events of threads without
 * an entry are counted, too. The sampler tries again after STROBE_FOLLOWED_AGAIN_NS. When there is no space for the
 * first part of a child's file, the child is not recorded, and the session of the first program counts it. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_FOLLOWED_H
#define STROBE_BACKEND_LINUX_PRELOAD_FOLLOWED_H

#include "engine/store/session.h"

#include <stdbool.h>

enum {
    STROBE_FOLLOWED_PART_NS = 100 * 1000 * 1000,   /* age at which all of a session's blocks are reserved */
    STROBE_FOLLOWED_AGAIN_NS = 1000 * 1000 * 1000, /* time between two attempts on a full disk */
};

/* Returns true when the list `only` contains the program of this process, by its file's name or by the name under which
 * it was started. The list has file names separated by commas. * matches any text and ? any character. The empty list
 * matches every program. Start only. */
bool strobe_followed_wants(const char *only);

/* Creates this process's file in the folder of `first` and attaches to it. Returns false when the file cannot be
 * created. Start, and in a forked child; takes no memory from the heap. */
bool strobe_followed_open(const char *first, uint32_t pid, const struct strobe_config *config,
                          struct strobe_session *out);

/* Reserves the other blocks of this process's file when that is due. Sampler only. */
void strobe_followed_reserve(const struct strobe_session *session, uint64_t age_ns);

#endif
