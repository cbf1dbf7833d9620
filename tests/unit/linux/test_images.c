/* The list of images in a session follows what the process maps: libraries, whatever name they were opened by, and the
 * jitdump file of the process. */
#include "engine/backend/linux/images.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, IMAGES = 256 };

static struct strobe_build build;

static void begin_session(uint32_t images_max)
{
    struct strobe_config config = strobe_build_config();
    config.images_max = images_max;
    strobe_build_begin(&build, temp_dir_path("images.strobe"), &config);
    build.session.header->pid = (uint32_t)getpid();
}

static void end_session(void)
{
    strobe_build_end(&build, 1);
    unlink(temp_dir_path("images.strobe"));
}

/* Returns how many published images have a path that ends so, and the last of them. */
static uint32_t listed(const char *end, const struct strobe_image_entry **last)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < strobe_session_image_count(&build.session); i++) {
        const struct strobe_image_entry *e = &build.session.images[i];
        size_t path = strlen(e->path), tail = strlen(end);
        if (!strobe_load_acquire(&e->published) || path < tail || strcmp(e->path + path - tail, end) != 0)
            continue;
        *last = e;
        count++;
    }
    return count;
}

static void build_library(const char *name)
{
    char command[PATH_MAX + 200];
    snprintf(command, sizeof command, "echo 'int one(void) { return 1; }' | ${CC:-cc} -shared -fPIC -xc - -o '%s'",
             temp_dir_path(name));
    assert_int_equal(system(command), 0);
}

/* Opens a library of the working directory by a relative name. */
static void *open_relative(const char *name)
{
    char folder[PATH_MAX], before[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", temp_dir_path("."));
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    assert_int_equal(chdir(before), 0);
    assert_non_null(library);
    return library;
}

static void a_library_opened_by_a_relative_name_is_listed_once_by_its_path(void **state)
{
    (void)state;
    const struct strobe_image_entry *e = NULL;
    build_library("librelative.so");
    void *library = open_relative("./librelative.so");
    begin_session(IMAGES);
    strobe_linux_note_images(&build.session, 1, false); /* reads no files: the path is not known yet */
    assert_int_equal(listed("/librelative.so", &e), 1);
    assert_int_equal(e->path[0], '.');
    for (uint64_t ticks = 2; ticks < 4; ticks++)
        strobe_linux_note_images(&build.session, ticks, true);
    assert_int_equal(listed("/librelative.so", &e), 1);
    assert_int_equal(e->path[0], '/');
    assert_int_equal(access(e->path, F_OK), 0);
    assert_int_equal(e->load_ticks, 1);
    end_session();
    begin_session(IMAGES);
    strobe_linux_note_images(&build.session, 1, true);
    assert_int_equal(listed("/librelative.so", &e), 1);
    assert_int_equal(e->path[0], '/');
    end_session();
    dlclose(library);
}

static void more_relative_libraries_than_are_kept_in_mind_all_have_their_paths(void **state)
{
    enum { MANY = 70 };
    void *library[MANY];
    char name[32];
    (void)state;
    build_library("libmany.so");
    for (int i = 0; i < MANY; i++) {
        char copy[PATH_MAX + 200];
        snprintf(name, sizeof name, "./lib%d.many.so", i);
        snprintf(copy, sizeof copy, "cd '%s' && cp libmany.so %s", temp_dir_path("."), name);
        assert_int_equal(system(copy), 0);
        library[i] = open_relative(name);
    }
    begin_session(IMAGES);
    strobe_linux_note_images(&build.session, 1, true);
    const struct strobe_image_entry *e;
    assert_int_equal(listed(".many.so", &e), MANY);
    for (uint32_t i = 0; i < strobe_session_image_count(&build.session); i++)
        assert_int_not_equal(build.session.images[i].path[0], '.');
    end_session();
    for (int i = 0; i < MANY; i++)
        dlclose(library[i]);
}

/* Maps a file of this name, as a runtime maps the jitdump file that it writes. */
static void *map_file(const char *name)
{
    int fd = open(temp_dir_path(name), O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, PAGE), 0);
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    close(fd);
    assert_ptr_not_equal(page, MAP_FAILED);
    return page;
}

static void the_jitdump_file_of_the_process_is_an_image_and_no_other_is(void **state)
{
    char own[64], foreign[64], unnumbered[] = "jit-.dump", longer[64];
    const struct strobe_image_entry *e = NULL;
    (void)state;
    snprintf(own, sizeof own, "jit-%d.dump", (int)getpid());
    snprintf(foreign, sizeof foreign, "jit-%d.dump", (int)getpid() + 1);
    snprintf(longer, sizeof longer, "jit-%d.dump.old", (int)getpid());
    begin_session(IMAGES);
    strobe_linux_note_images(&build.session, 1, true);
    void *pages[] = {map_file(own), map_file(foreign), map_file(unnumbered), map_file(longer)};
    strobe_linux_note_images(&build.session, 2, true);
    strobe_linux_note_images(&build.session, 3, true); /* does not list it again */
    assert_int_equal(listed(".dump", &e), 1);
    assert_int_equal(e->start, (uint64_t)(uintptr_t)pages[0]);
    assert_int_equal(e->end, e->start + PAGE);
    assert_int_equal(e->load_ticks, 2);
    assert_int_equal(listed(".old", &e), 0);
    for (int i = 0; i < 4; i++)
        munmap(pages[i], PAGE);
    end_session();
}

static void a_full_list_stays_as_it_is(void **state)
{
    (void)state;
    begin_session(2);
    for (uint64_t ticks = 1; ticks < 3; ticks++)
        strobe_linux_note_images(&build.session, ticks, true);
    assert_int_equal(strobe_session_image_count(&build.session), 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(strobe_load_acquire(&build.session.images[i].published), 1);
    end_session();
}

static void a_change_is_reported_once(void **state)
{
    (void)state;
    build_library("libcomes.so");
    strobe_linux_images_changed();
    assert_false(strobe_linux_images_changed());
    void *library = dlopen(temp_dir_path("libcomes.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_true(strobe_linux_images_changed());
    assert_false(strobe_linux_images_changed());
    dlclose(library);
    assert_true(strobe_linux_images_changed());
    assert_false(strobe_linux_images_changed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_opened_by_a_relative_name_is_listed_once_by_its_path),
        cmocka_unit_test(more_relative_libraries_than_are_kept_in_mind_all_have_their_paths),
        cmocka_unit_test(the_jitdump_file_of_the_process_is_an_image_and_no_other_is),
        cmocka_unit_test(a_full_list_stays_as_it_is),
        cmocka_unit_test(a_change_is_reported_once),
    };
    return cmocka_run_group_tests_name("images", tests, temp_dir_open, temp_dir_close);
}
