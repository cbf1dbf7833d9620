/* Rules about reads of memory that may be unmapped or unreadable. */
#include "tests/contract_mach/crew.h"

enum { PAGES = 3, MARK = 0x5a };

/* Three pages. A rule changes the middle one. `give` releases them at the end of the rule. */
struct pages {
    vm_address_t at;
    vm_size_t page;
};

static bool take(struct pages *p)
{
    p->at = 0;
    p->page = crew_env->page_bytes;
    if (vm_allocate(mach_task_self(), &p->at, PAGES * p->page, VM_FLAGS_ANYWHERE) != KERN_SUCCESS)
        return false;
    unsigned char *bytes = (unsigned char *)p->at;
    for (vm_size_t i = 0; i < PAGES * p->page; i++)
        bytes[i] = (unsigned char)(i ^ i >> 8);
    return true;
}

/* Releases the pages one by one, because the rule may have released the middle one. */
static void give(const struct pages *p)
{
    for (unsigned i = 0; i < PAGES; i++)
        vm_deallocate(mach_task_self(), p->at + i * p->page, p->page);
}

static kern_return_t read_at(vm_address_t at, void *out, vm_size_t bytes)
{
    vm_size_t got = 0;
    kern_return_t kr = vm_read_overwrite(mach_task_self(), at, bytes, (vm_address_t)out, &got);
    return kr == KERN_SUCCESS && got != bytes ? KERN_FAILURE : kr;
}

static void mark(unsigned char *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bytes[i] = MARK;
}

static bool marked(const unsigned char *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (bytes[i] != MARK)
            return false;
    return true;
}

static const char *reads_what_is_there(void)
{
    struct pages p;
    unsigned char out[64];
    REQUIRE(take(&p));
    for (vm_size_t at = p.page - 50; at < p.page + 10; at += 7) { /* also across pages, not aligned */
        mark(out, sizeof out);
        REQUIRE(read_at(p.at + at, out, 33) == KERN_SUCCESS);
        for (unsigned i = 0; i < 33; i++)
            REQUIRE(out[i] == ((const unsigned char *)p.at)[at + i]);
        REQUIRE(marked(out + 33, sizeof out - 33));
    }
    give(&p);
    return NULL;
}

static const char *unmapped(void)
{
    struct pages p;
    unsigned char out[16];
    mark(out, sizeof out);
    REQUIRE(take(&p));
    REQUIRE(vm_deallocate(mach_task_self(), p.at + p.page, p.page) == KERN_SUCCESS);
    REQUIRE(read_at(p.at + p.page, out, sizeof out) == KERN_INVALID_ADDRESS);
    REQUIRE(marked(out, sizeof out));
    give(&p);
    return NULL;
}

static const char *partly_unmapped(void)
{
    struct pages p;
    unsigned char out[16];
    mark(out, sizeof out);
    REQUIRE(take(&p));
    REQUIRE(vm_deallocate(mach_task_self(), p.at + p.page, p.page) == KERN_SUCCESS);
    REQUIRE(read_at(p.at + p.page - 8, out, sizeof out) == KERN_INVALID_ADDRESS);
    REQUIRE(marked(out, sizeof out));
    REQUIRE(read_at(p.at + 2 * p.page - 8, out, sizeof out) == KERN_INVALID_ADDRESS);
    REQUIRE(marked(out, sizeof out));
    REQUIRE(read_at(p.at + p.page - 8, out, 8) == KERN_SUCCESS);
    REQUIRE(read_at(p.at + 2 * p.page, out, 8) == KERN_SUCCESS);
    give(&p);
    return NULL;
}

