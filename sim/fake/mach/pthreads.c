/* The fake Mach over this machine's threads: all threads of the process, whatever created them.
 *
 * A thread is represented by a record. A listing of /proc/self/task, or the thread's own first call, makes the record.
 * The thread's id has the record's number in its low bits, and the number of uses of the record above them. A later
 * thread with the same system thread id therefore has another id. The record keeps a file of the thread in /proc open,
 * which shows whether the thread lives and whether it runs. Beyond KEPT_FILES threads the file is opened for each
 * query, because the app needs file descriptors, too.
 *
 *   word      changed by                       meaning
 *   RUNS      go                               no request
 *   ASKED     stop, from RUNS                  a signal is on its way, unless the thread is in the kernel
 *   NOTED     the thread's handler, from ASKED the thread is in the kernel and will stop when it comes out
 *   STANDS    the thread, from ASKED or NOTED  its registers are stored; it waits for the word to change
 *   ENDED     any thread that finds it out     it has ended
 *
 * stop stores ASKED, then checks whether the thread is in the kernel. leave stores that the thread is out of the
 * kernel, then checks for ASKED. All these accesses are seq_cst, so one of the two threads sees the other's store. A
 * signal that comes late finds RUNS and does nothing, or finds a later request and serves that.
 *
 * Threads that block the signal from their start, such as those of a sanitizer or an emulator, do not belong to the app
 * and are invisible. A thread that blocks it later counts as in the kernel. */
#include "sim/fake/mach/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { RECORDS = 1 << 14, SLOT_BITS = 14, BUCKETS = 1 << 12, KEPT_FILES = 256, SETTLE_NS = 200000, PATIENCE = 10 };
enum { RUNS, ASKED, NOTED, STANDS, ENDED };

struct record {
    _Atomic uint64_t id;          /* 0 = free */
    _Atomic uint32_t word, depth; /* depth: nesting of calls in the kernel */
    _Atomic bool waits, stands;   /* stands: the thread is executing stand_still */
    int32_t tid, fd;
    pthread_t thread; /* 0: unknown */
    uint64_t start;   /* start time of the thread in the system's ticks: distinguishes it from others with the same
                         system thread id */
    uint32_t uses, next;
    uint32_t listed; /* the last listing that contained it */
    struct fake_mach_place from;
    fake_mach_registers registers;
    uint64_t cpu_ns;              /* at its last stop */
    uint64_t waited_at;           /* its CPU time when it was last seen waiting; 0: not seen */
    char name[MAXTHREADNAMESIZE]; /* set by pthread_setname_self_np; "": the system's own name counts */
};

static struct record records[RECORDS]; /* [0] is unused */
static uint32_t buckets[BUCKETS], used = 1, first_free, files, listings;
static _Atomic uint32_t locked; /* 0 free, 1 taken, 2 taken and waited for */
static _Atomic int32_t process; /* 0: not set up, or set up by the parent process */
static _Thread_local struct record *me;

static long kernel_futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

static void records_lock(void)
{
    uint32_t seen = 0;
    if (atomic_compare_exchange_strong(&locked, &seen, 1))
        return;
    while (atomic_exchange(&locked, 2) != 0)
        kernel_futex(&locked, FUTEX_WAIT, 2, NULL);
}

static void records_unlock(void)
{
    if (atomic_exchange(&locked, 0) == 2)
        kernel_futex(&locked, FUTEX_WAKE, 1, NULL);
}

static int signal_number(void)
{
    return SIGRTMAX - 4;
}

/* ---- files of a thread in /proc */

/* A spare file descriptor for the case that the app has used up all descriptors. A function that needs one closes it,
 * and opens it again when done. Any context. */
static _Atomic int spare = -1;

static int open_proc_file(const char *path, int flags)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, flags, 0);
    while (fd < 0 && errno == EMFILE) {
        int had = atomic_exchange(&spare, -1);
        if (had < 0)
            break;
        close(had);
        fd = syscall(SYS_openat, AT_FDCWD, path, flags, 0);
    }
    return (int)fd;
}

static void keep_spare(void)
{
    int none = -1, fd = atomic_load(&spare) < 0 ? (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0) : -1;
    if (fd >= 0 && !atomic_compare_exchange_strong(&spare, &none, fd))
        close(fd);
}

static void close_file(int fd)
{
    close(fd);
    keep_spare();
}

