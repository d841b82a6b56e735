/* The files that a running process has loaded: this one, which maps files with suitable names. */
#include "check.h"
#include "cli/program/command_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/convshim-maps-XXXXXX";

static struct cs_process_files seen;

/* Pages far apart, so that the lines of /proc/PID/maps are in this order. */
static void map(const char *name, int place)
{
    static char *base;
    if (!base)
        base = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = open(name, O_RDWR | O_CREAT, 0600);
    CHECK(base != MAP_FAILED && file >= 0 && ftruncate(file, 4096) == 0);
    CHECK(mmap(base + place * 65536, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) !=
          MAP_FAILED);
    close(file);
}

static const char *under(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void look(void)
{
    CHECK(cs_process_files(getpid(), &seen));
}

static void library_that_is_not_loaded_has_no_path(void)
{
    map("libcudart.so.13", 9);
    look();
    CHECK_STR(seen.library, "");
    CHECK_STR(seen.cudnn, "");
}

static void the_name_is_the_kernels(void)
{
    CHECK_INT(prctl(PR_SET_NAME, "of a name"), 0);
    look();
    CHECK_STR(seen.program, "of a name");
}

/* A part of cuDNN counts only until the dispatcher is found, in any order. */
static void dispatcher_precedes_the_parts(void)
{
    map("libcudnn_ops.so.9", 3);
    look();
    CHECK_STR(seen.cudnn, under("libcudnn_ops.so.9"));
    map("libcudnn_cnn.so.9", 5);
    look();
    CHECK_STR(seen.cudnn, under("libcudnn_ops.so.9"));
    map("libcudnn.so.9", 4);
    look();
    CHECK_STR(seen.cudnn, under("libcudnn.so.9"));
}

static void the_first_library_counts(void)
{
    CHECK_INT(mkdir("other", 0700), 0);
    map("libconvshim.so.old", 6);
    look();
    CHECK_STR(seen.library, "");
    map("other/libconvshim.so", 8);
    look();
    CHECK_STR(seen.library, under("other/libconvshim.so"));
    map("libconvshim.so", 7);
    look();
    CHECK_STR(seen.library, under("libconvshim.so"));
    CHECK_STR(seen.cudnn, under("libcudnn.so.9"));
}

static void missing_process_is_reported(void)
{
    memset(&seen, 'x', sizeof seen);
    CHECK(!cs_process_files(999999999, &seen));
    CHECK_INT(errno, ESRCH);
    CHECK_STR(seen.library, "");
    CHECK_STR(seen.cudnn, "");
    CHECK_STR(seen.program, "");
}

static void ids(void)
{
    CHECK_INT(cs_process_id("4711"), 4711);
    CHECK_INT(cs_process_id("99999999999"), 99999999999);
    CHECK_INT(cs_process_id("999999999999"), 0);
    CHECK_INT(cs_process_id(""), 0);
    CHECK_INT(cs_process_id("12a"), 0);
    CHECK_INT(cs_process_id("-1"), 0);
}

int main(void)
{
    char remove[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    TEST(library_that_is_not_loaded_has_no_path);
    TEST(the_name_is_the_kernels);
    TEST(dispatcher_precedes_the_parts);
    TEST(the_first_library_counts);
    TEST(missing_process_is_reported);
    TEST(ids);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
