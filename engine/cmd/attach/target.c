#include "engine/cmd/attach/target.h"

#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/trace/symbols/elf_info.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- /proc/PID/status ---- */

struct status {
    bool found;
    char state;
    int tgid, tracer, seccomp;
    unsigned uid;
};

static struct status read_status(struct strobe_target *t)
{
    char path[64], line[512];
    struct status s = {.found = false};
    snprintf(path, sizeof path, "/proc/%d/status", (int)t->pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        s.found = true;
        sscanf(line, "Name: %15[^\n]", t->name);
        sscanf(line, "State: %c", &s.state);
        sscanf(line, "Tgid: %d", &s.tgid);
        sscanf(line, "TracerPid: %d", &s.tracer);
        sscanf(line, "Seccomp: %d", &s.seccomp);
        sscanf(line, "Uid: %*u %u", &s.uid); /* the effective id */
    }
    if (f)
        fclose(f);
    t->uid = s.uid;
    return s;
}

static void read_command_line(struct strobe_target *t)
{
    char path[64];
    size_t words = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)t->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, t->command, sizeof t->command - 1);
    if (fd >= 0)
        close(fd);
    for (char *at = t->command, *end = t->command + (n > 0 ? n : 0); at < end && words < STROBE_TARGET_WORDS;
         at += strlen(at) + 1)
        t->words[words++] = at;
    if (!words)
        t->words[0] = t->name;
}

/* ---- refusals ---- */

int strobe_target_refused(const struct strobe_target *t)
{
    int scope = 0;
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (f && fscanf(f, "%d", &scope) != 1)
        scope = 0;
    if (f)
        fclose(f);
    if (geteuid() && geteuid() != t->uid)
        return strobe_complain("%d: belongs to another user (%u): run strobe as that user or as root", (int)t->pid,
                               (unsigned)t->uid);
    if (scope == 3)
        return strobe_complain(
            "%d: this system forbids ptrace until it is booted again (kernel.yama.ptrace_scope is 3)", (int)t->pid);
    if (scope && (scope == 2 || geteuid()))
        return strobe_complain("%d: kernel.yama.ptrace_scope is %d: run strobe as root, or set it to 0 by sysctl",
                               (int)t->pid, scope);
    return strobe_complain("%d: the system does not allow ptrace: strobe needs the capability CAP_SYS_PTRACE",
                           (int)t->pid);
}

static int refuse_status(const struct strobe_target *t, const struct status *s)
{
    int pid = (int)t->pid;
    if (!s->found)
        return strobe_complain("%d: no such process", pid);
    if (s->tgid != pid)
        return strobe_complain("%d: is a thread of process %d: attach to that process", pid, s->tgid);
    if (pid == (int)getpid())
        return strobe_complain("%d: is strobe itself", pid);
    if (s->tracer)
        return strobe_complain("%d: process %d traces it already, for example as its debugger", pid, s->tracer);
    if (s->state == 'Z' || s->state == 'X')
        return strobe_complain("%d: has ended", pid);
    if (s->state == 'T')
        return strobe_complain("%d: is stopped: continue it first (kill -CONT %d)", pid, pid);
    if (s->seccomp)
        return strobe_complain("%d: restricts its system calls by seccomp: the library's calls would end it", pid);
    return 0;
}

static int refuse_kind(const struct strobe_target *t, const struct strobe_elf_info *info)
{
    const char *loader = strrchr(info->interpreter, '/');
    if (info->kind == STROBE_ELF_STATIC)
        return strobe_complain("%d: %s is statically linked: no library can be loaded into it", (int)t->pid,
                               t->program);
    if (info->kind != STROBE_ELF_DYNAMIC)
        return strobe_complain("%d: %s is %s, expected a program of this machine", (int)t->pid, t->program,
                               strobe_elf_kind_text(info->kind));
    if (!loader || strncmp(loader, "/ld-linux", 9))
        return strobe_complain("%d: %s uses the loader %s, expected that of glibc", (int)t->pid, t->program,
                               info->interpreter);
    if (info->flags & (STROBE_ELF_ASAN | STROBE_ELF_TSAN))
        return strobe_complain("%d: %s is built with a sanitizer, whose runtime must be loaded after strobe: use "
                               "strobe record",
                               (int)t->pid, t->program);
    return 0;
}

/* The engine is in the process already when one of its libraries is mapped. */
static int refuse_mapped(const struct strobe_target *t)
{
    char path[64], line[PATH_MAX + 128], *at;
    bool attached = false, recorded = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)t->pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return strobe_target_refused(t);
    for (errno = 0; fgets(line, sizeof line, f);)
        if ((at = strrchr(line, '/')) != NULL) {
            attached = attached || !strncmp(at, "/libstrobe-attach", 17);
            recorded = recorded || !strncmp(at, "/libstrobe-preload", 18) || !strncmp(at, "/libstrobe-capture", 18);
        }
    fclose(f);
    if (attached)
        return strobe_complain("%d: strobe is attached to it, or has not left it yet", (int)t->pid);
    return recorded ? strobe_complain("%d: is recorded already, by strobe record or by itself", (int)t->pid) : 0;
}

/* In a container the paths of the library and of the session would be others. */
static int refuse_place(const struct strobe_target *t)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/root", (int)t->pid);
    if (stat(path, &other) != 0)
        return errno == EACCES ? strobe_target_refused(t) : strobe_complain("%d: has ended", (int)t->pid);
    if (stat("/", &own) == 0 && (own.st_dev != other.st_dev || own.st_ino != other.st_ino))
        return strobe_complain("%d: has another root directory: run strobe in its container", (int)t->pid);
    return 0;
}

int strobe_target_check(const char *pid_text, struct strobe_target *t)
{
    uint64_t pid;
    char path[64];
    struct strobe_elf_info info;
    memset(t, 0, sizeof *t);
    if (!strobe_parse_number(pid_text, INT_MAX, &pid) || !pid)
        return strobe_complain("attach: %s: expected the number of a process", pid_text);
    t->pid = (pid_t)pid;
    struct status s = read_status(t);
    int refused = refuse_status(t, &s);
    if (refused)
        return refused;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)t->pid);
    ssize_t n = readlink(path, t->program, sizeof t->program - 1);
    if (n < 0)
        return errno == EACCES ? strobe_target_refused(t)
                               : strobe_complain("%d: is a thread of the kernel, or has ended", (int)t->pid);
    read_command_line(t);
    if ((refused = refuse_place(t)) != 0 || (refused = refuse_mapped(t)) != 0)
        return refused;
    if (strobe_elf_info(path, &info) != STROBE_OK)
        return strobe_complain("%s: %s", t->program, strerror(errno));
    return refuse_kind(t, &info);
}

bool strobe_target_has_thread(const struct strobe_target *t, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)t->pid, (int)tid);
    return access(path, F_OK) == 0;
}
