/* The fake's libSystem: the functions that the lab's app calls through its image's pointers. */
#include "sim/fake/mach/app.h"
#include "sim/fake/mach/kernel.h"

#include <mach-o/nlist.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- images */

static const struct mach_header_64 *last_added, *last_removed;
static unsigned added, removed;

static void on_add(const struct mach_header *header, intptr_t slide)
{
    last_added = (const void *)header;
    added++;
    assert_int_equal((uintptr_t)header, 0x100000000 + (uint64_t)slide);
}

static void on_remove(const struct mach_header *header, intptr_t slide)
{
    (void)slide;
    last_removed = (const void *)header;
    removed++;
}

static void listeners_hear_of_images_that_are_there_come_and_go(void **state)
{
    (void)state;
    uint32_t before = _dyld_image_count();
    _dyld_register_func_for_add_image(on_add);
    _dyld_register_func_for_remove_image(on_remove);
    assert_int_equal(added, before);
    const struct mach_header_64 *image = fake_mach_image_open("/usr/lib/libmore.dylib");
    assert_non_null(image);
    assert_ptr_equal(last_added, image);
    assert_string_equal(_dyld_get_image_name(before), "/usr/lib/libmore.dylib");
    assert_ptr_equal(_dyld_get_image_header(before), image);
    fake_mach_image_close(image);
    assert_ptr_equal(last_removed, image);
    assert_int_equal(removed, 1);
    assert_int_equal(_dyld_image_count(), before);
    assert_null(_dyld_get_image_name(before));
}

/* Returns the pointer to which a name is bound. Finds it as hooks do, by the sections' part of the indirect symbol
 * table. */
static void **pointer_to(const struct mach_header_64 *image, intptr_t slide, const char *wanted)
{
    const struct load_command *c = (const void *)(image + 1);
    const struct section_64 *sections[2];
    const struct symtab_command *symtab = NULL;
    const struct dysymtab_command *dysymtab = NULL;
    uint64_t linkedit = 0;
    int found = 0;
    for (uint32_t i = 0; i < image->ncmds; i++, c = (const void *)((const char *)c + c->cmdsize)) {
        const struct segment_command_64 *s = (const void *)c;
        if (c->cmd == LC_SYMTAB)
            symtab = (const void *)c;
        if (c->cmd == LC_DYSYMTAB)
            dysymtab = (const void *)c;
        if (c->cmd == LC_SEGMENT_64 && s->nsects)
            sections[found++] = (const void *)(s + 1);
        if (c->cmd == LC_SEGMENT_64 && strcmp(s->segname, "__LINKEDIT") == 0)
            linkedit = s->vmaddr + (uint64_t)slide - s->fileoff;
    }
    assert_int_equal((const char *)c - (const char *)(image + 1), image->sizeofcmds);
    assert_int_equal(found, 2);
    const uint32_t *indirect = (const void *)(linkedit + dysymtab->indirectsymoff);
    const struct nlist_64 *symbols = (const void *)(linkedit + symtab->symoff);
    const char *names = (const void *)(linkedit + symtab->stroff);
    for (int k = 0; k < 2; k++)
        for (uint64_t i = 0; i < sections[k]->size / sizeof(void *); i++)
            if (strcmp(names + symbols[indirect[sections[k]->reserved1 + i]].n_un.n_strx, wanted) == 0)
                return (void **)(sections[k]->addr + (uint64_t)slide) + i;
    return NULL;
}

static int marked_unlock(pthread_mutex_t *m)
{
    return pthread_mutex_unlock(m) + 1000;
}

static void calls_of_the_app_go_through_pointers_that_its_symbols_lead_to(void **state)
{
    (void)state;
    struct fake_mach_app *app = fake_mach_app();
    const struct mach_header_64 *image = (const void *)_dyld_get_image_header(0);
    intptr_t slide = _dyld_get_image_vmaddr_slide(0);
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    assert_ptr_equal(pointer_to(image, slide, "_malloc"), &app->malloc);
    assert_ptr_equal(pointer_to(image, slide, "_gettimeofday"), &app->gettimeofday);
    assert_ptr_equal(pointer_to(image, slide, "_pthread_create"), &app->pthread_create);
    assert_ptr_equal(pointer_to(image, slide, "_nanosleep"), &app->nanosleep);
    assert_null(pointer_to(image, slide, "_objc_msgSend"));
    void **unlock = pointer_to(image, slide, "_pthread_mutex_unlock"), *was = *unlock;
    *unlock = (void *)marked_unlock;
    assert_int_equal(app->pthread_mutex_lock(&m), 0);
    assert_int_equal(app->pthread_mutex_unlock(&m), 1000);
    *unlock = was;
    assert_int_equal(app->pthread_mutex_lock(&m), 0);
    assert_int_equal(app->pthread_mutex_unlock(&m), 0);
}

