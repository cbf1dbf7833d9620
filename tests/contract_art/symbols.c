/* Symbols of the runtime's library. The library has each symbol that the engine needs, at the address that the linker
 * gives. Copies that lack a symbol, are truncated or are for another processor are refused, and the runtime continues.
 */
#include "engine/base/error.h"
#include "tests/contract_art/support/contract.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_for(const struct strobe_art_candidate *c, int api)
{
    return c->first <= api && api <= c->last;
}

struct place {
    const char *path;
    uint64_t address;
    uint32_t flags;
};

static int find_place(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct place *p = arg;
    (void)bytes;
    if (strcmp(info->dlpi_name, p->path) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && p->address - info->dlpi_addr - h->p_vaddr < h->p_memsz)
            p->flags = h->p_flags;
    }
    return 1;
}

static void all_that_is_exported_is_found_where_the_linker_says(struct contract *c)
{
    size_t count, found = 0;
    const struct strobe_art_candidate *candidates = strobe_art_candidates(&count);
    for (int s = 0; s < STROBE_ART_SYMBOLS; s++) {
        bool same = false, exported = false;
        for (size_t i = 0; i < count; i++) {
            if ((int)candidates[i].symbol != s || !is_for(&candidates[i], c->art.api))
                continue;
            uint64_t there = (uint64_t)(uintptr_t)dlsym(c->art.library, candidates[i].mangled);
            exported = exported || there;
            same = same || (there && there == c->libart.address[s]);
        }
        found += exported;
        CHECK(c, same == exported, "%s", strobe_art_symbol_name(s));
    }
    CHECK(c, found >= STROBE_ART_SYMBOLS / 2, "only %zu symbols are exported", found);
}

static void functions_are_in_its_code_and_variables_in_its_data(struct contract *c)
{
    for (int s = 0; s < STROBE_ART_SYMBOLS; s++) {
        struct place p = {c->libart.path, c->libart.address[s], 0};
        if (!p.address)
            continue;
        dl_iterate_phdr(find_place, &p);
        uint32_t kind = s == STROBE_ART_RUNTIME_INSTANCE ? PF_W : PF_X;
        CHECK(c, p.flags & kind, "%s is in a segment with flags %u", strobe_art_symbol_name(s), p.flags);
    }
}

/* The runtime has its own functions for parks since Android 10, and an allocation listener since Android 8. */
static void every_feature_of_the_level_has_what_it_takes(struct contract *c)
{
    CHECK(c, c->libart.level->api == c->art.api, "level %d", c->libart.level->api);
    for (int u = 0; u < STROBE_ART_USES; u++) {
        bool without = (u == STROBE_ART_ALLOC && c->art.api < 26) || (u == STROBE_ART_PARK && c->art.api < 30);
        uint32_t missing = c->libart.missing[u];
        CHECK(c, without || !missing, "%s: no %s", strobe_art_use_name(u),
              strobe_art_symbol_name(missing ? missing - 1 : 0));
    }
    CHECK(c, c->libart.libcxx == !c->art.genuine, "strings of the wrong library");
}

static void the_runtime_is_the_one_that_the_virtual_machine_names(struct contract *c)
{
    void *instance = *(void *const *)(uintptr_t)c->libart.address[STROBE_ART_RUNTIME_INSTANCE];
    void *named = ((void *const *)(const void *)c->art.vm)[1];
    CHECK(c, instance && instance == named, "%p and %p", instance, named);
}

static void *current(void *libart)
{
    return strobe_art_current(libart);
}

static void the_current_thread_is_the_attached_one_or_none(struct contract *c)
{
    pthread_t other;
    void *self = strobe_art_current(&c->libart), *others = c;
    void *named = ((void *const *)(const void *)c->art.env)[1];
    CHECK(c, self && self == named, "%p and %p", self, named);
    if (CHECK(c, pthread_create(&other, NULL, current, &c->libart) == 0, "no thread"))
        pthread_join(other, &others);
    CHECK(c, !others, "a thread that is not attached has %p", others);
}

/* ---- damaged copies of the library */

struct copy {
    char *bytes, path[64];
    size_t count;
    int fd;
};

static bool copy_library(struct contract *c, struct copy *out)
{
    struct stat st;
    int fd = open(c->libart.path, O_RDONLY | O_CLOEXEC);
    out->fd = memfd_create("libart.so", 0);
    out->bytes = fd < 0 || fstat(fd, &st) ? NULL : malloc((size_t)st.st_size);
    out->count = out->bytes ? (size_t)st.st_size : 0;
    snprintf(out->path, sizeof out->path, "/proc/self/fd/%d", out->fd);
    bool all = out->bytes && read(fd, out->bytes, out->count) == (ssize_t)out->count;
    close(fd);
    return CHECK(c, all && out->fd >= 0, "%s can't be read", c->libart.path);
}

