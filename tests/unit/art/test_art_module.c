/* Symbols of libraries: in libraries that this test builds with the compiler, and in damaged copies of them.
 * takes: 7 s */
#include "engine/backend/art/module_table.h"
#include "engine/base/error.h"

#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct strobe_error error;

static const char *const library =
    "#include <unistd.h>\n"
    "__attribute__((visibility(\"hidden\"), noinline)) int t_hidden(int x) { return x * 3 + (int)getpid(); }\n"
    "static __attribute__((noinline, used)) int t_local(int x) { return t_hidden(x) + 1; }\n"
    "int t_exported(int x) { return t_local(x) + 1; }\n"
    "int t_object = 5;\n"
    "_Thread_local int t_of_thread = 1;\n"
    "void *t_where_hidden(void) { return (void *)t_hidden; }\n"
    "void *t_where_local(void) { return (void *)t_local; }\n";

/* Compiles `library` to NAME. */
static const char *make(const char *name, const char *flags)
{
    temp_dir_write("t.c", library, strlen(library), 0644);
    temp_dir_run("$CC -O1 -shared -fPIC %s -o %s t.c", flags, name);
    return temp_dir_path(name);
}

/* Strips the library and adds its symbols as .gnu_debugdata. */
static const char *make_mini(const char *name)
{
    make(name, "");
    temp_dir_run("objcopy --only-keep-debug %s mini && rm -f mini.xz && xz mini && objcopy -S %s && "
                 "objcopy --add-section .gnu_debugdata=mini.xz %s",
                 name, name, name);
    return temp_dir_path(name);
}

static void *loaded(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        print_message("%s\n", dlerror());
    assert_non_null(handle);
    return handle;
}

static uint64_t by_dlsym(void *handle, const char *name)
{
    return (uint64_t)(uintptr_t)dlsym(handle, name);
}

/* Returns an address that a function of the library returns. */
static uint64_t address_from(void *handle, const char *name)
{
    void *(*f)(void) = (void *(*)(void))(uintptr_t)by_dlsym(handle, name);
    return (uint64_t)(uintptr_t)f();
}

static void open_module(const char *name, struct strobe_module *m)
{
    error.text[0] = 0;
    enum strobe_status s = strobe_module_open(name, m, &error);
    if (s != STROBE_OK)
        print_message("%s\n", error.text);
    assert_int_equal(s, STROBE_OK);
}

static void a_loaded_librarys_symbols_are_found_by_either_hash_table(void **state)
{
    (void)state;
    static const char *const styles[] = {"gnu", "sysv", "both"};
    for (size_t i = 0; i < 3; i++) {
        char name[32], flags[64];
        snprintf(name, sizeof name, "libt_%s.so", styles[i]);
        snprintf(flags, sizeof flags, "-Wl,--hash-style=%s", styles[i]);
        void *handle = loaded(make(name, flags));
        struct strobe_module m;
        open_module(name, &m);
        assert_true(!m.dynamic.gnu_hash == !strcmp(styles[i], "sysv"));
        assert_true(!m.dynamic.sysv_hash == !strcmp(styles[i], "gnu"));
        assert_int_equal(strobe_module_symbol(&m, "t_exported"), by_dlsym(handle, "t_exported"));
        assert_int_equal(strobe_module_symbol(&m, "t_object"), by_dlsym(handle, "t_object"));
        assert_false(m.searched_file);
        assert_int_equal(strobe_module_symbol(&m, "t_hidden"), address_from(handle, "t_where_hidden"));
        assert_int_equal(strobe_module_symbol(&m, "t_local"), address_from(handle, "t_where_local"));
        assert_true(m.searched_file && !m.not_in_file);
        strobe_module_close(&m);
        dlclose(handle);
    }
}

