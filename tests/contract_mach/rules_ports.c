/* Rules about port names of threads: the task's list, rights, and the names of threads that have ended. */
#include "tests/contract_mach/crew.h"

enum { NO_NAME = 0x00fffff3 }; /* a name that the kernel has not assigned */

static mach_port_urefs_t rights(mach_port_t name, mach_port_right_t right)
{
    mach_port_urefs_t refs = 0;
    return mach_port_get_refs(mach_task_self(), name, right, &refs) == KERN_SUCCESS ? refs : 0;
}

/* Counts the listed threads and the occurrences of `wanted` among them. With `keep`, the list's right for `wanted` is
 * not released. */
static bool list(thread_act_t wanted, bool keep, unsigned *threads, unsigned *found)
{
    thread_act_array_t names;
    mach_msg_type_number_t count;
    if (task_threads(mach_task_self(), &names, &count) != KERN_SUCCESS)
        return false;
    *threads = count;
    *found = 0;
    for (mach_msg_type_number_t i = 0; i < count; i++) {
        *found += names[i] == wanted;
        if (!keep || names[i] != wanted)
            mach_port_deallocate(mach_task_self(), names[i]);
    }
    return vm_deallocate(mach_task_self(), (vm_address_t)names, count * sizeof names[0]) == KERN_SUCCESS;
}

static const char *all_are_listed(void)
{
    unsigned before, with, found;
    REQUIRE(list(MACH_PORT_NULL, false, &before, &found));
    struct crew_member *a = crew_start(CREW_COMPUTES), *b = crew_start(CREW_WAITS);
    REQUIRE(a && b);
    REQUIRE(list(a->port, false, &with, &found) && found == 1);
    REQUIRE(list(b->port, false, &with, &found) && found == 1);
    REQUIRE(with == before + 2);
    REQUIRE(!crew_stop(a));
    REQUIRE(list(a->port, false, &with, &found) && found == 1);
    return NULL;
}

static const char *caller_is_listed(void)
{
    unsigned threads, found;
    thread_act_t self = mach_thread_self();
    REQUIRE(list(self, false, &threads, &found) && found == 1);
    mach_port_deallocate(mach_task_self(), self);
    return NULL;
}

static const char *ended_vanish(void)
{
    unsigned before, after, found;
    struct crew_member *a = crew_start(CREW_COMPUTES), *b = crew_start(CREW_COMPUTES);
    REQUIRE(a && b && list(a->port, false, &before, &found) && found == 1);
    crew_end_one(a);
    REQUIRE(list(a->port, false, &after, &found) && found == 0 && after == before - 1);
    REQUIRE(list(b->port, false, &after, &found) && found == 1);
    return NULL;
}

static const char *self_gives_a_right(void)
{
    thread_act_t self = mach_thread_self();
    mach_port_urefs_t refs = rights(self, MACH_PORT_RIGHT_SEND);
    REQUIRE(refs >= 1 && mach_thread_self() == self);
    REQUIRE(rights(self, MACH_PORT_RIGHT_SEND) == refs + 1);
    REQUIRE(mach_port_deallocate(mach_task_self(), self) == KERN_SUCCESS);
    REQUIRE(rights(self, MACH_PORT_RIGHT_SEND) == refs);
    REQUIRE(mach_port_deallocate(mach_task_self(), self) == KERN_SUCCESS);
    return NULL;
}

static const char *list_gives_rights(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    unsigned threads, found;
    REQUIRE(m);
    mach_port_urefs_t refs = rights(m->port, MACH_PORT_RIGHT_SEND);
    REQUIRE(refs >= 1);
    REQUIRE(list(m->port, true, &threads, &found) && found == 1);
    REQUIRE(rights(m->port, MACH_PORT_RIGHT_SEND) == refs + 1);
    REQUIRE(list(m->port, true, &threads, &found) && found == 1);
    REQUIRE(rights(m->port, MACH_PORT_RIGHT_SEND) == refs + 2);
    REQUIRE(mach_port_deallocate(mach_task_self(), m->port) == KERN_SUCCESS);
    REQUIRE(mach_port_deallocate(mach_task_self(), m->port) == KERN_SUCCESS);
    REQUIRE(rights(m->port, MACH_PORT_RIGHT_SEND) == refs);
    return NULL;
}

static const char *calls_cost_no_rights(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    crew_registers regs;
    REQUIRE(m);
    mach_port_urefs_t refs = rights(m->port, MACH_PORT_RIGHT_SEND);
    for (int i = 0; i < 20; i++) {
        REQUIRE(!crew_stop(m) && crew_registers_of(m->port, &regs) == KERN_SUCCESS);
        REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    }
    REQUIRE(rights(m->port, MACH_PORT_RIGHT_SEND) == refs);
    return NULL;
}

