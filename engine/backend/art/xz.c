#include "engine/backend/art/module_table.h"
#include "engine/base/error.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM_FIRST = 4 << 20, ROOM_LAST = 256 << 20 };

static void *xz_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Memory for the libraries is mapped, too: a few large blocks. Each begins with its size. */
enum { BEFORE_BLOCK = 64 };

static void *xz_allocate(size_t bytes)
{
    char *at = bytes > ROOM_LAST ? NULL : xz_map(bytes + BEFORE_BLOCK);
    if (!at)
        return NULL;
    memcpy(at, &bytes, sizeof bytes);
    return at + BEFORE_BLOCK;
}

static void xz_free(void *block)
{
    size_t bytes;
    if (!block)
        return;
    char *at = (char *)block - BEFORE_BLOCK;
    memcpy(&bytes, at, sizeof bytes);
    munmap(at, bytes + BEFORE_BLOCK);
}

/* An attempt to unpack into `room` bytes; STROBE_FULL when they are too few. */
struct attempt {
    const void *data;
    size_t bytes;
    void *out;
    size_t room, out_bytes;
};

/* ---- liblzma, as its headers lzma/base.h and lzma/container.h declare it */

struct lzma_memory {
    void *(*take)(void *, size_t, size_t);
    void (*give_back)(void *, void *);
    void *ctx;
};
typedef int lzma_decode(uint64_t *memory_limit, uint32_t flags, const struct lzma_memory *memory, const uint8_t *in,
                        size_t *in_at, size_t in_bytes, uint8_t *out, size_t *out_at, size_t out_bytes);
enum { LZMA_OK = 0, LZMA_MEM_ERROR = 5, LZMA_BUF_ERROR = 10 };

static void *lzma_take(void *ctx, size_t count, size_t bytes)
{
    (void)ctx;
    return bytes && count > ROOM_LAST / bytes ? NULL : xz_allocate(count * bytes);
}

static void lzma_give_back(void *ctx, void *block)
{
    (void)ctx;
    xz_free(block);
}

static enum strobe_status try_lzma(const void *function, struct attempt *a)
{
    static const struct lzma_memory memory = {lzma_take, lzma_give_back, NULL};
    lzma_decode *decode = (lzma_decode *)(uintptr_t)function;
    uint64_t memory_limit = ROOM_LAST;
    size_t in_at = 0;
    a->out_bytes = 0;
    switch (decode(&memory_limit, 0, &memory, a->data, &in_at, a->bytes, a->out, &a->out_bytes, a->room)) {
    case LZMA_OK: return STROBE_OK;
    case LZMA_BUF_ERROR: return STROBE_FULL;
    case LZMA_MEM_ERROR: return STROBE_IO;
    default: return STROBE_BAD_INPUT;
    }
}

/* ---- the LZMA SDK, as its header Xz.h declares it. Since release 18 XzUnpacker_Code has one more parameter: whether
 * the input ends there. These releases also have XzUnpacker_CodeFull, by which this code recognizes them. (xDL decides
 * by the level: they came with Android 10.)
 *
 * The code passes eight bytes at a time. A block's header, between the data of two blocks, has at least as many.
 * Release 26.02 writes all blocks that one call unpacks over one another, so one call must not reach two blocks. */

struct sdk_memory {
    void *(*take)(const struct sdk_memory *, size_t);
    void (*give_back)(const struct sdk_memory *, void *);
};
typedef int sdk_code(void *state, uint8_t *out, size_t *out_bytes, const uint8_t *in, size_t *in_bytes, int finish,
                     int *progress);
typedef int sdk_code_18(void *state, uint8_t *out, size_t *out_bytes, const uint8_t *in, size_t *in_bytes, int in_ends,
                        int finish, int *progress);
struct sdk {
    void (*make_crc)(void), (*make_crc64)(void);
    void (*construct)(void *, const struct sdk_memory *);
    void (*end)(void *);
    unsigned (*is_finished)(const void *);
    sdk_code *code;
    void (*code_full)(void); /* NULL: before 18 */
};
enum { SDK_OK = 0, SDK_ERROR_MEM = 2 };
enum { SDK_STATE_BYTES = 16384, SDK_PIECE = 8 }; /* CXzUnpacker has less than 4 KiB (xDL) */

static void *sdk_take(const struct sdk_memory *memory, size_t bytes)
{
    (void)memory;
    return xz_allocate(bytes);
}

static void sdk_give_back(const struct sdk_memory *memory, void *block)
{
    (void)memory;
    xz_free(block);
}

