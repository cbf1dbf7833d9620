/* The loop of the control server (engine/control/server.h): real sockets, a thread of the server, actions that count.
 */
#include "engine/control/server.h"
#include "tests/unit/support/control_client.h"
#include "tests/unit/support/trial.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SESSION_BYTES = 8 << 20, ROOM = 4096 };

static struct strobe_control_server server;
static pthread_t thread;
static const struct strobe_control_address *address = &server.options.address;
static strobe_a32 copies, releases, starts;
static char session[SESSION_BYTES];
static char answer[ROOM];

static void get_status(void *ctx, struct strobe_control_status *out)
{
    (void)ctx;
    *out = (struct strobe_control_status){.state = "running", .path = ""};
}

static bool get_feature(void *ctx, uint32_t index, char *out, size_t bytes)
{
    (void)ctx, (void)index, (void)out, (void)bytes;
    return false;
}

static enum strobe_status do_start(void *ctx, const char *options, struct strobe_error *error)
{
    (void)ctx, (void)options, (void)error;
    strobe_add_relaxed(&starts, 1);
    return STROBE_OK;
}

static enum strobe_status do_nothing(void *ctx, struct strobe_error *error)
{
    (void)ctx, (void)error;
    return STROBE_OK;
}

static enum strobe_status do_copy(void *ctx, uint32_t id, uint64_t last_ns, struct strobe_control_bytes *out,
                                  struct strobe_error *error)
{
    (void)ctx, (void)last_ns, (void)error;
    strobe_add_relaxed(&copies, 1);
    *out = (struct strobe_control_bytes){session, id ? id : SESSION_BYTES};
    return STROBE_OK;
}

static void do_release(void *ctx, struct strobe_control_bytes *bytes)
{
    (void)ctx;
    assert_ptr_equal(bytes->at, session);
    strobe_add_relaxed(&releases, 1);
}

static const struct strobe_control_actions actions = {NULL,       get_status, get_feature, do_start,   do_nothing,
                                                      do_nothing, do_nothing, do_copy,     do_release, do_nothing};

static void *serve(void *unused)
{
    (void)unused;
    strobe_control_serve(&server);
    return NULL;
}

