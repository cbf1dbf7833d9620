#include "sim/player/label.h"

#include "sim/player/frames.h"
#include "sim/runtime/session_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_own_file(const char *path)
{
    static const char *const own[] = {"strobe-lab", "strobe-player", "libstrobe-app.so", "libstrobe-binder.so"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(name, own[i]))
            return true;
    return false;
}

/* Splits the image that holds the functions: the scenario's images take their place, and what is left of it is the
 * player's. */
static void label_functions(const struct strobe_session *s, struct strobe_image_entry *e,
                            const struct sim_scenario *scenario, uint64_t frames)
{
    uint64_t end = e->end, frames_end = frames + (uint64_t)scenario->method_count * SIM_REAL_FRAME_BYTES;
    e->end = frames;
    sim_session_add_methods(s, scenario, frames, SIM_REAL_FRAME_BYTES);
    if (end > frames_end)
        sim_session_add_image(s, SIM_SESSION_PLAYER, frames_end, end - frames_end);
}

static void label_images(const struct strobe_session *s, const struct sim_scenario *scenario, uint64_t frames)
{
    uint32_t count = strobe_session_image_count(s);
    for (uint32_t i = 0; i < count; i++) {
        struct strobe_image_entry *e = &s->images[i];
        bool has_functions = frames >= e->start && frames < e->end;
        if (!strobe_load_acquire(&e->published) || !(has_functions || is_own_file(e->path)))
            continue;
        snprintf(e->path, sizeof e->path, SIM_SESSION_PLAYER);
        e->build_id_bytes = 0;
        if (has_functions)
            label_functions(s, e, scenario, frames);
    }
}

enum strobe_status sim_real_label_session(const char *path, const struct sim_scenario *scenario, uint64_t frames)
{
    struct strobe_session session;
    struct stat about;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool known = fd >= 0 && fstat(fd, &about) == 0;
    void *memory = known ? mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (memory == MAP_FAILED)
        return STROBE_IO;
    enum strobe_status status = strobe_session_open_at(memory, (size_t)about.st_size, &session);
    if (status == STROBE_OK)
        label_images(&session, scenario, frames);
    munmap(memory, (size_t)about.st_size);
    return status;
}
