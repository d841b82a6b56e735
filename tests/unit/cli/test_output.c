/* Files that commands write: the earlier file remains if writing fails, and inputs are refused. */
#include "cli/common/output.h"

#include "check.h"
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char begins[] = "<page>";
static char text[8192];

static bool put(const void *state, FILE *out)
{
    fputs(begins, out);
    fputs(state, out);
    return state != text + sizeof text - 1;
}

static const char *contents(const char *path)
{
    static char read[sizeof text + 64];
    FILE *file = fopen(path, "r");
    read[file ? fread(read, 1, sizeof read - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return read;
}

static void make(const char *path, const char *of)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(of, file) >= 0 && fclose(file) == 0);
}

static mode_t mode_of(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 ? there.st_mode & 07777 : 0;
}

static void new_file_has_the_umask_and_a_replaced_one_its_own_mode(void)
{
    umask(027);
    CHECK(cs_output_write("new", put, "one"));
    CHECK_STR(contents("new"), "<page>one");
    CHECK_INT(mode_of("new"), 0640);
    chmod("new", 0604);
    CHECK(cs_output_write("new", put, "two"));
    CHECK_STR(contents("new"), "<page>two");
    CHECK_INT(mode_of("new"), 0604);
}

static void file_behind_a_link_is_replaced_and_the_link_remains(void)
{
    struct stat there;
    make("target", "old");
    CHECK(symlink("target", "link") == 0);
    CHECK(cs_output_write("link", put, "new"));
    CHECK_STR(contents("target"), "<page>new");
    CHECK(lstat("link", &there) == 0 && S_ISLNK(there.st_mode));
}

/* A limit on sizes of files fails like a full disk. */
static void failure_keeps_the_earlier_file(void)
{
    const struct rlimit little = {100, RLIM_INFINITY}, any = {RLIM_INFINITY, RLIM_INFINITY};
    char part[64];
    snprintf(part, sizeof part, "kept.%lld.part", (long long)getpid());
    memset(text, 'x', sizeof text - 1);
    make("kept", "old");
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    CHECK(!cs_output_write("kept", put, text));
    CHECK_INT(errno, EFBIG);
    setrlimit(RLIMIT_FSIZE, &any);
    CHECK_STR(contents("kept"), "old");
    CHECK(access(part, F_OK) != 0);
    CHECK(!cs_output_write("kept", put, text + sizeof text - 1));
    CHECK_STR(contents("kept"), "old");
    CHECK(access(part, F_OK) != 0);
    CHECK(!cs_output_write("absent/file", put, "one"));
    CHECK_INT(errno, ENOENT);
}

static void device_is_written_directly(void)
{
    CHECK(cs_output_write("/dev/null", put, "one"));
    CHECK(!cs_output_write("/dev/full", put, "one"));
    CHECK_INT(errno, ENOSPC);
}

static void only_an_output_or_an_empty_file_may_be_replaced(void)
{
    static const struct {
        const char *path, *contents;
        bool allowed;
    } rows[] = {{"page", "<page>old", true},
                {"empty", "", true},
                {"list.csv", "layer,n\n", false},
                {"short", "<pag", false},
                {"-", NULL, true},
                {"absent", NULL, true},
                {"/dev/null", NULL, true},
                {"no/such/folder", NULL, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].contents)
            make(rows[i].path, rows[i].contents);
        CHECK_INT(cs_output_check("report", "html", rows[i].path, begins), rows[i].allowed);
    }
}

int main(void)
{
    char folder[] = "/tmp/convshim-output-XXXXXX", remove[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    TEST(new_file_has_the_umask_and_a_replaced_one_its_own_mode);
    TEST(file_behind_a_link_is_replaced_and_the_link_remains);
    TEST(failure_keeps_the_earlier_file);
    TEST(device_is_written_directly);
    TEST(only_an_output_or_an_empty_file_may_be_replaced);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return system(remove) != 0 || REPORT();
}
