/* Counts calls and makes selected calls fail. */
#include "sim/fake/mach/kernel.h"

#include <string.h>

const struct fake_mach_system *fake_on = &fake_mach_pthreads;
bool fake_gnu;

enum { FAULTS = 8, NAME_BYTES = 48 };

/* A fault: the calls of a name with numbers from `from` to before `until`. A test sets it before the calls begin. */
struct fault {
    char name[NAME_BYTES];
    uint64_t from, until;
    kern_return_t code;
};
static struct fault faults[FAULTS];
static _Atomic uint32_t fault_count;

static struct fake_call *_Atomic calls;
static _Atomic uint64_t all, any; /* `any`: number among all calls of the one that fails, 0 = none */
static kern_return_t any_code;
static const char *_Atomic any_name;

void fake_mach_use_system(const struct fake_mach_system *system)
{
    fake_on = system;
}
void fake_mach_kernel(enum fake_mach_kernels kernel)
{
    fake_gnu = kernel == FAKE_MACH_GNU;
}

static void list_fault_call(struct fake_call *c)
{
    if (atomic_load_explicit(&c->listed, memory_order_acquire) || atomic_exchange(&c->listed, true))
        return;
    c->next = atomic_load(&calls);
    while (!atomic_compare_exchange_weak(&calls, &c->next, c))
        ;
}

kern_return_t fake_call_counts(struct fake_call *c)
{
    list_fault_call(c);
    uint64_t nth = atomic_fetch_add_explicit(&c->count, 1, memory_order_relaxed) + 1;
    uint64_t of_all = atomic_fetch_add_explicit(&all, 1, memory_order_relaxed) + 1;
    if (of_all == atomic_load_explicit(&any, memory_order_acquire)) {
        atomic_store(&any_name, c->name);
        return any_code;
    }
    uint32_t n = atomic_load_explicit(&fault_count, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (nth >= faults[i].from && nth < faults[i].until && strcmp(faults[i].name, c->name) == 0)
            return faults[i].code;
    return KERN_SUCCESS;
}

uint64_t fake_mach_calls(const char *name)
{
    if (!name)
        return atomic_load(&all);
    for (struct fake_call *c = atomic_load(&calls); c; c = c->next)
        if (strcmp(c->name, name) == 0)
            return atomic_load(&c->count);
    return 0;
}

void fake_mach_fail(const char *name, uint64_t nth, uint64_t times, kern_return_t code)
{
    uint32_t n = atomic_load(&fault_count);
    if (n == FAULTS || strlen(name) >= NAME_BYTES)
        return;
    uint64_t from = fake_mach_calls(name) + nth;
    faults[n] = (struct fault){.from = from, .until = from + times, .code = code};
    strcpy(faults[n].name, name);
    atomic_store_explicit(&fault_count, n + 1, memory_order_release);
}

void fake_mach_fail_none(void)
{
    atomic_store(&fault_count, 0);
    atomic_store(&any, 0);
    atomic_store(&any_name, NULL);
}

void fake_mach_fail_any(uint64_t nth, kern_return_t code)
{
    any_code = code;
    atomic_store(&any_name, NULL);
    atomic_store(&any, atomic_load(&all) + nth);
}

const char *fake_mach_failed(void)
{
    return atomic_load(&any_name);
}
