/* The report of `convshim status` about a running process: this program, with variables, files in
 * memory with suitable names, and counters. */
#include "golden.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static char folder[] = "/tmp/convshim-process-XXXXXX", root[PATH_MAX], id[32];

/* --- the process --- */

static void map(const char *name)
{
    int file = open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0 ||
        mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED)
        _exit(1);
    close(file);
}

/* Words that are no files: "count", and then it has a summary, which is far ahead in time: not a
 * second ago. */
static void count(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/convshim", getenv("XDG_RUNTIME_DIR"));
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/convshim/%d.json", getenv("XDG_RUNTIME_DIR"), (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file)
        _exit(1);
    fprintf(file,
            "{\"schema\":\"convshim summary\",\"version\":1,\"process\":{\"pid\":%d,"
            "\"program\":\"python3\",\"script\":\"main.py\",\"command\":[],\"rank\":null,"
            "\"start_ms\":1125899906842624,\"end_ms\":1125899906842624},"
            "\"versions\":{\"convshim\":\"1.2.3\",\"vendor\":\"cuDNN 9.1.0\"},"
            "\"config\":{\"source\":\"\",\"options\":{\"workspace\":\"64MiB\",\"policy\":\"fit\"}},"
            "\"device\":{\"name\":\"\"},\"own\":{\"peak\":8192},\"bypass\":\"\",\"advice\":\"\","
            "\"sites\":[],"
            "\"totals\":{\"not_tiled\":[]",
            (int)getpid());
#define CS_TOTAL(name, merge, value) fprintf(file, ",\"%s\":%d", #name, (int)strlen(#name) << 20);
#include "account/summary_numbers.def"
#undef CS_TOTAL
    fputs("}}\n", file);
    fclose(file);
}

static int be_the_process(char **words)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "toy");
    for (; *words; words++)
        if (strcmp(*words, "count") == 0)
            count();
        else
            map(*words);
    if (write(STDOUT_FILENO, "", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static pid_t begin(const char *const *words)
{
    char *argv[12] = {(char *)"toy", (char *)"--be"}, byte;
    int ends[2];
    for (int i = 0; words[i]; i++)
        argv[2 + i] = (char *)words[i];
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        int nothing = open("/dev/null", O_WRONLY);
        dup2(ends[1], STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execv("/proc/self/exe", argv);
        _exit(1);
    }
    close(ends[1]);
    CHECK_INT(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

/* --- reports --- */

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, NULL, 0) == pid);
}

static void hide_id(pid_t pid)
{
    snprintf(id, sizeof id, "%d", (int)pid);
    golden_hide(id, "PID");
}

static void one(int (*command)(int, char **), const char *words, const char *format)
{
    char line[128];
    struct golden_command call = {command, line};
    snprintf(line, sizeof line, "%s %s --format %s", words, id, format);
    golden_add(words, golden_call, &call);
}

static void processes(void)
{
    static const struct {
        const char *words[5];
    } rows[] = {
        {{NULL}},
        {{"libconvshim.so"}},
        {{"libconvshim.so", "libcudnn.so.9.1.0"}},
        {{"libconvshim.so", "libcudnn.so.9.1.0", "count"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pid_t pid = begin(rows[i].words);
        golden_puts("---");
        for (int j = 0; rows[i].words[j]; j++)
            golden_puts(" "), golden_puts(rows[i].words[j]);
        golden_puts("\n");
        hide_id(pid);
        one(cs_cli_status, "status", "csv");
        if (i + 1 == sizeof rows / sizeof *rows)
            one(cs_cli_status, "status", "json");
        end(pid);
    }
    golden_check(root, "processes.txt");
}

static void command_lines(void)
{
    static const struct golden_answer rows[] = {{"status --help", 0, "--watch"},
                                                {"status --format json", 1, ""},
                                                {"status --format xml", 2, "--format"},
                                                {"status 0", 2, "\"0\""},
                                                {"status x", 2, "\"x\""},
                                                {"status 1 2", 2, "2"},
                                                {"status 999999999", 1, "999999999"},
                                                {"status --watch 999999999", 1, "999999999"},
                                                {"status --format csv 999999999", 1, "999999999"}};
    golden_answers(cs_cli_status, rows, sizeof rows / sizeof *rows);
}

int main(int argc, char **argv)
{
    char remove[64];
    if (argc > 1 && strcmp(argv[1], "--be") == 0)
        return be_the_process(argv + 2);
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root) || chdir(folder) != 0)
        return 1;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    unsetenv("CONVSHIM_RUN");
    golden_hide(folder, "FOLDER");
    TEST(processes);
    TEST(command_lines);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
