#include "engine/cmd/attach/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files ---- */

/* The files with separate debugging information are not needed, and libdw may fetch them from a server. */
static int find_no_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                              const char *link, GElf_Word crc, char **out)
{
    (void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)out;
    return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = find_no_debug_file};

static const char *module_file(Dwfl_Module *module)
{
    const char *name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    const char *slash = name ? strrchr(name, '/') : NULL;
    return slash ? slash + 1 : name ? name : "";
}

static bool is_prefix_of_file(const char *text, const char *begin)
{
    return !strncmp(text, begin, strlen(begin));
}

static enum strobe_frame_place place_of_module(const char *file)
{
    if (is_prefix_of_file(file, "ld-linux") || is_prefix_of_file(file, "ld-2."))
        return STROBE_FRAME_LINKER;
    bool libc = is_prefix_of_file(file, "libc.so") || is_prefix_of_file(file, "libc-2.") ||
                is_prefix_of_file(file, "libpthread") || is_prefix_of_file(file, "libdl.so") ||
                is_prefix_of_file(file, "libdl-2.");
    return libc ? STROBE_FRAME_LIBC : STROBE_FRAME_CODE;
}

static void find_linker_functions(struct strobe_remote *r, Dwfl_Module *module)
{
    struct {
        const char *name;
        uint64_t *address;
    } wanted[] = {{"dlopen", &r->dlopen}, {"dlsym", &r->dlsym}, {"dlclose", &r->dlclose}, {"dlerror", &r->dlerror}};
    int count = dwfl_module_getsymtab(module);
    for (int i = 0; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr value;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &value, NULL, NULL, NULL);
        for (size_t k = 0; name && k < sizeof wanted / sizeof *wanted; k++)
            if (symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
                !strcmp(name, wanted[k].name))
                *wanted[k].address = value;
    }
}

/* Reads the symbols and the call frame information of a module, which libdw keeps. */
static int read_module(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr start, void *arg)
{
    struct strobe_remote *r = arg;
    Dwarf_Addr bias;
    (void)user, (void)name, (void)start;
    if (place_of_module(module_file(module)) == STROBE_FRAME_LIBC)
        find_linker_functions(r, module);
    else
        dwfl_module_getsymtab(module);
    dwfl_module_eh_cfi(module, &bias);
    dwfl_module_dwarf_cfi(module, &bias);
    return DWARF_CB_OK;
}

/* ---- the thread, for libdw ---- */

static pid_t next_walked_thread(Dwfl *dwfl, void *arg, void **thread)
{
    const struct strobe_remote *r = arg;
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = arg;
    return r->tracee->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
    (void)dwfl, (void)tid;
    *thread = arg;
    return true;
}

static bool read_remote_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *arg)
{
    const struct strobe_remote *r = arg;
    (void)dwfl;
    return strobe_tracee_read(r->pid, address, out, sizeof *out);
}

static bool set_initial_registers(Dwfl_Thread *thread, void *arg)
{
    const struct strobe_remote *r = arg;
    const strobe_tracee_regs *g = &r->tracee->regs;
#if defined(__x86_64__)
    const Dwarf_Word dwarf_order[] = {g->rax, g->rdx, g->rcx, g->rbx, g->rsi, g->rdi, g->rbp, g->rsp, g->r8,
                                      g->r9,  g->r10, g->r11, g->r12, g->r13, g->r14, g->r15, g->rip};
    return dwfl_thread_state_registers(thread, 0, sizeof dwarf_order / sizeof *dwarf_order, dwarf_order);
#elif defined(__aarch64__)
    Dwarf_Word dwarf_order[32];
    for (int i = 0; i < 31; i++)
        dwarf_order[i] = g->regs[i];
    dwarf_order[31] = g->sp;
    dwfl_thread_state_register_pc(thread, g->pc);
    return dwfl_thread_state_registers(thread, 0, sizeof dwarf_order / sizeof *dwarf_order, dwarf_order);
#endif
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_walked_thread,
                                                       .get_thread = get_thread,
                                                       .memory_read = read_remote_word,
                                                       .set_initial_registers = set_initial_registers};

/* ---- open ---- */

const char *strobe_remote_open(struct strobe_remote *r, pid_t pid)
{
    memset(r, 0, sizeof *r);
    r->pid = pid;
    r->dwfl = dwfl_begin(&callbacks);
    if (!r->dwfl || dwfl_linux_proc_report(r->dwfl, pid) != 0 || dwfl_report_end(r->dwfl, NULL, NULL) != 0)
        return "the list of its libraries cannot be read";
    dwfl_getmodules(r->dwfl, read_module, r, 0);
    if (!dwfl_attach_state(r->dwfl, NULL, pid, &thread_callbacks, r))
        return "its program file cannot be read";
    if (!r->dlopen || !r->dlsym || !r->dlclose || !r->dlerror)
        return "its C library has no dlopen";
    return NULL;
}

void strobe_remote_close(struct strobe_remote *r)
{
    if (r->dwfl)
        dwfl_end(r->dwfl);
    r->dwfl = NULL;
}

/* ---- frames ---- */

/* Returns true at the function to which a signal handler returns: it makes the system call rt_sigreturn. */
static bool is_signal_return(pid_t pid, Dwarf_Addr pc)
{
#if defined(__x86_64__)
    static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#elif defined(__aarch64__)
    static const unsigned char code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
    unsigned char there[sizeof code];
    return strobe_tracee_read(pid, pc, there, sizeof there) && !memcmp(there, code, sizeof code);
}

static int add_remote_frame(Dwfl_Frame *frame, void *arg)
{
    struct strobe_remote *r = arg;
    Dwarf_Addr pc;
    bool activation;
    if (r->count == STROBE_FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &activation))
        return DWARF_CB_ABORT;
    if (r->count && pc == 0)
        return DWARF_CB_OK;
    Dwarf_Addr at = activation ? pc : pc - 1;
    Dwfl_Module *module = dwfl_addrmodule(r->dwfl, at);
    struct strobe_frame *f = &r->frames[r->count++];
    f->function = module ? dwfl_module_addrname(module, at) : NULL;
    f->place = module ? place_of_module(module_file(module)) : STROBE_FRAME_CODE;
    if (r->count > 1 && is_signal_return(r->pid, pc))
        f->place = STROBE_FRAME_SIGNAL;
    return DWARF_CB_OK;
}

/* pthread_join waits until the word with the other thread's id changes (futex(2)). In glibc the function that waits is
 * one of several, which have no symbol. */
static bool waits_for_thread_end(const struct strobe_tracee *t)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%llu", (int)t->pid, (unsigned long long)strobe_tracee_third_argument(t));
    return t->waited && t->call == SYS_futex && access(path, F_OK) == 0;
}

static void name_join(struct strobe_remote *r)
{
    size_t i = 0;
    while (i + 1 < r->count && r->frames[i + 1].place == STROBE_FRAME_LIBC)
        i++;
    if (r->count && r->frames[i].place == STROBE_FRAME_LIBC)
        r->frames[i].function = "pthread_join";
}

const char *strobe_remote_unsafe(struct strobe_remote *r, const struct strobe_tracee *t)
{
    r->tracee = t;
    r->count = 0;
    bool complete = dwfl_getthread_frames(r->dwfl, t->tid, add_remote_frame, r) == 0;
    if (waits_for_thread_end(t))
        name_join(r);
    return strobe_unsafe_reason(r->frames, r->count, t->waited ? t->call : -1, complete);
}
