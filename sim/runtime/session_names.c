#include "sim/runtime/session_names.h"

#include "engine/base/atomic.h"

#include <stdio.h>
#include <string.h>

uint32_t sim_session_names_bytes(const struct sim_scenario *scenario)
{
    uint64_t bytes = sizeof(struct strobe_names_head);
    for (uint32_t i = 0; i < scenario->method_count; i++)
        bytes += strobe_names_entry_bytes((uint32_t)strlen(scenario->methods[i].name), true);
    for (unsigned kind = 0; kind < STROBE_KIND_COUNT; kind++)
        bytes += strobe_names_entry_bytes((uint32_t)strlen(strobe_kind_name((enum strobe_kind)kind)), true);
    return bytes < STROBE_NAMES_BYTES_MIN ? STROBE_NAMES_BYTES_MIN : (uint32_t)bytes;
}

void sim_session_add_image(const struct strobe_session *s, const char *name, uint64_t start, uint64_t bytes)
{
    struct strobe_image_entry *e = bytes ? strobe_session_add_image(s) : NULL;
    if (!e)
        return;
    e->start = e->bias = start;
    e->end = start + bytes;
    snprintf(e->path, sizeof e->path, "%s", name);
    strobe_store_release(&e->published, 1);
}

void sim_session_add_name(const struct strobe_session *s, const char *name, uint64_t start, uint64_t bytes)
{
    strobe_names_add_code(&s->names,
                          &(struct strobe_named_address){
                              .address = start, .text = name, .bytes = (uint32_t)strlen(name), .code_bytes = bytes});
}

void sim_session_add_methods(const struct strobe_session *s, const struct sim_scenario *scenario, uint64_t address,
                             uint64_t bytes_each)
{
    const struct sim_method *m = scenario->methods;
    for (uint32_t first = 0, i = 0; i < scenario->method_count; i++) {
        sim_session_add_name(s, m[i].name, address + i * bytes_each, bytes_each);
        if (i + 1 < scenario->method_count && m[i + 1].image == m[i].image)
            continue;
        sim_session_add_image(s, scenario->images[m[first].image].name, address + first * bytes_each,
                              (i + 1 - first) * bytes_each);
        first = i + 1;
    }
}
