/* Thread-local variables for hooks on systems whose own thread-local variables a hook must not access. The linker of
 * Android before level 29 has none. Darwin allocates a thread's memory from the heap at the thread's first access,
 * which in a hook of the heap recurses without end. The compiler turns each access into a call of __emutls_get_address
 * with a control block (GCC's emulated TLS, as compiler-rt documents it; -femulated-tls). Compilers' own runtimes take
 * memory from the heap for it. This one maps a page for each thread, so that a hook may run anywhere.
 *
 *   page       each variable is at the offset that its control block got at the first access
 *   last byte  the number of destructor rounds since the page's thread began to end
 *
 * A pthread key holds the page. The key's destructor unmaps the page in the third of at least four rounds, because
 * destructors in earlier rounds may access variables.
 *
 * This file never ends the program. A thread for which no page can be mapped, or for which there is no key, gets one of
 * a few static pages, found by the thread's handle. When these are used up, the capture is turned off, and all further
 * threads share the last page. Hooks then find the switch off and do not access the page. */
#include "engine/capture/engine.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 16384, ROUNDS = 3 }; /* out of at least four (PTHREAD_DESTRUCTOR_ITERATIONS) */

struct control {
    size_t bytes, align;
    uintptr_t offset;    /* offset in a thread's page + 1; 0 = not assigned */
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
static uintptr_t used; /* bytes of a page assigned to variables */

static void unmap(void *page)
{
    if (++((char *)page)[PAGE_BYTES - 1] < ROUNDS && pthread_setspecific(key, page) == 0)
        return;
    munmap(page, PAGE_BYTES);
}

/* Runs while the library is loaded, before any hook can run. (Mach-O runs constructors in the order in which objects
 * are linked; this object is the first.) */
__attribute__((constructor(101))) static void make_key(void)
{
    has_key = pthread_key_create(&key, unmap) == 0;
}

static char *shared_page(void)
{
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    return spare[SPARE_PAGES - 1].page;
}

/* Returns the page of the calling thread's handle. A thread that reuses the handle of an ended thread reuses its
 * page. */
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

/* Returns the variable's offset, and assigns one at the first access. When two threads do so at once, one offset
 * counts. The other is freed, or lost when further bytes were assigned since. */
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

/* The upper half of a page has a byte for each eight bytes of the lower half. It is not 0 when the variable that begins
 * there has been initialized. */
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
