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

#define SAYS(...) check_says((const char *const[]){__VA_ARGS__, NULL})
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A call of cuDNN as in a program. It is never executed. */
int cudnnBackendExecute(void *handle, void *plan, void *pack) __attribute__((weak));

static void expect_inner(const char *const *words, const char *first)
{
    char **inner = cs_wrapper_unwrap((char **)words);
    CHECK_STR(inner[0], first);
}

static void wrappers_are_skipped_to_the_program(void)
{
    expect_inner(WORDS("prog", "x"), "prog");
    expect_inner(WORDS("env", "-u", "X", "A=1", "nice", "-n", "5", "prog", "x"), "prog");
    expect_inner(WORDS("/usr/bin/env", "--unset", "X", "prog"), "prog");
    expect_inner(WORDS("env", "--unset=X", "prog"), "prog");
    expect_inner(WORDS("timeout", "-k", "3", "10", "taskset", "0xf", "prog"), "prog");
    expect_inner(WORDS("numactl", "-C", "0-3", "--membind", "1", "--", "prog"), "prog");
    expect_inner(WORDS("chrt", "-f", "5", "prog"), "prog");
    expect_inner(WORDS("env", "A=1"), "env");
}

/* Their options are skipped with their values, because no file has such a name. */
static void launchers_are_skipped_to_the_first_word_that_can_be_run(void)
{
    static const char *const names[] = {"srun", "/opt/mpirun", "mpiexec",
                                        "nsys", "ncu",         "xvfb-run"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect_inner(WORDS(names[i], "-n", "2", "sh", "-c", "true"), "sh");
        expect_inner(WORDS(names[i], "--no-such-word"), names[i]);
    }
    expect_inner(WORDS("other", "-n", "2", "sh"), "other");
}

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

static void channels_last_is_noted(void)
{
    new_doctor(WORDS("prog", "--channels-last"));
    cs_doctor_layout(&doctor);
    expect_finding(CS_CHECK_layout, CS_NOTE, "--channels-last",
                   "uses channels_last. Such tensors often require no workspace, so that "
                   "convshim saves nothing");
    new_doctor(WORDS("prog", "--other"));
    cs_doctor_layout(&doctor);
    expect_finding(CS_CHECK_layout, CS_FINE, "layout",
                   "the command and its script do not use channels_last");
}

static void no_library_is_reported_as_deepbind(void)
{
    struct cs_client client = {.linkage = CS_LINKAGE_LOOKED, .path = "/x/libfoo.so"};
    struct cs_examined subject = {.title = "Foo", .package = "", .client = &client, .clients = 1};
    new_doctor(NULL);
    doctor.facts.subject = &subject;
    doctor.facts.subjects = 1;
    cs_doctor_deepbind(&doctor);
    expect_finding(CS_CHECK_deepbind, CS_FINE, "RTLD_DEEPBIND",
                   "no library is known to use it, but files alone cannot prove that");
    cs_doctor_inside(&doctor);
    CHECK_INT(doctor.findings, 2);
    CHECK_INT(doctor.finding[1].severity, CS_FINE);
    client.linkage = CS_LINKAGE_INSIDE;
    cs_doctor_inside(&doctor);
    CHECK_INT(doctor.findings, 3);
    CHECK_INT(doctor.finding[2].severity, CS_FATAL);
    CHECK_STR(doctor.finding[2].text, "/x/libfoo.so contains a statically linked cuDNN");
    doctor.facts.subject = NULL;
    doctor.facts.subjects = 0;
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

static void dry_run_prints_the_environment(void)
{
    unsetenv("LD_PRELOAD");
    unsetenv("NVTX_INJECTION64_PATH");
    unsetenv("CONVSHIM_WORKSPACE");
    output_of(cs_cli_run,
              WORDS("run", "--dry-run", "--library", "/proc/self/exe", "--workspace", "1MiB"));
    CHECK_INT(captured_status, CS_CLI_OK);
    SAYS("export LD_PRELOAD=/", "\nexport NVTX_INJECTION64_PATH=/", "\nexport CONVSHIM_CONFIG=");
    CHECK(!strstr(captured, "unset "));
    setenv("CONVSHIM_WORKSPACE", "2MiB", 1);
    output_of(cs_cli_run,
              WORDS("run", "--dry-run", "--library", "/proc/self/exe", "--workspace", "1MiB"));
    SAYS("\nunset CONVSHIM_WORKSPACE\n");
    unsetenv("CONVSHIM_WORKSPACE");
}

static void which_rule_applies_as_json(void)
{
    char name[] = "/tmp/convshim-rules-XXXXXX";
    int file = mkstemp(name);
    static const char text[] = "[rule a]\nkernel = 3x3\nworkspace = 32MiB\n"
                               "[rule b]\nkernel = 1x1\nworkspace = 16MiB\n";
    CHECK(file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    setenv("CONVSHIM_CONFIGFILE", name, 1);
    output_of(cs_cli_config, WORDS("config", "--format", "json", "--explain",
                                   "1x64x32x32 -> 64 k1x1 s2 g2 f32 required=3MiB"));
    CHECK_INT(captured_status, CS_CLI_OK);
    SAYS("\"required_bytes\":\t3145728,\n\t\"estimate\":\tfalse,\n", "\"name\":\t\"a\",\n",
         "\"applies\":\tfalse,\n", "\"name\":\t\"b\",\n", "\"applies\":\ttrue,\n",
         "\"rule\":\t\"b\"\n}\n");
    unsetenv("CONVSHIM_CONFIGFILE");
    close(file);
    unlink(name);
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
    TEST(wrappers_are_skipped_to_the_program);
    TEST(launchers_are_skipped_to_the_first_word_that_can_be_run);
    TEST(cudnn_files_have_a_title_and_a_status);
    TEST(packages_by_their_names);
    TEST(elf_properties_are_read);
    TEST(channels_last_is_noted);
    TEST(no_library_is_reported_as_deepbind);
    TEST(which_pytorch_bypasses_which_cudnn);
    TEST(without_a_python_no_framework_is_searched);
    TEST(program_of_a_command_is_the_first_subject);
    TEST(scripts_of_scripts);
    TEST(dry_run_prints_the_environment);
    TEST(conclusion_follows_from_the_findings);
    TEST(which_rule_applies_as_json);
    TEST(no_descriptor_is_left_open);
    return REPORT();
}
