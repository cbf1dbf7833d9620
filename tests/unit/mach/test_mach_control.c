/* Random clients of the control server in an app that captures itself, on the fake Mach: they begin, pause, stop and
 * fetch captures, send nonsense, and leave in the middle, while the app's threads work. No client harms the app, and
 * the session that a client fetches at the end is consistent. With FULL=1, as nightly, there are ten thousand. */
#include "engine/base/error.h"
#include "engine/include/strobe/capture.h"
#include "engine/trace/session/reader.h"
#include "sim/fake/mach/app.h"
#include "tests/support/temporary.h"
#include "tests/unit/support/control_client.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 3, QUICK = 200, FULL = 10000, ANSWER_BYTES = 4096, SESSION_BYTES = 64 << 20 };

static char path[TEMPORARY_BYTES], control_file[TEMPORARY_BYTES + 8];
static struct strobe_control_address address;
static char token[64];
static atomic_int ends;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the app */

/* A call by a pointer of the app, which a capture exchanges meanwhile. gcc calls by an atomic pointer without an atomic
 * load, which is a race. */
#define CALL(name) atomic_load(&app->name)

static void *work(void *p)
{
    struct fake_mach_app *app = p;
    while (!atomic_load(&ends)) {
        void *memory = CALL(malloc)(100);
        CALL(pthread_mutex_lock)(&lock);
        for (volatile int i = 0; i < 2000; i++)
            continue;
        CALL(pthread_mutex_unlock)(&lock);
        CALL(free)(memory);
        CALL(usleep)(200);
    }
    return NULL;
}

static void read_control_file(void)
{
    unsigned port = 0;
    FILE *f = fopen(control_file, "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "connect-to = \"::127.0.0.1:%u\"\nheader = \"Authorization: Bearer %32s", &port, token),
                     2);
    fclose(f);
    address.port = (uint16_t)port;
}

/* ---- clients */

/* `%s` stands for the token. A wrong token is one of the requests, too. */
static const char *const forms[] = {
    "GET /status HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n",
    "POST /start HTTP/1.1\r\nAuthorization: Bearer %s\r\nContent-Length: 12\r\n\r\nrecords=2048",
    "POST /start HTTP/1.1\r\nAuthorization: Bearer %s\r\nContent-Length: 6\r\n\r\npaused",
    "POST /stop HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n",
    "POST /pause HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n",
    "POST /resume HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n",
    "GET /session HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n",
    "POST /snapshot?last=50ms HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n",
    "GET /session/1 HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n",
    "POST /dump HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n",
    "GET /status HTTP/1.1\r\nAuthorization: Bearer %.20s\r\n\r\n",
};
enum { FORMS = sizeof forms / sizeof forms[0], START = 1, STOP = 3, SESSION = 6 };

static char text[FORMS][STROBE_CLIENT_REQUEST_BYTES];
static const char *requests[FORMS];
static char answer[ANSWER_BYTES];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void fill_in_token(void)
{
    for (int i = 0; i < FORMS; i++) {
        snprintf(text[i], sizeof text[i], forms[i], token);
        requests[i] = text[i];
    }
}
#pragma GCC diagnostic pop

static int ask(int form)
{
    return strobe_client_ask(&address, requests[form], answer, sizeof answer);
}

/* Fetches the session, and opens it as a file. */
static struct strobe_reader *fetch_session(void)
{
    struct strobe_reader *r;
    struct strobe_error error = {""};
    char fetched[TEMPORARY_BYTES], *bytes = malloc(SESSION_BYTES);
    assert_non_null(bytes);
    int fd = strobe_client_connect(&address);
    strobe_client_send(fd, requests[SESSION], strlen(requests[SESSION]));
    long n = strobe_client_finish(fd, bytes, SESSION_BYTES);
    const char *content = strstr(bytes, "\r\n\r\n");
    assert_int_equal(strobe_client_status(bytes), 200);
    assert_non_null(content);
    assert_in_range(n, 1, SESSION_BYTES - 1);
    temporary_path(fetched, "strobe-mach-fetched-%d", (int)getpid());
    FILE *f = fopen(fetched, "we");
    assert_true(f && fwrite(content + 4, (size_t)(bytes + n - content - 4), 1, f) == 1 && !fclose(f));
    free(bytes);
    enum strobe_status status = strobe_reader_open(fetched, &r, &error);
    unlink(fetched);
    if (status != STROBE_OK || !strobe_reader_check(r, &error))
        fail_msg("%s", error.text);
    return r;
}

static void random_clients_leave_an_app_that_captures_itself_unharmed(void **state)
{
    static const struct strobe_client_requests all = {requests, FORMS};
    struct strobe_capture_options options = {
        .session_path = path, .replace = 1, .records_max = 4096, .control_port = -1};
    struct strobe_error error = {""};
    struct fake_mach_app *app = fake_mach_app();
    pthread_t thread[THREADS];
    uint64_t seed = 1;
    (void)state;
    assert_int_equal(strobe_start(&options, &error), STROBE_OK);
    read_control_file();
    fill_in_token();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(CALL(pthread_create)(&thread[i], NULL, work, app), 0);
    for (uint32_t i = 0; i < strobe_trial_nightly(QUICK, FULL); i++) {
        int status = strobe_client_play(&address, &all, &seed, answer, sizeof answer);
        if (status != -1 && (status < 200 || status > 503 || status == 500))
            fail_msg("session %u: %d: %s", i, status, answer);
    }
    ask(STOP);
    assert_int_equal(ask(START), 200);
    CALL(usleep)(50000);
    struct strobe_reader *r = fetch_session();
    assert_in_range(r->thread_count, THREADS, THREADS + 1);
    assert_true(r->samples > 0);
    strobe_reader_close(r);
    assert_int_equal(ask(STOP), 200);
    atomic_store(&ends, 1);
    for (int i = 0; i < THREADS; i++)
        CALL(pthread_join)(thread[i], NULL);
}

static int make_paths(void **state)
{
    (void)state;
    temporary_path(path, "strobe-mach-control-%d", (int)getpid());
    snprintf(control_file, sizeof control_file, "%s.control", path);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    strobe_stop();
    unlink(path);
    unlink(control_file);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_clients_leave_an_app_that_captures_itself_unharmed),
    };
    return cmocka_run_group_tests_name("mach_control", tests, make_paths, remove_files);
}