static void what_is_not_defined_in_a_library_is_not_found(void **state)
{
    (void)state;
    void *handle = loaded(make("libt_none.so", ""));
    struct strobe_module m;
    open_module("libt_none.so", &m);
    static const char *const names[] = {"getpid", "t_exporte", "t_exported2", "", "t_of_thread", "t_none"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(strobe_module_symbol(&m, names[i]), 0);
    strobe_module_close(&m);
    dlclose(handle);
}

static void a_stripped_librarys_symbols_are_found_in_its_gnu_debugdata(void **state)
{
    (void)state;
    void *handle = loaded(make_mini("libt_mini.so"));
    struct strobe_module m;
    open_module("libt_mini.so", &m);
    assert_int_equal(strobe_module_symbol(&m, "t_hidden"), address_from(handle, "t_where_hidden"));
    assert_null(m.not_in_file);
    assert_int_equal(m.symtab.count, 0);
    assert_true(m.debugdata.count > 0);
    strobe_module_close(&m);
    dlclose(handle);
    handle = loaded(make("libt_bare.so", "-Wl,-s"));
    open_module("libt_bare.so", &m);
    assert_int_equal(strobe_module_symbol(&m, "t_hidden"), 0);
    assert_int_equal(strobe_module_symbol(&m, "t_exported"), by_dlsym(handle, "t_exported"));
    strobe_module_close(&m);
    dlclose(handle);
}

/* Compares all symbols that cmocka defines, in a library of this machine. */
static void every_symbol_of_a_real_library_is_where_the_linker_says(void **state)
{
    (void)state;
    void *handle = loaded("libcmocka.so.0");
    struct strobe_module m;
    open_module("libcmocka.so", &m);
    size_t same = 0;
    for (size_t i = 1; i < m.dynamic.count; i++) {
        ElfW(Sym) s;
        memcpy(&s, m.dynamic.symbols + i * sizeof s, sizeof s);
        if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || (s.st_info & 15) > STT_FUNC || !(s.st_info & 15))
            continue;
        const char *name = m.dynamic.names + s.st_name;
        assert_int_equal(strobe_module_symbol(&m, name), by_dlsym(handle, name));
        same++;
    }
    assert_true(same > 40);
    strobe_module_close(&m);
    dlclose(handle);
}

static void a_librarys_name_may_have_a_version_and_nothing_else(void **state)
{
    (void)state;
    struct strobe_module m;
    void *bak = loaded(make("libt_named.so.bak", "")), *longer = loaded(make("libt_named.so.1x", ""));
    assert_int_equal(strobe_module_open("libt_named.so", &m, &error), STROBE_NO_ENTRY);
    assert_string_equal(error.text, "libt_named.so: no such library is loaded");
    void *version = loaded(make("libt_named.so.12.3", ""));
    open_module("libt_named.so", &m);
    assert_string_equal(m.path, temp_dir_path("libt_named.so.12.3"));
    strobe_module_close(&m);
    open_module(temp_dir_path("libt_named.so.bak"), &m);
    assert_int_equal(strobe_module_symbol(&m, "t_exported"), by_dlsym(bak, "t_exported"));
    strobe_module_close(&m);
    assert_int_equal(strobe_module_open("t_named.so", &m, &error), STROBE_NO_ENTRY);
    dlclose(bak);
    dlclose(longer);
    dlclose(version);
}

/* Loads NAME, changes its file by the shell command `change`, and looks up a symbol that only the file has. */
static void only_dynsym_is_used(const char *name, const char *flags, const char *change, const char *reason)
{
    void *handle = loaded(make(name, flags));
    struct strobe_module m;
    temp_dir_run("%s", change);
    open_module(name, &m);
    assert_int_equal(strobe_module_symbol(&m, "t_hidden"), 0);
    assert_non_null(m.not_in_file);
    if (strcmp(m.not_in_file, reason) != 0)
        print_message("%s\n", m.not_in_file);
    assert_string_equal(m.not_in_file, reason);
    assert_int_equal(strobe_module_symbol(&m, "t_exported"), by_dlsym(handle, "t_exported"));
    strobe_module_close(&m);
    dlclose(handle);
}

