/* The main function of a fuzz program without libFuzzer: runs the inputs in the files that the arguments name, and in
 * the directories that they name. A property that does not hold ends the program. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static unsigned long count;

static void fail(const char *path)
{
    perror(path);
    exit(2);
}

static void replay_file(const char *path, size_t bytes)
{
    FILE *f = fopen(path, "rb");
    /* Exactly as large as the input, so that a memory checker sees a read beyond it. */
    uint8_t *data = malloc(bytes ? bytes : 1);
    if (!f || !data || fread(data, 1, bytes, f) != bytes)
        fail(path);
    fclose(f);
    LLVMFuzzerTestOneInput(data, bytes);
    free(data);
    count++;
}

static void replay(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        fail(path);
    if (!S_ISDIR(status.st_mode)) {
        replay_file(path, (size_t)status.st_size);
        return;
    }
    struct dirent **entries;
    int entry_count = scandir(path, &entries, NULL, alphasort);
    if (entry_count < 0)
        fail(path);
    for (int i = 0; i < entry_count; i++) {
        char below[4096];
        if (entries[i]->d_name[0] != '.' &&
            (size_t)snprintf(below, sizeof below, "%s/%s", path, entries[i]->d_name) < sizeof below)
            replay(below);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%lu inputs\n", count);
    return 0;
}
