/* What a program to be simulated brings along, where the checks of `convshim doctor` are the test's
 * own: libraries of NVIDIA's packages, the cuDNN, the CUDA; and nothing stays taken. */
#include "cli/simulate/simulated_program.h"

#include "check.h"
#include "cli/common/cli.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/elf.h"
#include "cli/doctor/libcudnn.h"
#include "cli/doctor/loader.h"
#include "heap.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/convshim-program-XXXXXX";
static char complaint[256];
static bool missing, broken; /* the program; memory */
static char python[32];
static char *words[] = {"program", NULL};
static struct cs_package packages[3];
static struct cs_client client;
static struct cs_examined subject = {.title = "Framework", .package = "framework"};

void cs_cli_complain(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(complaint, sizeof complaint, format, list);
    va_end(list);
}

void cs_doctor_examine(struct cs_doctor *doctor)
{
    snprintf(doctor->program, sizeof doctor->program, "%s", missing ? "" : "/bin/program");
    snprintf(doctor->python, sizeof doctor->python, "%s", python);
    doctor->broken = broken;
    doctor->packages.package = packages;
    doctor->packages.packages = sizeof packages / sizeof *packages;
    doctor->subject = &subject;
    doctor->subjects = 1;
}

void cs_doctor_free(struct cs_doctor *doctor)
{
    (void)doctor;
}

bool cs_loader_list(const char *file, const char *preload, cs_loader_fn *each, void *ctx,
                    char *said, size_t size)
{
    CHECK(!preload && size > 0);
    said[0] = '\0';
    if (strcmp(file, "/site/framework.so") == 0)
        each(ctx, "libcublas.so.13", "/site/libcublas.so.13");
    return true;
}

static const char *opens; /* the one file that can be opened; NULL: none */
static const char *needed[3];
static int opened;

bool cs_elf_open(struct cs_elf *elf, const char *path, const char **why_p)
{
    *why_p = "none";
    if (!opens || strcmp(path, opens) != 0)
        return false;
    memset(elf, 0, sizeof *elf);
    for (; elf->needs < 3 && needed[elf->needs]; elf->needs++)
        elf->needed[elf->needs] = needed[elf->needs];
    opened++;
    return true;
}

void cs_elf_close(struct cs_elf *elf)
{
    CHECK(elf->needs > 0);
    opened--;
}

int cs_libcudnn_version(const char *path, const struct cs_packages *of)
{
    (void)path, (void)of;
    return 91000;
}

const char *cs_libcudnn_title(const char *path, int version, char *text, size_t size)
{
    (void)path;
    snprintf(text, size, "cuDNN %d", version);
    return text;
}

bool cs_libcudnn_served(const char *path, int version)
{
    (void)path;
    return version / 10000 == 9;
}

static void touch(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(file >= 0 && close(file) == 0);
}

/* A folder of packages, and what a framework in it comes to. */
static void set_up(void)
{
    static const char *const made[] = {"nvidia", "nvidia/a", "nvidia/a/lib", "nvidia/b",
                                       "nvidia/b/lib"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        CHECK_INT(mkdir(made[i], 0700), 0);
    touch("nvidia/a/lib/libcudart.so.12");
    touch("nvidia/a/lib/libcufft.so.11");
    touch("nvidia/a/lib/libcufftw.so.11");
    touch("nvidia/b/lib/libcurand.so.10");
    touch("nvidia/b/lib/libcurand.a");
    packages[0] = (struct cs_package){"framework", "2", folder};
    packages[1] = (struct cs_package){"nvidia-a", "1", folder};
    packages[2] = (struct cs_package){"nvidia-b", "1", folder};
    snprintf(client.path, sizeof client.path, "/site/framework.so");
    snprintf(client.cudnn, sizeof client.cudnn, "/site/lib/libcudnn.so.9");
    client.version = 91500;
    snprintf(subject.version, sizeof subject.version, "2.15");
    subject.client = &client;
    subject.clients = 1;
}

static bool find(struct cs_simulated_program *program, const char *cudnn, int cuda)
{
    complaint[0] = '\0';
    return cs_simulated_program_find(program, words, cudnn, cuda);
}

static void what_it_brings_along(void)
{
    static const char *const wanted[] = {"libcublas.so.13", "libcufft.so.11", "libcurand.so.10"};
    struct cs_simulated_program program;
    CHECK(find(&program, NULL, 0));
    CHECK_INT(program.libraries, 3);
    for (size_t i = 0; i < 3 && i < program.libraries; i++)
        CHECK_STR(strrchr(program.library[i], '/') + 1, wanted[i]);
    CHECK_INT(program.cuda, 12);
    CHECK_STR(program.cudnn, "cuDNN 91500");
    CHECK_STR(program.folder, "/site/lib");
    CHECK_STR(program.framework, "Framework 2.15");
    cs_simulated_program_free(&program);
    CHECK_INT(program.libraries, 0);
    CHECK(find(&program, NULL, 13));
    CHECK_INT(program.cuda, 13);
    cs_simulated_program_free(&program);
}

/* Of the runtimes that are there, in the order of their names, the first that there is a stand-in
 * for; 12 where there is none. */
static void the_runtime_that_is_stood_in_for(void)
{
    static const struct {
        const char *file[2];
        int cuda;
    } row[] = {{{"libcudart.so.11", "libcudart.so.13"}, 13},
               {{"libcudart.so.12", "libcudart.so.13"}, 12},
               {{"libcudart.so.11.0", NULL}, 0},
               {{"libcudart.so.13.1.2", NULL}, 13},
               {{"libcudart.so.14", NULL}, 0},
               {{"libcublas.so.13", NULL}, 0}};
    CHECK_INT(rename("nvidia/a/lib/libcudart.so.12", "kept"), 0);
    struct cs_simulated_program program;
    CHECK(find(&program, NULL, 0));
    const int none = program.cuda; /* what is taken where nothing says it */
    cs_simulated_program_free(&program);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char path[64];
        for (int j = 0; j < 2 && row[i].file[j]; j++) {
            snprintf(path, sizeof path, "nvidia/b/lib/%s", row[i].file[j]);
            touch(path);
        }
        CHECK(find(&program, NULL, 0));
        CHECK_INT(program.cuda, row[i].cuda > 0 ? row[i].cuda : none);
        cs_simulated_program_free(&program);
        for (int j = 0; j < 2 && row[i].file[j]; j++) {
            snprintf(path, sizeof path, "nvidia/b/lib/%s", row[i].file[j]);
            CHECK_INT(unlink(path), 0);
        }
    }
    CHECK_INT(rename("kept", "nvidia/a/lib/libcudart.so.12"), 0);
}