static const char *protected(void)
{
    struct pages p;
    unsigned char out[16];
    mark(out, sizeof out);
    REQUIRE(take(&p));
    REQUIRE(vm_protect(mach_task_self(), p.at + p.page, p.page, 0, VM_PROT_NONE) == KERN_SUCCESS);
    REQUIRE(read_at(p.at + p.page, out, sizeof out) == KERN_PROTECTION_FAILURE);
    REQUIRE(read_at(p.at + p.page - 8, out, sizeof out) == KERN_PROTECTION_FAILURE);
    REQUIRE(marked(out, sizeof out));
    REQUIRE(vm_protect(mach_task_self(), p.at + p.page, p.page, 0, VM_PROT_READ) == KERN_SUCCESS);
    REQUIRE(read_at(p.at + p.page, out, sizeof out) == KERN_SUCCESS);
    give(&p);
    return NULL;
}

static const char *page_of_null(void)
{
    unsigned char out[16];
    mark(out, sizeof out);
    REQUIRE(read_at(0, out, sizeof out) != KERN_SUCCESS && read_at(8, out, sizeof out) != KERN_SUCCESS);
    REQUIRE(marked(out, sizeof out));
    return NULL;
}

static const char *end_of_the_space(void)
{
    unsigned char out[16];
    mark(out, sizeof out);
    REQUIRE(read_at(~(vm_address_t)0 - 7, out, sizeof out) != KERN_SUCCESS);
    REQUIRE(read_at(~(vm_address_t)0 - 15, out, sizeof out) != KERN_SUCCESS);
    REQUIRE(marked(out, sizeof out));
    return NULL;
}

static const char *no_task(void)
{
    vm_size_t got = 0;
    unsigned char out[16], in[16];
    mark(out, sizeof out);
    mark(in, sizeof in);
    REQUIRE(vm_read_overwrite(MACH_PORT_NULL, (vm_address_t)in, sizeof in, (vm_address_t)out, &got) != KERN_SUCCESS);
    return NULL;
}

static const char *fresh_is_zero(void)
{
    vm_address_t at = 0;
    REQUIRE(vm_allocate(mach_task_self(), &at, crew_env->page_bytes, VM_FLAGS_ANYWHERE) == KERN_SUCCESS);
    for (vm_size_t i = 0; i < crew_env->page_bytes; i++)
        REQUIRE(((const unsigned char *)at)[i] == 0);
    REQUIRE(vm_deallocate(mach_task_self(), at, crew_env->page_bytes) == KERN_SUCCESS);
    return NULL;
}

static const char *stack_of_a_stopped_thread(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    crew_registers regs;
    uintptr_t record[2];
    REQUIRE(m && !crew_stop(m));
    REQUIRE(crew_registers_of(m->port, &regs) == KERN_SUCCESS);
    const uintptr_t *direct = (const uintptr_t *)crew_fp(&regs);
    for (int i = 0; i < 3; i++) {
        REQUIRE(read_at((vm_address_t)direct, record, sizeof record) == KERN_SUCCESS);
        REQUIRE(record[0] == direct[0] && record[1] == direct[1]);
        crew_env->pass(1);
    }
    return NULL;
}

const struct mach_rule rules_of_memory[] = {
    {"a read gives the bytes that are there and touches nothing behind them", reads_what_is_there, MACH_RULES_ANY},
    {"a read of unmapped memory is KERN_INVALID_ADDRESS and gives nothing", unmapped, MACH_RULES_ANY},
    {"a read of which a part is unmapped gives nothing", partly_unmapped, MACH_RULES_ANY},
    {"a read of protected memory is KERN_PROTECTION_FAILURE until it may be read", protected, MACH_RULES_ANY},
    {"a read at address 0 fails", page_of_null, MACH_RULES_ANY},
    {"a read at or over the end of the address space fails", end_of_the_space, MACH_RULES_ANY},
    {"a read of no task fails", no_task, MACH_RULES_ANY},
    {"fresh memory is zero", fresh_is_zero, MACH_RULES_ANY},
    {"a stopped thread's stack reads as it stands", stack_of_a_stopped_thread, MACH_RULES_ANY | MACH_RULES_FRAMES},
    {NULL, NULL, 0},
};