static int open_of_thread(int32_t tid, const char *file)
{
    char path[64] = "/proc/self/task/", digits[12];
    size_t n = strlen(path), d = 0;
    do
        digits[d++] = (char)('0' + tid % 10);
    while (tid /= 10);
    while (d)
        path[n++] = digits[--d];
    strcpy(path + n, file);
    return open_proc_file(path, O_RDONLY | O_CLOEXEC);
}

/* State letter and start time from /proc/.../stat. The read fails when the thread does not exist any more. */
struct stat_line {
    char state;
    uint64_t start;
};

static bool read_stat(int fd, struct stat_line *out)
{
    char text[512];
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strrchr(text, ')');
    if (got <= 0 || !at)
        return false;
    *out = (struct stat_line){.state = at[2]};
    for (int field = 2; field < 22 && *at; at++) /* the name, which ends here, is the 2nd field, the start time the
                                                    22nd */
        field += *at == ' ';
    for (; *at >= '0' && *at <= '9'; at++)
        out->start = out->start * 10 + (uint64_t)(*at - '0');
    return out->state != 'Z' && out->state != 'X';
}

static bool stat_of(const struct record *r, struct stat_line *out)
{
    if (r->fd >= 0)
        return read_stat(r->fd, out);
    int fd = open_of_thread(r->tid, "/stat");
    *out = (struct stat_line){'S', r->start}; /* without a free descriptor the thread counts as alive */
    bool lives = fd >= 0 ? read_stat(fd, out) && out->start == r->start : errno == EMFILE;
    if (fd >= 0)
        close_file(fd);
    return lives;
}

