#include "engine/trace/session/session_set.h"

#include "engine/store/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct member {
    uint64_t begin_ns;
    char *path;
};

int strobe_session_set_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum strobe_status strobe_session_set_add(struct strobe_session_set *set, const char *path)
{
    char **paths = realloc(set->paths, (set->count + 1) * sizeof *paths);
    if (!paths)
        return STROBE_IO;
    set->paths = paths;
    paths[set->count] = strdup(path);
    if (!paths[set->count])
        return STROBE_IO;
    set->count++;
    return STROBE_OK;
}

void strobe_session_set_free(struct strobe_session_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->paths[i]);
    free(set->paths);
    *set = (struct strobe_session_set){0};
}

/* Returns the begin of the session's process in ns; 0 if the file is not a session, or no process has attached to
 * it. */
static uint64_t begin_of(const char *path)
{
    struct strobe_session_header h;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : read(fd, &h, sizeof h);
    if (fd >= 0)
        close(fd);
    if (n < (ssize_t)offsetof(struct strobe_session_header, stops) ||
        memcmp(&h.magic, STROBE_SESSION_MAGIC, sizeof h.magic) != 0 ||
        strobe_load_relaxed(&h.state) == STROBE_SESSION_CREATED)
        return 0;
    return h.begin.boottime_ns ? h.begin.boottime_ns : 1;
}

static int by_session_begin(const void *a, const void *b)
{
    const struct member *v = a, *w = b;
    return v->begin_ns < w->begin_ns ? -1 : v->begin_ns > w->begin_ns ? 1 : strcmp(v->path, w->path);
}

static int is_session_name(const char *name)
{
    size_t n = strlen(name), ending = sizeof STROBE_SESSION_ENDING - 1;
    return n > ending && !strcmp(name + n - ending, STROBE_SESSION_ENDING);
}

/* Adds the file if it is a session. Returns 0 when out of memory. */
static int add_member(struct member **members, size_t *count, const char *folder, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return 0;
    uint64_t begin_ns = begin_of(path);
    struct member *more = begin_ns ? realloc(*members, (*count + 1) * sizeof *more) : *members;
    if (!begin_ns || !more) {
        free(path);
        return !begin_ns;
    }
    *members = more;
    more[(*count)++] = (struct member){begin_ns, path};
    return 1;
}

static enum strobe_status list_folder(const char *path, struct strobe_session_set *out)
{
    struct member *members = NULL;
    size_t count = 0;
    DIR *d = opendir(path);
    if (!d)
        return STROBE_IO;
    int enough = 1;
    for (struct dirent *e; enough && (e = readdir(d)) != NULL;)
        if (is_session_name(e->d_name))
            enough = add_member(&members, &count, path, e->d_name);
    closedir(d);
    if (count)
        qsort(members, count, sizeof *members, by_session_begin);
    for (size_t i = 0; i < count; i++) {
        enough = enough && strobe_session_set_add(out, members[i].path) == STROBE_OK;
        free(members[i].path);
    }
    free(members);
    if (!enough)
        errno = ENOMEM;
    return !enough ? STROBE_IO : count ? STROBE_OK : STROBE_NO_ENTRY;
}

enum strobe_status strobe_session_set_list(const char *path, struct strobe_session_set *out)
{
    *out = (struct strobe_session_set){0};
    enum strobe_status status =
        strobe_session_set_is_folder(path) ? list_folder(path, out) : strobe_session_set_add(out, path);
    if (status != STROBE_OK)
        strobe_session_set_free(out);
    return status;
}