static void begin_server(struct strobe_control_options options)
{
    static unsigned number;
    struct strobe_error error = {""};
    options.actions = &actions;
    options.access.uid = options.access.uid ? options.access.uid : (uint32_t)geteuid();
    if (!options.address.port)
        snprintf(options.address.name, sizeof options.address.name, "strobe-test-%d-%u", (int)getpid(), number++);
    else
        options.address.port = 0;
    if (strobe_control_open(&server, &options, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    strobe_store_relaxed(&copies, 0);
    strobe_store_relaxed(&releases, 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
}

static void end_server(void)
{
    strobe_control_ask_to_end(&server);
    pthread_join(thread, NULL);
    assert_int_equal(strobe_load_relaxed(&copies), strobe_load_relaxed(&releases));
}

static int ask(const char *request)
{
    return strobe_client_ask(address, request, answer, sizeof answer);
}

static const char status_request[] = "GET /status HTTP/1.1\r\nHost: a\r\n\r\n";

static int count_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* ---- */

static void requests_are_answered_over_an_abstract_socket(void **state)
{
    (void)state;
    begin_server((struct strobe_control_options){0});
    assert_int_equal(ask(status_request), 200);
    assert_non_null(strstr(answer, "\r\n\r\n{\"state\":\"running\""));
    assert_int_equal(ask("GET /nowhere HTTP/1.1\r\n\r\n"), 404);
    assert_int_equal(ask("NONSENSE\r\n"), 400);
    end_server();
}

static void a_session_arrives_whole(void **state)
{
    (void)state;
    begin_server((struct strobe_control_options){0});
    int fd = strobe_client_connect(address);
    static const char request[] = "GET /session HTTP/1.1\r\n\r\n";
    strobe_client_send(fd, request, sizeof request - 1);
    long bytes = strobe_client_finish(fd, answer, sizeof answer);
    const char *content = strstr(answer, "\r\n\r\n");
    assert_non_null(content);
    assert_int_equal(bytes - (content + 4 - answer), SESSION_BYTES);
    end_server();
}

static void a_name_that_is_taken_is_refused(void **state)
{
    (void)state;
    static struct strobe_control_server other;
    struct strobe_error error;
    begin_server((struct strobe_control_options){0});
    struct strobe_control_options options = server.options;
    assert_int_equal(strobe_control_open(&other, &options, &error), STROBE_EXISTS);
    assert_non_null(strstr(error.text, "is taken already"));
    assert_int_equal(ask(status_request), 200);
    end_server();
}

/* Asks as another user, in a child process. Returns the status of HTTP; 0 without an answer. */
static int ask_as(uint32_t uid)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        char text[ROOM];
        if (setuid(uid) != 0)
            _exit(255);
        _exit(strobe_client_ask(address, status_request, text, sizeof text) - 200);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? 200 + WEXITSTATUS(status) : -1;
}

static void other_users_get_403_but_the_shell_where_it_is_admitted(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    enum { APP = 10123, OTHER = 10124 };
    begin_server((struct strobe_control_options){.access.uid = APP});
    assert_int_equal(ask_as(APP), 200);
    assert_int_equal(ask_as(0), 200);
    assert_int_equal(ask_as(OTHER), 403);
    assert_int_equal(ask_as(STROBE_CONTROL_SHELL_UID), 403);
    end_server();
    begin_server((struct strobe_control_options){.access = {.uid = APP, .shell = true}});
    assert_int_equal(ask_as(STROBE_CONTROL_SHELL_UID), 200);
    assert_int_equal(ask_as(OTHER), 403);
    end_server();
}

static void by_tcp_only_the_token_gives_access(void **state)
{
    (void)state;
    char request[256];
    const char *token = server.options.access.token;
    begin_server((struct strobe_control_options){.address.port = 1});
    assert_int_equal(strlen(token), STROBE_CONTROL_TOKEN_BYTES);
    assert_int_equal(ask(status_request), 401);
    assert_non_null(strstr(answer, "WWW-Authenticate: Bearer"));
    for (int wrong = -1; wrong <= STROBE_CONTROL_TOKEN_BYTES; wrong++) {
        char tried[STROBE_CONTROL_TOKEN_BYTES + 2];
        snprintf(tried, sizeof tried, "%s%s", token, wrong == STROBE_CONTROL_TOKEN_BYTES ? "0" : "");
        if (wrong >= 0 && wrong < STROBE_CONTROL_TOKEN_BYTES)
            tried[wrong] ^= 1;
        snprintf(request, sizeof request, "GET /status HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n", tried);
        assert_int_equal(ask(request), wrong < 0 ? 200 : 401);
    }
    snprintf(request, sizeof request, "GET /status HTTP/1.1\r\nAuthorization: Bearer %.31s\r\n\r\n", token);
    assert_int_equal(ask(request), 401);
    end_server();
}

static void a_request_that_does_not_end_gets_408(void **state)
{
    (void)state;
    begin_server((struct strobe_control_options){.request_ms = 50});
    int fd = strobe_client_connect(address), silent = strobe_client_connect(address);
    strobe_client_send(fd, status_request, sizeof status_request - 2);
    strobe_client_finish(fd, answer, sizeof answer);
    assert_int_equal(strobe_client_status(answer), 408);
    strobe_client_finish(silent, answer, sizeof answer);
    assert_int_equal(strobe_client_status(answer), 408);
    end_server();
}

/* A client that sends a byte at a time does not extend the deadline. */
static void a_slow_request_gets_408_too(void **state)
{
    (void)state;
    begin_server((struct strobe_control_options){.request_ms = 100});
    int fd = strobe_client_connect(address);
    double begin = strobe_trial_now();
    for (size_t i = 0; i < sizeof status_request - 2 && strobe_trial_now() - begin < 5; i++) {
        if (!strobe_client_send(fd, status_request + i, 1))
            break;
        usleep(20000);
    }
    strobe_client_finish(fd, answer, sizeof answer);
    assert_int_equal(strobe_client_status(answer), 408);
    end_server();
}

static void wait_for_releases(uint32_t count)
{
    double begin = strobe_trial_now();
    while (strobe_load_relaxed(&releases) < count && strobe_trial_now() - begin < 10)
        usleep(1000);
    assert_int_equal(strobe_load_relaxed(&releases), count);
}

static void a_client_that_does_not_read_loses_its_transfer(void **state)
{
    (void)state;
    static const char request[] = "GET /session HTTP/1.1\r\n\r\n";
    begin_server((struct strobe_control_options){.send_ms = 50});
    int fd = strobe_client_connect(address);
    strobe_client_send(fd, request, sizeof request - 1);
    wait_for_releases(1);
    assert_int_equal(ask("GET /session/1 HTTP/1.1\r\n\r\n"), 200);
    close(fd);
    end_server();
}

static void two_transfers_are_not_sent_at_once(void **state)
{
    (void)state;
    static const char request[] = "GET /session HTTP/1.1\r\n\r\n";
    begin_server((struct strobe_control_options){0});
    int fd = strobe_client_connect(address);
    strobe_client_send(fd, request, sizeof request - 1);
    assert_int_equal(recv(fd, answer, 15, MSG_WAITALL), 15);
    assert_int_equal(ask(request), 503);
    assert_non_null(strstr(answer, "Retry-After: 1"));
    assert_int_equal(ask(status_request), 200);
    strobe_client_finish(fd, answer, sizeof answer);
    wait_for_releases(1);
    assert_int_equal(ask("GET /session/1 HTTP/1.1\r\n\r\n"), 200);
    end_server();
}

/* The client reads the refusal although it still sends. */
static void a_body_that_is_too_long_gets_its_answer(void **state)
{
    (void)state;
    static char text[200000];
    int head = snprintf(text, 128, "POST /start HTTP/1.1\r\nContent-Length: 190000\r\n\r\n");
    memset(text + head, 'b', 190000);
    begin_server((struct strobe_control_options){0});
    for (int i = 0; i < 20; i++) {
        int fd = strobe_client_connect(address);
        strobe_client_send(fd, text, (size_t)head + 190000);
        shutdown(fd, SHUT_WR);
        assert_true(strobe_client_finish(fd, answer, sizeof answer) > 0);
        assert_int_equal(strobe_client_status(answer), 413);
    }
    end_server();
}

static void a_connection_may_be_cut_at_every_byte(void **state)
{
    (void)state;
    static const char request[] = "POST /start HTTP/1.1\r\nContent-Length: 4\r\n\r\nreplace";
    begin_server((struct strobe_control_options){0});
    strobe_store_relaxed(&starts, 0);
    size_t whole = sizeof request - 4;
    for (size_t cut = 0; cut <= whole; cut++) {
        int fd = strobe_client_connect(address);
        strobe_client_send(fd, request, cut);
        close(fd);
        fd = strobe_client_connect(address);
        strobe_client_send(fd, request, cut);
        shutdown(fd, SHUT_WR);
        strobe_client_finish(fd, answer, sizeof answer);
        assert_int_equal(strobe_client_status(answer), cut == whole ? 200 : 0);
    }
    assert_int_equal(strobe_load_relaxed(&starts), 2);
    end_server();
}

/* A fifth connection is served when one of the four before it has ended. */
static void connections_beyond_four_wait(void **state)
{
    (void)state;
    int held[STROBE_CONTROL_CONNECTIONS];
    begin_server((struct strobe_control_options){.request_ms = 300});
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        held[i] = strobe_client_connect(address);
    assert_int_equal(ask(status_request), 200);
    for (int i = 0; i < STROBE_CONTROL_CONNECTIONS; i++)
        close(held[i]);
    end_server();
}

static double cpu_seconds(void)
{
    clockid_t clock;
    struct timespec t;
    assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void an_idle_server_uses_no_processor_time(void **state)
{
    (void)state;
    begin_server((struct strobe_control_options){0});
    assert_int_equal(ask(status_request), 200);
    usleep(100000); /* the connection has ended */
    double before = cpu_seconds();
    usleep(300000);
    assert_true(cpu_seconds() == before);
    end_server();
}

/* Without free descriptors a client waits, and the server does not spin. */
static void a_server_without_free_descriptors_does_not_spin(void **state)
{
    (void)state;
    struct rlimit before, few;
    begin_server((struct strobe_control_options){0});
    int fd = strobe_client_connect(address);
    strobe_client_send(fd, status_request, sizeof status_request - 1);
    strobe_client_finish(fd, answer, sizeof answer);
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    few.rlim_cur = (rlim_t)fd + 1;
    close(fd);
    fd = strobe_client_connect(address); /* takes the last one, before or after the server's accept */
    setrlimit(RLIMIT_NOFILE, &few);
    double cpu = cpu_seconds();
    usleep(300000);
    double used = cpu_seconds() - cpu;
    setrlimit(RLIMIT_NOFILE, &before);
    strobe_client_send(fd, status_request, sizeof status_request - 1);
    strobe_client_finish(fd, answer, sizeof answer);
    assert_int_equal(strobe_client_status(answer), 200);
    assert_true(used < 0.05);
    end_server();
}

/* ---- random sessions */

static void ten_thousand_random_sessions_leave_the_server_as_it_was(void **state)
{
    uint64_t seed = 1;
    (void)state;
    begin_server((struct strobe_control_options){.request_ms = 200});
    assert_int_equal(ask(status_request), 200);
    usleep(20000);
    int descriptors = count_descriptors();
    for (uint32_t i = 0; i < strobe_trial_rounds(10000); i++) {
        int status = strobe_client_play(address, &strobe_client_requests, &seed, answer, sizeof answer);
        assert_true(status == -1 || (200 <= status && status <= 503));
    }
    assert_int_equal(ask(status_request), 200);
    usleep(300000);
    assert_int_equal(count_descriptors(), descriptors);
    end_server();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered_over_an_abstract_socket),
        cmocka_unit_test(a_session_arrives_whole),
        cmocka_unit_test(a_name_that_is_taken_is_refused),
        cmocka_unit_test(other_users_get_403_but_the_shell_where_it_is_admitted),
        cmocka_unit_test(by_tcp_only_the_token_gives_access),
        cmocka_unit_test(a_request_that_does_not_end_gets_408),
        cmocka_unit_test(a_slow_request_gets_408_too),
        cmocka_unit_test(a_client_that_does_not_read_loses_its_transfer),
        cmocka_unit_test(two_transfers_are_not_sent_at_once),
        cmocka_unit_test(a_body_that_is_too_long_gets_its_answer),
        cmocka_unit_test(a_connection_may_be_cut_at_every_byte),
        cmocka_unit_test(connections_beyond_four_wait),
        cmocka_unit_test(an_idle_server_uses_no_processor_time),
        cmocka_unit_test(a_server_without_free_descriptors_does_not_spin),
        cmocka_unit_test(ten_thousand_random_sessions_leave_the_server_as_it_was),
    };
    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
