/* Builds an image, see image.h. Addresses in the file begin at 4 GiB, as in programs for 64-bit machines. */
#include "sim/fake/mach/image.h"

#include "sim/fake/mach/kernel.h"
#include "sim/fake/mach/libsystem.h"

#include <fcntl.h>
#include <mach-o/nlist.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ulock.h>
#include <unistd.h>

/* In the order of struct fake_mach_app. */
static const struct {
    const char *name;
    void *bound_to;
} imports[] = {
    {"malloc", (void *)fake_malloc},
    {"calloc", (void *)fake_calloc},
    {"realloc", (void *)fake_realloc},
    {"free", (void *)fake_free},
    {"mach_absolute_time", (void *)mach_absolute_time},
    {"clock_gettime", (void *)clock_gettime},
    {"gettimeofday", (void *)gettimeofday},
    {"pthread_create", (void *)fake_pthread_create},
    {"pthread_join", (void *)pthread_join},
    {"pthread_setname_np", (void *)pthread_setname_self_np},
    {"pthread_mutex_lock", (void *)pthread_mutex_lock},
    {"pthread_mutex_trylock", (void *)pthread_mutex_trylock},
    {"pthread_mutex_unlock", (void *)pthread_mutex_unlock},
    {"pthread_rwlock_rdlock", (void *)pthread_rwlock_rdlock},
    {"pthread_rwlock_wrlock", (void *)pthread_rwlock_wrlock},
    {"pthread_rwlock_unlock", (void *)pthread_rwlock_unlock},
    {"pthread_cond_wait", (void *)pthread_cond_wait},
    {"pthread_cond_timedwait", (void *)pthread_cond_timedwait},
    {"pthread_cond_timedwait_relative_np", (void *)pthread_cond_timedwait_relative_np},
    {"pthread_cond_signal", (void *)pthread_cond_signal},
    {"pthread_cond_broadcast", (void *)pthread_cond_broadcast},
    {"os_unfair_lock_lock", (void *)os_unfair_lock_lock},
    {"os_unfair_lock_trylock", (void *)os_unfair_lock_trylock},
    {"os_unfair_lock_unlock", (void *)os_unfair_lock_unlock},
    {"dispatch_sync", (void *)dispatch_sync},
    {"dispatch_async", (void *)dispatch_async},
    {"dispatch_barrier_sync", (void *)dispatch_barrier_sync},
    {"dispatch_once", (void *)dispatch_once},
    {"dispatch_sync_f", (void *)dispatch_sync_f},
    {"dispatch_async_f", (void *)dispatch_async_f},
    {"dispatch_barrier_sync_f", (void *)dispatch_barrier_sync_f},
    {"dispatch_once_f", (void *)dispatch_once_f},
    {"dispatch_semaphore_wait", (void *)dispatch_semaphore_wait},
    {"dispatch_semaphore_signal", (void *)dispatch_semaphore_signal},
    {"dispatch_group_wait", (void *)dispatch_group_wait},
    {"dispatch_group_leave", (void *)dispatch_group_leave},
    {"semaphore_wait", (void *)semaphore_wait},
    {"semaphore_timedwait", (void *)semaphore_timedwait},
    {"semaphore_signal", (void *)semaphore_signal},
    {"semaphore_signal_all", (void *)semaphore_signal_all},
    {"mach_msg", (void *)mach_msg},
    {"open", (void *)open},
    {"stat", (void *)stat},
    {"lstat", (void *)lstat},
    {"fstat", (void *)fstat},
    {"close", (void *)close},
    {"read", (void *)read},
    {"write", (void *)write},
    {"pread", (void *)pread},
    {"pwrite", (void *)pwrite},
    {"readv", (void *)readv},
    {"writev", (void *)writev},
    {"fsync", (void *)fsync},
    {"send", (void *)send},
    {"recv", (void *)recv},
    {"getsockopt", (void *)getsockopt},
    {"poll", (void *)fake_poll},
    {"select", (void *)fake_select},
    {"pselect", (void *)pselect},
    {"kevent", (void *)kevent},
    {"usleep", (void *)fake_usleep},
    {"nanosleep", (void *)fake_nanosleep},
    {"__ulock_wait", (void *)__ulock_wait},
    {"__ulock_wait2", (void *)__ulock_wait2},
    {"__ulock_wake", (void *)__ulock_wake},
    {"mmap", (void *)fake_mmap},
    {"munmap", (void *)fake_munmap},
    {"mprotect", (void *)mprotect},
    {"vm_allocate", (void *)vm_allocate},
    {"vm_deallocate", (void *)vm_deallocate},
};

