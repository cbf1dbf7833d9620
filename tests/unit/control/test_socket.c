/* Sockets of the control server on a system that refuses: names and ports that are taken, and no descriptors left. */
#include "engine/control/socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static struct strobe_control_address by_name(void)
{
    struct strobe_control_address a = {.port = 0};
    snprintf(a.name, sizeof a.name, "strobe-test-socket-%d", (int)getpid());
    return a;
}

/* Leaves the process without a free descriptor; returns the limit from before. */
static struct rlimit take_all_descriptors(void)
{
    struct rlimit limit, none;
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(lowest >= 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){(rlim_t)lowest, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return limit;
}

static void what_is_taken_is_said_with_its_name(void **state)
{
    struct strobe_control_address named = by_name(), port = {.port = 0};
    const struct {
        struct strobe_control_address *address;
        const char *what;
    } cases[] = {{&named, named.name}, {&port, "port"}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct strobe_error error = {""};
        char wanted[200];
        int first, second;
        assert_int_equal(strobe_socket_listen(cases[i].address, &first, &error), STROBE_OK);
        assert_int_equal(cases[i].address->port != 0, i == 1);
        assert_int_equal(strobe_socket_listen(cases[i].address, &second, &error), STROBE_EXISTS);
        snprintf(wanted, sizeof wanted, "control: %s: is taken already", cases[i].what);
        assert_string_equal(error.text, wanted);
        strobe_socket_close(first);
        assert_int_equal(strobe_socket_listen(cases[i].address, &first, &error), STROBE_OK); /* it is free again */
        strobe_socket_close(first);
    }
}

static void without_a_descriptor_no_socket_is_opened(void **state)
{
    struct strobe_control_address a = by_name();
    struct strobe_error error = {""};
    int fd;
    (void)state;
    struct rlimit limit = take_all_descriptors();
    enum strobe_status status = strobe_socket_listen(&a, &fd, &error);
    strobe_socket_nudge(&a); /* has no effect */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, STROBE_IO);
    assert_non_null(strstr(error.text, ": cannot listen there"));
}

static void a_client_that_gets_no_descriptor_is_not_taken_for_none(void **state)
{
    struct strobe_control_address a = by_name();
    struct strobe_error error = {""};
    int listener;
    bool exhausted = true;
    (void)state;
    assert_int_equal(strobe_socket_listen(&a, &listener, &error), STROBE_OK);
    assert_int_equal(strobe_socket_accept(listener, &exhausted), -1);
    assert_false(exhausted); /* no client waits */
    strobe_socket_nudge(&a);
    struct rlimit limit = take_all_descriptors();
    int refused = strobe_socket_accept(listener, &exhausted);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(refused, -1);
    assert_true(exhausted);
    int client = strobe_socket_accept(listener, &exhausted);
    assert_true(client >= 0);
    assert_false(exhausted);
    assert_true(fcntl(client, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(client, F_GETFL) & O_NONBLOCK);
    assert_int_equal(strobe_socket_read(client, &a, sizeof a), -1); /* the client has gone */
    strobe_socket_close(client);
    strobe_socket_close(listener);
}

static void what_is_no_socket_has_no_peer_and_no_bytes(void **state)
{
    uint32_t uid = 4711;
    char byte = 0;
    (void)state;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_false(strobe_socket_peer(fd, &uid));
    assert_int_equal(uid, 4711);
    assert_int_equal(strobe_socket_read(fd, &byte, 1), -1);
    assert_int_equal(strobe_socket_send(fd, &byte, 1), -1);
    close(fd);
}

static void a_poll_that_the_system_refuses_is_said_and_nothing_is_ready(void **state)
{
    struct rlimit limit, none;
    struct pollfd fds[2] = {{.fd = 0, .events = POLLIN, .revents = POLLIN}, {.fd = 1, .revents = POLLOUT}};
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){1, limit.rlim_max}; /* fewer than are polled */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool polled = strobe_socket_poll(fds, 2, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_false(polled);
    assert_int_equal(fds[0].revents, 0);
    assert_int_equal(fds[1].revents, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_said_with_its_name),
        cmocka_unit_test(without_a_descriptor_no_socket_is_opened),
        cmocka_unit_test(a_client_that_gets_no_descriptor_is_not_taken_for_none),
        cmocka_unit_test(what_is_no_socket_has_no_peer_and_no_bytes),
        cmocka_unit_test(a_poll_that_the_system_refuses_is_said_and_nothing_is_ready),
    };
    return cmocka_run_group_tests_name("socket", tests, NULL, NULL);
}
