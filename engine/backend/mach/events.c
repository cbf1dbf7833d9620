#include "engine/backend/mach/events.h"

#include "engine/capture/walk_fp.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OFFENDER_FRAMES = 64, LINE_BYTES = 640 };

static void write_stderr(const char *text)
{
    (void)!write(2, text, strlen(text));
}

static char *put_hex(char *to, uint64_t value)
{
    int digits = 1;
    while (digits < 16 && value >> (4 * digits))
        digits++;
    *to++ = '0', *to++ = 'x';
    while (digits-- > 0)
        *to++ = "0123456789abcdef"[value >> (4 * digits) & 15];
    *to = '\0';
    return to;
}

/* Prints "  path + offset" of a return address. Searches the session's images, because calls of the loader take its
 * lock. */
static void print_location(uint64_t pc)
{
    const struct strobe_session *s = &strobe_mach.engine.session;
    char line[LINE_BYTES] = "  ", *at = line + 2;
    for (uint32_t i = 0; i < strobe_session_image_count(s); i++) {
        const struct strobe_image_entry *e = &s->images[i];
        if (!strobe_load_acquire(&e->published) || pc < e->start || pc >= e->end)
            continue;
        for (size_t n = 0; e->path[n] && n < sizeof e->path; n++)
            *at++ = e->path[n];
        *at++ = ' ', *at++ = '+', *at++ = ' ';
        pc -= e->bias;
        break;
    }
    at = put_hex(at, pc);
    *at++ = '\n', *at = '\0';
    write_stderr(line);
}

void strobe_mach_offender(const char *call)
{
    uint64_t frames[OFFENDER_FRAMES], here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window stack = {here, STROBE_MACH_OBJECT(pthread_get_stackaddr_np(pthread_self())), 0, 0};
    uint32_t count = 0;
    strobe_guard_leave();
    strobe_walk_fp(&stack, here, frames + OFFENDER_FRAMES, OFFENDER_FRAMES, &count);
    write_stderr("strobe: invariant broken: called while a thread is suspended: ");
    write_stderr(call);
    write_stderr("\n");
    for (uint32_t i = 0; i < count; i++)
        print_location(frames[OFFENDER_FRAMES - 1 - i]);
    abort();
}