/* A file that lacks a library says itself which runtime it is for; nothing else can be had of it.
 */
static void what_a_file_itself_names(void)
{
    static const struct {
        const char *needed[3];
        int cuda; /* 0: as where nothing says it */
    } row[] = {{{"libm.so.6", "libcudart.so.12", "libcudart.so.13"}, 12},
               {{"libcudart.so.13", "libcublas.so.13", "libcudart.so.12"}, 13},
               {{"libcublas.so.12", "libcudart.so.11", NULL}, 0},
               {{"libm.so.6", "libcudart.so.1", "libcudart.so.12"}, 12}};
    CHECK_INT(rename("nvidia/a/lib/libcudart.so.12", "kept"), 0);
    struct cs_simulated_program program;
    CHECK(find(&program, NULL, 0));
    const int none = program.cuda;
    const size_t libraries = program.libraries;
    cs_simulated_program_free(&program);
    for (int i = 0; i < 8; i++) {
        memcpy(needed, row[i / 2].needed, sizeof needed);
        opens = i % 2 ? "/bin/program" : client.path; /* of a Python's program nothing is asked */
        CHECK(find(&program, NULL, 0));
        CHECK_INT(program.cuda, row[i / 2].cuda > 0 ? row[i / 2].cuda : none);
        CHECK_INT(program.libraries, libraries);
        CHECK_INT(opened, 0);
        cs_simulated_program_free(&program);
    }
    snprintf(python, sizeof python, "/bin/python3");
    CHECK(find(&program, NULL, 0));
    CHECK_INT(program.cuda, none);
    cs_simulated_program_free(&program);
    python[0] = '\0';
    opens = NULL;
    CHECK_INT(rename("kept", "nvidia/a/lib/libcudart.so.12"), 0);
}

static void the_cudnn_that_is_named(void)
{
    struct cs_simulated_program program;
    CHECK(!find(&program, "nvidia/b/lib", 0));
    CHECK_STR(complaint, "--cudnn nvidia/b/lib: no libcudnn.so.9 there");
    CHECK_INT(program.libraries, 0);
    touch("nvidia/b/lib/libcudnn.so.9");
    CHECK(find(&program, "nvidia/b/lib", 0));
    CHECK(strstr(program.folder, "/nvidia/b/lib") && program.folder[0] == '/');
    CHECK_STR(program.framework, "");
    CHECK_STR(program.cudnn, "cuDNN 91000");
    cs_simulated_program_free(&program);
}

static void nothing_is_found_without_program_or_memory(void)
{
    struct cs_simulated_program program;
    missing = true;
    CHECK(!find(&program, NULL, 0));
    CHECK_STR(complaint, "program: not found, or it cannot be run");
    missing = false;
    broken = true;
    CHECK(!find(&program, NULL, 0));
    CHECK_STR(complaint, "out of memory");
    CHECK_INT(program.libraries, 0);
    broken = false;
}

static void nothing_stays_taken(void)
{
    heap_watch();
    for (int round = 0; round < 3; round++) {
        struct cs_simulated_program program;
        long long before = atomic_load(&heap_taken);
        CHECK(find(&program, NULL, 0));
        cs_simulated_program_free(&program);
        CHECK(round == 0 || atomic_load(&heap_taken) == before); /* the first fills caches */
    }
}

int main(void)
{
    char remove[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    set_up();
    TEST(what_it_brings_along);
    TEST(the_runtime_that_is_stood_in_for);
    TEST(what_a_file_itself_names);
    TEST(the_cudnn_that_is_named);
    TEST(nothing_is_found_without_program_or_memory);
    TEST(nothing_stays_taken);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
