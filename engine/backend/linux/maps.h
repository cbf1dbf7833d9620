/* The mappings of this process, from /proc/self/maps. Takes no heap and no lock. Opens and closes a descriptor in the
 * calling thread's table. At start, at end, and in the sampler, which has a table of its own. */
#ifndef STROBE_BACKEND_LINUX_MAPS_H
#define STROBE_BACKEND_LINUX_MAPS_H

#include "engine/store/session.h"

#include <stdbool.h>
#include <stdint.h>

struct strobe_linux_map {
    uint64_t start, end;
    bool is_writable, is_executable, path_cut; /* path_cut: the path is longer than what `path` holds */
    char path[STROBE_PATH_BYTES]; /* absolute, without the kernel's " (deleted)"; or a name like "[stack]"; or "" */
};

/* Calls `visit` for each mapping, in order of addresses, until it returns false. Does nothing when the file cannot be
 * read. */
void strobe_linux_visit_maps(bool (*visit)(void *ctx, const struct strobe_linux_map *map), void *ctx);

/* Parses one line, without its newline; `line` ends with NUL. Returns false when the line has another form. Any
 * context. */
bool strobe_linux_parse_map(const char *line, struct strobe_linux_map *out);

#endif