static bool blocks_the_signal(int32_t tid)
{
    char text[4096];
    int fd = open_of_thread(tid, "/status");
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close_file(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strstr(text, "\nSigBlk:\t");
    if (!at)
        return true;
    uint64_t blocked = 0;
    for (at += strlen("\nSigBlk:\t"); *at && *at != '\n'; at++)
        blocked = blocked << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    return blocked >> (signal_number() - 1) & 1;
}

/* ---- records: with the lock held */

static struct record *record_by_id(uint64_t id)
{
    struct record *r = &records[id % RECORDS];
    return atomic_load_explicit(&r->id, memory_order_acquire) == id ? r : NULL;
}

static struct record *record_by_tid(int32_t tid)
{
    uint32_t i = buckets[(uint32_t)tid % BUCKETS];
    while (i && records[i].tid != tid)
        i = records[i].next;
    return i ? &records[i] : NULL;
}

static void unlink_record(struct record *r)
{
    uint32_t *link = &buckets[(uint32_t)r->tid % BUCKETS], i = (uint32_t)(r - records);
    while (*link && *link != i)
        link = &records[*link].next;
    if (*link)
        *link = r->next;
    if (r->fd >= 0) {
        close(r->fd);
        files--;
    }
    r->fd = -1;
}

/* Ends the record of a thread that has ended, whose system thread id may be reused from now on. */
static void end_record(struct record *r)
{
    if (atomic_exchange(&r->word, ENDED) == ENDED)
        return;
    unlink_record(r);
    kernel_futex(&r->word, FUTEX_WAKE, INT_MAX, NULL);
}

static struct record *make_record(int32_t tid)
{
    struct stat_line stat;
    int fd = open_of_thread(tid, "/stat");
    if (fd < 0)
        return NULL;
    uint32_t i = first_free;
    if (!read_stat(fd, &stat) || (!i && used == RECORDS)) {
        close_file(fd);
        return NULL;
    }
    if (i)
        first_free = records[i].next;
    else
        i = used++;
    struct record *r = &records[i];
    bool keeps = files < KEPT_FILES && atomic_load(&spare) >= 0;
    files += keeps;
    if (!keeps)
        close_file(fd);
    r->tid = tid;
    r->thread = 0;
    r->waited_at = 0;
    r->name[0] = '\0';
    r->fd = keeps ? fd : -1;
    r->start = stat.start;
    r->next = buckets[(uint32_t)tid % BUCKETS];
    atomic_store(&r->waits, false);
    atomic_store(&r->stands, false);
    atomic_store(&r->depth, 0);
    atomic_store(&r->word, RUNS);
    atomic_store_explicit(&r->id, (uint64_t)++r->uses << SLOT_BITS | i, memory_order_release);
    buckets[(uint32_t)tid % BUCKETS] = i;
    return r;
}

/* Returns the record of the live thread with this system thread id. */
static struct record *present_record(int32_t tid)
{
    struct stat_line stat;
    struct record *r = record_by_tid(tid);
    if (r && !stat_of(r, &stat)) {
        end_record(r);
        r = NULL;
    }
    return r;
}

static void kernel_forget(uint64_t id)
{
    struct record *r = record_by_id(id);
    if (!r)
        return;
    end_record(r);
    atomic_store(&r->id, 0);
    r->next = first_free;
    first_free = (uint32_t)(r - records);
}

static uint64_t kernel_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- executed by the thread itself */

static bool is_asked(uint32_t word)
{
    return word == ASKED || word == NOTED;
}

/* Stores the registers and waits. A thread that lets this one go may request the next stop at once. A signal that
 * comes meanwhile, as it may at leave, requests what is done already; it must not store other registers for a stopped
 * thread. */
static void stand_still(struct record *r, const fake_mach_registers *registers)
{
    uint32_t seen = atomic_load(&r->word);
    while (is_asked(seen)) {
        atomic_store(&r->stands, true);
        r->registers = *registers;
        r->cpu_ns = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        while (is_asked(seen))
            if (atomic_compare_exchange_weak(&r->word, &seen, STANDS)) {
                kernel_futex(&r->word, FUTEX_WAKE, INT_MAX, NULL);
                while (atomic_load(&r->word) == STANDS)
                    kernel_futex(&r->word, FUTEX_WAIT, STANDS, NULL);
                seen = atomic_load(&r->word);
            }
        atomic_store(&r->stands, false); /* cleared before the word is checked again, because a signal may have been
                                            lost */
        seen = atomic_load(&r->word);
    }
}

static fake_mach_registers registers_at_place(const struct fake_mach_place *from)
{
#if defined(__aarch64__)
    return (fake_mach_registers){.__pc = from->pc, .__lr = from->pc, .__sp = from->sp, .__fp = from->fp};
#else
    return (fake_mach_registers){.__rip = from->pc, .__rsp = from->sp, .__rbp = from->fp};
#endif
}

static fake_mach_registers registers_of(const ucontext_t *u)
{
    fake_mach_registers r = {0};
#if defined(__aarch64__)
    for (int i = 0; i < 29; i++)
        r.__x[i] = u->uc_mcontext.regs[i];
    r.__fp = u->uc_mcontext.regs[29];
    r.__lr = u->uc_mcontext.regs[30];
    r.__sp = u->uc_mcontext.sp;
    r.__pc = u->uc_mcontext.pc;
    r.__cpsr = (uint32_t)u->uc_mcontext.pstate;
#else
    static const struct {
        int from;
        uint32_t to;
    } moves[] = {{REG_RAX, 0},  {REG_RBX, 1},  {REG_RCX, 2},  {REG_RDX, 3},  {REG_RDI, 4},  {REG_RSI, 5},
                 {REG_RBP, 6},  {REG_RSP, 7},  {REG_R8, 8},   {REG_R9, 9},   {REG_R10, 10}, {REG_R11, 11},
                 {REG_R12, 12}, {REG_R13, 13}, {REG_R14, 14}, {REG_R15, 15}, {REG_RIP, 16}, {REG_EFL, 17}};
    uint64_t flat[sizeof r / sizeof(uint64_t)] = {0};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        flat[moves[i].to] = (uint64_t)u->uc_mcontext.gregs[moves[i].from];
    memcpy(&r, flat, sizeof r);
#endif
    return r;
}

/* Returns true when the record is the calling thread's. A thread that never called is recognised by its system thread
 * id and start time. */
static bool is_mine(struct record *r)
{
    struct stat_line stat;
    if (me)
        return me == r;
    int32_t tid = (int32_t)syscall(SYS_gettid);
    if (r->tid != tid)
        return false;
    int fd = open_of_thread(tid, "/stat");
    bool mine = fd >= 0 && read_stat(fd, &stat) && stat.start == r->start;
    if (fd >= 0)
        close_file(fd);
    if (mine)
        me = r;
    return mine;
}

static void on_stop_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    struct record *r = info->si_value.sival_ptr;
    bool ours = info->si_code == SI_QUEUE && r > records && r < records + RECORDS;
    (void)number;
    if (ours && atomic_load(&r->word) != ENDED && is_mine(r)) {
        uint32_t asked = ASKED;
        if (atomic_load(&r->depth) == 0 && !atomic_load(&r->stands)) {
            fake_mach_registers at = registers_of(context);
            stand_still(r, &at);
        } else if (atomic_compare_exchange_strong(&r->word, &asked, NOTED)) {
            kernel_futex(&r->word, FUTEX_WAKE, INT_MAX, NULL);
        }
    }
    errno = saved;
}

