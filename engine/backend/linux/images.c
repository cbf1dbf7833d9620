#include "engine/backend/linux/images.h"

#include "engine/base/mix.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct walk {
    const struct strobe_session *session;
    uint64_t now_ticks;
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
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_NOTE)
            continue;
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
        while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof *n, *desc = name + ((n->n_namesz + 3u) & ~3u);
            if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4) &&
                n->n_descsz <= STROBE_BUILD_ID_BYTES) {
                memcpy(out->build_id, desc, n->n_descsz);
                out->build_id_bytes = n->n_descsz;
                return;
            }
            at = desc + ((n->n_descsz + 3u) & ~3u);
        }
    }
}

static void copy_path(const struct dl_phdr_info *info, bool is_program, struct strobe_image_entry *out)
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

static bool listed(const struct strobe_session *s, uint64_t start, uint64_t end, const char *name)
{
    uint32_t count = strobe_session_image_count(s);
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_image_entry *e = &s->images[i];
        if (strobe_load_acquire(&e->published) && e->start == start && e->end == end &&
            (i == 0 || !strcmp(name, "linux-vdso.so.1") || e->path_cut || !strcmp(e->path, name)))
            return true;
    }
    return false;
}

static int note(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    const struct walk *w = arg;
    uint64_t start, end;
    (void)bytes;
    find_span(info, &start, &end);
    if (start >= end || listed(w->session, start, end, info->dlpi_name))
        return 0;
    struct strobe_image_entry *e = strobe_session_add_image(w->session);
    if (!e)
        return 1;
    e->start = start;
    e->end = end;
    e->bias = info->dlpi_addr;
    e->load_ticks = w->now_ticks;
    copy_build_id(info, e);
    copy_path(info, info->dlpi_name[0] == '\0', e);
    strobe_store_release(&e->published, 1);
    return 0;
}

void strobe_linux_note_images(const struct strobe_session *s, uint64_t now_ticks)
{
    static strobe_a32 busy;
    struct walk w = {s, now_ticks};
    if (strobe_exchange_acq_rel(&busy, 1))
        return;
    dl_iterate_phdr(note, &w);
    strobe_store_release(&busy, 0);
}

/* Android's linker counts changes from level 30 on; before it, where images are has to do. */
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
