/* A minimal sampler, to test the host itself: two threads allocate, and a third one suspends them, reads their
 * registers and resumes them. A call may be planted in between. */
#include "tests/deadlock/plants.h"
#include "tests/emulate/guest/libsystem.h"

int bare_main(void);

enum { WORKERS = 2, ROUNDS = 300, BLOCK_BYTES = 48 };

static uint32_t over;

static void *allocate(void *name)
{
    pthread_setname_np(name);
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
        free(malloc(BLOCK_BYTES));
    return NULL;
}

static int look_at(thread_act_t thread)
{
    arm_thread_state64_t state;
    mach_msg_type_number_t count = ARM_THREAD_STATE64_COUNT;
    struct thread_basic_info info;
    mach_msg_type_number_t info_count = THREAD_BASIC_INFO_COUNT;
    if (thread_suspend(thread) != KERN_SUCCESS)
        return 1;
    do
        if (thread_info(thread, THREAD_BASIC_INFO, (thread_info_t)&info, &info_count) != KERN_SUCCESS)
            break;
    while (info.run_state == TH_STATE_RUNNING);
    kern_return_t read = thread_get_state(thread, ARM_THREAD_STATE64, (thread_state_t)&state, &count);
    planted_call();
    return thread_resume(thread) != KERN_SUCCESS || read != KERN_SUCCESS;
}

int bare_main(void)
{
    pthread_t workers[WORKERS];
    char *names[WORKERS] = {"worker 1", "worker 2"};
    int wrong = 0;
    planted_choose();
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, allocate, names[i]))
            return 1;
    for (int round = 0; round < ROUNDS; round++)
        wrong += look_at(pthread_mach_thread_np(workers[round % WORKERS]));
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return wrong != 0;
}
