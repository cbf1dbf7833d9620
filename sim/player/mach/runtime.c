/* Runtime of the player on the fake Mach. Methods are functions of frames.h. app.h redirects the player's calls. */
#include "engine/base/error.h"
#include "sim/player/frames.h"
#include "sim/player/mach/loader.h"
#include "sim/runtime/session_names.h"

#include "engine/backend/mach/events.h"
#include "engine/backend/mach/threads.h"
#include "sim/player/mach/calls.h"
#include "sim/player/runtime.h"

#include <link.h>
#include <pthread_np.h>

enum { STACK_BYTES = 4 << 20 };

static bool captured;

static enum strobe_status mach_player_begin(struct sim_real_play *p, const char *name, const char *session,
                                            struct strobe_error *error)
{
    (void)p;
    (void)name;
    enum strobe_status status = session ? sim_real_mach_loader.begin(session, error) : STROBE_OK;
    captured = session && status == STROBE_OK;
    return status;
}

/* ---- images and names of the session ---- */

static uint64_t frames_of(uint32_t method)
{
    return (uint64_t)(uintptr_t)sim_real_frame_of(method);
}

/* Adds the segment of a loaded file as the lab's own code, without the methods. */
static void add_own_code(const struct strobe_session *to, uint64_t begin, uint64_t end, uint32_t methods)
{
    uint64_t from = frames_of(0), until = frames_of(methods);
    if (from < begin || until > end) {
        sim_session_add_image(to, SIM_SESSION_PLAYER, begin, end - begin);
        return;
    }
    sim_session_add_image(to, SIM_SESSION_PLAYER, begin, from - begin);
    sim_session_add_image(to, SIM_SESSION_PLAYER, until, end - until);
}

static int add_loaded_file(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    const struct sim_real_play *p = ctx;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && h->p_flags & PF_X)
            add_own_code(&strobe_mach.engine.session, begin, begin + h->p_memsz, p->scenario->method_count);
    }
    return 0;
}

static void mach_player_end(struct sim_real_play *p)
{
    if (!captured)
        return;
    sim_session_add_methods(&strobe_mach.engine.session, p->scenario, frames_of(0), SIM_REAL_FRAME_BYTES);
    dl_iterate_phdr(add_loaded_file, p);
    sim_real_mach_loader.end();
}

static uint32_t mach_player_tid(void)
{
    uint64_t id = 0;
    pthread_threadid_np(0, &id);
    return strobe_mach_tid(id);
}

static uint64_t mach_charged_ns(void)
{
    return sim_real_mach_loader.charged_ns();
}

const struct sim_real_runtime sim_real_runtime = {
    .executor = &sim_executor_frames,
    .stack_bytes = STACK_BYTES,
    .long_names = true,
    .open = mach_player_begin,
    .end = mach_player_end,
    .charged_ns = mach_charged_ns,
    .tid = mach_player_tid,
};