enum {
    IMPORTS = sizeof imports / sizeof imports[0],
    GOT = offsetof(struct fake_mach_app, pthread_create) / sizeof(void *),
    LAZY = IMPORTS - GOT,
    NAME_BYTES = 48,
    ROOM = 16384,
    TYPE_BUILD_VERSION_IOS = 2,
    SYMBOL_LAZY = 1, /* n_desc: bound at the first call */
};
_Static_assert(IMPORTS * sizeof(void *) == sizeof(struct fake_mach_app), "a name for each pointer");

#define BASE UINT64_C(0x100000000)

struct build_version_command {
    uint32_t cmd, cmdsize, platform, minos, sdk, ntools;
};

struct commands {
    struct mach_header_64 header;
    struct segment_command_64 text;
    struct {
        struct segment_command_64 segment;
        struct section_64 got;
    } constant;
    struct {
        struct segment_command_64 segment;
        struct section_64 lazy;
    } data;
    struct segment_command_64 linkedit;
    struct symtab_command symtab;
    struct dysymtab_command dysymtab;
    struct uuid_command uuid;
    struct build_version_command version;
    char path[FAKE_IMAGE_PATH_BYTES]; /* after the commands; not a part of the format */
};
_Static_assert(sizeof(struct commands) <= 4096, "a page holds them");

struct linkedit {
    struct nlist_64 symbols[IMPORTS];
    uint32_t indirect[IMPORTS];
    char names[1 + IMPORTS * NAME_BYTES];
};
_Static_assert(sizeof(struct linkedit) <= ROOM, "room for names");

static struct segment_command_64 make_segment(const char *name, uint64_t at, uint64_t bytes, int32_t protection,
                                              uint32_t sections)
{
    struct segment_command_64 s = {.cmd = LC_SEGMENT_64,
                                   .cmdsize = (uint32_t)(sizeof s + sections * sizeof(struct section_64)),
                                   .vmaddr = BASE + at,
                                   .vmsize = bytes,
                                   .fileoff = at,
                                   .filesize = bytes,
                                   .maxprot = protection,
                                   .initprot = protection,
                                   .nsects = sections};
    memcpy(s.segname, name, strlen(name));
    return s;
}

static struct section_64 make_section(const char *name, const struct segment_command_64 *in, uint64_t at,
                                      uint32_t pointers, uint32_t type, uint32_t first)
{
    struct section_64 s = {.addr = BASE + at,
                           .size = pointers * sizeof(void *),
                           .offset = (uint32_t)at,
                           .align = 3,
                           .flags = type,
                           .reserved1 = first};
    memcpy(s.sectname, name, strlen(name));
    memcpy(s.segname, in->segname, sizeof s.segname);
    return s;
}

static void fill_linkedit(struct linkedit *l)
{
    char *end = l->names + 1;
    for (uint32_t i = 0; i < IMPORTS; i++) {
        l->symbols[i] = (struct nlist_64){
            .n_un.n_strx = (uint32_t)(end - l->names), .n_type = N_UNDF | N_EXT, .n_desc = i < GOT ? 0 : SYMBOL_LAZY};
        l->indirect[i] = i;
        *end++ = '_';
        strcpy(end, imports[i].name);
        end += strlen(end) + 1;
    }
}

