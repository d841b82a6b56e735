/* Parts of `convshim doctor`, `convshim run` and `convshim config`: the program of a command, the
 * properties of a file, the conclusion of a check. */
#include "capture.h"
#include "cli/doctor/doctor.h"
#include "cli/program/command_facts.h"
#include "descriptors.h"
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/stat.h>

enum {
    DEEPEST_SCRIPTS = 5 /* of which each is the next one's interpreter */
};

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A call of cuDNN as in a program. It is never executed. */
int cudnnBackendExecute(void *handle, void *plan, void *pack) __attribute__((weak));

static void cudnn_files_have_a_title_and_a_status(void)
{
    static const struct {
        int version;
        const char *title;
        bool served;
    } row[] = {
        {91903, "cuDNN 9.19.3", true},   {99999, "cuDNN 9.99.99", true}, {90000, "cuDNN 9", true},
        {89999, "cuDNN 8.99.99", false}, {80907, "cuDNN 8.9.7", false},  {80000, "cuDNN 8", false},
        {100100, "cuDNN 10.1.0", false},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char title[64];
        CHECK_STR(cs_libcudnn_title(row[i].version, title, sizeof title), row[i].title);
        CHECK_INT(cs_libcudnn_served(row[i].version), row[i].served);
    }
}

static void elf_properties_are_read(void)
{
    struct cs_elf elf;
    const char *why;
    Dl_info libc;
    CHECK(dladdr((void *)gnu_get_libc_version, &libc) !=
          0); /* no sanitizer replaces this function */
    CHECK(cs_elf_open(&elf, libc.dli_fname, &why));
    CHECK(!elf.rpath && !elf.runpath);
    CHECK_INT(elf.machine, CS_ELF_THIS_MACHINE);
    CHECK_INT(cs_linkage_of(&elf), CS_LINKAGE_NONE);
    cs_elf_close(&elf);
    CHECK(cs_elf_open(&elf, "/proc/self/exe", &why));
    CHECK(elf.interpreter && elf.needs > 0);
    CHECK_INT(cs_linkage_of(&elf), cudnnBackendExecute ? CS_LINKAGE_INSIDE : CS_LINKAGE_LINKED);
    cs_elf_close(&elf);
    CHECK(!cs_elf_open(&elf, "/dev/null", &why));
}

static struct cs_doctor doctor;

static void new_doctor(const char *const *command)
{
    cs_doctor_free(&doctor);
    cs_doctor_begin(&doctor);
    doctor.command = (char **)command;
}

/* Pairs of PyTorch and cuDNN: the first patch of 2.9 bypasses all versions from 9.8, later patches
 * those in their own ranges. */
static void which_pytorch_bypasses_which_cudnn(void)
{
    static const struct {
        const char *torch;
        int cudnn;
        bool bypasses;
        const char *package;
    } rows[] = {{"2.9.0", 90799, false, "torch"},  {"2.9.0", 90800, true, "torch"},
                {"2.9.0", 91499, true, "torch"},   {"2.9.0", 91500, true, "torch"},
                {"2.9.1", 90799, false, "torch"},  {"2.9.1", 90800, true, "torch"},
                {"2.9.1", 91499, true, "torch"},   {"2.9.1", 91500, false, "torch"},
                {"2.8.0", 90800, false, "torch"},  {"2.10.0", 91499, false, "torch"},
                {"2.10.0", 91500, false, "torch"}, {"3.9.0", 90800, false, "torch"},
                {"1.9.0", 91500, false, "torch"},  {"2.9.0", 91500, false, "jax"}};
    static struct cs_client client = {.linkage = CS_LINKAGE_LINKED, .path = "lib.so"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_examined subject = {.title = "Framework",
                                      .package = rows[i].package,
                                      .version = rows[i].torch,
                                      .asked = "",
                                      .client = &client,
                                      .clients = 1,
                                      .cudnn = "libcudnn.so.9",
                                      .cudnn_version = rows[i].cudnn};
        new_doctor(NULL);
        doctor.facts.python_version = "3";
        doctor.facts.subject = &subject;
        doctor.facts.subjects = 1;
        cs_doctor_run(&doctor, CS_CHECK_framework);
        CHECK_INT(doctor.count[CS_FINE], 1);
        CHECK_INT(doctor.count[CS_WARNING], rows[i].bypasses);
        CHECK_INT(doctor.findings.rows, 1 + rows[i].bypasses);
        doctor.facts.subject = NULL;
        doctor.facts.subjects = 0;
    }
}

static void without_a_python_no_framework_is_searched(void)
{
    char kept[4096];
    snprintf(kept, sizeof kept, "%s", getenv("PATH"));
    new_doctor(NULL);
    setenv("PATH", "/nonexistent", 1);
    cs_doctor_run(&doctor, CS_CHECK_python);
    setenv("PATH", kept, 1);
    CHECK_INT(doctor.count[CS_NOTE], 1);
    CHECK_STR(cs_table_row(&doctor.findings, 0)[3].text,
              "no python3 in PATH, so PyTorch, JAX and others were not searched");
}

