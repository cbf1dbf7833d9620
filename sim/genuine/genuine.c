#include "sim/genuine/genuine.h"
#include "engine/backend/common/slots/mapping.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __aarch64__
#define TRIPLET "aarch64-linux-gnu"
#else
#define TRIPLET "x86_64-linux-gnu"
#endif

/* ---- libraries that libart uses without naming them, in the order in which they must be opened ---- */

enum where { SYSTEM, BESIDE };

static const struct provider {
    const char *name;
    enum where where;
    int since;
} providers[] = {
    {"liblz4.so.1", SYSTEM, 11},          {"libz.so.1", SYSTEM, 11},
    {"liblog.so.0", BESIDE, 11},          {"libbase.so.0", BESIDE, 11},
    {"libsigchain.so.0", BESIDE, 11},     {"libnativebridge.so.0", BESIDE, 11},
    {"libnativeloader.so.0", BESIDE, 11}, {"libziparchive.so.0", BESIDE, 11},
    {"libbacktrace.so.0", BESIDE, 11},    {"libtinyxml2.so.11", SYSTEM, 14},
    {"libcpu_features.so.0", BESIDE, 14},
};

static bool genuine_folder_of(int release, char *out, size_t bytes)
{
    const char *root = getenv(release == 14 ? "STROBE_ART14" : "STROBE_ART11");
    if (!root || !*root) {
        if (release == 14)
            return false;
        root = ""; /* installed */
    }
    return snprintf(out, bytes, "%s/usr/lib/" TRIPLET "/android", root) < (int)bytes && access(out, X_OK) == 0;
}

static enum strobe_status report_missing_library(int release, struct strobe_error *error)
{
    if (release == 14)
        strobe_error_set(error, "Android 14's runtime is not there: unpack android-libart 14 and what it depends on "
                                "into a folder, and name that in STROBE_ART14");
    else
        strobe_error_set(error, "Android 11's runtime is not installed: apt-get install android-libart "
                                "android-libnativeloader android-libziparchive android-libbacktrace");
    return STROBE_UNSUPPORTED;
}

static void *open_one(const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* ---- two faults of Debian's build of 14, repaired in memory ---- */

/* The code has these faults:
 *
 * 1. LinkMethodsHelper::LinkMethods expects a small bit set on its stack to be zero, which holds only with the compiler
 *    option that Android uses (-ftrivial-auto-var-init=zero). Without it, virtual tables are sometimes too short. The
 *    limit below which the set is on the stack is set to 0, because memory from the heap is zeroed.
 * 2. ArtMethod::InvokeStatic without arguments passes the invoke stubs a null array of one byte (an empty std::array of
 *    libstdc++), and they copy that byte. The patch skips the copy. */
static const char link_methods[] =
    "_ZN3art11ClassLinker17LinkMethodsHelperILNS_11PointerSizeE8EE11LinkMethodsEPNS_6ThreadENS_6HandleINS_6mirror5"
    "ClassEEENS6_INS7_11ObjectArrayIS8_EEEEPbPPNS_9ArtMethodE";

/* The reach from the first byte of the code. A jump from the code's last byte reaches as far, too: on arm64 128 MiB. */
enum { PATCH_REACH = 64 << 20, CODE_MAX = 32 << 20, SITES_EXPECTED = 3 };

struct code {
    unsigned char *begin;
    size_t bytes;
    const void *inside;
};

static int find_library_code(struct dl_phdr_info *i, size_t bytes, void *ctx)
{
    struct code *c = ctx;
    (void)bytes;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        unsigned char *begin = (unsigned char *)i->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_X && (const unsigned char *)c->inside >= begin &&
            (const unsigned char *)c->inside < begin + p->p_memsz) {
            *c = (struct code){begin, p->p_memsz, c->inside};
            return 1;
        }
    }
    return 0;
}

