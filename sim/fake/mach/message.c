/* Messages and semaphores: ports that receive something. */
#include "sim/fake/mach/message.h"

#include "sim/fake/mach/kernel.h"

#include <string.h>

enum { RECEIVERS = 256, QUEUE = 8 };

struct receiver {
    bool used, semaphore;
    struct fake_counter counter; /* number of waiting messages, or value of the semaphore */
    _Atomic uint32_t room;       /* counts messages taken out */
    uint32_t first, count;
    char messages[QUEUE][FAKE_MACH_MESSAGE_BYTES];
};

static struct receiver receivers[RECEIVERS];

/* ---- rights */

static kern_return_t allocate_receiver(bool semaphore, uint32_t value, mach_port_name_t *name)
{
    for (uint32_t i = 0; i < RECEIVERS; i++) {
        struct receiver *r = &receivers[i];
        if (r->used)
            continue;
        *name = fake_port_new(FAKE_PORT_RECEIVE, r, semaphore);
        if (*name == MACH_PORT_NULL)
            break;
        memset(&r->counter, 0, sizeof r->counter);
        r->used = true;
        r->semaphore = semaphore;
        r->first = r->count = 0;
        r->counter.value = value;
        return KERN_SUCCESS;
    }
    return KERN_NO_SPACE;
}

/* Returns the receiver of a name, by kind; with the lock held. */
static struct receiver *find_receiver(mach_port_name_t name, bool semaphore)
{
    struct fake_port p = fake_port_find(name);
    struct receiver *r = p.kind == FAKE_PORT_RECEIVE ? p.object : NULL;
    return r && r->semaphore == semaphore ? r : NULL;
}

static kern_return_t destroy_receiver(mach_port_name_t name, bool semaphore)
{
    struct receiver *r = find_receiver(name, semaphore);
    if (!r)
        return fake_port_find(name).kind == FAKE_PORT_NONE ? KERN_INVALID_NAME : KERN_INVALID_RIGHT;
    fake_port_dies(name, 0);
    r->used = false;
    return KERN_SUCCESS;
}

kern_return_t mach_port_allocate(ipc_space_t space, mach_port_right_t right, mach_port_name_t *name)
{
    static struct fake_call call = {.name = "mach_port_allocate"};
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = fake_task_check(space, KERN_INVALID_TASK);
        if (answer == KERN_SUCCESS)
            answer = right == MACH_PORT_RIGHT_RECEIVE ? allocate_receiver(false, 0, name) : KERN_INVALID_VALUE;
        fake_on->unlock();
    }
    return fake_kernel_leave(answer);
}

kern_return_t mach_port_mod_refs(ipc_space_t space, mach_port_name_t name, mach_port_right_t right, int delta)
{
    static struct fake_call call = {.name = "mach_port_mod_refs"};
    kern_return_t answer = fake_kernel_enter(&call);
    struct receiver *r = NULL;
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = fake_task_check(space, KERN_INVALID_TASK);
        r = answer == KERN_SUCCESS ? find_receiver(name, false) : NULL;
        if (answer == KERN_SUCCESS)
            answer =
                right == MACH_PORT_RIGHT_RECEIVE && delta == -1 ? destroy_receiver(name, false) : KERN_INVALID_VALUE;
        fake_on->unlock();
    }
    if (answer == KERN_SUCCESS)
        fake_counter_give(&r->counter, true);
    return fake_kernel_leave(answer);
}

/* ---- messages */

static bool queue_message(mach_port_name_t to, const mach_msg_header_t *message, kern_return_t *answer,
                          struct receiver **r)
{
    fake_on->lock();
    *r = find_receiver(to, false);
    bool fits = message->msgh_size >= sizeof *message && message->msgh_size <= FAKE_MACH_MESSAGE_BYTES;
    bool done = !*r || !fits || (*r)->count < QUEUE;
    *answer = *r && fits ? KERN_SUCCESS : MACH_SEND_INVALID_DEST;
    if (*answer == KERN_SUCCESS && done) {
        uint32_t at = ((*r)->first + (*r)->count++) % QUEUE;
        memcpy((*r)->messages[at], message, message->msgh_size);
    }
    fake_on->unlock();
    return done;
}

static kern_return_t send_fake_message(const mach_msg_header_t *message)
{
    struct receiver *r;
    kern_return_t answer;
    uint32_t seen = 0;
    while (!queue_message(message->msgh_remote_port, message, &answer, &r)) {
        if (seen == atomic_load(&r->room))
            fake_wait_on(&r->room, seen, UINT64_MAX);
        seen = atomic_load(&r->room);
    }
    if (answer == KERN_SUCCESS)
        fake_counter_give(&r->counter, false);
    return answer;
}

/* The receive right may have ended while the thread waited. */
static kern_return_t receive_message(mach_port_name_t from, mach_msg_header_t *message, mach_msg_size_t room)
{
    fake_on->lock();
    struct receiver *r = find_receiver(from, false);
    kern_return_t answer = r && r->count ? KERN_SUCCESS : MACH_RCV_INVALID_NAME;
    if (answer == KERN_SUCCESS) {
        const mach_msg_header_t *first = (const void *)r->messages[r->first];
        mach_msg_size_t bytes = first->msgh_size;
        memcpy(message, first, bytes <= room ? bytes : room);
        answer = bytes <= room ? KERN_SUCCESS : MACH_RCV_TOO_LARGE;
        r->first = (r->first + 1) % QUEUE;
        r->count--;
        atomic_fetch_add(&r->room, 1);
        fake_on->wake(&r->room);
    }
    fake_on->unlock();
    return answer;
}