/* A child process has none of its parent's threads, and the lock may have been held at the fork. */
static void after_fork(void)
{
    atomic_store(&locked, 1);
    me = NULL;
    atomic_store(&process, (int32_t)getpid());
    for (uint32_t i = 1; i < used; i++)
        atomic_store(&records[i].word, ENDED);
    fake_threads_forget();
    fake_ports_forget();
    for (uint32_t i = 1; i < used; i++)
        if (records[i].fd > 0)
            close(records[i].fd);
    memset(buckets, 0, sizeof buckets);
    first_free = files = 0;
    for (uint32_t i = 1; i < used; i++) {
        atomic_store(&records[i].id, 0);
        records[i].fd = -1;
        records[i].next = first_free;
        first_free = i;
    }
    records_unlock();
}

static void set_up_records(void)
{
    int32_t none = 0;
    if (atomic_load(&process) || !atomic_compare_exchange_strong(&process, &none, (int32_t)getpid()))
        return;
    struct sigaction action = {.sa_sigaction = on_stop_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(signal_number(), &action, NULL);
    pthread_atfork(NULL, NULL, after_fork);
    keep_spare();
}

__attribute__((constructor)) static void set_up_records_at_load(void)
{
    set_up_records();
}

static struct record *own_record(void)
{
    if (me)
        return me;
    int32_t tid = (int32_t)syscall(SYS_gettid);
    sigset_t all, before;
    set_up_records();
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* a stopped thread must not have the lock */
    records_lock();
    struct record *r = present_record(tid);
    me = r ? r : make_record(tid);
    if (me)
        me->thread = pthread_self();
    records_unlock();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return me;
}

/* The C library shows a thread's system thread id only through its CPU clock. */
static uint64_t kernel_id_of_pthread(pthread_t thread)
{
    clockid_t clock;
    if (pthread_getcpuclockid(thread, &clock) != 0)
        return 0;
    records_lock();
    int32_t tid = (int32_t) ~((unsigned)clock >> 3 | 0xe0000000u);
    struct record *r = present_record(tid);
    r = r ? r : make_record(tid);
    uint64_t id = r ? atomic_load_explicit(&r->id, memory_order_relaxed) : 0;
    if (r)
        r->thread = thread;
    records_unlock();
    return id;
}

static pthread_t kernel_pthread_of(uint64_t id)
{
    const struct record *r = record_by_id(id);
    return r ? r->thread : 0;
}

static uint64_t kernel_self(void)
{
    return atomic_load_explicit(&own_record()->id, memory_order_relaxed);
}

static void kernel_enter(const struct fake_mach_place *from)
{
    struct record *r = own_record();
    if (atomic_load_explicit(&r->depth, memory_order_relaxed) == 0)
        r->from = *from;
    atomic_fetch_add(&r->depth, 1);
}

static void kernel_set_waiting(bool on)
{
    atomic_store(&own_record()->waits, on);
}

static void kernel_leave(void)
{
    int saved = errno;
    struct record *r = me;
    if (atomic_fetch_sub(&r->depth, 1) == 1) {
        uint32_t word = atomic_load(&r->word);
        if (word == ASKED || word == NOTED) {
            fake_mach_registers at = registers_at_place(&r->from);
            stand_still(r, &at);
        }
    }
    errno = saved;
}

/* ---- queries about a thread */

/* A thread's CPU clock id contains its system thread id: (~tid << 3) | CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED (kernel's
 * posix-timers.h). Returns 0 when the thread has ended. */
static uint64_t record_cpu_ns(const struct record *r)
{
    struct timespec t;
    int saved = errno;
    bool alive = clock_gettime((clockid_t)(~(unsigned)r->tid << 3 | 6u), &t) == 0;
    errno = saved;
    return alive ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec : 0;
}

/* CPU time for stopping is not the thread's own. */
static uint64_t kernel_cpu_ns(uint64_t id)
{
    struct record *r = record_by_id(id);
    if (!r)
        return 0;
    return atomic_load(&r->word) == STANDS ? r->cpu_ns : record_cpu_ns(r);
}

/* Reading a thread's state takes ten times as long as reading its clock. A thread that was seen waiting and has not run
 * since still waits. */
static enum fake_mach_where runs_or_waits(struct record *r)
{
    struct stat_line stat;
    uint64_t cpu = record_cpu_ns(r);
    if (cpu && cpu == r->waited_at)
        return FAKE_MACH_WAITS;
    if (!stat_of(r, &stat))
        return FAKE_MACH_GONE;
    r->waited_at = stat.state == 'R' ? 0 : cpu;
    return stat.state == 'R' ? FAKE_MACH_RUNS : FAKE_MACH_WAITS;
}

static enum fake_mach_where kernel_where(uint64_t id)
{
    struct record *r = record_by_id(id);
    if (!r)
        return FAKE_MACH_GONE;
    uint32_t word = atomic_load(&r->word);
    if (word == ENDED || word == STANDS)
        return word == ENDED ? FAKE_MACH_GONE : FAKE_MACH_STANDS;
    if (r == me || (atomic_load(&r->depth) && !atomic_load(&r->waits)))
        return FAKE_MACH_RUNS;
    return runs_or_waits(r);
}

static bool send_stop_signal(struct record *r)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = signal_number();
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = r;
    long sent;
    do
        sent = syscall(SYS_rt_tgsigqueueinfo, getpid(), r->tid, signal_number(), &info);
    while (sent < 0 && errno == EAGAIN && sched_yield() == 0); /* too many signals are queued already */
    return sent == 0;
}

