/* Session files of followed processes, all in one folder: that of the session S which the command created.
 *
 *   main.strobe      S: the program that the command ran
 *   PID.strobe       a process, from its fork (forked.h) or its exec on
 *   PID.N.strobe     the same process id again, N = 2, 3, ...: another program after an exec, or a later process
 *
 * Most followed processes are short, so only the first part of their files has its blocks reserved. The session is
 * limited to that part: on a full disk, a store to a page without a block would end the process with SIGBUS. The other
 * blocks are reserved
 *
 *   by the sampler        when the process is as old as STROBE_FOLLOWED_PART_NS, or the session nears its limit
 *                         (strobe_session_nears_limit)
 *   at once               for a thread or an image that finds no entry
 *
 * Where the disk is full the limit stays. The ring and the stack table count what they lose, events of threads without
 * an entry are counted, too, and the sampler tries again after STROBE_FOLLOWED_AGAIN_NS. A child for whose first part
 * there is no room is not recorded; the session of the first program counts it. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_FOLLOWED_H
#define STROBE_BACKEND_LINUX_PRELOAD_FOLLOWED_H

#include "engine/store/session.h"

#include <stdbool.h>

enum {
    STROBE_FOLLOWED_PART_NS = 100 * 1000 * 1000,   /* age at which all of a session's blocks are reserved */
    STROBE_FOLLOWED_AGAIN_NS = 1000 * 1000 * 1000, /* time between two attempts on a full disk */
};

/* True when the list `only` (file names, * and ? stand for any text and any character, separated by commas; "" is all)
 * has this process's program: its file's name, or the name that it was started under. Start only. */
bool strobe_followed_wants(const char *only);

/* Makes this process's file beside `first` and attaches to it. False when it cannot be made. Start, and in a forked
 * child; takes no memory from the heap. */
bool strobe_followed_open(const char *first, uint32_t pid, const struct strobe_config *config,
                          struct strobe_session *out);

/* Reserves the other blocks of this process's file when it is time to. Sampler only. */
void strobe_followed_reserve(const struct strobe_session *session, uint64_t age_ns);

#endif
