#include "engine/backend/art/frames.h"

#if STROBE_ART_NATIVE_FRAMES
#include "engine/backend/linux/unwind_images.h"
#endif

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#if STROBE_ART_NATIVE_FRAMES

enum { PAGE_BYTES = 1 << STROBE_ART_CODE_PAGE_BITS };

static struct {
    uint64_t library, libc; /* an address in each */
    uint32_t count;
    struct strobe_art_code_entry entries[STROBE_ART_CODE_RANGES];
} listing;

static bool base_name_begins(const char *path, const char *text)
{
    const char *slash = strrchr(path, '/');
    return !strncmp(slash ? slash + 1 : path, text, strlen(text));
}

/* Returns whether the file has compiled managed code: boot.oat, base.odex. */
static bool is_managed_code(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".oat") || !strcmp(dot, ".odex"));
}

static int list_code(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes, (void)unused;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    uint32_t first = listing.count, bits = STROBE_ART_CODE_IMAGE;
    bool only_executable = false;
    if (is_managed_code(path))
        return 0;
    if (base_name_begins(path, "libart") || base_name_begins(path, "libdexfile"))
        bits |= STROBE_ART_CODE_RUNTIME;
    for (int i = 0; i < info->dlpi_phnum && listing.count < STROBE_ART_CODE_RANGES; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        bits |= listing.library - start < end - start ? STROBE_ART_CODE_RUNTIME : 0;
        only_executable |= !(p->p_flags & PF_R);
        bits |= listing.libc - start < end - start ? STROBE_ART_CODE_LIBC : 0;
        listing.entries[listing.count++] = (struct strobe_art_code_entry){
            start & ~(uint64_t)(PAGE_BYTES - 1), (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1), 0};
    }
    if (bits & STROBE_ART_CODE_RUNTIME && !only_executable)
        bits |= STROBE_ART_CODE_READABLE;
    for (uint32_t i = first; i < listing.count; i++)
        listing.entries[i].bits = bits;
    return listing.count == STROBE_ART_CODE_RANGES;
}

/* Returns whether frames of the code are unwound by tables. The runtime's own are when it has tables: it keeps frame
 * pointers, but its bridges, which are written in assembly, do not. On 32-bit ARM all code with tables is: a frame
 * record does not have r7, which the frames of Thumb code need. */
static bool needs_tables(struct strobe_unwind_index *x, const struct strobe_art_code_entry *e)
{
#ifdef __arm__
    return strobe_unwind_index_has_tables(x, e->start);
#endif
    return e->bits & STROBE_ART_CODE_RUNTIME ? strobe_unwind_index_has_tables(x, e->start)
                                             : !strobe_unwind_index_keeps_fp(x, e->start);
}

/* The list stays for the captures to come: a hook may outlast its capture. */
static struct strobe_art_code *reserved_code(void)
{
    static struct strobe_art_code *code;
    if (code)
        return code;
    void *p = mmap(NULL, sizeof *code, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    code = p == MAP_FAILED ? NULL : p;
    return code;
}

bool strobe_art_frames_update(struct strobe_art_frames *f, const struct strobe_host *host, uint64_t library)
{
    struct strobe_art_code *code = reserved_code();
    if (!code)
        return false;
    struct strobe_unwind_index *index = strobe_unwind_images_update(host);
    if (!f->on) { /* later, threads read these fields */
        f->code = code;
        f->host = host;
        f->index = index;
    }
    listing.library = library;
    listing.libc = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "pthread_create");
    listing.count = 0;
    dl_iterate_phdr(list_code, NULL);
    for (uint32_t i = 0; i < listing.count && f->index; i++)
        if (needs_tables(f->index, &listing.entries[i]))
            listing.entries[i].bits |= STROBE_ART_CODE_TABLES;
    strobe_art_code_replace(f->code, listing.entries, listing.count);
    return true;
}

#else

bool strobe_art_frames_update(struct strobe_art_frames *f, const struct strobe_host *host, uint64_t library)
{
    (void)f, (void)host, (void)library;
    return false;
}

#endif
