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

/* By its version if that is known, otherwise by its name. */
static void cudnn_files_have_a_title_and_a_status(void)
{
    static const struct {
        const char *path;
        int version;
        const char *title;
        bool served;
    } row[] = {
        {"/a/libcudnn.so.9", 90000, "cuDNN 9.0.0", true},
        {"/a/libcudnn.so.9", 91903, "cuDNN 9.19.3", true},
        {"/a/libcudnn.so.9", 99999, "cuDNN 9.99.99", true},
        {"/a/libcudnn.so.9", 89999, "cuDNN 8.99.99", false},
        {"/a/libcudnn.so.9", 8907, "cuDNN 8.9.7", false},
        {"/a/libcudnn.so.9", 100000, "cuDNN 10.0.0", false},
        {"/a/libcudnn.so.9", 0, "cuDNN 9", true},
        {"/a/libcudnn.so.8", 0, "cuDNN 8", false},
        {"/a/libcudnn.so.10", 0, "cuDNN 10", false},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char title[64];
        CHECK_STR(cs_libcudnn_title(row[i].path, row[i].version, title, sizeof title),
                  row[i].title);
        CHECK_INT(cs_libcudnn_served(row[i].path, row[i].version), row[i].served);
    }
}

/* The first installed name is used, independent of its case and dashes. */
static void packages_by_their_names(void)
{
    static struct cs_package packages[] = {{"nvidia-cudnn-cu13", "1", ""},
                                           {"AZaz.pkg", "2", ""},
                                           {"jax", "3", ""},
                                           {"jaxlib", "4", ""}};
    static const struct {
        const char *names;
        int found; /* -1: none */
    } rows[] = {{"nvidia_cudnn.cu13", 0},
                {"NVIDIA-CUDNN-CU13", 0},
                {"azAZ-PKG", 1},
                {"azAZ_pkg", 1},
                {"bzaz-pkg", -1},
                {"ayaz-pkg", -1},
                {"jax", 2},
                {"jaxli", -1},
                {"jaxlibs", -1},
                {"ja", -1},
                {"jaxlib jax", 3},
                {"none jax", 2},
                {"none jax jaxlib", 2},
                {"", -1},
                {"none", -1},
                {"[zaz-pkg", -1},
                {"@zaz-pkg", -1},
                {"aZaz-pk", -1},
                {"jax ", 2},
                {"none ", -1}};
    const struct cs_packages whole = {.package = packages, .packages = 4},
                             part = {.package = packages, .packages = 3};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cs_package *found = cs_packages_find(&whole, rows[i].names);
        CHECK_INT(found ? found - packages : -1, rows[i].found);
    }
    CHECK(!cs_packages_find(&part, "jaxlib"));
}

static void elf_properties_are_read(void)
{
    struct cs_elf elf;
    const char *why;
    Dl_info libc;
    CHECK(dladdr((void *)gnu_get_libc_version, &libc) !=
          0); /* no sanitizer replaces this function */
    CHECK(cs_elf_open(&elf, libc.dli_fname, &why));
    CHECK_STR(elf.soname ? elf.soname : "none", "libc.so.6");
    CHECK(elf.dynamic && !elf.rpath && !elf.runpath);
    CHECK_INT(elf.machine, cs_elf_this_machine());
    CHECK_INT(cs_linkage_of(&elf), CS_LINKAGE_NONE);
    cs_elf_close(&elf);
    CHECK(cs_elf_open(&elf, "/proc/self/exe", &why));
    CHECK(!elf.soname && elf.interpreter && elf.needs > 0);
    CHECK_INT(cs_linkage_of(&elf), cudnnBackendExecute ? CS_LINKAGE_INSIDE : CS_LINKAGE_LINKED);
    cs_elf_close(&elf);
    CHECK(!cs_elf_open(&elf, "/dev/null", &why));
}

static struct cs_doctor doctor;

static void new_doctor(const char *const *command)
{
    cs_doctor_free(&doctor);
    memset(&doctor, 0, sizeof doctor);
    doctor.command = (char **)command;
}

static void expect_finding(enum cs_check check, enum cs_severity severity, const char *subject,
                           const char *text)
{
    CHECK_INT(doctor.findings, 1);
    if (doctor.findings != 1)
        return;
    CHECK_INT(doctor.finding[0].check, check);
    CHECK_INT(doctor.finding[0].severity, severity);
    CHECK_STR(doctor.finding[0].subject, subject);
    CHECK_STR(doctor.finding[0].text, text);
}

/* Pairs of PyTorch and cuDNN: the first patch of 2.9 bypasses all versions from 9.8, later patches
 * those in their own ranges. */