static const char *no_name(void)
{
    mach_port_urefs_t refs;
    REQUIRE(mach_port_get_refs(mach_task_self(), NO_NAME, MACH_PORT_RIGHT_SEND, &refs) == KERN_INVALID_NAME);
    REQUIRE(mach_port_deallocate(mach_task_self(), NO_NAME) == KERN_INVALID_NAME);
    return NULL;
}

/* ---- ended threads ---- */

static bool of_the_dead(kern_return_t kr)
{
    return kr == KERN_TERMINATED || kr == MACH_SEND_INVALID_DEST;
}

static const char *calls_to_the_dead(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    crew_registers regs;
    struct thread_basic_info info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    REQUIRE(m);
    crew_end_one(m);
    REQUIRE(of_the_dead(thread_suspend(m->port)));
    REQUIRE(of_the_dead(thread_resume(m->port)));
    REQUIRE(of_the_dead(crew_registers_of(m->port, &regs)));
    REQUIRE(of_the_dead(thread_info(m->port, THREAD_BASIC_INFO, (thread_info_t)&info, &count)));
    return NULL;
}

/* Waits until the port of an ended thread is dead. Until then, calls on it return KERN_TERMINATED. */
static bool port_dies(thread_act_t port)
{
    for (unsigned ms = 0; thread_resume(port) != MACH_SEND_INVALID_DEST; ms++) {
        if (ms == CREW_PATIENCE_MS)
            return false;
        crew_env->pass(1);
    }
    return true;
}

static const char *rights_become_dead_names(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m);
    mach_port_urefs_t refs = rights(m->port, MACH_PORT_RIGHT_SEND);
    crew_end_one(m);
    REQUIRE(port_dies(m->port));
    REQUIRE(rights(m->port, MACH_PORT_RIGHT_SEND) == 0);
    mach_port_urefs_t dead = rights(m->port, MACH_PORT_RIGHT_DEAD_NAME);
    REQUIRE(dead >= 1 && dead <= refs); /* other holders released their rights when the thread ended */
    return NULL;
}

static const char *last_right_frees_the_name(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m);
    crew_end_one(m);
    REQUIRE(port_dies(m->port));
    for (mach_port_urefs_t dead = rights(m->port, MACH_PORT_RIGHT_DEAD_NAME); dead > 0; dead--) {
        REQUIRE(rights(m->port, MACH_PORT_RIGHT_DEAD_NAME) == dead);
        REQUIRE(mach_port_deallocate(mach_task_self(), m->port) == KERN_SUCCESS);
    }
    REQUIRE(mach_port_deallocate(mach_task_self(), m->port) == KERN_INVALID_NAME);
    m->port = MACH_PORT_NULL;
    return NULL;
}

static const char *held_names_are_not_given_again(void)
{
    struct crew_member *first = crew_start(CREW_COMPUTES);
    REQUIRE(first);
    crew_end_one(first);
    for (int i = 1; i < MACH_RULES_THREADS; i++) {
        struct crew_member *m = crew_start(CREW_COMPUTES);
        REQUIRE(m && m->port != first->port);
        crew_end_one(m);
    }
    REQUIRE(of_the_dead(thread_suspend(first->port)));
    return NULL;
}

static const char *suspended_may_end(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES), *other = crew_start(CREW_COMPUTES);
    unsigned threads, found;
    REQUIRE(m && other && !crew_stop(m));
    crew_end_one(m);
    REQUIRE(list(m->port, false, &threads, &found) && found == 0);
    uint32_t was = strobe_load_relaxed(&other->ticks);
    REQUIRE(crew_changes(&other->ticks, was));
    return NULL;
}

const struct mach_rule rules_of_ports[] = {
    {"the task's list has each thread once: that runs, waits or stands", all_are_listed, MACH_RULES_ANY},
    {"the caller is in the task's list", caller_is_listed, MACH_RULES_ANY},
    {"a thread that has ended leaves the task's list, the others stay", ended_vanish, MACH_RULES_ANY},
    {"each mach_thread_self gives one right more, by the same name", self_gives_a_right, MACH_RULES_ANY},
    {"each look at the task's list gives one right more for each thread", list_gives_rights, MACH_RULES_ANY},
    {"suspend, registers, info and resume cost no right", calls_cost_no_rights, MACH_RULES_ANY},
    {"a name that nobody has is KERN_INVALID_NAME", no_name, MACH_RULES_ANY},
    {"calls to a thread that has ended are KERN_TERMINATED or MACH_SEND_INVALID_DEST", calls_to_the_dead,
     MACH_RULES_ANY},
    {"rights to a thread that has ended become a dead name", rights_become_dead_names, MACH_RULES_ANY},
    {"the last right given back frees the name", last_right_frees_the_name, MACH_RULES_ANY},
    {"a name to which a right is held is given to no other thread", held_names_are_not_given_again, MACH_RULES_ANY},
    {"a thread that was suspended, and resumed, ends as any other", suspended_may_end, MACH_RULES_ANY},
    {NULL, NULL, 0},
};