static kern_return_t receive(mach_msg_header_t *message, mach_msg_size_t room, mach_port_name_t from, uint64_t until)
{
    fake_on->lock();
    struct receiver *r = find_receiver(from, false);
    fake_on->unlock();
    if (!r || room < sizeof *message)
        return r ? MACH_RCV_TOO_LARGE : MACH_RCV_INVALID_NAME;
    return fake_counter_take(&r->counter, until) ? receive_message(from, message, room) : MACH_RCV_TIMED_OUT;
}

static uint64_t after_ms(mach_msg_timeout_t ms)
{
    return fake_on->now_ns() + ms * UINT64_C(1000000);
}

mach_msg_return_t mach_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
                           mach_msg_size_t room, mach_port_name_t from, mach_msg_timeout_t timeout_ms,
                           mach_port_name_t notify)
{
    static struct fake_call call = {.name = "mach_msg"};
    kern_return_t answer = fake_kernel_enter(&call);
    (void)notify;
    if (answer == KERN_SUCCESS && option & MACH_SEND_MSG) {
        message->msgh_size = send_size;
        answer = send_fake_message(message);
    }
    if (answer == KERN_SUCCESS && option & MACH_RCV_MSG)
        answer = receive(message, room, from, option & MACH_RCV_TIMEOUT ? after_ms(timeout_ms) : UINT64_MAX);
    return fake_kernel_leave(answer);
}

/* ---- semaphores */

kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value)
{
    static struct fake_call call = {.name = "semaphore_create"};
    kern_return_t answer = fake_kernel_enter(&call);
    (void)policy; /* order in which waiters are served: each kernel has its own */
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = fake_task_check(task, KERN_INVALID_ARGUMENT);
        if (answer == KERN_SUCCESS)
            answer = value < 0 ? KERN_INVALID_ARGUMENT : allocate_receiver(true, (uint32_t)value, semaphore);
        fake_on->unlock();
    }
    return fake_kernel_leave(answer);
}

static struct receiver *semaphore_of(semaphore_t semaphore)
{
    fake_on->lock();
    struct receiver *r = find_receiver(semaphore, true);
    fake_on->unlock();
    return r;
}

kern_return_t semaphore_destroy(task_t task, semaphore_t semaphore)
{
    static struct fake_call call = {.name = "semaphore_destroy"};
    kern_return_t answer = fake_kernel_enter(&call);
    struct receiver *r = semaphore_of(semaphore);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = fake_task_check(task, KERN_INVALID_ARGUMENT);
        if (answer == KERN_SUCCESS)
            answer = destroy_receiver(semaphore, true) == KERN_SUCCESS ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
        fake_on->unlock();
    }
    if (answer == KERN_SUCCESS)
        fake_counter_give(&r->counter, true);
    return fake_kernel_leave(answer);
}

static kern_return_t wait_for_semaphore(semaphore_t semaphore, uint64_t until)
{
    struct receiver *r = semaphore_of(semaphore);
    if (!r)
        return KERN_INVALID_ARGUMENT;
    if (!fake_counter_take(&r->counter, until))
        return KERN_OPERATION_TIMED_OUT;
    return semaphore_of(semaphore) == r ? KERN_SUCCESS : KERN_TERMINATED;
}

kern_return_t semaphore_wait(semaphore_t semaphore)
{
    static struct fake_call call = {.name = "semaphore_wait"};
    kern_return_t answer = fake_kernel_enter(&call);
    return fake_kernel_leave(answer == KERN_SUCCESS ? wait_for_semaphore(semaphore, UINT64_MAX) : answer);
}

kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t time)
{
    static struct fake_call call = {.name = "semaphore_timedwait"};
    kern_return_t answer = fake_kernel_enter(&call);
    uint64_t until = fake_on->now_ns() + time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
    return fake_kernel_leave(answer == KERN_SUCCESS ? wait_for_semaphore(semaphore, until) : answer);
}

static kern_return_t wake_semaphore(semaphore_t semaphore, bool to_all)
{
    struct receiver *r = semaphore_of(semaphore);
    if (!r)
        return KERN_INVALID_ARGUMENT;
    fake_counter_give(&r->counter, to_all);
    return KERN_SUCCESS;
}

kern_return_t semaphore_signal(semaphore_t semaphore)
{
    static struct fake_call call = {.name = "semaphore_signal"};
    kern_return_t answer = fake_kernel_enter(&call);
    return fake_kernel_leave(answer == KERN_SUCCESS ? wake_semaphore(semaphore, false) : answer);
}

kern_return_t semaphore_signal_all(semaphore_t semaphore)
{
    static struct fake_call call = {.name = "semaphore_signal_all"};
    kern_return_t answer = fake_kernel_enter(&call);
    return fake_kernel_leave(answer == KERN_SUCCESS ? wake_semaphore(semaphore, true) : answer);
}