/* ---- the heap's word */

static struct {
    uint32_t type;
    uintptr_t arg2, arg3, result;
    unsigned count;
} logged;

static void log_one(uint32_t type, uintptr_t zone, uintptr_t arg2, uintptr_t arg3, uintptr_t result, uint32_t skip)
{
    (void)skip;
    assert_int_not_equal(zone, 0);
    logged.type = type & ~MALLOC_LOG_TYPE_HAS_ZONE;
    logged.arg2 = arg2;
    logged.arg3 = arg3;
    logged.result = result;
    logged.count++;
}

static void the_heap_reports_the_apps_allocations_to_its_logger(void **state)
{
    (void)state;
    struct fake_mach_app *app = fake_mach_app();
    malloc_logger = log_one;
    void *p = app->malloc(24);
    assert_int_equal(logged.type, MALLOC_LOG_TYPE_ALLOCATE);
    assert_int_equal(logged.arg2, 24);
    assert_int_equal(logged.result, (uintptr_t)p);
    uintptr_t was = (uintptr_t)p;
    p = app->realloc(p, 2000);
    assert_int_equal(logged.type, MALLOC_LOG_TYPE_ALLOCATE | MALLOC_LOG_TYPE_DEALLOCATE);
    assert_int_equal(logged.arg2, was);
    assert_int_equal(logged.arg3, 2000);
    was = (uintptr_t)p;
    app->free(p);
    assert_int_equal(logged.type, MALLOC_LOG_TYPE_DEALLOCATE);
    assert_int_equal(logged.arg2, was);
    malloc_logger = NULL;
    app->free(app->calloc(3, 5));
    assert_int_equal(logged.count, 3);
}

/* ---- locks, dispatch, semaphores, messages */

enum { CROWD = 6, ROUNDS = 2000 };

static os_unfair_lock plain = OS_UNFAIR_LOCK_INIT;
static unsigned shared;

static void *lock_often(void *p)
{
    struct fake_mach_app *app = p;
    for (int i = 0; i < ROUNDS; i++) {
        app->os_unfair_lock_lock(&plain);
        shared++;
        app->os_unfair_lock_unlock(&plain);
    }
    return NULL;
}

static void a_plain_lock_has_one_owner_at_a_time(void **state)
{
    (void)state;
    pthread_t crowd[CROWD];
    struct fake_mach_app *app = fake_mach_app();
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(app->pthread_create(&crowd[i], NULL, lock_often, app), 0);
    for (int i = 0; i < CROWD; i++)
        app->pthread_join(crowd[i], NULL);
    assert_int_equal(shared, CROWD * ROUNDS);
    assert_int_equal(plain._os_unfair_lock_opaque, 0);
    assert_true(app->os_unfair_lock_trylock(&plain));
    assert_false(app->os_unfair_lock_trylock(&plain));
    app->os_unfair_lock_unlock(&plain);
}

static unsigned order[64], done;

static void note(void *number)
{
    order[done++] = (unsigned)(uintptr_t)number;
}

static void a_serial_queue_does_one_after_the_other_in_order(void **state)
{
    (void)state;
    struct fake_mach_app *app = fake_mach_app();
    dispatch_queue_t queue = dispatch_queue_create("lab", NULL);
    for (uintptr_t i = 0; i < 63; i++)
        (i % 7 == 3 ? app->dispatch_sync_f : app->dispatch_async_f)(queue, (void *)i, note);
    app->dispatch_sync_f(queue, (void *)63, note);
    assert_int_equal(done, 64);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(order[i], i);
    dispatch_release(queue);
}

static void leave(void *group)
{
    fake_mach_app()->usleep(500);
    fake_mach_app()->dispatch_group_leave(group);
}