static void kernel_stop(uint64_t id)
{
    struct record *r = record_by_id(id);
    uint32_t runs = RUNS;
    int saved = errno;
    if (r && atomic_compare_exchange_strong(&r->word, &runs, ASKED) && atomic_load(&r->depth) == 0 &&
        !send_stop_signal(r))
        end_record(r);
    errno = saved;
}

static void kernel_resume(uint64_t id)
{
    struct record *r = record_by_id(id);
    uint32_t seen = r ? atomic_load(&r->word) : ENDED;
    while (seen != ENDED && !atomic_compare_exchange_weak(&r->word, &seen, RUNS))
        ;
    if (seen == STANDS)
        kernel_futex(&r->word, FUTEX_WAKE, INT_MAX, NULL);
}

/* Returns true when it is useful to wait longer for a thread that has not answered for a while. */
static bool may_answer(struct record *r)
{
    struct stat_line stat;
    records_lock();
    bool asked = atomic_load(&r->word) == ASKED || atomic_load(&r->word) == NOTED;
    bool lives = asked && stat_of(r, &stat);
    bool may = lives && (stat.state == 'R' || !blocks_the_signal(r->tid));
    if (asked && !lives)
        end_record(r);
    records_unlock();
    return may;
}

static void kernel_settle(uint64_t id, bool out)
{
    struct record *r = record_by_id(id);
    struct timespec some = {0, SETTLE_NS};
    int saved = errno;
    for (uint32_t looks = 1; r; looks++) {
        uint32_t word = atomic_load(&r->word);
        bool inside = atomic_load(&r->depth) > 0;
        if ((word != ASKED && word != NOTED) || (inside && (!out || atomic_load(&r->waits))))
            break;
        long slept = kernel_futex(&r->word, FUTEX_WAIT, word, &some);
        if (slept < 0 && errno == ETIMEDOUT && looks % PATIENCE == 0 && !may_answer(r))
            break;
    }
    errno = saved;
}

static bool kernel_registers(uint64_t id, fake_mach_registers *out)
{
    struct record *r = record_by_id(id);
    if (!r)
        return false;
    if (atomic_load(&r->word) == STANDS)
        *out = r->registers;
    else if (atomic_load(&r->depth))
        *out = registers_at_place(&r->from);
    else
        return false;
    return true;
}

static void kernel_thread_name(uint64_t id, char name[MAXTHREADNAMESIZE])
{
    struct record *r = record_by_id(id);
    if (r && r->name[0]) {
        memcpy(name, r->name, sizeof r->name);
        return;
    }
    int saved = errno, fd = r ? open_of_thread(r->tid, "/comm") : -1;
    ssize_t got = fd < 0 ? 0 : read(fd, name, MAXTHREADNAMESIZE - 1);
    if (fd >= 0)
        close_file(fd);
    errno = saved;
    name[got > 0 ? got - 1 : 0] = '\0'; /* it ends with a newline */
}

