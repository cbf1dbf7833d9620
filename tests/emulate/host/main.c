/* emulate [OPTION]... LIBSYSTEM IMAGE...: runs a function of guest libraries on the emulated kernel.
 *
 *   --run NAME         the function, int (void) (default: app_main)
 *   --seed N           of all random draws (default 1)
 *   --session FILE     creates a session there; EMULATED_SESSION has its name in the guest
 *   --interval US      the sampler's period in it (default 100)
 *   --set NAME=VALUE   sets a variable of the guest's environment
 *   --speed NS         virtual time of one instruction (default 20)
 *   --exact            samples the thread named "exact" at each of its instructions, and compares the stacks
 *   --kill N           loses the thread that has stopped another one, after N more instructions
 *   --unguarded        does not catch calls that a sampler must not make; catches deadlocks
 *
 * The last line has the counts of the run. Exit status: 0 success; 1 the guest failed, left something behind, or a
 * result is wrong; 2 wrong arguments; 3 deadlock; 4 a forbidden call. */
#include "tests/emulate/host/watch.h"

#include "engine/store/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAIN_STACK UINT64_C(0x260000000)
#define PROGRAM    UINT64_C(0x26f000000)
#define SECOND     UINT64_C(1000000000)

enum { MAIN_STACK_BYTES = 0x80000, OWN_RIGHTS = 2, ENVIRONMENT_MAX = 16, PATIENCE_SECONDS = 20 };

struct options {
    const char *run, *session;
    uint64_t seed, interval_us, speed_ns, kill;
    bool exact, kills, unguarded;
    const char *environment[ENVIRONMENT_MAX + 2];
    size_t environment_count;
};

static uint64_t number(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 0);
    if (!*text || *end)
        machine_die("%s: expected a number", text);
    return value;
}

static void take_option(struct options *o, const char *name, const char *value)
{
    if (!strcmp(name, "--run"))
        o->run = value;
    else if (!strcmp(name, "--seed"))
        o->seed = number(value);
    else if (!strcmp(name, "--session"))
        o->session = value;
    else if (!strcmp(name, "--interval"))
        o->interval_us = number(value);
    else if (!strcmp(name, "--speed"))
        o->speed_ns = number(value);
    else if (!strcmp(name, "--kill"))
        o->kill = number(value), o->kills = true;
    else if (!strcmp(name, "--set") && o->environment_count < ENVIRONMENT_MAX)
        o->environment[o->environment_count++] = value;
    else
        machine_die("%s: no such option", name);
}

/* Returns the index of the first image. */
static int read_options(struct options *o, int count, char **arguments)
{
    int i = 1;
    for (; i < count && !strncmp(arguments[i], "--", 2); i++) {
        if (!strcmp(arguments[i], "--exact"))
            o->exact = true;
        else if (!strcmp(arguments[i], "--unguarded"))
            o->unguarded = true;
        else if (i + 1 < count)
            take_option(o, arguments[i], arguments[i + 1]), i++;
    }
    if (i >= count)
        machine_die("expected images to load");
    return i;
}

static void create_session(struct options *o)
{
    static char variable[1024];
    struct strobe_config config;
    struct strobe_session session;
    strobe_config_default(&config);
    config.async_interval_ns = o->interval_us * 1000;
    config.interval_main_ns = config.interval_other_ns = config.async_interval_ns;
    config.active_cpu_ns = config.async_interval_ns / 8;
    config.refresh_main_ns = config.refresh_other_ns = 20 * config.async_interval_ns;
    config.suspend_timeout_ns = 1000000;
    config.ring_slots = 1 << 16;
    config.stack_nodes = 1 << 16;
    config.threads_max = 256;
    config.images_max = 64;
    config.seed = o->seed;
    enum strobe_status status = strobe_session_create(o->session, &config, "emulated", 1, &session);
    if (status != STROBE_OK)
        machine_die("can't create session %s: status %d", o->session, (int)status);
    strobe_session_unmap(&session);
    close(session.fd);
    snprintf(variable, sizeof variable, "EMULATED_SESSION=%s", o->session);
    o->environment[o->environment_count] = variable;
}