/* Writes the first `count` bytes of the copy to its file and resolves the symbols of that file. STROBE_OK: all needed
 * symbols exist. */
static enum strobe_status resolve_copy(struct copy *copy, size_t count, int api, struct strobe_error *error)
{
    struct strobe_module m;
    struct strobe_libart a;
    if (ftruncate(copy->fd, 0) || pwrite(copy->fd, copy->bytes, count, 0) != (ssize_t)count)
        return STROBE_IO;
    enum strobe_status s = strobe_module_open_file(copy->path, 0, &m, error);
    if (s != STROBE_OK)
        return s;
    s = strobe_libart_resolve(&m, api, &a, error);
    strobe_module_close(&m);
    return s;
}

/* Renames all symbols of that name, or restores their name. */
static void rename_symbol(struct copy *copy, const char *name, char first)
{
    size_t n = strlen(name) + 1;
    for (char *p = copy->bytes; (p = memmem(p, copy->count - (size_t)(p - copy->bytes), name + 1, n - 1)); p++)
        if (p[-1] == (first == '#' ? name[0] : '#') && !p[-2])
            p[-1] = first;
}

static void a_library_without_a_needed_symbol_is_refused_by_its_name(struct contract *c)
{
    struct copy copy;
    struct strobe_error error = {""};
    size_t count;
    const struct strobe_art_candidate *candidates = strobe_art_candidates(&count);
    if (!copy_library(c, &copy))
        return;
    enum strobe_status s = resolve_copy(&copy, copy.count, c->art.api, &error);
    CHECK(c, s == STROBE_OK, "the whole library: %s", error.text);
    for (size_t i = 0; i < count; i++) {
        if (strobe_art_symbol_use(candidates[i].symbol) != STROBE_ART_NEEDED || !is_for(&candidates[i], c->art.api) ||
            !dlsym(c->art.library, candidates[i].mangled))
            continue;
        rename_symbol(&copy, candidates[i].mangled, '#');
        s = resolve_copy(&copy, copy.count, c->art.api, &error);
        CHECK(c, s == STROBE_UNSUPPORTED && strstr(error.text, candidates[i].mangled), "%d, %s", s, error.text);
        rename_symbol(&copy, candidates[i].mangled, '_');
    }
    free(copy.bytes);
}

static void a_truncated_or_foreign_library_or_level_is_refused(struct contract *c)
{
    struct copy copy;
    struct strobe_error error = {""};
    if (!copy_library(c, &copy))
        return;
    for (size_t i = 0; i < 16; i++) {
        enum strobe_status s = resolve_copy(&copy, copy.count * i / 16, c->art.api, &error);
        CHECK(c, s == STROBE_BAD_INPUT && !strchr(error.text, '\n'), "%zu of 16: %d, %s", i, s, error.text);
    }
    for (int api = 23; api <= 37; api += 14) {
        enum strobe_status s = resolve_copy(&copy, copy.count, api, &error);
        CHECK(c, s == STROBE_UNSUPPORTED && strstr(error.text, "is none of 24 to 36"), "%d, %s", s, error.text);
    }
    ((ElfW(Ehdr) *)(void *)copy.bytes)->e_machine = EM_S390;
    enum strobe_status s = resolve_copy(&copy, copy.count, c->art.api, &error);
    CHECK(c, s == STROBE_BAD_INPUT && strstr(error.text, "for another processor"), "%d, %s", s, error.text);
    CHECK(c, strobe_jni_find_class(c->art.env, "java/lang/Object") != NULL, "the runtime goes on");
    free(copy.bytes);
}

const struct contract_case contract_cases_symbols[] = {
    {"all_that_is_exported_is_found_where_the_linker_says", all_that_is_exported_is_found_where_the_linker_says, 0},
    {"functions_are_in_its_code_and_variables_in_its_data", functions_are_in_its_code_and_variables_in_its_data, 0},
    {"every_feature_of_the_level_has_what_it_takes", every_feature_of_the_level_has_what_it_takes, 0},
    {"the_runtime_is_the_one_that_the_virtual_machine_names", the_runtime_is_the_one_that_the_virtual_machine_names, 0},
    {"the_current_thread_is_the_attached_one_or_none", the_current_thread_is_the_attached_one_or_none, 0},
    {"a_library_without_a_needed_symbol_is_refused_by_its_name",
     a_library_without_a_needed_symbol_is_refused_by_its_name, 0},
    {"a_truncated_or_foreign_library_or_level_is_refused", a_truncated_or_foreign_library_or_level_is_refused, 0},
    {0},
};
