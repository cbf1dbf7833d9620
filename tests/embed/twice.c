/* Captures itself twice, and checks what the second capture keeps of the first one: the bounds of a thread's stack, and
 * the thread of the control server, which the program's captures must leave alone.
 *
 *   twice FIRST SECOND NAME      the sessions, and the name of the control server's socket */
#include <alloca.h>
#include <dirent.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strobe/capture.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* FRAMES calls take 256 KiB of stack, more than the engine copies of a stack whose bounds it does not know. */
enum { FRAMES = 32, FRAME_BYTES = 8192, REQUESTS = 200, REQUEST_US = 1000 };

static int faults;

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    faults = 1;
    printf("does not hold: %s\n", what);
}

__attribute__((noinline)) static void descend(int frames)
{
    volatile char *memory = alloca(FRAME_BYTES);
    memory[0] = 0;
    if (frames)
        descend(frames - 1);
    else
        usleep(2000);
    memory[1] = 0;
}

__attribute__((noinline)) static void *live(void *p)
{
    for (;;)
        descend(FRAMES);
    return p;
}

static void begin_capture(const char *path, const char *control)
{
    struct strobe_error error;
    struct strobe_capture_options options = {.session_path = path, .replace = 1, .control = control};
    if (strobe_start(&options, &error) == STROBE_OK)
        return;
    printf("%s\n", error.text);
    exit(1);
}

/* Connects to the server and ends the connection, so that the server's thread runs. */
static void occupy_server(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    memcpy(at.sun_path + 1, name, strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(fd >= 0 && connect(fd, (const struct sockaddr *)&at, bytes) == 0, "the server outlives the first capture");
    close(fd);
}

/* Reads /proc/self/task/TASK/FILE. */
static void read_task(const char *task, const char *file, char *text, size_t bytes)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, file);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, bytes - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
}

/* Returns the signals that wait for the server's thread, as /proc writes them; "" when there is no such thread. */
static const char *pending_of_server(void)
{
    static char status[4096];
    char name[32];
    const char *line = NULL;
    struct dirent *e;
    DIR *d = opendir("/proc/self/task");
    while (d && !line && (e = readdir(d))) {
        read_task(e->d_name, "comm", name, sizeof name);
        if (strcmp(name, "strobe-control\n") != 0)
            continue;
        read_task(e->d_name, "status", status, sizeof status);
        line = strstr(status, "SigPnd:\t");
    }
    if (d)
        closedir(d);
    if (!line)
        return "";
    status[line - status + 24] = '\0';
    return line + 8;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 4)
        return 2;
    begin_capture(argv[1], argv[3]);
    pthread_create(&thread, NULL, live, NULL);
    usleep(50000);
    expect(strobe_stop() == STROBE_OK, "the first capture ends");
    begin_capture(argv[2], NULL);
    for (int i = 0; i < REQUESTS; i++) {
        occupy_server(argv[3]);
        usleep(REQUEST_US);
    }
    expect(!strcmp(pending_of_server(), "0000000000000000"), "a capture asks no thread of the server to register");
    expect(strobe_stop() == STROBE_OK, "the second capture ends");
    return faults;
}
