#include "tests/gnumach/task.h"

#include <mach/mig_support.h>

/* ---- memory; loops that the compiler must not make calls of themselves of (-fno-builtin) ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    return memmove(to, from, bytes);
}

void *memmove(void *to, const void *from, size_t bytes)
{
    char *a = to;
    const char *b = from;
    if ((uintptr_t)a <= (uintptr_t)b)
        for (size_t i = 0; i < bytes; i++)
            a[i] = b[i];
    else
        for (size_t i = bytes; i-- > 0;)
            a[i] = b[i];
    return to;
}

void *memset(void *to, int byte, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)to)[i] = (char)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *p = a, *q = b;
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return 0;
}

size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

/* ---- 64-bit division, which i386's compilers leave to a library ---- */

uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);

/* Divides by shifts and subtractions, one bit at a time. */
static uint64_t divide(uint64_t a, uint64_t b, uint64_t *rest)
{
    uint64_t quotient = 0, r = 0;
    for (int bit = 63; bit >= 0; bit--) {
        r = r << 1 | (a >> bit & 1);
        if (r >= b) {
            r -= b;
            quotient |= (uint64_t)1 << bit;
        }
    }
    *rest = r;
    return quotient;
}

uint64_t __udivdi3(uint64_t a, uint64_t b)
{
    uint64_t rest;
    return divide(a, b, &rest);
}

uint64_t __umoddi3(uint64_t a, uint64_t b)
{
    uint64_t rest;
    divide(a, b, &rest);
    return rest;
}

/* ---- messages ---- */

mach_port_t mach_reply_port(void);

mach_msg_return_t mach_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_bytes,
                           mach_msg_size_t receive_bytes, mach_port_t receive_from, mach_msg_timeout_t timeout,
                           mach_port_t notify)
{
    return mach_msg_trap(message, option, send_bytes, receive_bytes, receive_from, timeout, notify);
}

/* Each thread has its own port for replies. */
static mach_port_t reply_ports[TASK_THREADS + 1];

mach_port_t mig_get_reply_port(void)
{
    mach_port_t *mine = &reply_ports[thread_slot()];
    if (*mine == MACH_PORT_NULL)
        *mine = mach_reply_port();
    return *mine;
}

void mig_put_reply_port(mach_port_t port)
{
    (void)port; /* kept */
}

/* The reply of a failed call may still arrive. The next call uses another port, so that it does not get this reply. */
void mig_dealloc_reply_port(mach_port_t port)
{
    reply_ports[thread_slot()] = MACH_PORT_NULL;
    mach_port_mod_refs(mach_task_self(), port, MACH_PORT_RIGHT_RECEIVE, -1);
}

void task_drop_reply_port(unsigned slot)
{
    mach_port_t port = reply_ports[slot];
    reply_ports[slot] = MACH_PORT_NULL;
    if (port != MACH_PORT_NULL)
        mach_port_mod_refs(mach_task_self(), port, MACH_PORT_RIGHT_RECEIVE, -1);
}

void gate_wait(mach_port_t gate)
{
    mach_msg_header_t message;
    mach_msg(&message, MACH_RCV_MSG, 0, sizeof message, gate, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
}

void gate_open(mach_port_t gate)
{
    mach_msg_header_t message = {
        .msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, 0),
        .msgh_remote_port = gate,
    };
    mach_msg(&message, MACH_SEND_MSG, sizeof message, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
}

unsigned task_names(void)
{
    mach_port_array_t names;
    mach_port_type_array_t types;
    mach_msg_type_number_t name_count, type_count;
    if (mach_port_names(mach_task_self(), &names, &name_count, &types, &type_count) != KERN_SUCCESS)
        return 0;
    vm_deallocate(mach_task_self(), (vm_address_t)names, name_count * sizeof *names);
    vm_deallocate(mach_task_self(), (vm_address_t)types, type_count * sizeof *types);
    return name_count;
}

/* ---- the console ---- */

/* 32 bits only: wider divisions need a library. */
void print_number(uint32_t n)
{
    char text[12], *p = text + sizeof text - 1;
    *p = 0;
    do {
        *--p = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    mach_print(p);
}