static void groups_semaphores_and_once_wait_for_what_they_are_for(void **state)
{
    (void)state;
    struct fake_mach_app *app = fake_mach_app();
    dispatch_group_t group = dispatch_group_create();
    for (int i = 0; i < 8; i++) {
        dispatch_group_enter(group);
        app->dispatch_async_f(dispatch_get_global_queue(0, 0), group, leave);
    }
    assert_int_equal(app->dispatch_group_wait(group, DISPATCH_TIME_FOREVER), 0);
    dispatch_group_enter(group);
    assert_int_not_equal(app->dispatch_group_wait(group, dispatch_time(DISPATCH_TIME_NOW, 2000000)), 0);
    dispatch_semaphore_t one = dispatch_semaphore_create(1);
    assert_int_equal(app->dispatch_semaphore_wait(one, DISPATCH_TIME_NOW), 0);
    assert_int_not_equal(app->dispatch_semaphore_wait(one, DISPATCH_TIME_NOW), 0);
    assert_int_equal(app->dispatch_semaphore_signal(one), 0);
    assert_int_equal(app->dispatch_semaphore_wait(one, DISPATCH_TIME_FOREVER), 0);
    dispatch_once_t once = 0;
    done = 0;
    app->dispatch_once_f(&once, NULL, note);
    app->dispatch_once_f(&once, NULL, note);
    assert_int_equal(done, 1);
    assert_int_equal(once, ~(dispatch_once_t)0);
    dispatch_release(group);
    dispatch_release(one);
}

struct counting_block {
    struct block_literal block;
    _Atomic unsigned *runs;
    dispatch_semaphore_t over;
};
static struct {
    unsigned long reserved, bytes;
} counting_shape = {0, sizeof(struct counting_block)};

static void run_counting(void *b)
{
    struct counting_block *block = b;
    atomic_fetch_add(block->runs, 1);
    dispatch_semaphore_signal(block->over);
}

static void a_block_that_is_run_later_is_a_copy(void **state)
{
    (void)state;
    _Atomic unsigned runs = 0;
    struct fake_mach_app *app = fake_mach_app();
    dispatch_semaphore_t over = dispatch_semaphore_create(0);
    dispatch_queue_t queue = dispatch_queue_create("lab", NULL);
    struct counting_block block = {{NULL, 0, 0, run_counting, &counting_shape}, &runs, over};
    app->dispatch_sync(queue, &block);
    app->dispatch_async(queue, &block);
    memset(&block, 0, sizeof block);
    dispatch_semaphore_wait(over, DISPATCH_TIME_FOREVER);
    dispatch_semaphore_wait(over, DISPATCH_TIME_FOREVER);
    assert_int_equal(runs, 2);
    app->dispatch_sync_f(queue, NULL, note); /* no other block is running */
    dispatch_release(queue);
    dispatch_release(over);
}

struct letter {
    mach_msg_header_t header;
    unsigned text;
};

static void *post_letter(void *port)
{
    struct letter l = {{.msgh_remote_port = *(mach_port_t *)port}, 42};
    usleep(2000);
    return (void *)(intptr_t)mach_msg(&l.header, MACH_SEND_MSG, sizeof l, 0, MACH_PORT_NULL, 0, MACH_PORT_NULL);
}

static void a_run_loop_waits_for_a_message_and_no_longer_than_it_may(void **state)
{
    (void)state;
    struct fake_mach_app *app = fake_mach_app();
    mach_port_t port;
    pthread_t sender;
    struct letter l = {.text = 0};
    assert_int_equal(mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port), KERN_SUCCESS);
    assert_int_equal(app->mach_msg(&l.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof l, port, 2, MACH_PORT_NULL),
                     MACH_RCV_TIMED_OUT);
    assert_int_equal(pthread_create(&sender, NULL, post_letter, &port), 0);
    assert_int_equal(app->mach_msg(&l.header, MACH_RCV_MSG, 0, sizeof l, port, 0, MACH_PORT_NULL), KERN_SUCCESS);
    assert_int_equal(l.text, 42);
    pthread_join(sender, NULL);
    assert_int_equal(mach_port_deallocate(mach_task_self(), port), KERN_INVALID_RIGHT);
    assert_int_equal(mach_port_mod_refs(mach_task_self(), port, MACH_PORT_RIGHT_RECEIVE, -1), KERN_SUCCESS);
    assert_int_equal(app->mach_msg(&l.header, MACH_RCV_MSG, 0, sizeof l, port, 0, MACH_PORT_NULL),
                     MACH_RCV_INVALID_NAME);
}

static _Atomic int woken;

/* A thread that does not wait yet misses the signal, so the signal is repeated until the thread has woken. */
static void *signal_all_until_woken(void *semaphore)
{
    while (!atomic_load(&woken)) {
        usleep(2000);
        semaphore_signal_all(*(semaphore_t *)semaphore);
    }
    return NULL;
}

