#include "engine/cmd/outputs.h"

#include "engine/cmd/cmd.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int strobe_make_folder(const char *path)
{
    char part[4096];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part)
        return strobe_complain("-o %s: expected the name of a folder", path);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] && part[i] != '/')
            continue;
        part[i] = 0;
        if (mkdir(part, 0777) && errno != EEXIST)
            return strobe_complain("%s: cannot make this folder: %s", part, strerror(errno));
        part[i] = path[i];
    }
    struct stat is;
    if (stat(path, &is) || !S_ISDIR(is.st_mode))
        return strobe_complain("%s: expected a folder", path);
    return 0;
}

const char *strobe_path_in(const char *folder, const char *name)
{
    static char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n >= 0 && (size_t)n < sizeof path)
        return path;
    strobe_complain("%s: path too long", folder);
    return NULL;
}

int strobe_write_file(const char *path, bool replace, void (*print)(void *ctx, FILE *out), void *ctx)
{
    char *text = NULL;
    size_t bytes = 0;
    struct strobe_outfile file;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return strobe_complain("%s: out of memory", path);
    print(ctx, out);
    enum strobe_status status = fclose(out) || !text ? STROBE_IO : strobe_outfile_open(&file, path, replace);
    if (status == STROBE_OK) {
        strobe_outfile_write(&file, text, bytes);
        status = strobe_outfile_finish(&file, 0);
    }
    free(text);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", path);
    return status == STROBE_OK ? 0 : strobe_complain("%s: cannot write: %s", path, strerror(errno));
}