static int xz_feed_sdk(const struct sdk *sdk, void *state, struct attempt *a)
{
    int result = SDK_OK;
    size_t in_bytes, out_bytes;
    a->out_bytes = 0;
    for (size_t at = 0; result == SDK_OK; at += in_bytes, a->out_bytes += out_bytes) {
        int progress = 0;
        const uint8_t *in = (const uint8_t *)a->data + at;
        uint8_t *out = (uint8_t *)a->out + a->out_bytes;
        in_bytes = a->bytes - at < SDK_PIECE ? a->bytes - at : SDK_PIECE;
        out_bytes = a->room - a->out_bytes;
        result = sdk->code_full ? ((sdk_code_18 *)(uintptr_t)sdk->code)(state, out, &out_bytes, in, &in_bytes,
                                                                        at + in_bytes == a->bytes, 0, &progress)
                                : sdk->code(state, out, &out_bytes, in, &in_bytes, 0, &progress);
        if (!in_bytes && !out_bytes)
            break;
    }
    return result;
}

static enum strobe_status try_sdk(const void *library, struct attempt *a)
{
    static const struct sdk_memory memory = {sdk_take, sdk_give_back};
    const struct sdk *sdk = library;
    void *state = xz_allocate(SDK_STATE_BYTES);
    if (!state)
        return STROBE_IO;
    sdk->make_crc();
    sdk->make_crc64();
    sdk->construct(state, &memory);
    int result = xz_feed_sdk(sdk, state, a);
    bool finished = result == SDK_OK && sdk->is_finished(state);
    sdk->end(state);
    xz_free(state);
    if (finished)
        return STROBE_OK;
    return result == SDK_ERROR_MEM                       ? STROBE_IO
           : result == SDK_OK && a->out_bytes == a->room ? STROBE_FULL
                                                         : STROBE_BAD_INPUT;
}

static bool xz_find_function(const struct strobe_module *m, const char *name, void *out)
{
    uint64_t value = 0; /* searches .dynsym only: the other tables may need unpacking themselves */
    bool found = strobe_table_find(&m->dynamic, name, &value);
    uintptr_t at = found ? (uintptr_t)(m->bias + value) : 0;
    memcpy(out, &at, sizeof at);
    return found;
}

static bool find_sdk(const char *name, struct sdk *out)
{
    struct strobe_module m;
    if (strobe_module_open(name, &m, NULL) != STROBE_OK)
        return false;
    bool found = xz_find_function(&m, "CrcGenerateTable", &out->make_crc) &&
                 xz_find_function(&m, "Crc64GenerateTable", &out->make_crc64) &&
                 xz_find_function(&m, "XzUnpacker_Construct", &out->construct) &&
                 xz_find_function(&m, "XzUnpacker_Free", &out->end) &&
                 xz_find_function(&m, "XzUnpacker_IsStreamWasFinished", &out->is_finished) &&
                 xz_find_function(&m, "XzUnpacker_Code", &out->code);
    if (found)
        xz_find_function(&m, "XzUnpacker_CodeFull", &out->code_full);
    strobe_module_close(&m);
    return found;
}

/* ---- either */

static enum strobe_status xz_unpack_growing(enum strobe_status (*try)(const void *, struct attempt *),
                                            const void *library, const void *data, size_t bytes, void **out,
                                            size_t *out_bytes, size_t *mapped)
{
    enum strobe_status s = STROBE_FULL;
    for (size_t room = ROOM_FIRST; s == STROBE_FULL && room <= ROOM_LAST; room *= 2) {
        struct attempt a = {.data = data, .bytes = bytes, .out = xz_map(room), .room = room};
        if (!a.out)
            return STROBE_IO;
        s = try(library, &a);
        if (s != STROBE_OK)
            munmap(a.out, room);
        *out = a.out;
        *out_bytes = a.out_bytes;
        *mapped = room;
    }
    return s == STROBE_FULL ? STROBE_BAD_INPUT : s;
}

enum strobe_status strobe_xz_unpack_by(const char *lzma, const char *sdk, const void *data, size_t bytes, void **out,
                                       size_t *out_bytes, size_t *mapped)
{
    struct sdk found;
    enum strobe_status s = STROBE_UNSUPPORTED;
    void *handle = dlopen(lzma, RTLD_NOW | RTLD_LOCAL);
    void *decode = handle ? dlsym(handle, "lzma_stream_buffer_decode") : NULL;
    if (decode) {
        s = xz_unpack_growing(try_lzma, decode, data, bytes, out, out_bytes, mapped);
    } else {
        /* An app may not open Android's library itself, but the runtime has loaded it. */
        void *sdk_handle = dlopen(sdk, RTLD_NOW | RTLD_LOCAL);
        if (find_sdk(sdk, &found))
            s = xz_unpack_growing(try_sdk, &found, data, bytes, out, out_bytes, mapped);
        if (sdk_handle)
            dlclose(sdk_handle);
    }
    if (handle)
        dlclose(handle);
    return s;
}

enum strobe_status strobe_xz_unpack(const void *data, size_t bytes, void **out, size_t *out_bytes, size_t *mapped)
{
    return strobe_xz_unpack_by("liblzma.so.5", "liblzma.so", data, bytes, out, out_bytes, mapped);
}