static void a_mach_semaphore_ends_one_wait_for_each_signal(void **state)
{
    (void)state;
    struct fake_mach_app *app = fake_mach_app();
    semaphore_t s;
    pthread_t other;
    assert_int_equal(semaphore_create(mach_task_self(), &s, 0, 1), KERN_SUCCESS);
    assert_int_equal(app->semaphore_wait(s), KERN_SUCCESS);
    assert_int_equal(app->semaphore_timedwait(s, (mach_timespec_t){0, 1000000}), KERN_OPERATION_TIMED_OUT);
    assert_int_equal(pthread_create(&other, NULL, signal_all_until_woken, &s), 0);
    assert_int_equal(app->semaphore_wait(s), KERN_SUCCESS);
    atomic_store(&woken, 1);
    pthread_join(other, NULL);
    assert_int_equal(semaphore_destroy(mach_task_self(), s), KERN_SUCCESS);
    assert_int_equal(app->semaphore_wait(s), KERN_INVALID_ARGUMENT);
    mach_port_deallocate(mach_task_self(), s);
}

/* ---- waits, while suspended again and again */

static _Atomic uint64_t slept_ns;

static void *sleep_20_ms(void *p)
{
    uint64_t from = fake_on->now_ns();
    ((struct fake_mach_app *)p)->usleep(20000);
    atomic_store(&slept_ns, fake_on->now_ns() - from);
    return NULL;
}

static void suspensions_end_no_sleep_early(void **state)
{
    (void)state;
    pthread_t sleeper;
    struct fake_mach_app *app = fake_mach_app();
    app->pthread_create(&sleeper, NULL, sleep_20_ms, app);
    mach_port_t port = pthread_mach_thread_np(sleeper);
    while (!atomic_load(&slept_ns)) {
        if (thread_suspend(port) == KERN_SUCCESS)
            thread_resume(port);
        usleep(100); /* otherwise the thread might never run */
    }
    assert_true(atomic_load(&slept_ns) >= 20000000);
    app->pthread_join(sleeper, NULL);
}

/* ---- the introspection hook */

static _Atomic unsigned starts, ends;

static void introspect(unsigned event, pthread_t thread, void *address, size_t bytes)
{
    char here;
    assert_true(pthread_equal(thread, pthread_self()));
    assert_true(&here >= (char *)address && &here < (char *)address + bytes);
    atomic_fetch_add(event == PTHREAD_INTROSPECTION_THREAD_START ? &starts : &ends, 1);
}

static void *exit_by_call(void *p)
{
    assert_int_equal(atomic_load(&starts) > atomic_load(&ends), true);
    if (p)
        pthread_exit(p);
    return NULL;
}

static void the_hook_sees_each_thread_start_and_end(void **state)
{
    (void)state;
    pthread_t threads[4];
    struct fake_mach_app *app = fake_mach_app();
    pthread_introspection_hook_install(introspect);
    for (int i = 0; i < 4; i++)
        app->pthread_create(&threads[i], NULL, exit_by_call, i % 2 ? app : NULL);
    for (int i = 0; i < 4; i++)
        app->pthread_join(threads[i], NULL);
    assert_ptr_equal(pthread_introspection_hook_install(NULL), introspect);
    assert_int_equal(atomic_load(&starts), 4);
    assert_int_equal(atomic_load(&ends), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* The first test, because it counts all threads of the process, and workers of queues end at any time after
         * their test. */
        cmocka_unit_test(the_hook_sees_each_thread_start_and_end),
        cmocka_unit_test(listeners_hear_of_images_that_are_there_come_and_go),
        cmocka_unit_test(calls_of_the_app_go_through_pointers_that_its_symbols_lead_to),
        cmocka_unit_test(the_heap_reports_the_apps_allocations_to_its_logger),
        cmocka_unit_test(a_plain_lock_has_one_owner_at_a_time),
        cmocka_unit_test(a_serial_queue_does_one_after_the_other_in_order),
        cmocka_unit_test(groups_semaphores_and_once_wait_for_what_they_are_for),
        cmocka_unit_test(a_block_that_is_run_later_is_a_copy),
        cmocka_unit_test(a_run_loop_waits_for_a_message_and_no_longer_than_it_may),
        cmocka_unit_test(a_mach_semaphore_ends_one_wait_for_each_signal),
        cmocka_unit_test(suspensions_end_no_sleep_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
