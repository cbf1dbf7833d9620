/* Thread-local variables where the system has none that a hook may touch: the linker of Android before level 29 knows
 * none, and Darwin's takes a thread's memory from the heap when the thread first touches one, which in a hook of the
 * heap has no end. The compiler turns each into a call of __emutls_get_address with a control block (GCC's emulated
 * TLS, as compiler-rt documents it; -femulated-tls). Compilers' own runtimes take memory from the heap for it; this
 * one maps a page for each thread, so that a hook may run anywhere.
 *
 *   page    variables, each at the offset that its control block was given when it was first met
 *
 *           its last byte counts the rounds of destructors that it has outlived
 *
 * The page is found by a pthread key and goes with its thread: in the last round but one, for what others do at the end
 * of a thread may touch variables.
 *
 * Nothing here ends the program. A thread that cannot be given a page, or has no key to find it by, gets one of a few
 * that the library brings, found by the thread's handle. When those are used up too, the capture is turned off, and the
 * threads that come late share the last one: hooks then find nothing on and leave it alone. */
#include "engine/capture/engine.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 16384, ROUNDS = 3 }; /* of at least four (PTHREAD_DESTRUCTOR_ITERATIONS) */

struct control {
    size_t bytes, align;
    uintptr_t offset;    /* in a thread's page, + 1; 0 = not given yet */
    const void *initial; /* NULL = zeros */
};

void *__emutls_get_address(struct control *c);

enum { SPARE_PAGES = 16 };
static struct {
    uintptr_t owner;
    _Alignas(16) char page[PAGE_BYTES];
} spare[SPARE_PAGES];

static pthread_key_t key;
static int has_key;
static uintptr_t used; /* bytes of a page that have been given away */

static void unmap(void *page)
{
    if (++((char *)page)[PAGE_BYTES - 1] < ROUNDS && pthread_setspecific(key, page) == 0)
        return;
    munmap(page, PAGE_BYTES);
}

/* Before any hook can be: the library is being loaded. (Mach-O knows no order of constructors but that in which objects
 * are linked: there this one comes first.) */
__attribute__((constructor(101))) static void make_key(void)
{
    has_key = pthread_key_create(&key, unmap) == 0;
}

static char *shared_page(void)
{
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    return spare[SPARE_PAGES - 1].page;
}

/* A thread that has the handle of one that ended has its page, too. */
static char *spare_page(void)
{
    uintptr_t self = (uintptr_t)pthread_self();
    for (int i = 0; i < SPARE_PAGES - 1; i++) {
        uintptr_t owner = 0;
        if (__atomic_load_n(&spare[i].owner, __ATOMIC_RELAXED) == self ||
            __atomic_compare_exchange_n(&spare[i].owner, &owner, self, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return spare[i].page;
    }
    return shared_page();
}

static char *make_page(void)
{
    char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return spare_page();
    if (pthread_setspecific(key, page) == 0)
        return page;
    munmap(page, PAGE_BYTES);
    return spare_page();
}

/* Of two threads that meet a variable at once one's offset counts; the other's is given back, or lost if more were
 * given away since. */
static uintptr_t offset_of(struct control *c)
{
    uintptr_t offset = __atomic_load_n(&c->offset, __ATOMIC_ACQUIRE), mine, end;
    if (offset)
        return offset - 1;
    uintptr_t from = __atomic_load_n(&used, __ATOMIC_RELAXED), slack = (c->align - 1) | 7;
    do {
        mine = (from + slack) & ~slack;
        end = mine + c->bytes;
    } while (!__atomic_compare_exchange_n(&used, &from, end, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    if (__atomic_compare_exchange_n(&c->offset, &offset, mine + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return mine;
    __atomic_compare_exchange_n(&used, &end, from, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return offset - 1;
}

/* The upper half of a page has a byte for each eight below: not 0 = the variable that begins there was initialized. */
void *__emutls_get_address(struct control *c)
{
    uintptr_t offset = offset_of(c);
    if (offset + c->bytes > PAGE_BYTES / 2)
        return shared_page(); /* more variables than this file was written for */
    char *page = has_key ? pthread_getspecific(key) : spare_page();
    if (!page)
        page = make_page();
    if (c->initial && !page[PAGE_BYTES / 2 + offset / 8]) {
        memcpy(page + offset, c->initial, c->bytes);
        page[PAGE_BYTES / 2 + offset / 8] = 1;
    }
    return page + offset;
}
