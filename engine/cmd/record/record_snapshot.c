/* Snapshots of a recording while the program runs: SIGUSR2 to `strobe record`. */
#include "engine/cmd/cmd.h"
#include "engine/cmd/record/record.h"
#include "engine/store/session_copy.h"
#include "engine/trace/session/session_set.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SNAPSHOTS_MAX = 9999 };

/* Stores the first free name of pack-snapshot-1.strobe, pack-snapshot-2.strobe, ... beside pack.strobe. */
static bool find_snapshot_path(const struct strobe_record_options *o, char *path, size_t bytes)
{
    size_t n = strlen(o->session), ending = sizeof STROBE_SESSION_ENDING - 1;
    if (n > ending && !strcmp(o->session + n - ending, STROBE_SESSION_ENDING))
        n -= ending;
    for (int i = 1; i <= SNAPSHOTS_MAX; i++) {
        int length = snprintf(path, bytes, "%.*s-snapshot-%d" STROBE_SESSION_ENDING, (int)n, o->session, i);
        if (length < 0 || (size_t)length >= bytes)
            return false;
        if (access(path, F_OK) != 0)
            return true;
    }
    return false;
}

static enum strobe_status write_snapshot(const char *session, const char *path)
{
    struct strobe_session s;
    struct strobe_outfile out;
    void *memory;
    size_t bytes;
    enum strobe_status status = strobe_session_open(session, &s);
    if (status != STROBE_OK)
        return status;
    status = strobe_session_copy_map(&s, 0, UINT64_MAX, &memory, &bytes);
    strobe_session_unmap(&s);
    if (status != STROBE_OK)
        return status;
    status = strobe_outfile_open(&out, path, 0);
    if (status == STROBE_OK) {
        strobe_outfile_write(&out, memory, bytes);
        status = strobe_outfile_finish(&out, 0);
    }
    int saved = errno;
    munmap(memory, bytes);
    errno = saved;
    return status;
}

void strobe_record_snapshot(const struct strobe_record_options *o, const char *session)
{
    char path[PATH_MAX + 32];
    if (!find_snapshot_path(o, path, sizeof path)) {
        strobe_complain("record: no name is free for a snapshot of %s", o->session);
        return;
    }
    enum strobe_status status = write_snapshot(session, path);
    if (status == STROBE_UNSUPPORTED)
        strobe_complain("%s: a recording with a log of calls has no snapshots", path);
    else if (status != STROBE_OK)
        strobe_complain("%s: no snapshot: %s", path,
                        status == STROBE_IO ? strerror(errno) : strobe_status_text(status));
    else if (!o->quiet)
        fprintf(stderr, "strobe: %s\n", path);
}
