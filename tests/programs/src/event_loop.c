/* An event loop of poll, read, compute about 0.4 ms, write; another thread sends the requests:  event_loop REQUESTS */
#include "tests/programs/src/work.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static uint64_t requests;

static DEFINE_WORK(compute_answer, 0xbf58476d1ce4e5b9u) static DEFINE_WORK(parse_request, 0x94d049bb133111ebu)

    static void *send_requests(void *unused)
{
    (void)unused;
    uint64_t answer = 1;
    for (uint64_t i = 0; i < requests; i++) {
        if (write(ends[1], &answer, sizeof answer) != sizeof answer || read(ends[1], &answer, sizeof answer) < 1)
            abort();
        if (i % 8 == 0)
            usleep(300);
    }
    printf("%llu\n", (unsigned long long)answer);
    shutdown(ends[1], SHUT_WR);
    return NULL;
}

static HOT void serve_requests(void)
{
    uint64_t word;
    struct pollfd ready = {ends[0], POLLIN, 0};
    while (poll(&ready, 1, -1) == 1 && read(ends[0], &word, sizeof word) == sizeof word) {
        word = parse_request(15000, word);
        word = compute_answer(135000, word);
        if (write(ends[0], &word, sizeof word) != sizeof word)
            abort();
    }
}

int main(int argc, char **argv)
{
    pthread_t sender;
    requests = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || pthread_create(&sender, NULL, send_requests, NULL))
        return 1;
    serve_requests();
    pthread_join(sender, NULL);
    return 0;
}