static void a_file_that_is_not_the_one_loaded_is_not_believed(void **state)
{
    (void)state;
    only_dynsym_is_used("libt_id.so", "-Wl,--build-id=sha1",
                        "sed s/3/4/ t.c >u.c && $CC -O1 -shared -fPIC -Wl,--build-id=sha1 -o u.so u.c && "
                        "mv u.so libt_id.so",
                        "its file is another than the one loaded");
    only_dynsym_is_used("libt_no_id.so", "-Wl,--build-id=none",
                        "(cat t.c; echo 'int t_more[9999]; int t_data[77] = {1};') >u.c && "
                        "$CC -O1 -shared -fPIC -Wl,--build-id=none -o u.so u.c && mv u.so libt_no_id.so",
                        "its file is another than the one loaded");
    only_dynsym_is_used("libt_lost_id.so", "-Wl,--build-id=sha1",
                        "$CC -O1 -shared -fPIC -Wl,--build-id=none -o u.so t.c && mv u.so libt_lost_id.so",
                        "its file is another than the one loaded");
    only_dynsym_is_used("libt_gone.so", "", "rm libt_gone.so", "no such file");
    only_dynsym_is_used("libt_folder.so", "", "rm libt_folder.so && mkdir libt_folder.so", "no regular file");
    only_dynsym_is_used("libt_text.so", "", "rm libt_text.so && echo text >libt_text.so", "not an ELF file");
    only_dynsym_is_used("libt_cut.so", "", "head -c -70 libt_cut.so >u && mv u libt_cut.so",
                        "truncated: its section headers are cut off");
}

/* A file without a build id that was only stripped still matches the library. */
static void the_same_program_headers_make_the_same_library(void **state)
{
    (void)state;
    void *handle = loaded(make("libt_same.so", "-Wl,--build-id=none"));
    struct strobe_module m;
    temp_dir_run("cp libt_same.so u && mv u libt_same.so");
    open_module("libt_same.so", &m);
    assert_int_equal(strobe_module_symbol(&m, "t_hidden"), address_from(handle, "t_where_hidden"));
    strobe_module_close(&m);
    dlclose(handle);
}

/* ---- files that are not loaded */

/* Opens the file that this test has written. With any content, the result is one line of error text, or symbols
 * within the library. */
static enum strobe_status open_bytes(const char *bytes, size_t count)
{
    static const char *const names[] = {"t_exported", "t_object", "t_hidden", "t_local", "t_absent", ""};
    const char *path = temp_dir_write("damaged.so", bytes, count, 0644);
    struct strobe_module m;
    memset(error.text, '?', sizeof error.text);
    enum strobe_status s = strobe_module_open_file(path, 0, &m, &error);
    if (s != STROBE_OK) {
        assert_int_equal(s, STROBE_BAD_INPUT);
        assert_non_null(memchr(error.text, 0, sizeof error.text));
        assert_ptr_equal(strstr(error.text, path), error.text);
        assert_true(strlen(error.text) > strlen(path) + 4);
        assert_null(strchr(error.text, '\n'));
        return s;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t at = strobe_module_symbol(&m, names[i]);
        assert_true(!at || (at >= m.start && at < m.end));
    }
    strobe_module_close(&m);
    return s;
}

static void is_refused(const char *bytes, size_t count, const char *words)
{
    assert_int_equal(open_bytes(bytes, count), STROBE_BAD_INPUT);
    if (!strstr(error.text, words))
        print_message("%s\n", error.text);
    assert_non_null(strstr(error.text, words));
}

static void a_files_symbols_are_its_addresses_and_the_bias_moves_them(void **state)
{
    (void)state;
    struct strobe_module m, moved;
    const char *path = make("libt_file.so", "");
    assert_int_equal(strobe_module_open_file(path, 0, &m, &error), STROBE_OK);
    assert_int_equal(strobe_module_open_file(path, 0x10000000, &moved, &error), STROBE_OK);
    void *handle = loaded(path);
    struct link_map *map;
    assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    static const char *const names[] = {"t_exported", "t_object", "t_hidden"};
    for (size_t i = 0; i < 3; i++) {
        uint64_t at = strobe_module_symbol(&m, names[i]);
        uint64_t there = i < 2 ? by_dlsym(handle, names[i]) : address_from(handle, "t_where_hidden");
        assert_int_equal(at, there - map->l_addr);
        assert_int_equal(strobe_module_symbol(&moved, names[i]), at + 0x10000000);
    }
    dlclose(handle);
    strobe_module_close(&m);
    strobe_module_close(&moved);
    assert_int_equal(strobe_module_open_file(temp_dir_path("absent"), 0, &m, &error), STROBE_NO_ENTRY);
    assert_int_equal(strobe_module_open_file(temp_dir_path("."), 0, &m, &error), STROBE_IO);
}

