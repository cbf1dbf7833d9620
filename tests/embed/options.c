/* Options of a capture outside their range are refused with the option's name and what was expected. Nothing is
 * created.
 *
 *   options FOLDER     makes the folder. Prints what was not refused as expected, and then exits with status 1 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strobe/capture.h>
#include <sys/stat.h>

static char session[300], no_folder[300], file_path[300], below_file[310], name_of_99[100], name_of_100[101];
static int faults;

static void expect(enum strobe_status expected, const char *text, const struct strobe_capture_options *options)
{
    struct strobe_error error = {""};
    enum strobe_status status = strobe_start(options, &error);
    if (status == expected && strstr(error.text, text))
        return;
    printf("expected status %d with \"%s\": status %d with \"%s\"\n", (int)expected, text, (int)status, error.text);
    faults++;
    if (status == STROBE_OK)
        strobe_stop();
}

#define REFUSED(text, ...)                                                                                             \
    expect(STROBE_BAD_INPUT, text, &(struct strobe_capture_options){.session_path = session, __VA_ARGS__})

static int files_in(const char *folder)
{
    int files = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        files += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return files;
}

int main(int argc, char **argv)
{
    if (argc != 2 || mkdir(argv[1], 0700)) {
        puts("expected FOLDER, which is not there yet");
        return 1;
    }
    snprintf(session, sizeof session, "%s/session", argv[1]);
    snprintf(no_folder, sizeof no_folder, "%s/nowhere/session", argv[1]);
    snprintf(file_path, sizeof file_path, "%s.file", argv[1]);
    snprintf(below_file, sizeof below_file, "%s/session", file_path);
    memset(name_of_99, 'n', 99);
    memset(name_of_100, 'n', 100);

    expect(STROBE_BAD_INPUT, "options: ", NULL);
    expect(STROBE_BAD_INPUT, "session_path: ", &(struct strobe_capture_options){.replace = true});
    expect(STROBE_BAD_INPUT, "session_path: ", &(struct strobe_capture_options){.session_path = ""});
    REFUSED("interval_ns: ", .interval_ns = 49999);
    REFUSED("records_max: ", .records_max = 1023);
    REFUSED("records_max: ", .records_max = 268435457);
    REFUSED("control: ", .control = "");
    REFUSED("control: ", .control = name_of_100);
    REFUSED("control_port: ", .control_port = -2);
    REFUSED("control_port: ", .control_port = 65536);
    REFUSED("control_port: ", .control_port = -1, .control = "two-servers");
    expect(STROBE_BAD_INPUT, "beside which the token is stored",
           &(struct strobe_capture_options){.flight = "nowhere", .control_port = -1});
    REFUSED("flight: ", .flight = "nowhere", .keep_oldest = true);

    expect(STROBE_IO, "there is no such folder", &(struct strobe_capture_options){.session_path = no_folder});
    FILE *file = fopen(file_path, "w");
    if (!file || fclose(file))
        return 1;
    expect(STROBE_IO, "a part of the path is no folder", &(struct strobe_capture_options){.session_path = below_file});

    if (files_in(argv[1])) {
        puts("a refused capture leaves a file");
        faults++;
    }
    /* The ends of the ranges are allowed. */
    struct strobe_error error = {""};
    struct strobe_capture_options least = {
        .session_path = session, .interval_ns = 50000, .records_max = 1024, .control = name_of_99};
    if (strobe_start(&least, &error) != STROBE_OK) {
        printf("the least values: %s\n", error.text);
        faults++;
    }
    strobe_stop();
    return faults != 0;
}
