/* Writes to channels (engine/backend/common/libc/channels.h) for which a thread waits. The waits are played; the
 * descriptors are real. */
#include "engine/backend/common/libc/channels.h"
#include "tests/unit/support/waits.h"

#include <limits.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool strobe_hook_in_vfork(void)
{
    return false;
}

/* Thread 1 writes `bytes` to `fd` while thread 0 waits for `reader`. Returns whether the call counts as one that
 * released the reader and did not wait. */
static bool releases_by_writing(int fd, int reader, size_t bytes)
{
    waits(0, (uint64_t)(unsigned)reader, STROBE_KIND_POLL);
    struct strobe_hook_scope s = strobe_hook_open(thread[1], STROBE_KIND_WRITE, (uint64_t)(unsigned)fd, site_of(1));
    strobe_channel_feed(&s, fd, bytes);
    bool released = thread[1]->scope[0].released;
    strobe_hook_close(&s);
    gets(0, (uint64_t)(unsigned)reader);
    return released;
}

/* Returns the waker of thread 0's wait. */
static int last_waker(void)
{
    int last = NO_RECORD, next;
    for (uint32_t i = 0; (next = waker(0, i, NULL)) != NO_RECORD; i++)
        last = next;
    return last;
}

static void a_write_of_no_more_than_an_empty_pipe_takes_never_waits(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    strobe_channel_made_pipe(ends);
    assert_true(releases_by_writing(ends[1], ends[0], 1));
    assert_true(releases_by_writing(ends[1], ends[0], PIPE_BUF));
    assert_int_equal(last_waker(), 1);
    for (int i = 0; i < 2; i++) {
        strobe_channel_close(ends[i]);
        close(ends[i]);
    }
}

static void a_longer_write_may_wait_for_room_but_still_ends_the_readers_wait(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    strobe_channel_made_pipe(ends);
    assert_false(releases_by_writing(ends[1], ends[0], PIPE_BUF + 1));
    assert_false(releases_by_writing(ends[1], ends[0], SIZE_MAX));
    assert_int_equal(last_waker(), 1);
    for (int i = 0; i < 2; i++) {
        strobe_channel_close(ends[i]);
        close(ends[i]);
    }
}

static void a_write_to_a_channel_for_which_no_thread_waits_is_not_marked(void **state)
{
    (void)state;
    int counter = eventfd(0, 0), other = eventfd(0, 0);
    assert_true(counter >= 0 && other >= 0);
    strobe_channel_made_counter(counter);
    strobe_channel_made_counter(other);
    assert_true(releases_by_writing(counter, counter, 8));
    assert_false(releases_by_writing(counter, other, 8));
    strobe_channel_close(counter);
    strobe_channel_close(other);
    close(counter);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_write_of_no_more_than_an_empty_pipe_takes_never_waits),
        CASE(a_longer_write_may_wait_for_room_but_still_ends_the_readers_wait),
        CASE(a_write_to_a_channel_for_which_no_thread_waits_is_not_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