/* The system's name of a thread is cut to 15 characters, so the whole one is kept here. */
static void kernel_set_name(const char *name)
{
    struct record *r = own_record();
    if (r)
        snprintf(r->name, sizeof r->name, "%s", name);
    prctl(PR_SET_NAME, name);
}

/* Replaces that of the C library, which knows the system's name only. */
int pthread_getname_np(pthread_t thread, char *name, size_t bytes)
{
    const struct record *r = pthread_equal(thread, pthread_self()) ? own_record() : NULL;
    char system[16] = "";
    if (!r)
        return ESRCH;
    if (!r->name[0])
        prctl(PR_GET_NAME, system);
    const char *found = r->name[0] ? r->name : system;
    if (strlen(found) >= bytes)
        return ERANGE;
    strcpy(name, found);
    return 0;
}

/* ---- the system */

struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static int32_t digits_to_number(const char *text)
{
    int32_t n = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (*text - '0');
    return n;
}

/* A listing of threads in progress. */
struct listing {
    uint64_t *ids;
    uint32_t n, room;
};

static void listing_add_record(struct listing *all, struct record *r)
{
    if (r->listed == listings || all->n == all->room)
        return;
    r->listed = listings;
    all->ids[all->n++] = atomic_load_explicit(&r->id, memory_order_relaxed);
}

static void add_entries(struct listing *all, const char *entries, long bytes)
{
    for (long at = 0; at < bytes;) {
        const struct entry *e = (const struct entry *)(const void *)(entries + at);
        int32_t tid = digits_to_number(e->name);
        struct record *r = tid ? present_record(tid) : NULL;
        if (tid && !r && !blocks_the_signal(tid))
            r = make_record(tid);
        if (r)
            listing_add_record(all, r);
        at += e->bytes;
    }
}

/* Adds known live threads that the listing of /proc has missed: it ends early at a thread that ends at that time (the
 * kernel's next_tid, fs/proc/base.c). */
static void add_missed(struct listing *all)
{
    struct stat_line stat;
    for (struct record *r = records + 1; r < records + used; r++)
        if (atomic_load(&r->id) && r->listed != listings && atomic_load(&r->word) != ENDED && stat_of(r, &stat))
            listing_add_record(all, r);
}

static uint32_t kernel_threads(uint64_t *ids, uint32_t room)
{
    _Alignas(struct entry) char entries[4096];
    struct listing all = {.ids = ids, .room = room};
    long got;
    int saved = errno, fd = open_proc_file("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    listings++;
    while (fd >= 0 && (got = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
        add_entries(&all, entries, got);
    if (fd >= 0) {
        close_file(fd);
        add_missed(&all);
    }
    errno = saved;
    return all.n;
}

static uint64_t kernel_now_ns(void)
{
    return kernel_clock_ns(CLOCK_MONOTONIC);
}
static uint64_t process_cpu_ns(void)
{
    return kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void kernel_sleep_until_ns(uint64_t at)
{
    struct timespec t = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static bool kernel_sleep_on(_Atomic uint32_t *word, uint32_t seen, uint64_t at)
{
    struct timespec t = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
    int saved = errno;
    long slept = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, at == UINT64_MAX ? NULL : &t, NULL,
                         FUTEX_BITSET_MATCH_ANY);
    bool late = slept < 0 && errno == ETIMEDOUT;
    errno = saved;
    return !late;
}

static void kernel_wake(_Atomic uint32_t *word)
{
    int saved = errno;
    kernel_futex(word, FUTEX_WAKE, INT_MAX, NULL);
    errno = saved;
}

const struct fake_mach_system fake_mach_pthreads = {
    .self = kernel_self,
    .of_pthread = kernel_id_of_pthread,
    .pthread_of = kernel_pthread_of,
    .threads = kernel_threads,
    .forget = kernel_forget,
    .where = kernel_where,
    .cpu_ns = kernel_cpu_ns,
    .process_cpu_ns = process_cpu_ns,
    .name = kernel_thread_name,
    .set_name = kernel_set_name,
    .stop = kernel_stop,
    .go = kernel_resume,
    .settle = kernel_settle,
    .registers = kernel_registers,
    .enter = kernel_enter,
    .waits = kernel_set_waiting,
    .leave = kernel_leave,
    .now_ns = kernel_now_ns,
    .sleep_until_ns = kernel_sleep_until_ns,
    .sleep_on = kernel_sleep_on,
    .wake = kernel_wake,
    .lock = records_lock,
    .unlock = records_unlock,
};