/* Starts the guest at emulated_start, with the values that it expects: stack, program, initializers of all images. */
static void begin(struct kernel *k, const char *run)
{
    struct machine *m = &k->machine;
    uint64_t start = image_find(&k->images, "emulated_start"), self = image_find(&k->images, "emulated_main_thread");
    uint64_t words[4 + IMAGES_MAX * IMAGE_INITIALIZERS] = {MAIN_STACK, MAIN_STACK_BYTES, image_find(&k->images, run)};
    if (!start || !self || !words[2])
        machine_die("no function %s in these images", words[2] ? "emulated_start" : run);
    for (size_t n = 0; n < k->images.count; n++)
        for (size_t i = 0; i < k->images.list[n].initializer_count; i++)
            words[4 + words[3]++] = k->images.list[n].initializers[i];
    machine_map(m, MAIN_STACK, MAIN_STACK_BYTES, MACHINE_READ | MACHINE_WRITE);
    machine_map(m, PROGRAM, MACHINE_PAGE, MACHINE_READ | MACHINE_WRITE);
    machine_write(m, PROGRAM, words, sizeof words);
    struct thread *t = kernel_add_thread(k, start, PROGRAM, MAIN_STACK + MAIN_STACK_BYTES, self);
    snprintf(t->name, sizeof t->name, "main");
}

/* Checks that the guest left nothing behind. `inside`: the sampler was lost, so the engine still holds its rights. */
static bool nothing_left(struct kernel *k, bool inside)
{
    bool fine = true;
    for (size_t i = 0; i < k->thread_count; i++)
        if (k->threads[i]->suspends) {
            printf("FAIL thread %llu \"%s\" is left suspended\n", (unsigned long long)k->threads[i]->id,
                   k->threads[i]->name);
            fine = false;
        }
    uint32_t rights = kernel_rights(k);
    if (!inside && rights != OWN_RIGHTS) {
        printf("FAIL %u rights are left over\n", rights - OWN_RIGHTS);
        fine = false;
    }
    return fine;
}

static void load(struct kernel *k, int count, char **paths)
{
    machine_init(&k->machine);
    for (int i = 0; i < count; i++)
        image_load(&k->images, &k->machine, paths[i]);
    image_bind(&k->images, &k->machine);
    guard_init(k);
}

int main(int count, char **arguments)
{
    static struct kernel kernel;
    struct kernel *k = &kernel;
    struct options o = {.run = "app_main", .seed = 1, .interval_us = 100, .speed_ns = 20};
    int first = read_options(&o, count, arguments);
    if (o.session)
        create_session(&o);
    k->random = o.seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    k->ns_per_instruction = o.speed_ns;
    k->environment = o.environment;
    k->guard = !o.unguarded;
    k->strict = k->guard;
    k->graph = true;
    k->now_ns = SECOND;
    k->until_ns = PATIENCE_SECONDS * SECOND;
    load(k, count - first, arguments + first);
    if (o.exact)
        watch_exactly(k);
    if (o.kills)
        watch_kill(k, o.kill);
    begin(k, o.run);
    uint64_t began = k->now_ns, stood = 0;
    schedule_run(k);
    fflush(stdout);
    bool fine = k->outcome == RUN_FINE && !k->status && nothing_left(k, o.kills);
    if (fine && o.exact)
        fine = watch_compare(o.session);
    if (o.kills) {
        bool killed = watch_killed(&stood);
        if (killed)
            printf("killed, stood for %llu us; ", (unsigned long long)(stood / 1000));
        else
            printf("never killed, first stop of %llu instructions; ", (unsigned long long)watch_first_stop());
    }
    printf("seed %llu: %s, guest's status %llu, %llu instructions, %llu us, %llu suspends, %llu resumes, %llu states "
           "read\n",
           (unsigned long long)o.seed, fine ? "fine" : "not fine", (unsigned long long)k->status,
           (unsigned long long)k->instructions, (unsigned long long)((k->now_ns - began) / 1000),
           (unsigned long long)k->calls[CALL_THREAD_SUSPEND], (unsigned long long)k->calls[CALL_THREAD_RESUME],
           (unsigned long long)k->calls[CALL_THREAD_GET_STATE]);
    return k->outcome ? (int)k->outcome : fine ? 0 : 1;
}