/* Makes a UUID that depends only on the path, so that it is the same in each run. */
static void fill_uuid(uint8_t uuid[16], const char *path)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < 16; i++) {
        for (const char *c = path; *c; c++)
            hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
        uuid[i] = (uint8_t)(hash >> 56);
    }
}

static void fill_commands(struct commands *c, uint32_t type, uint64_t page)
{
    const int32_t reads = VM_PROT_READ, writes = VM_PROT_READ | VM_PROT_WRITE, runs = VM_PROT_READ | VM_PROT_EXECUTE;
    uint64_t end = 3 * page;
    c->header = (struct mach_header_64){.magic = MH_MAGIC_64,
                                        .filetype = type,
                                        .ncmds = 8,
                                        .sizeofcmds = (uint32_t)(offsetof(struct commands, path) - sizeof c->header)};
#if defined(__aarch64__)
    c->header.cputype = CPU_TYPE_ARM64;
#else
    c->header.cputype = CPU_TYPE_X86_64;
#endif
    c->text = make_segment("__TEXT", 0, page, runs, 0);
    c->constant.segment = make_segment("__DATA_CONST", page, page, writes, 1);
    c->constant.segment.flags = SG_READ_ONLY;
    c->constant.got = make_section("__got", &c->constant.segment, 2 * page - GOT * sizeof(void *), GOT,
                                   S_NON_LAZY_SYMBOL_POINTERS, 0);
    c->data.segment = make_segment("__DATA", 2 * page, page, writes, 1);
    c->data.lazy = make_section("__la_symbol_ptr", &c->data.segment, 2 * page, LAZY, S_LAZY_SYMBOL_POINTERS, GOT);
    c->linkedit = make_segment("__LINKEDIT", end, ROOM, reads, 0);
    c->symtab = (struct symtab_command){.cmd = LC_SYMTAB,
                                        .cmdsize = sizeof c->symtab,
                                        .symoff = (uint32_t)end,
                                        .nsyms = IMPORTS,
                                        .strsize = sizeof((struct linkedit *)0)->names,
                                        .stroff = (uint32_t)(end + offsetof(struct linkedit, names))};
    c->dysymtab = (struct dysymtab_command){.cmd = LC_DYSYMTAB,
                                            .cmdsize = sizeof c->dysymtab,
                                            .nundefsym = IMPORTS,
                                            .nindirectsyms = IMPORTS,
                                            .indirectsymoff = (uint32_t)(end + offsetof(struct linkedit, indirect))};
    c->uuid = (struct uuid_command){.cmd = LC_UUID, .cmdsize = sizeof c->uuid};
    c->version = (struct build_version_command){.cmd = LC_BUILD_VERSION,
                                                .cmdsize = sizeof c->version,
                                                .platform = TYPE_BUILD_VERSION_IOS,
                                                .minos = 14 << 16,
                                                .sdk = 16 << 16};
}

bool fake_image_map(struct fake_image *i, const char *path, uint32_t type)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 3 * page + ROOM;
    if (strlen(path) >= FAKE_IMAGE_PATH_BYTES)
        return false;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    struct commands *c = (struct commands *)(void *)at;
    void **pointers = (void **)(void *)(at + 2 * page - GOT * sizeof(void *));
    fill_commands(c, type, page);
    strcpy(c->path, path);
    fill_uuid(c->uuid.uuid, path);
    fill_linkedit((struct linkedit *)(void *)(at + 3 * page));
    for (uint32_t k = 0; k < IMPORTS; k++)
        pointers[k] = imports[k].bound_to;
    mprotect(at, 2 * page, PROT_READ);
    mprotect(at + 3 * page, ROOM, PROT_READ);
    *i = (struct fake_image){.header = &c->header,
                             .app = (struct fake_mach_app *)(void *)pointers,
                             .slide = (intptr_t)((uint64_t)(uintptr_t)at - BASE),
                             .bytes = bytes,
                             .path = c->path};
    return true;
}

void fake_image_unmap(struct fake_image *i)
{
    munmap((void *)(uintptr_t)i->header, i->bytes);
}
