#include "engine/trace/symbols/dsym.h"
#include "engine/base/error_format.h"

#include "engine/store/session.h"
#include "engine/trace/session/reader.h"
#include "engine/trace/symbols/macho_elf.h"
#include "engine/util/outfile.h"

#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a file can tell. A later value is preferred. */
enum rank { EXPORTED_NAMES, ALL_NAMES, WITH_DWARF };

/* The file that was found for one image. */
struct match {
    char *path;
    enum rank rank;
};

struct search {
    struct strobe_session *session;
    const struct strobe_sched_section *sched;
    struct match *matches; /* by image */
    uint32_t image_count;
    uint32_t elf_files; /* ELF files in the current path */
    uint32_t in_this;   /* files of the current path that belong to the session */
    uint32_t damaged;
    char uuid[40]; /* of the last file, as text */
    struct strobe_error *error;
};

static enum strobe_status fail_search(const struct search *s, enum strobe_status status, const char *path,
                                      const char *what)
{
    strobe_error_set(s->error, "%s: %s", path, what);
    return status;
}

static int has_build_id(const struct strobe_image_entry *image)
{
    return strobe_load_acquire(&image->published) == 1 && image->build_id_bytes > 0;
}

static void format_uuid(const uint8_t *uuid, char out[40])
{
    size_t at = 0;
    for (unsigned i = 0; i < STROBE_MACHO_UUID_BYTES; i++)
        at += (size_t)snprintf(out + at, 40 - at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02X" : "%02X", uuid[i]);
}

/* Assigns the file to each image with its build id. */
static enum strobe_status match_images(struct search *s, const char *path, const uint8_t *id, uint32_t id_bytes,
                                       enum rank rank)
{
    for (uint32_t i = 0; i < s->image_count; i++) {
        struct match *match = &s->matches[i];
        const struct strobe_image_entry *image = &s->session->images[i];
        if (!has_build_id(image) || image->build_id_bytes != id_bytes || memcmp(image->build_id, id, id_bytes) != 0)
            continue;
        s->in_this++;
        if (match->path && match->rank >= rank)
            continue;
        char *whole = realpath(path, NULL);
        if (!whole)
            return fail_search(s, STROBE_IO, path, strerror(errno));
        free(match->path);
        *match = (struct match){whole, rank};
        if (strlen(whole) >= STROBE_PATH_BYTES)
            return fail_search(s, STROBE_BAD_INPUT, whole, "its path is too long for a session");
    }
    return STROBE_OK;
}

/* ---- ELF files */

static enum rank rank_of_elf(Elf *elf)
{
    enum rank rank = EXPORTED_NAMES;
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return rank;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr head;
        const char *name = gelf_getshdr(section, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
        if (name && (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
            return WITH_DWARF;
        if (head.sh_type == SHT_SYMTAB || (name && !strcmp(name, ".gnu_debugdata")))
            rank = ALL_NAMES;
    }
    return rank;
}

/* Searches an ELF file. Returns STROBE_NO_ENTRY when the file is none. */
static enum strobe_status search_elf(struct search *s, const char *path)
{
    const void *id;
    enum strobe_status status = STROBE_NO_ENTRY;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf && elf_kind(elf) == ELF_K_ELF) {
        ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
        s->elf_files++;
        status = bytes > 0 ? match_images(s, path, id,
                                          bytes < STROBE_BUILD_ID_BYTES ? (uint32_t)bytes : STROBE_BUILD_ID_BYTES,
                                          rank_of_elf(elf))
                           : STROBE_OK;
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return status;
}

/* ---- Mach-O files */

static enum strobe_status match_slices(struct search *s, const char *path, const struct strobe_macho_file *file,
                                       struct strobe_macho *m, struct strobe_error *error)
{
    struct strobe_macho_slice slices[STROBE_MACHO_SLICES_MAX];
    uint32_t count;
    enum strobe_status status = strobe_macho_slices(file->at, file->bytes, slices, &count, error);
    if (status == STROBE_NO_ENTRY)
        strobe_error_set(error, "expected a Mach-O file");
    for (uint32_t i = 0; i < count && status == STROBE_OK; i++) {
        status = strobe_macho_read(file->at, &slices[i], m, error);
        if (status != STROBE_OK || !m->has_uuid)
            continue;
        format_uuid(m->uuid, s->uuid);
        status = match_images(s, path, m->uuid, sizeof m->uuid, m->has_dwarf ? WITH_DWARF : ALL_NAMES);
        if (status != STROBE_OK)
            return status == STROBE_BAD_INPUT ? STROBE_FULL : status;
    }
    return status;
}

static enum strobe_status search_macho(struct search *s, const char *path, int named)
{
    struct strobe_macho_file file;
    struct strobe_error error = {""};
    struct strobe_macho *m = malloc(sizeof *m);
    if (!m)
        return fail_search(s, STROBE_IO, path, strerror(ENOMEM));
    enum strobe_status status = strobe_macho_map(path, &file);
    if (status == STROBE_OK) {
        status = match_slices(s, path, &file, m, &error);
        strobe_macho_unmap(&file);
    } else if (status == STROBE_IO && errno == ENOMEM) {
        fail_search(s, STROBE_IO, path, strerror(ENOMEM));
    } else {
        strobe_error_set(&error, "%s", status == STROBE_IO ? strerror(errno) : "expected a file or a folder");
        status = STROBE_BAD_INPUT;
    }
    free(m);
    if (status == STROBE_FULL || status == STROBE_IO) /* `s->error` is set already */
        return status == STROBE_FULL ? STROBE_BAD_INPUT : status;
    if (status == STROBE_OK)
        return STROBE_OK;
    if (named)
        return fail_search(s, STROBE_BAD_INPUT, path, error.text);
    s->damaged += status != STROBE_NO_ENTRY;
    return STROBE_OK;
}

/* Searches one file. A file in a directory may be of any kind. A file that was named must be an ELF or Mach-O file. */
static enum strobe_status search_file(struct search *s, const char *path, int named)
{
    enum strobe_status status = search_elf(s, path);
    return status == STROBE_NO_ENTRY ? search_macho(s, path, named) : status;
}

static enum strobe_status search_folder(struct search *s, const char *folder, unsigned depth)
{
    DIR *d = opendir(folder);
    enum strobe_status status = STROBE_OK;
    if (!d)
        return depth ? STROBE_OK : fail_search(s, STROBE_BAD_INPUT, folder, strerror(errno));
    for (struct dirent *e; status == STROBE_OK && (e = readdir(d));) {
        struct stat st;
        char path[PATH_MAX];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path || lstat(path, &st))
            continue;
        if (S_ISDIR(st.st_mode) && depth < STROBE_DSYM_DEPTH_MAX)
            status = search_folder(s, path, depth + 1);
        else if (S_ISREG(st.st_mode))
            status = search_file(s, path, 0);
    }
    closedir(d);
    return status;
}

static enum strobe_status search_path(struct search *s, const char *path)
{
    struct stat st;
    char what[160];
    s->in_this = s->elf_files = 0;
    s->uuid[0] = '\0';
    if (stat(path, &st))
        return fail_search(s, STROBE_BAD_INPUT, path, strerror(errno));
    int folder = S_ISDIR(st.st_mode);
    enum strobe_status status = folder ? search_folder(s, path, 0) : search_file(s, path, 1);
    if (status != STROBE_OK || s->in_this)
        return status;
    if (s->elf_files)
        snprintf(what, sizeof what, "%s of no image of the session", folder ? "its files are" : "it is");
    else if (!s->uuid[0])
        snprintf(what, sizeof what, "expected a Mach-O file for arm64 or x86_64 with a UUID%s", folder ? " in it" : "");
    else
        snprintf(what, sizeof what, "UUID %s is of no image of the session", s->uuid);
    return fail_search(s, STROBE_BAD_INPUT, path, what);
}

static void set_image_paths(struct search *s, struct strobe_dsym_found *out)
{
    for (uint32_t i = 0; i < s->image_count; i++) {
        struct strobe_image_entry *image = &s->session->images[i];
        out->images += has_build_id(image) != 0;
        if (!s->matches[i].path)
            continue;
        snprintf(image->path, sizeof image->path, "%s", s->matches[i].path);
        out->found++;
        out->with_dwarf += s->matches[i].rank == WITH_DWARF;
    }
    out->damaged = s->damaged;
}

/* Writes the session. Its changes exist only in the private mapping so far. */
static enum strobe_status write_changed_session(const struct search *s, const char *output, int replace)
{
    struct strobe_outfile f;
    enum strobe_status status = strobe_outfile_open(&f, output, replace);
    if (status == STROBE_EXISTS)
        return fail_search(s, status, output, "exists already; --force overwrites it");
    if (status == STROBE_OK) {
        strobe_outfile_write(&f, s->session->header, s->session->mapped_bytes);
        strobe_sched_section_write(s->sched, &f);
        status = strobe_outfile_finish(&f, 0);
    }
    if (status != STROBE_OK)
        return fail_search(s, status, output, strerror(errno));
    strobe_session_trim_closed(output);
    return STROBE_OK;
}

enum strobe_status strobe_dsym(const char *session, const char *output, const char *const *paths, size_t path_count,
                               int replace, struct strobe_dsym_found *out, struct strobe_error *error)
{
    struct strobe_reader *reader;
    struct strobe_error what = {""};
    struct search s = {.error = error};
    *out = (struct strobe_dsym_found){0};
    enum strobe_status status = strobe_reader_open(session, &reader, &what);
    if (status != STROBE_OK)
        return fail_search(&s, status, session, what.text);
    uint32_t with_uuid = 0;
    s.session = &reader->session;
    s.sched = &reader->sched;
    s.image_count = reader->image_count;
    for (uint32_t i = 0; i < s.image_count; i++)
        with_uuid += has_build_id(&s.session->images[i]) != 0;
    s.matches = calloc((size_t)s.image_count + 1, sizeof *s.matches);
    if (!s.matches)
        status = fail_search(&s, STROBE_IO, session, strerror(ENOMEM));
    else if (!with_uuid)
        status =
            fail_search(&s, STROBE_BAD_INPUT, session, "expected a session with images that have UUIDs or build ids");
    for (size_t i = 0; i < path_count && status == STROBE_OK; i++)
        status = search_path(&s, paths[i]);
    if (status == STROBE_OK) {
        set_image_paths(&s, out);
        status = write_changed_session(&s, output, replace);
    }
    for (uint32_t i = 0; i < s.image_count && s.matches; i++)
        free(s.matches[i].path);
    free(s.matches);
    strobe_reader_close(reader);
    return status;
}