static void program_of_a_command_is_the_first_subject(void)
{
    new_doctor(WORDS("env", "A=1", "/bin/true", "x"));
    cs_program_examine(&doctor.facts, doctor.command);
    CHECK_STR(doctor.facts.program, "/bin/true");
    CHECK_INT(doctor.facts.subjects, 1);
    CHECK_STR(doctor.facts.subjects > 0 ? doctor.facts.subject[0].title : "", "true");
}

/* As deep as the kernel follows. A Python on the way is the interpreter. */
static void scripts_of_scripts(void)
{
    char folder[] = "/tmp/convshim-scripts-XXXXXX", path[8][64], command[64];
    CHECK(mkdtemp(folder));
    for (int depth = 0; depth < 8; depth++) {
        snprintf(path[depth], sizeof path[depth], "%s/%s%d", folder, depth == 2 ? "python" : "s",
                 depth);
        FILE *file = fopen(path[depth], "we");
        CHECK(file && fprintf(file, "#!%s\n", depth == 0 ? "/bin/sh" : path[depth - 1]) > 0 &&
              fclose(file) == 0 && chmod(path[depth], 0700) == 0);
        new_doctor(WORDS(path[depth], "x"));
        cs_doctor_run(&doctor, CS_CHECK_program);
        CHECK_STR(doctor.facts.program, depth < DEEPEST_SCRIPTS ? "/bin/sh" : "");
        if (depth < DEEPEST_SCRIPTS)
            CHECK(depth >= 2 ? strcmp(doctor.facts.python, path[2]) == 0 : doctor.facts.shell);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

static const struct cs_doctor *judged;

static int say_verdict(int argc, char **argv)
{
    (void)argc, (void)argv;
    cs_doctor_verdict(judged);
    return 0;
}

/* The final line: all libraries with a supported cuDNN, or the reason why there is none. */
static void conclusion_follows_from_the_findings(void)
{
    static char nothing[] = "", *command[] = {nothing, NULL};
    static struct cs_examined subject[] = {{.title = "Old",
                                            .version = "8",
                                            .asked = "",
                                            .cudnn = "libcudnn.so.8",
                                            .cudnn_version = 80907},
                                           {.title = "PyTorch",
                                            .version = "2.15.0",
                                            .asked = "",
                                            .cudnn = "libcudnn.so.9",
                                            .cudnn_version = 92600},
                                           {.title = "Program",
                                            .version = "",
                                            .asked = "",
                                            .cudnn = "libcudnn.so.9",
                                            .cudnn_version = 91900}};
    static const char both[] =
        "\nTo compare results and times on this GPU: convshim verify\n"
        "PyTorch 2.15.0 with cuDNN 9.26.0, Program with cuDNN 9.19.0 will be intercepted";
    static const struct {
        size_t first, subjects;
        enum cs_severity worst;
        bool commanded;
        const char *start, *rest; /* of the conclusion */
        bool no_driver;
    } rows[] = {{0, 3, CS_FINE, true, both, ".\n", false},
                {1, 2, CS_NOTE, false, both, ".\n", false},
                {0, 3, CS_WARNING, true, both, ", with limits (see the warnings).\n", false},
                {1, 1, CS_FINE, true, "\nPyTorch 2.15.0 with cuDNN 9.26.0 would be intercepted",
                 ". There is no GPU here. To simulate one: convshim simulate -- COMMAND\n", true},
                {0, 3, CS_FATAL, true, "\nThis will not work: it: no.\n", "", false},
                {0, 1, CS_FINE, true, "\nNo cuDNN was found in this command", NULL, false},
                {0, 1, CS_FINE, false, "\nconvshim is installed, but no framework", NULL, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_doctor judge = {
            .facts = {.subject = &subject[rows[i].first], .subjects = rows[i].subjects},
            .fatal = rows[i].worst == CS_FATAL ? "it: no" : NULL,
            .command = rows[i].commanded ? command : NULL,
            .driver = !rows[i].no_driver};
        judge.count[rows[i].worst]++;
        judged = &judge;
        output_of(say_verdict, WORDS("verdict"));
        size_t length = strlen(rows[i].start);
        CHECK(strncmp(captured, rows[i].start, length) == 0);
        if (rows[i].rest)
            CHECK_STR(captured + length, rows[i].rest);
    }
}

int main(void)
{
    descriptors_begin();
    TEST(cudnn_files_have_a_title_and_a_status);
    TEST(elf_properties_are_read);
    TEST(which_pytorch_bypasses_which_cudnn);
    TEST(without_a_python_no_framework_is_searched);
    TEST(program_of_a_command_is_the_first_subject);
    TEST(scripts_of_scripts);
    TEST(conclusion_follows_from_the_findings);
    TEST(no_descriptor_is_left_open);
    return REPORT();
}