/* Returns the step through `count` items that tries all of them, or fewer where the machine is slow. */
static size_t step_of(size_t count)
{
    size_t rounds = strobe_trial_rounds((uint32_t)count);
    return rounds < count ? count / rounds : 1;
}

static void a_truncated_library_is_refused_wherever_it_ends(void **state)
{
    (void)state;
    make_mini("libt_whole.so");
    size_t bytes;
    char *whole = temp_dir_read("libt_whole.so", &bytes);
    assert_int_equal(open_bytes(whole, bytes), STROBE_OK);
    is_refused(whole, 0, "not an ELF file");
    for (size_t at = 64; at < bytes; at += 64 * step_of(bytes / 64))
        is_refused(whole, at, "truncated: ");
    is_refused(whole, bytes - 1, "truncated: ");
    is_refused(whole, 63, "truncated: its head is cut off");
    free(whole);
}

static void a_foreign_library_is_refused_in_words(void **state)
{
    (void)state;
    make("libt_ours.so", "");
    size_t bytes;
    char *b = temp_dir_read("libt_ours.so", &bytes), was[sizeof(ElfW(Ehdr))];
    ElfW(Ehdr) *head = (ElfW(Ehdr) *)(void *)b;
    memcpy(was, b, sizeof was);
    head->e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64;
    is_refused(b, bytes, "of another word size: this process has ");
    memcpy(b, was, sizeof was);
    head->e_ident[EI_DATA] = head->e_ident[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;
    is_refused(b, bytes, "of another byte order");
    memcpy(b, was, sizeof was);
    head->e_machine = EM_S390;
    is_refused(b, bytes, "for another processor");
    memcpy(b, was, sizeof was);
    head->e_type = ET_REL;
    is_refused(b, bytes, "neither a library nor a program");
    memcpy(b, was, sizeof was);
    head->e_phentsize = 7;
    is_refused(b, bytes, "program headers of a wild size");
    memcpy(b, was, sizeof was);
    head->e_shentsize = 7;
    is_refused(b, bytes, "section headers of a wild size");
    memcpy(b, was, sizeof was);
    head->e_shoff = 0;
    is_refused(b, bytes, "without section headers");
    memcpy(b, was, sizeof was);
    head->e_phnum = 0;
    is_refused(b, bytes, "it has no segments");
    free(b);
}

static ElfW(Shdr) * section(char *b, uint32_t type)
{
    ElfW(Ehdr) *head = (ElfW(Ehdr) *)(void *)b;
    ElfW(Shdr) *s = (ElfW(Shdr) *)(void *)(b + head->e_shoff);
    for (int i = 1; i < head->e_shnum; i++)
        if (s[i].sh_type == type)
            return &s[i];
    fail_msg("no section of type %u", type);
    return NULL;
}

static const uint32_t wild[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};

/* Sets each word of a part of the library to each wild value, one word at a time, and all words together. */
static void damage(char *b, size_t bytes, size_t offset, size_t count)
{
    char *was = malloc(count);
    assert_non_null(was);
    memcpy(was, b + offset, count);
    for (size_t w = 0; w < sizeof wild / sizeof *wild; w++) {
        for (size_t at = 0; at + 4 <= count; at += 4 * step_of(count / 4)) {
            memcpy(b + offset + at, &wild[w], 4);
            open_bytes(b, bytes);
            memcpy(b + offset + at, was + at, 4);
        }
        for (size_t at = 0; at + 4 <= count; at += 4)
            memcpy(b + offset + at, &wild[w], 4);
        open_bytes(b, bytes);
        memcpy(b + offset, was, count);
    }
    free(was);
}

static void wild_values_in_any_table_lead_nowhere(void **state)
{
    (void)state;
    static const uint32_t types[] = {SHT_GNU_HASH, SHT_HASH, SHT_DYNSYM, SHT_SYMTAB};
    static const char *const styles[] = {"-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv", "", ""};
    for (size_t i = 0; i < 4; i++) {
        make("libt_wild.so", styles[i]);
        size_t bytes;
        char *b = temp_dir_read("libt_wild.so", &bytes);
        ElfW(Shdr) *s = section(b, types[i]);
        damage(b, bytes, s->sh_offset, s->sh_size < 512 ? s->sh_size : 512);
        free(b);
    }
    make_mini("libt_wild.so");
    size_t bytes;
    char *b = temp_dir_read("libt_wild.so", &bytes);
    ElfW(Ehdr) head;
    memcpy(&head, b, sizeof head);
    damage(b, bytes, 0, sizeof head);
    damage(b, bytes, head.e_phoff, (size_t)head.e_phnum * head.e_phentsize);
    damage(b, bytes, head.e_shoff, (size_t)head.e_shnum * head.e_shentsize);
    free(b);
}

static void a_damaged_library_gets_an_answer(void **state)
{
    (void)state;
    make_mini("libt_random.so");
    srand(strobe_trial_seed("test_art_module"));
    size_t bytes;
    char *whole = temp_dir_read("libt_random.so", &bytes), *copy = malloc(bytes);
    assert_non_null(copy);
    for (uint32_t i = strobe_trial_rounds(400); i > 0; i--) {
        memcpy(copy, whole, bytes);
        for (int k = 1 + rand() % 20; k > 0; k--)
            copy[(size_t)rand() % (rand() % 2 ? 1024 : bytes)] = (char)rand();
        open_bytes(copy, bytes);
    }
    free(copy);
    free(whole);
}

static void damaged_gnu_debugdata_is_refused(void **state)
{
    (void)state;
    static const char *const commands[] = {"echo no xz >bad", "head -c 100 mini.xz >bad", "echo no library | xz >bad",
                                           "(head -c 200 mini.xz; printf 'damage'; tail -c +207 mini.xz) >bad"};
    for (size_t i = 0; i < 4; i++) {
        make_mini("libt_badmini.so");
        temp_dir_run("%s; objcopy -S -R .gnu_debugdata libt_badmini.so && "
                     "objcopy --add-section .gnu_debugdata=bad libt_badmini.so",
                     commands[i]);
        size_t bytes;
        char *b = temp_dir_read("libt_badmini.so", &bytes);
        is_refused(b, bytes,
                   i == 2 ? "damaged: its .gnu_debugdata holds no library of this processor"
                          : "damaged: its .gnu_debugdata can't be unpacked");
        free(b);
    }
}

/* ---- tables in memory */

/* The linker has already used the table. A wild write of the app may damage it later. */
static void wild_values_in_memory_lead_nowhere(void **state)
{
    (void)state;
    static const char *const names[] = {"libt_mem_gnu.so", "libt_mem_sysv.so"};
    for (size_t i = 0; i < 2; i++) {
        void *handle = loaded(make(names[i], i ? "-Wl,-s -Wl,--hash-style=sysv" : "-Wl,-s -Wl,--hash-style=gnu"));
        struct strobe_module m;
        open_module(names[i], &m);
        uint32_t *table = (uint32_t *)(uintptr_t)(i ? m.dynamic.sysv_hash : m.dynamic.gnu_hash);
        uintptr_t page = (uintptr_t)table & ~(uintptr_t)0xfff;
        uint64_t exported = by_dlsym(handle, "t_exported");
        /* The same page may contain code. */
        assert_int_equal(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
        for (size_t at = 0; at < 12 && (uintptr_t)&table[at] < page + 4096; at++) {
            uint32_t was = table[at];
            for (size_t w = 0; w < sizeof wild / sizeof *wild; w++) {
                struct strobe_module d;
                table[at] = wild[w];
                error.text[0] = 0;
                enum strobe_status s = strobe_module_open(names[i], &d, &error);
                if (s == STROBE_OK) {
                    uint64_t found = strobe_module_symbol(&d, "t_exported");
                    assert_true(!found || found == exported);
                    assert_int_equal(strobe_module_symbol(&d, "t_absent"), 0);
                    strobe_module_close(&d);
                } else {
                    assert_int_equal(s, STROBE_BAD_INPUT);
                    assert_non_null(strstr(error.text, "damaged: its "));
                }
                table[at] = was;
            }
        }
        assert_int_equal(strobe_module_symbol(&m, "t_exported"), exported);
        strobe_module_close(&m);
        dlclose(handle);
    }
}

/* ---- xz */

/* Unpacks `name`.xz, which unpacks to `name`. */
static void is_unpacked(const char *name, const char *lzma, const char *sdk, size_t damages)
{
    char packed_name[64];
    size_t bytes, packed_bytes, out_bytes, mapped;
    void *out;
    snprintf(packed_name, sizeof packed_name, "%s.xz", name);
    char *whole = temp_dir_read(name, &bytes), *packed = temp_dir_read(packed_name, &packed_bytes);
    assert_int_equal(strobe_xz_unpack_by(lzma, sdk, packed, packed_bytes, &out, &out_bytes, &mapped), STROBE_OK);
    assert_int_equal(out_bytes, bytes);
    assert_memory_equal(out, whole, bytes);
    munmap(out, mapped);
    for (size_t i = 1; i < damages; i++) {
        size_t keep = packed_bytes * i / damages, at = packed_bytes * i / (damages + 1);
        assert_int_equal(strobe_xz_unpack_by(lzma, sdk, packed, keep, &out, &out_bytes, &mapped), STROBE_BAD_INPUT);
        packed[at] ^= 0x55;
        assert_int_equal(strobe_xz_unpack_by(lzma, sdk, packed, packed_bytes, &out, &out_bytes, &mapped),
                         STROBE_BAD_INPUT);
        packed[at] ^= 0x55;
    }
    free(whole);
    free(packed);
}

static void make_packed(void)
{
    make("libt_packed.so", "");
    temp_dir_run("cp t.c little && xz -k -f little && "
                 "(cat libt_packed.so; head -c 5000000 /dev/zero; cat libt_packed.so) >much && "
                 "xz -k -f --block-size=65536 much");
}

static void xz_is_unpacked_by_liblzma(void **state)
{
    (void)state;
    make_packed();
    is_unpacked("little", "liblzma.so.5", "no-such-library.so", strobe_trial_rounds(40));
    is_unpacked("much", "liblzma.so.5", "no-such-library.so", 2);
}

/* 7-Zip's library has the functions of the LZMA SDK, as Android's liblzma.so does. */
static void xz_is_unpacked_by_the_lzma_sdk(void **state)
{
    (void)state;
    static const char *const sdk = "/usr/lib/p7zip/7z.so";
    if (!dlopen(sdk, RTLD_NOW | RTLD_LOCAL)) /* not there, or of another processor */
        skip();
    make_packed();
    is_unpacked("little", "no-such-library.so", sdk, strobe_trial_rounds(40));
    is_unpacked("much", "no-such-library.so", sdk, 2);
}

/* Releases before 18 do not ask whether the input ends. This library has their interface and calls a later release. */
static void xz_is_unpacked_by_an_older_lzma_sdk(void **state)
{
    (void)state;
    static const char *const older =
        "#include <dlfcn.h>\n#include <stddef.h>\n"
        "static void *at(const char *name) { return dlsym(dlopen(\"/usr/lib/p7zip/7z.so\", RTLD_NOW), name); }\n"
        "void CrcGenerateTable(void) { ((void (*)(void))at(\"CrcGenerateTable\"))(); }\n"
        "void Crc64GenerateTable(void) { ((void (*)(void))at(\"Crc64GenerateTable\"))(); }\n"
        "void XzUnpacker_Construct(void *s, void *m) {\n"
        "    ((void (*)(void *, void *))at(\"XzUnpacker_Construct\"))(s, m); }\n"
        "void XzUnpacker_Free(void *s) { ((void (*)(void *))at(\"XzUnpacker_Free\"))(s); }\n"
        "unsigned XzUnpacker_IsStreamWasFinished(void *s) {\n"
        "    return ((unsigned (*)(void *))at(\"XzUnpacker_IsStreamWasFinished\"))(s); }\n"
        "int XzUnpacker_Code(void *s, void *out, size_t *n, void *in, size_t *m, int finish, int *progress) {\n"
        "    if (finish > 1) return 1;\n"
        "    return ((int (*)(void *, void *, size_t *, void *, size_t *, int, int, int *))\n"
        "            at(\"XzUnpacker_Code\"))(s, out, n, in, m, 0, finish, progress); }\n";
    if (!dlopen("/usr/lib/p7zip/7z.so", RTLD_NOW | RTLD_LOCAL))
        skip();
    temp_dir_write("older.c", older, strlen(older), 0644);
    temp_dir_run("$CC -shared -fPIC -o libolder.so older.c && cp t.c little && "
                 "xz -k -f --block-size=100 little");
    is_unpacked("little", "no-such-library.so", temp_dir_path("libolder.so"), 2);
}

static void without_a_library_xz_is_not_supported(void **state)
{
    (void)state;
    void *out;
    size_t bytes, mapped;
    assert_int_equal(strobe_xz_unpack_by("no-such-library.so", "libcmocka.so.0", "x", 1, &out, &bytes, &mapped),
                     STROBE_UNSUPPORTED);
    assert_int_equal(strobe_xz_unpack_by("no-such-library.so", "nor-this.so", "x", 1, &out, &bytes, &mapped),
                     STROBE_UNSUPPORTED);
}

static void nothing_is_copied_from_beyond_the_end_of_a_file(void **state)
{
    static const unsigned char bytes[16] = "0123456";
    struct strobe_elf_source s = {.fd = -1, .bytes = bytes, .size = 8};
    char to[8];
    (void)state;
    assert_true(strobe_elf_copy(&s, 4, to, 4));
    assert_memory_equal(to, "456", 4);
    assert_true(strobe_elf_copy(&s, 8, to, 0));
    assert_false(strobe_elf_copy(&s, 4, to, 5));
    assert_false(strobe_elf_copy(&s, 9, to, 0));
    assert_false(strobe_elf_copy(&s, UINT64_MAX, to, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_copied_from_beyond_the_end_of_a_file),
        cmocka_unit_test(a_loaded_librarys_symbols_are_found_by_either_hash_table),
        cmocka_unit_test(what_is_not_defined_in_a_library_is_not_found),
        cmocka_unit_test(a_stripped_librarys_symbols_are_found_in_its_gnu_debugdata),
        cmocka_unit_test(every_symbol_of_a_real_library_is_where_the_linker_says),
        cmocka_unit_test(a_librarys_name_may_have_a_version_and_nothing_else),
        cmocka_unit_test(a_file_that_is_not_the_one_loaded_is_not_believed),
        cmocka_unit_test(the_same_program_headers_make_the_same_library),
        cmocka_unit_test(a_files_symbols_are_its_addresses_and_the_bias_moves_them),
        cmocka_unit_test(a_truncated_library_is_refused_wherever_it_ends),
        cmocka_unit_test(a_foreign_library_is_refused_in_words),
        cmocka_unit_test(wild_values_in_any_table_lead_nowhere),
        cmocka_unit_test(a_damaged_library_gets_an_answer),
        cmocka_unit_test(damaged_gnu_debugdata_is_refused),
        cmocka_unit_test(wild_values_in_memory_lead_nowhere),
        cmocka_unit_test(xz_is_unpacked_by_liblzma),
        cmocka_unit_test(xz_is_unpacked_by_the_lzma_sdk),
        cmocka_unit_test(xz_is_unpacked_by_an_older_lzma_sdk),
        cmocka_unit_test(without_a_library_xz_is_not_supported),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
