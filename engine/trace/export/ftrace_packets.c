#include "engine/trace/export/ftrace_packets.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { PACKET_FTRACE = 1, PACKET_PROCESS_TREE = 2, INTERNED_KERNEL_SYMBOL = 26 };
enum { TREE_PROCESS = 1, TREE_THREAD = 2 };
enum { BUNDLE_CPU = 1, BUNDLE_EVENT = 2 };
enum { HEAD_BYTES = 64, PROCESS_TEXT_BYTES = 4096 };

struct strobe_ftrace_cpu {
    uint8_t *events;
    size_t used, room;
};

void strobe_ftrace_packets_open(struct strobe_ftrace_packets *w, struct strobe_packets *packets, uint32_t sequence)
{
    *w = (struct strobe_ftrace_packets){.packets = packets, .sequence = sequence};
}

/* Opens a packet of the sequence. The first one says that the state of the sequence begins here. */
static uint8_t *open_ftrace_packet(struct strobe_ftrace_packets *w, size_t bytes, uint8_t **packet)
{
    uint8_t *p = strobe_packets_room(w->packets, bytes + HEAD_BYTES);
    *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->sequence);
    p = pb_uint(p, PACKET_FLAGS, w->begun ? FLAG_STATE_NEEDED : FLAG_STATE_CLEARED);
    if (!w->begun)
        p = pb_uint(p, PACKET_FIRST_ON_SEQUENCE, 1);
    w->begun = 1;
    return p;
}

static void write_bundle(struct strobe_ftrace_packets *w, uint32_t cpu)
{
    struct strobe_ftrace_cpu *c = &w->cpus[cpu];
    uint8_t *packet, *p = open_ftrace_packet(w, c->used, &packet);
    uint8_t *bundle = p = pb_open(p, PACKET_FTRACE);
    p = pb_uint(p, BUNDLE_CPU, cpu);
    memcpy(p, c->events, c->used);
    p = pb_close(bundle, p + c->used);
    strobe_packets_end(w->packets, packet, p);
    c->used = 0;
}

void strobe_ftrace_packets_close(struct strobe_ftrace_packets *w)
{
    for (size_t cpu = 0; cpu < w->cpu_room; cpu++) {
        if (w->cpus[cpu].used)
            write_bundle(w, (uint32_t)cpu);
        free(w->cpus[cpu].events);
    }
    free(w->cpus);
    strobe_text_pool_free(&w->functions);
    w->cpus = NULL;
    w->cpu_room = 0;
}

/* Returns the processor's buffer with space for an event of `bytes` bytes. */
static struct strobe_ftrace_cpu *find_ftrace_cpu(struct strobe_ftrace_packets *w, uint32_t cpu, size_t bytes)
{
    if ((w->failed |= !strobe_array_reserve_zeroed(&w->cpus, &w->cpu_room, (size_t)cpu + 1)))
        return NULL;
    struct strobe_ftrace_cpu *c = &w->cpus[cpu];
    if (c->used > STROBE_FTRACE_BUNDLE_BYTES)
        write_bundle(w, cpu);
    if ((w->failed |= !strobe_array_reserve(&c->events, &c->room, c->used + bytes + HEAD_BYTES)))
        return NULL;
    return c;
}

uint8_t *strobe_ftrace_packets_begin(struct strobe_ftrace_packets *w, uint32_t cpu, uint64_t time_ns, uint32_t tid,
                                     size_t bytes, uint8_t **event)
{
    struct strobe_ftrace_cpu *c = find_ftrace_cpu(w, cpu, bytes);
    if (!c)
        return NULL;
    uint8_t *p = c->events + c->used;
    *event = p = pb_open(p, BUNDLE_EVENT);
    p = pb_uint(p, 1, time_ns);
    return pb_uint(p, 2, tid);
}

void strobe_ftrace_packets_end(struct strobe_ftrace_packets *w, uint32_t cpu, uint8_t *event, uint8_t *p)
{
    w->cpus[cpu].used = (size_t)(pb_close(event, p) - w->cpus[cpu].events);
}

uint64_t strobe_ftrace_packets_function(struct strobe_ftrace_packets *w, const char *name, size_t bytes)
{
    bytes = bytes < PROCESS_TEXT_BYTES ? bytes : PROCESS_TEXT_BYTES;
    uint32_t number = strobe_text_number(&w->functions, name, bytes);
    if ((w->failed |= number == UINT32_MAX))
        return 0;
    if (number >= w->functions_written) {
        uint8_t *packet, *p = open_ftrace_packet(w, bytes, &packet);
        uint8_t *data = p = pb_open(p, PACKET_INTERNED);
        p = strobe_packets_interned(p, INTERNED_KERNEL_SYMBOL, number + 1u, w->functions.texts[number]);
        p = pb_close(data, p);
        strobe_packets_end(w->packets, packet, p);
        w->functions_written = (size_t)number + 1;
    }
    return number + 1u;
}

static uint8_t *open_process_tree(struct strobe_ftrace_packets *w, uint64_t time_ns, size_t bytes, uint8_t **packet,
                                  uint8_t **tree)
{
    uint8_t *p = open_ftrace_packet(w, bytes, packet);
    p = pb_uint(p, PACKET_TIMESTAMP, time_ns);
    p = pb_uint(p, PACKET_CLOCK_ID, CLOCK_BOOT);
    return *tree = pb_open(p, PACKET_PROCESS_TREE);
}

void strobe_ftrace_packets_thread(struct strobe_ftrace_packets *w, uint64_t time_ns, uint32_t tid, uint32_t tgid,
                                  const char *name, size_t name_bytes)
{
    name_bytes = name_bytes < PROCESS_TEXT_BYTES ? name_bytes : PROCESS_TEXT_BYTES;
    uint8_t *packet, *tree, *p = open_process_tree(w, time_ns, name_bytes, &packet, &tree);
    uint8_t *thread = p = pb_open(p, TREE_THREAD);
    p = pb_uint(p, 1, tid);
    if (name_bytes)
        p = pb_bytes(p, 2, name, name_bytes);
    p = pb_uint(p, 3, tgid);
    p = pb_close(thread, p);
    p = pb_close(tree, p);
    strobe_packets_end(w->packets, packet, p);
}

void strobe_ftrace_packets_process(struct strobe_ftrace_packets *w, uint64_t time_ns, uint32_t pid, uint32_t parent,
                                   const char *command, size_t command_bytes)
{
    command_bytes = command_bytes < PROCESS_TEXT_BYTES ? command_bytes : PROCESS_TEXT_BYTES;
    uint8_t *packet, *tree, *p = open_process_tree(w, time_ns, command_bytes, &packet, &tree);
    uint8_t *process = p = pb_open(p, TREE_PROCESS);
    p = pb_uint(p, 1, pid);
    p = pb_uint(p, 2, parent);
    p = pb_bytes(p, 3, command, command_bytes);
    p = pb_close(process, p);
    p = pb_close(tree, p);
    strobe_packets_end(w->packets, packet, p);
}
