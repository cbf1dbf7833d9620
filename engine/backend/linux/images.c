#include "engine/backend/linux/images.h"

#include "engine/backend/common/build_id.h"
#include "engine/backend/linux/maps.h"
#include "engine/base/mix.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PENDING_MAX = 64 };

struct walk {
    const struct strobe_session *session;
    uint64_t now_ticks;
    bool reads_files;
    /* Unpublished entries whose path is not known yet. One pass over the process's mappings finds all these paths. */
    struct strobe_image_entry *pending[PENDING_MAX];
    unsigned pending_count;
};

static void find_span(const struct dl_phdr_info *info, uint64_t *start, uint64_t *end)
{
    *start = UINT64_MAX;
    *end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        uint64_t low = info->dlpi_addr + p->p_vaddr;
        if (low < *start)
            *start = low;
        if (low + p->p_memsz > *end)
            *end = low + p->p_memsz;
    }
}

static void copy_build_id(const struct dl_phdr_info *info, struct strobe_image_entry *out)
{
    for (int i = 0; i < info->dlpi_phnum && !out->build_id_bytes; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            out->build_id_bytes = strobe_build_id((const void *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, p->p_align,
                                                  out->build_id, STROBE_BUILD_ID_BYTES);
    }
}

static void copy_image_path(const struct dl_phdr_info *info, bool is_program, struct strobe_image_entry *out)
{
    const char *path = info->dlpi_name;
    if (is_program) {
        long n = syscall(SYS_readlinkat, -100, "/proc/self/exe", out->path, sizeof out->path - 1);
        out->path[n > 0 ? n : 0] = '\0';
        return;
    }
    size_t n = strlen(path);
    out->path_cut = n >= sizeof out->path;
    if (out->path_cut)
        n = sizeof out->path - 1;
    memcpy(out->path, path, n);
    out->path[n] = '\0';
    if (!strncmp(path, "linux-vdso", 10))
        memcpy(out->path, "[vdso]", sizeof "[vdso]");
}

/* When a library was opened or searched for by a relative path, the dynamic linker's name of it is relative to the
 * working directory at that time. */
static bool is_relative(const char *name)
{
    return name[0] && name[0] != '/' && strncmp(name, "linux-vdso", 10) != 0;
}

static const char *image_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_path_of(const struct strobe_image_entry *e, const char *name)
{
    return e->path_cut || !strcmp(e->path, name) ||
           (is_relative(name) && !strcmp(image_base_name(e->path), image_base_name(name)));
}

static struct strobe_image_entry *find_listed(const struct strobe_session *s, uint64_t start, uint64_t end,
                                              const char *name)
{
    uint32_t count = strobe_session_image_count(s);
    for (uint32_t i = 0; i < count; i++) {
        struct strobe_image_entry *e = &s->images[i];
        if (strobe_load_acquire(&e->published) && e->start == start && e->end == end &&
            (i == 0 || !strcmp(name, "linux-vdso.so.1") || is_path_of(e, name)))
            return e;
    }
    return NULL;
}

static int add_linked_image(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct walk *w = arg;
    uint64_t start, end;
    (void)bytes;
    find_span(info, &start, &end);
    struct strobe_image_entry *e = start < end ? find_listed(w->session, start, end, info->dlpi_name) : NULL;
    bool is_pending = w->reads_files && is_relative(info->dlpi_name) && (!e || is_relative(e->path));
    if (start >= end || (e && !is_pending))
        return 0;
    if (is_pending && w->pending_count == PENDING_MAX)
        return 1;
    if (e) { /* added by a call without reads_files */
        w->pending[w->pending_count++] = e;
        return 0;
    }
    e = strobe_session_add_image(w->session);
    if (!e)
        return 1;
    e->start = start;
    e->end = end;
    e->bias = info->dlpi_addr;
    e->load_ticks = w->now_ticks;
    copy_build_id(info, e);
    copy_image_path(info, info->dlpi_name[0] == '\0', e);
    if (is_pending)
        w->pending[w->pending_count++] = e;
    else
        strobe_store_release(&e->published, 1);
    return 0;
}

/* Returns whether the path is that of a jitdump file of this process. A process maps the jitdump file that it writes,
 * so that tools can find it. */
static bool is_jitdump(const struct walk *w, const char *path)
{
    const char *at = image_base_name(path);
    uint32_t pid = 0;
    if (strncmp(at, "jit-", 4))
        return false;
    for (at += 4; *at >= '0' && *at <= '9'; at++)
        pid = pid * 10 + (uint32_t)(*at - '0');
    return pid == w->session->header->pid && !strcmp(at, ".dump");
}

static void add_jitdump(const struct walk *w, const struct strobe_linux_map *map)
{
    struct strobe_image_entry *e =
        find_listed(w->session, map->start, map->end, map->path) ? NULL : strobe_session_add_image(w->session);
    if (!e)
        return;
    e->start = e->bias = map->start;
    e->end = map->end;
    e->load_ticks = w->now_ticks;
    memcpy(e->path, map->path, sizeof e->path);
    e->path_cut = map->path_cut;
    strobe_store_release(&e->published, 1);
}

static bool visit_map(void *ctx, const struct strobe_linux_map *map)
{
    const struct walk *w = ctx;
    if (map->path[0] != '/')
        return true;
    for (unsigned i = 0; i < w->pending_count; i++) {
        struct strobe_image_entry *e = w->pending[i];
        if (e->start >= map->start && e->start < map->end &&
            !strcmp(image_base_name(map->path), image_base_name(e->path))) {
            memcpy(e->path, map->path, sizeof e->path);
            e->path_cut = map->path_cut;
        }
    }
    if (is_jitdump(w, map->path))
        add_jitdump(w, map);
    return true;
}

void strobe_linux_note_images(const struct strobe_session *s, uint64_t now_ticks, bool reads_files)
{
    static strobe_a32 busy;
    bool more = true;
    if (strobe_exchange_acq_rel(&busy, 1))
        return;
    while (more) {
        struct walk w = {.session = s, .now_ticks = now_ticks, .reads_files = reads_files};
        bool is_first = strobe_session_image_count(s) == 0;
        dl_iterate_phdr(add_linked_image, &w);
        if (reads_files && (w.pending_count || !is_first))
            strobe_linux_visit_maps(visit_map, &w);
        for (unsigned i = 0; i < w.pending_count; i++)
            strobe_store_release(&w.pending[i]->published, 1);
        more = w.pending_count == PENDING_MAX;
    }
    strobe_store_release(&busy, 0);
}

/* Android's linker counts changes from API level 30 on. On earlier levels the function adds up a hash of the images'
 * addresses instead. */
static int count_changes(struct dl_phdr_info *info, size_t bytes, void *changes)
{
    if (bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        *(uint64_t *)changes = info->dlpi_adds + info->dlpi_subs;
        return 1;
    }
    *(uint64_t *)changes += strobe_mix64(info->dlpi_addr);
    return 0;
}

bool strobe_linux_images_changed(void)
{
    static uint64_t seen;
    uint64_t changes = 0;
    dl_iterate_phdr(count_changes, &changes);
    bool changed = changes != seen;
    seen = changes;
    return changed;
}