static void which_pytorch_bypasses_which_cudnn(void)
{
    static const struct {
        const char *torch;
        int cudnn;
        enum cs_severity severity;
    } rows[] = {
        {"2.9.0", 90799, CS_FINE},    {"2.9.0", 90800, CS_WARNING}, {"2.9.0", 91499, CS_WARNING},
        {"2.9.0", 91500, CS_WARNING}, {"2.9.1", 90799, CS_FINE},    {"2.9.1", 90800, CS_WARNING},
        {"2.9.1", 91499, CS_WARNING}, {"2.9.1", 91500, CS_FINE},    {"2.8.0", 90800, CS_NOTE},
        {"2.10.0", 91499, CS_NOTE},   {"2.10.0", 90799, CS_FINE},   {"2.10.0", 91500, CS_FINE},
        {"3.9.0", 90800, CS_NOTE},    {"1.9.0", 91500, CS_FINE}};
    static struct cs_client client[] = {
        {.linkage = CS_LINKAGE_LOOKED, .cudnn = "libcudnn.so.9", .version = 90800},
        {.linkage = CS_LINKAGE_LINKED, .cudnn = "", .version = 90800},
        {.linkage = CS_LINKAGE_LINKED, .cudnn = "libcudnn.so.9"},
        {.linkage = CS_LINKAGE_LINKED, .cudnn = "libcudnn.so.9", .version = 90800}};
    struct cs_examined subject[] = {
        {.title = "JAX", .package = "jax", .client = &client[3], .clients = 1},
        {.title = "PyTorch", .package = "torch", .client = client, .clients = 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        new_doctor(NULL);
        snprintf(subject[1].version, sizeof subject[1].version, "%s", rows[i].torch);
        client[2].version = rows[i].cudnn;
        doctor.facts.subject = subject;
        doctor.facts.subjects = 2;
        cs_doctor_bypass(&doctor);
        CHECK_INT(doctor.findings, 1);
        CHECK_INT(doctor.finding[0].severity, rows[i].severity);
        CHECK_INT(doctor.finding[0].check, CS_CHECK_bypass);
        CHECK(strstr(doctor.finding[0].subject, rows[i].torch));
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
    cs_doctor_python(&doctor);
    setenv("PATH", kept, 1);
    expect_finding(CS_CHECK_python, CS_NOTE, "Python",
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
        cs_doctor_program(&doctor);
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
    static struct cs_client client[] = {
        {.linkage = CS_LINKAGE_LINKED, .cudnn = "libcudnn.so.9", .version = 92600},
        {.linkage = CS_LINKAGE_LOOKED, .cudnn = "libcudnn.so.9", .version = 91900},
        {.linkage = CS_LINKAGE_LINKED, .cudnn = "libcudnn.so.8", .version = 8907},
        {.linkage = CS_LINKAGE_NONE, .cudnn = "libcudnn.so.9", .version = 92600},
        {.linkage = CS_LINKAGE_LINKED, .cudnn = "", .version = 92600}};
    static struct cs_examined subject[] = {{"Old", "", "8", "", &client[2], 3},
                                           {"PyTorch", "", "2.15.0", "", &client[0], 1},
                                           {"Program", "", "", "", &client[1], 2}};
    static struct cs_finding finding[] = {{.severity = CS_FINE},
                                          {.severity = CS_WARNING},
                                          {.severity = CS_FATAL, .subject = "it", .text = "no"}};
    static const char both[] =
        "\nTo compare results and times on this GPU: convshim verify\n"
        "PyTorch 2.15.0 with cuDNN 9.26.0, Program with cuDNN 9.19.0 will be intercepted";
    static const struct {
        size_t first, subjects, findings;
        bool commanded, channels_last, running;
        const char *start, *rest; /* of the conclusion */
        bool no_driver;
    } rows[] = {
        {0, 3, 1, true, false, false, both, ".\n", false},
        {1, 2, 0, false, false, false, both, ".\n", false},
        {0, 3, 2, true, false, false, both, ", with limits (see the warnings).\n", false},
        {0, 3, 0, true, true, false, both, ", but channels_last may leave little to save.\n",
         false},
        {1, 1, 0, true, false, false, "\nPyTorch 2.15.0 with cuDNN 9.26.0 would be intercepted",
         ". There is no GPU here. To simulate one: convshim simulate -- COMMAND\n", true},
        {0, 3, 3, true, false, false, "\nThis will not work: it: no.\n", "", false},
        {0, 1, 0, true, false, false, "\nNo cuDNN was found in this command", NULL, false},
        {0, 1, 0, false, false, false, "\nconvshim is installed, but no framework", NULL, false},
        {0, 3, 3, true, false, true, "", "", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_doctor judge = {
            .facts = {.subject = &subject[rows[i].first], .subjects = rows[i].subjects},
            .finding = finding,
            .findings = rows[i].findings,
            .command = rows[i].commanded ? command : NULL,
            .channels_last = rows[i].channels_last,
            .driver = !rows[i].no_driver,
            .pid = rows[i].running};
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
    TEST(packages_by_their_names);
    TEST(elf_properties_are_read);
    TEST(which_pytorch_bypasses_which_cudnn);
    TEST(without_a_python_no_framework_is_searched);
    TEST(program_of_a_command_is_the_first_subject);
    TEST(scripts_of_scripts);
    TEST(conclusion_follows_from_the_findings);
    TEST(no_descriptor_is_left_open);
    return REPORT();
}
