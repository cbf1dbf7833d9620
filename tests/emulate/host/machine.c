#include "tests/emulate/host/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM_BASE UINT64_C(0x280000000)

void machine_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("emulate: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

void machine_init(struct machine *m)
{
    memset(m, 0, sizeof *m);
    uc_err error = uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &m->uc);
    if (error)
        machine_die("no processor: %s", uc_strerror(error));
    uc_ctl_set_cpu_model(m->uc, UC_CPU_ARM64_MAX);
    machine_set_register(m, UC_ARM64_REG_CPACR_EL1, UINT64_C(3) << 20); /* vector registers may be used */
}

/* ---- regions */

static void show(struct machine *m, const struct machine_region *r)
{
    uc_err error = uc_mem_map_ptr(m->uc, r->base, r->bytes, r->protection, r->memory);
    if (error)
        machine_die("can't map %#llx: %s", (unsigned long long)r->base, uc_strerror(error));
}

/* Index of the first region that ends after `address`. */
static size_t after(const struct machine *m, uint64_t address)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (m->regions[middle].base + m->regions[middle].bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void put_in(struct machine *m, size_t index, const struct machine_region *r)
{
    if (m->count == MACHINE_REGIONS)
        machine_die("more than %d regions of memory", MACHINE_REGIONS);
    memmove(&m->regions[index + 1], &m->regions[index], (m->count - index) * sizeof *r);
    m->regions[index] = *r;
    m->count++;
}

/* Makes `address` a border of regions. */
static void split(struct machine *m, uint64_t address)
{
    size_t i = after(m, address);
    if (i == m->count || m->regions[i].base >= address)
        return;
    struct machine_region *low = &m->regions[i], high = *low;
    uc_mem_unmap(m->uc, low->base, low->bytes);
    high.base = address;
    high.bytes = low->base + low->bytes - address;
    high.memory += address - low->base;
    low->bytes = address - low->base;
    show(m, low);
    show(m, &high);
    put_in(m, i + 1, &high);
}

static bool map(struct machine *m, const struct machine_region *what, int flags, int fd, uint64_t offset)
{
    size_t i = after(m, what->base);
    struct machine_region r = *what;
    if (!r.bytes || r.bytes % MACHINE_PAGE || r.base % MACHINE_PAGE ||
        (i < m->count && m->regions[i].base < r.base + r.bytes))
        return false;
    void *memory = mmap(NULL, r.bytes, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
    if (memory == MAP_FAILED)
        return false;
    r.memory = memory;
    show(m, &r);
    put_in(m, i, &r);
    return true;
}

bool machine_map(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection)
{
    struct machine_region r = {.base = base, .bytes = bytes, .protection = protection};
    return map(m, &r, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

bool machine_map_file(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection, int fd, uint64_t offset,
                      bool shared)
{
    struct machine_region r = {.base = base, .bytes = bytes, .protection = protection};
    return map(m, &r, shared ? MAP_SHARED : MAP_PRIVATE, fd, offset);
}

uint64_t machine_room(const struct machine *m, uint64_t bytes)
{
    uint64_t base = ROOM_BASE + MACHINE_PAGE;
    for (size_t i = after(m, ROOM_BASE); i < m->count && m->regions[i].base < base + bytes + MACHINE_PAGE; i++)
        base = m->regions[i].base + m->regions[i].bytes + MACHINE_PAGE;
    return base;
}

void machine_unmap(struct machine *m, uint64_t base, uint64_t bytes)
{
    split(m, base);
    split(m, base + bytes);
    size_t first = after(m, base), end = first;
    for (; end < m->count && m->regions[end].base < base + bytes; end++) {
        uc_mem_unmap(m->uc, m->regions[end].base, m->regions[end].bytes);
        munmap(m->regions[end].memory, m->regions[end].bytes);
    }
    memmove(&m->regions[first], &m->regions[end], (m->count - end) * sizeof m->regions[0]);
    m->count -= end - first;
}

bool machine_protect(struct machine *m, uint64_t base, uint64_t bytes, unsigned protection)
{
    if (!machine_allows(m, base, bytes, 0))
        return false;
    split(m, base);
    split(m, base + bytes);
    for (size_t i = after(m, base); i < m->count && m->regions[i].base < base + bytes; i++) {
        m->regions[i].protection = protection;
        uc_mem_protect(m->uc, m->regions[i].base, m->regions[i].bytes, protection);
    }
    return true;
}

/* ---- memory of regions */

uint8_t *machine_at(const struct machine *m, uint64_t address, uint64_t *bytes, unsigned *protection)
{
    size_t i = after(m, address);
    if (i == m->count || address < m->regions[i].base)
        return NULL;
    const struct machine_region *r = &m->regions[i];
    *bytes = r->base + r->bytes - address;
    *protection = r->protection;
    return r->memory + (address - r->base);
}

bool machine_allows(const struct machine *m, uint64_t address, uint64_t bytes, unsigned protection)
{
    uint64_t here;
    unsigned has;
    for (; bytes; bytes -= here, address += here) {
        if (!machine_at(m, address, &here, &has) || (has & protection) != protection)
            return false;
        here = here < bytes ? here : bytes;
    }
    return true;
}

bool machine_read(const struct machine *m, uint64_t address, void *out, uint64_t bytes)
{
    if (!machine_allows(m, address, bytes, MACHINE_READ))
        return false;
    uint8_t *to = out;
    uint64_t here;
    unsigned protection;
    for (; bytes; bytes -= here, address += here, to += here) {
        const uint8_t *from = machine_at(m, address, &here, &protection);
        here = here < bytes ? here : bytes;
        memcpy(to, from, here);
    }
    return true;
}

bool machine_write(const struct machine *m, uint64_t address, const void *data, uint64_t bytes)
{
    if (!machine_allows(m, address, bytes, MACHINE_WRITE))
        return false;
    const uint8_t *from = data;
    uint64_t here;
    unsigned protection;
    for (; bytes; bytes -= here, address += here, from += here) {
        uint8_t *to = machine_at(m, address, &here, &protection);
        here = here < bytes ? here : bytes;
        memcpy(to, from, here);
    }
    return true;
}

uint64_t machine_word(const struct machine *m, uint64_t address)
{
    uint64_t word;
    if (!machine_read(m, address, &word, sizeof word))
        machine_die("nothing is mapped at %#llx", (unsigned long long)address);
    return word;
}

void machine_text(const struct machine *m, uint64_t address, char *out, size_t bytes)
{
    size_t i = 0;
    while (i + 1 < bytes && machine_read(m, address + i, &out[i], 1) && out[i])
        i++;
    out[i] = '\0';
}

uint64_t machine_register(const struct machine *m, int id)
{
    uint64_t value = 0;
    uc_reg_read(m->uc, id, &value);
    return value;
}

void machine_set_register(const struct machine *m, int id, uint64_t value)
{
    uc_reg_write(m->uc, id, &value);
}
