/* What `convshim doctor` finds of a machine in files of the system: what is preloaded everywhere,
 * which kernel module there is. The files are the test's own, as is what the loader finds. */
#include "check.h"
#include <stdbool.h>
#include <stdio.h>

static const char *preloaded, *driver; /* what the files hold; NULL: there is none */
static const char *found;              /* the one library that is found; NULL: none */
static int files;                      /* open */

static FILE *open_made(const char *path, const char *mode)
{
    static const char none[] = "";
    const char *text = strcmp(path, "/etc/ld.so.preload") == 0 ? preloaded : driver;
    CHECK_STR(mode, "r");
    CHECK(text != driver || strcmp(path, "/proc/driver/nvidia/version") == 0);
    if (!text)
        return NULL;
    files++;
    return *text ? fmemopen((char *)text, strlen(text), mode) : fmemopen((char *)none, 1, "r");
}

static int close_made(FILE *file)
{
    files--;
    return fclose(file);
}

#define fopen(path, mode) open_made(path, mode)
#define fclose(file) close_made(file)
#define cs_loader_find find_made
#include "cli/doctor/doctor_machine.c" /* NOLINT(bugprone-suspicious-include) */
#undef fopen
#undef fclose

bool find_made(const char *name, const char *origin, const char *rpath, const char *runpath,
               char *path, size_t size)
{
    CHECK(origin && !rpath && !runpath);
    if (!found || strcmp(name, found) != 0)
        return false;
    snprintf(path, size, "/found/%s", name);
    return true;
}

static struct cs_doctor doctor;

/* All findings of one check, a line each. */
static const char *findings(void (*check)(struct cs_doctor *))
{
    static const char *const words[] = {
        [CS_FINE] = "fine", [CS_NOTE] = "note", [CS_WARNING] = "warning", [CS_FATAL] = "fatal"};
    static char text[8192];
    size_t length = 0;
    memset(&doctor, 0, sizeof doctor);
    check(&doctor);
    text[0] = '\0';
    for (size_t i = 0; i < doctor.findings; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s %s: %s\n",
                                   words[doctor.finding[i].severity], doctor.finding[i].subject,
                                   doctor.finding[i].text);
    cs_doctor_free(&doctor);
    CHECK_INT(files, 0);
    return text;
}

/* Of the first line the first word of digits and points. */
static void the_kernel_module(void)
{
    static char padded[1100] = "NVRM version:";
    static const struct {
        const char *file, *version;
    } rows[] = {
        {NULL, ""},
        {"", ""},
        {"\n", ""},
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 2026\nGCC 12.3\n",
         ", kernel module 580.65.06"},
        {"NVRM\t550.1\t7\n", ", kernel module 550.1"},
        {"NVRM 1\n", ", kernel module 1"},
        {"9.9\n", ", kernel module 9.9"},
        {"8", ", kernel module 8"},
        {"NVRM version: v580 580a x\n560.1\n", ""},
        {padded, ", kernel module 12"},
    };
    memset(padded + strlen(padded), ' ', 1010);
    strcpy(padded + 1021, "1234"); /* a line has 1023 bytes here */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[256];
        driver = rows[i].file;
        found = "libcuda.so.1";
        snprintf(wanted, sizeof wanted, "fine libcuda.so.1: /found/libcuda.so.1%s\n",
                 rows[i].version);
        CHECK_STR(findings(cs_doctor_driver), wanted);
        found = NULL;
        snprintf(wanted, sizeof wanted,
                 "note libcuda.so.1: none is found%s: programs run without a GPU\n",
                 rows[i].version);
        CHECK_STR(findings(cs_doctor_driver), wanted);
    }
}

/* Words between white space, each of which is looked for; what cannot be found or read is said. */
static void what_is_preloaded_everywhere(void)
{
    static char longest[1200];
    static const struct {
        const char *file, *said;
    } rows[] = {
        {NULL, ""},
        {"", "fine /etc/ld.so.preload: empty\n"},
        {"/proc/self/exe\n", "fine /etc/ld.so.preload: /proc/self/exe \n"},
        {"/proc/self/exe\t/proc/self/exe",
         "fine /etc/ld.so.preload: /proc/self/exe /proc/self/exe\n"},
        {"a.so\nb.so\tc.so d.so:e.so\n", "warning /etc/ld.so.preload: a.so is not found\n"
                                         "warning /etc/ld.so.preload: b.so is not found\n"
                                         "warning /etc/ld.so.preload: c.so is not found\n"
                                         "warning /etc/ld.so.preload: d.so is not found\n"
                                         "warning /etc/ld.so.preload: e.so is not found\n"},
        {"a.so /proc/self/exe\n", "warning /etc/ld.so.preload: a.so is not found\n"},
        {"/proc/self/exe\na.so", "warning /etc/ld.so.preload: a.so is not found\n"},
    };
    unsetenv("LD_PRELOAD");
    found = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[512];
        preloaded = rows[i].file;
        snprintf(wanted, sizeof wanted, "fine LD_PRELOAD: empty\n%s", rows[i].said);
        CHECK_STR(findings(cs_doctor_preload), wanted);
    }
    memset(longest, ' ', sizeof longest - 1);
    strcpy(longest + 1020, "a.so"); /* 1023 bytes are read */
    preloaded = longest;
    CHECK_STR(findings(cs_doctor_preload), "fine LD_PRELOAD: empty\n"
                                           "warning /etc/ld.so.preload: a.s is not found\n");
    preloaded = NULL;
}

/* The cuDNN that the loader would take: 9 before 8. */
static void where_the_loader_finds_a_cudnn(void)
{
    static const struct {
        const char *found, *said;
    } rows[] = {{NULL, "note libcudnn.so.9: none where the loader looks: only programs with a "
                       "cuDNN of their own find one\n"},
                {"libcudnn.so.9", "fine libcudnn.so.9: cuDNN 9 in /found/libcudnn.so.9\n"},
                {"libcudnn.so.8", "warning libcudnn.so.8: cuDNN 8 in /found/libcudnn.so.8: "
                                  "convshim serves cuDNN 9, every call passes through\n"},
                {"libcudnn.so.10", "note libcudnn.so.9: none where the loader looks: only "
                                   "programs with a cuDNN of their own find one\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        found = rows[i].found;
        CHECK_STR(findings(cs_doctor_cudnn), rows[i].said);
    }
}

/* Both of what makes a file the library's: it looks symbols up and has functions of cuDNN's. */
static void what_a_library_exports(void)
{
    static const struct {
        const char *name;
        bool defined, lookup, entry;
    } rows[] = {{"dlsym", true, true, false},         {"dlsym", false, false, false},
                {"dlsymbol", true, false, false},     {"cudnnCreate", true, false, true},
                {"cudnnCreate", false, false, false}, {"cudnn", true, false, true},
                {"cudn", true, false, false},         {"xcudnn", true, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int before = 0; before < 2; before++) {
            struct exports exports = {before, before};
            note_export(&exports, rows[i].name, rows[i].defined);
            CHECK_INT(exports.lookup, before || rows[i].lookup);
            CHECK_INT(exports.entry, before || rows[i].entry);
        }
}

int main(void)
{
    TEST(the_kernel_module);
    TEST(what_is_preloaded_everywhere);
    TEST(where_the_loader_finds_a_cudnn);
    TEST(what_a_library_exports);
    return REPORT();
}