static bool write_code_bytes(unsigned char *at, const void *bytes, size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *begin = at - ((uintptr_t)at & (page - 1));
    size_t span = (size_t)(at + count - begin);
    if (mprotect(begin, span, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(at, bytes, count);
    __builtin___clear_cache((char *)at, (char *)at + count);
    return mprotect(begin, span, PROT_READ | PROT_EXEC) == 0;
}

#if defined(__x86_64__)

static int lower_limit(unsigned char *function)
{
    static const unsigned char compare[] = {0x48, 0x3d, 0x00, 0x01, 0x00, 0x00, 0x77}; /* cmp rax, 256; ja */
    for (size_t i = 0; i < 0x7000; i++)
        if (!memcmp(function + i, compare, sizeof compare))
            return write_code_bytes(function + i + 3, "", 1);
    return 0;
}

static void write_jump(unsigned char *at, const unsigned char *to)
{
    int32_t distance = (int32_t)(to - (at + 5));
    at[0] = 0xe9;
    memcpy(at + 1, &distance, 4);
}

static int skip_null_copies(const struct code *c, unsigned char *room)
{
    /* lea rdi, [rsp+8]; rep movsb; lea r10, [r9+1] */
    static const unsigned char copy[] = {0x48, 0x8d, 0x7c, 0x24, 0x08, 0xf3, 0xa4, 0x4d, 0x8d, 0x51, 0x01};
    /* lea rdi, [rsp+8]; test rsi, rsi; jz +2; rep movsb; and a jump back */
    static const unsigned char checked[] = {0x48, 0x8d, 0x7c, 0x24, 0x08, 0x48, 0x85, 0xf6, 0x74, 0x02, 0xf3, 0xa4};
    int done = 0;
    for (size_t i = 0; i + sizeof copy <= c->bytes; i++) {
        unsigned char *site = c->begin + i, jump[7] = {0, 0, 0, 0, 0, 0x90, 0x90};
        if (memcmp(site, copy, sizeof copy) != 0)
            continue;
        memcpy(room, checked, sizeof checked);
        write_jump(room + sizeof checked, site + 7);
        int32_t distance = (int32_t)(room - (site + 5));
        jump[0] = 0xe9;
        memcpy(jump + 1, &distance, 4);
        done += write_code_bytes(site, jump, sizeof jump);
        room += 32;
    }
    return done;
}

#elif defined(__aarch64__)

static int lower_limit(unsigned char *function)
{
    uint32_t word[2];
    for (size_t i = 0; i < 0x6000; i += 4) {
        memcpy(word, function + i, sizeof word);
        if ((word[0] & 0xfffffc1f) != 0xf104001f || (word[1] & 0xff00001f) != 0x54000008) /* cmp xN, #256; b.hi */
            continue;
        word[0] &= ~0x003ffc00u;
        return write_code_bytes(function + i, &word[0], 4);
    }
    return 0;
}

static uint32_t arm64_branch(const unsigned char *at, const unsigned char *to)
{
    return 0x14000000 | ((uint32_t)((to - at) / 4) & 0x3ffffff);
}

static int skip_null_copies(const struct code *c, unsigned char *room)
{
    /* cbz w2, end; sub w2, w2, #4; ldr w10, [x1, x2] */
    static const uint32_t copy[] = {0x340000a2, 0x51001042, 0xb862682a};
    int done = 0;
    for (size_t i = 0; i + sizeof copy <= c->bytes; i += 4) {
        unsigned char *site = c->begin + i;
        if (memcmp(site, copy, sizeof copy) != 0)
            continue;
        uint32_t checked[] = {
            0x121e7442,                        /* and w2, w2, #~3 */
            0x35000042,                        /* cbnz w2, to the last */
            arm64_branch(room + 8, site + 20), /* after the copy */
            arm64_branch(room + 12, site + 4),
        };
        memcpy(room, checked, sizeof checked);
        __builtin___clear_cache((char *)room, (char *)room + sizeof checked);
        uint32_t jump = arm64_branch(site, room);
        done += write_code_bytes(site, &jump, 4);
        room += sizeof checked;
    }
    return done;
}

#else
#error "genuine runtimes: x86-64 and arm64 only"
#endif

static bool repair_14(void *library)
{
    struct code c = {.inside = dlsym(library, link_methods)};
    if (!c.inside || !dl_iterate_phdr(find_library_code, &c))
        return false;
    unsigned char *room =
        c.bytes < CODE_MAX ? strobe_map_near(c.begin, PATCH_REACH, PROT_READ | PROT_WRITE | PROT_EXEC) : NULL;
    return room && lower_limit((unsigned char *)(uintptr_t)c.inside) + skip_null_copies(&c, room) == SITES_EXPECTED;
}

/* ---- open ---- */

/* Detects the release by a function whose parameters have changed since. */
static int library_release_of(void *library)
{
    return dlsym(library, "_ZN3art10ThreadList19SuspendThreadByPeerEP8_jobjectbNS_13SuspendReasonEPb") ? 11 : 14;
}

enum strobe_status sim_art_open_genuine(int release, const char *library, void **out, struct strobe_error *error)
{
    static const char *const empty[] = {"libicu_jni.so", "libjavacore.so", "libopenjdk.so"};
    char folder[PATH_MAX];
    if (!genuine_folder_of(release, folder, sizeof folder))
        return report_missing_library(release, error);
    for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++) {
        const struct provider *p = &providers[i];
        if (p->since <= release && !open_one(p->where == BESIDE ? folder : NULL, p->name))
            return report_missing_library(release, error);
    }
    *out = open_one(library ? NULL : folder, library ? library : "libart.so.0");
    if (!*out) {
        strobe_error_set(error, "%s", dlerror());
        return STROBE_UNSUPPORTED;
    }
    if (library_release_of(*out) != release || (release == 14 && !repair_14(*out))) {
        strobe_error_set(error, "%s/libart.so.0: not Android %d's, or not the build known", folder, release);
        return STROBE_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        if (!sim_art_open_empty(empty[i])) {
            strobe_error_set(error, "%s: %s", empty[i], dlerror());
            return STROBE_IO;
        }
    return STROBE_OK;
}

/* ---- the collector ---- */

/* Runtime has a pointer to its JavaVM, and a fixed number of words before it a pointer to its Heap. */
bool sim_art_collect_genuine(int release, void *library, const void *vm)
{
    enum { WORDS = 256, CAUSE_EXPLICIT = 5 };
    const ptrdiff_t heap_before = release == 11 ? 13 : 15;
    void **instance = dlsym(library, "_ZN3art7Runtime9instance_E");
    void *function = dlsym(library, "_ZN3art2gc4Heap14CollectGarbageEbNS0_7GcCauseE");
    void *const *words = instance ? *instance : NULL;
    for (ptrdiff_t i = heap_before; words && function && i < WORDS; i++)
        if (words[i] == vm) {
            ((void (*)(void *, bool, int))(uintptr_t)function)(words[i - heap_before], false, CAUSE_EXPLICIT);
            return true;
        }
    return false;
}
