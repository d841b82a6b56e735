/* All findings of `convshim doctor`, on machines that the test describes: tables and files here
 * replace the loader, a Python, the kernel and the examined libraries. No program is run. */
#include "golden.h"

#include "cli/doctor/doctor.h"
#include "cli/program/child.h"
#include "cli/program/command_facts.h"
#include "elf_image.h"
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/stat.h>

static char folder[] = "/tmp/convshim-checks-XXXXXX", root[PATH_MAX];

/* --- the machine --- */

static struct machine {
    const char *list;     /* the loader's result for any file; NULL: it cannot be queried */
    const char *complain; /* the loader's first line where it is given a library to preload */
    const char *finds;    /* names that the loader finds, each in the folder lib */
    const char *python;   /* output of a Python; NULL: it cannot be run */
} machine;

const char *gnu_get_libc_version(void)
{
    return "2.99";
}

/* Files of the kernel and of the system are in the test's folder. */
FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*open_file)(const char *, const char *);
    if (!open_file)
        *(void **)&open_file = dlsym(RTLD_NEXT, "fopen");
    if (strcmp(path, "/etc/ld.so.preload") == 0)
        path = "ld.so.preload";
    return open_file(path, mode);
}

static bool telling; /* print the commands that are run */

/* The folders of the loader's last search. */
static char folders_run[256];

static void tell(const char *const *argv, const char *const *set)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    printf("run");
    for (int i = argv[1] && strcmp(argv[1], "--list") == 0; argv[i]; i++)
        printf(" %s", strcmp(argv[i], self) == 0           ? "SELF"
                      : strncmp(argv[i], "import", 6) == 0 ? "SCRIPT"
                                                           : argv[i]);
    for (; set && *set; set++)
        printf(" %s", *set);
    puts("");
}

/* The names of a list, between blanks. */
static bool finds(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = machine.finds; at && (at = strstr(at, name)); at++)
        if ((at == machine.finds || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

/* Memory does not run short in it. */
static int answer_of(const char *const *argv, const char *const *set, char **text_p)
{
    static const char preload[] = "LD_PRELOAD=";
    bool list = argv[1] && strcmp(argv[1], "--list") == 0;
    const char *name =
        set && strncmp(*set, preload, strlen(preload)) == 0 ? *set + strlen(preload) : "";
    if (telling)
        tell(argv, set);
    snprintf(folders_run, sizeof folders_run, "%s", set && set[1] ? set[1] : "");
    if (!list && machine.python)
        return (*text_p = strdup(machine.python)) ? 0 : -1;
    if (!list || !machine.list)
        return -1;
    int length;
    if (!set || !set[1])
        length = asprintf(text_p, "%s%s", *name && machine.complain ? machine.complain : "",
                          machine.list);
    else if (finds(name)) /* a search */
        length = asprintf(text_p, "\t%s/lib/%s (0x2)\n\t/other/%s (0x3)\n", folder, name, name);
    else
        length = asprintf(text_p, "\tlinux-vdso.so.1 (0x1)\n\tlibother.so.1 (0x9)\n"
                                  "ERROR: cannot be preloaded: ignored\n");
    return length > 0 ? 0 : -1;
}

/* In place of starting a program. */
WRAPPED(int, cs_child_output, const char *const *argv, const char *const *set, char **text_p)
{
    long long left = atomic_exchange(&heap_left, -1);
    int status = answer_of(argv, set, text_p);
    atomic_store(&heap_left, left);
    return status;
}

/* --- its files --- */

static void write_bytes(const char *path, const void *bytes, size_t size, mode_t mode)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    CHECK(chmod(path, mode) == 0);
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text), 0644);
}

enum {
    SYMBOLS = 6
};

static struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segment[ELF_SEGMENTS];
    Elf64_Dyn dynamic[5];
    Elf64_Sym symbol[SYMBOLS];
    char names[512], constants[256], interpreter[ELF_INTERPRETER], sections[32];
    Elf64_Shdr section[ELF_SECTIONS];
} image;

#define AT(member) offsetof(struct image, member)

static Elf64_Word add_name(size_t *used, const char *name)
{
    Elf64_Word at = (Elf64_Word)*used;
    strcpy(image.names + at, name);
    *used += strlen(name) + 1;
    return at;
}

/* A library or program. `symbols`: "+defined -required ..."; `constants`: words, each of which gets
 * an end; NULL: none. */
static void write_caller(const char *path, const char *symbols, const char *constants,
                         const char *rpath, const char *runpath)
{
    static const char sections[] = "\0.rodata\0.x";
    static const struct elf_places at = {AT(segment), AT(section),          AT(interpreter),
                                         AT(dynamic), sizeof image.dynamic, sizeof image};
    const Elf64_Addr base = 0x1000;
    size_t used = 1;
    int count = 1;
    image = (struct image){.header = elf_header(&at),
                           .interpreter = "/lib/ld.so",
                           .section = {{.sh_type = SHT_NULL},
                                       {.sh_name = 9,
                                        .sh_type = SHT_DYNSYM,
                                        .sh_offset = AT(symbol),
                                        .sh_size = sizeof image.symbol,
                                        .sh_link = 2},
                                       {.sh_name = 9,
                                        .sh_type = SHT_STRTAB,
                                        .sh_offset = AT(names),
                                        .sh_size = sizeof image.names},
                                       {.sh_name = 1,
                                        .sh_type = SHT_PROGBITS,
                                        .sh_offset = AT(constants),
                                        .sh_size = sizeof image.constants},
                                       {.sh_name = 9,
                                        .sh_type = SHT_STRTAB,
                                        .sh_offset = AT(sections),
                                        .sh_size = sizeof image.sections}}};
    elf_segments(&at, base, image.segment);
    memcpy(image.sections, sections, sizeof sections);
    for (const char *next = symbols; *next && count < SYMBOLS; next += strspn(next, " ")) {
        char name[64];
        size_t length = strcspn(next, " ");
        snprintf(name, sizeof name, "%.*s", (int)length - 1, next + 1);
        image.symbol[count++] =
            (Elf64_Sym){.st_name = add_name(&used, name), .st_shndx = *next == '+' ? 3 : SHN_UNDEF};
        next += length;
    }
    image.dynamic[0] = (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un.d_ptr = base + AT(names)};
    if (runpath)
        image.dynamic[1] = (Elf64_Dyn){.d_tag = DT_RUNPATH, .d_un.d_val = add_name(&used, runpath)};
    if (rpath)
        image.dynamic[2] = (Elf64_Dyn){.d_tag = DT_RPATH, .d_un.d_val = add_name(&used, rpath)};
    for (int i = 1; i < 3; i++) /* DT_NULL would end the list */
        if (image.dynamic[i].d_tag == DT_NULL)
            image.dynamic[i].d_tag = DT_DEBUG;
    for (size_t i = 0; constants && constants[i]; i++)
        image.constants[i] = constants[i];
    for (size_t i = 0; i < sizeof image.constants; i++)
        if (image.constants[i] == ' ')
            image.constants[i] = '\0';
    write_bytes(path, &image, sizeof image, 0755);
}

static void write_elf(const char *path, const char *symbols, const char *constants,
                      const char *runpath)
{
    write_caller(path, symbols, constants, NULL, runpath);
}

#define OURS "+dlsym +cudnnConvolutionForward"

static void make_files(void)
{
    static const char *const folders[] = {"bin",
                                          "lib",
                                          "site",
                                          "site/torch",
                                          "site/torch/lib",
                                          "site/onnxruntime",
                                          "site/onnxruntime/capi",
                                          "site/jaxlib",
                                          "site/nvidia",
                                          "site/nvidia/cudnn",
                                          "site/nvidia/cudnn/lib",
                                          "site/nvidia/cudnn/include",
                                          "cache"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        CHECK(mkdir(folders[i], 0755) == 0);
    write_elf("libconvshim.so", OURS, NULL, NULL);
    write_elf("lib/none.so", "+malloc", NULL, NULL);
    write_elf("lib/lookup.so", "+dlsym", NULL, NULL);
    write_elf("lib/entries.so", "+cudnnCreate", NULL, NULL);
    write_text("lib/text.so", "hello");
    write_elf("bin/linked", "-cudnnConvolutionForward", NULL, NULL);
    write_elf("bin/looked", "-dlsym", "cudnnConvolutionForward", "/r");
    write_elf("bin/inside", "+cudnnConvolutionForward +cudnnGetVersion", NULL, NULL);
    write_elf("bin/classes", "", "N5cudnn7backend", NULL);
    write_elf("bin/plain", "-malloc", NULL, NULL);
    write_elf("bin/python3", "+Py_BytesMain", NULL, NULL);
    write_elf("site/torch/lib/libtorch_cuda.so", "-cudnnBackendExecute", NULL, NULL);
    write_elf("site/torch/lib/libtorch_cpu.so", "-dlvsym", "cudnnBackendExecute", "$ORIGIN/../x");
    write_elf("site/onnxruntime/capi/a.so", "-dlsym", "cudnnBackendExecute", "${ORIGIN}:/opt");
    write_elf("site/jaxlib/xla_extension.so", "", NULL, NULL);
    write_text("site/nvidia/cudnn/lib/libcudnn.so.9", "");
    write_text("site/nvidia/cudnn/include/cudnn_version.h",
               "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 14\n#define CUDNN_PATCHLEVEL 1\n");
    write_text("lib/libcudnn.so.9.19.2", "");
    CHECK(symlink("libcudnn.so.9.19.2", "lib/libcudnn.so.9") == 0);
    write_text("lib/libcudnn.so.8.9.7", "");
    CHECK(symlink("libcudnn.so.8.9.7", "lib/libcudnn.so.8") == 0);
    write_text("good.ini", "workspace = 8MiB\n");
    write_text("bad.ini", "workspace = lots\ncolour = red\n");
    write_text("main.py", "x = 1\n");
}

/* --- findings --- */

#define LIBRARY "--library libconvshim.so "

static const char threads[] = "\tlibc.so.6 => /lib/libc.so.6 (0x1)\n";

static void reset(void)
{
    static const char *const variables[] = {
        "LD_PRELOAD",   "LD_LIBRARY_PATH",           "CONVSHIM",  "CONVSHIM_CONFIG", "XLA_FLAGS",
        "TF_XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR", "PYTHONPATH"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    setenv("CONVSHIM_CONFIGFILE", "good.ini", 1);
    setenv("PATH", "bin", 1);
    unlink("ld.so.preload");
    machine = (struct machine){.list = threads};
    telling = false;
}

/* The rows of CSV begin with the check and its severity. */
static void expect(const char *title, const char *line, int status, const char *phrase)
{
    int is;
    char *text = golden_output(cs_cli_doctor, line, &is);
    if ((is != status || !strstr(text, phrase)) && check_fails(__LINE__))
        printf("# %s, %s: status %d, without \"%s\":\n# %s", title, line, is, phrase, text);
    free(text);
}

static void put_case(const char *name)
{
    golden_puts("--- ");
    golden_puts(name);
    golden_puts("\n");
}

#define CSV LIBRARY "--format csv -- "

static void the_library(void)
{
    static const struct golden_answer rows[] = {
        {"doctor --format csv --library nowhere.so -- bin/plain", 1, "nowhere.so: No such"},
        {"doctor --format csv --library lib/none.so -- bin/plain", 0, "\nlibrary,ok,"}};
    reset();
    golden_answers(cs_cli_doctor, rows, sizeof rows / sizeof *rows);
    machine.complain = "it: version `GLIBC_3' not found\nagain\n";
    expect("the loader complains", "doctor " CSV "bin/plain", 1, "\nlibrary,fatal,");
    machine.list = NULL;
    expect("the loader does not answer", "doctor " CSV "bin/plain", 0, "\nlibrary,note,");
}

static void preloaded_libraries(void)
{
    static const struct {
        const char *list;
        bool warns;
        const char *phrase; /* after the name of the variable or file */
    } rows[] = {{"libconvshim.so", true, "libconvshim.so does not exist"},
                {"lib/none.so", false, "lib/none.so"},
                {"lib/lookup.so", true, "lib/lookup.so also intercepts dlsym"},
                {"lib/entries.so:lib/lookup.so", true, "lib/entries.so also intercepts cuDNN"},
                {"lib/none.so:lib/lookup.so", true, "lib/lookup.so also intercepts dlsym"},
                {"libfound.so libmissing.so", true, "libmissing.so does not exist"},
                {"lib/text.so", true, "lib/text.so: not an ELF file"},
                {"x:y", true, "y does not exist"}};
    char phrase[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int file = 0; file < 2; file++) {
            reset();
            machine.finds = "libfound.so";
            if (file)
                write_text("ld.so.preload", rows[i].list);
            else
                setenv("LD_PRELOAD", rows[i].list, 1);
            snprintf(phrase, sizeof phrase, "\npreload,%s,%s,%s", rows[i].warns ? "warning" : "ok",
                     file ? "/etc/ld.so.preload" : "LD_PRELOAD", rows[i].phrase);
            expect(rows[i].list, "doctor " CSV "bin/plain", 0, phrase);
        }
}

static void options_driver_and_cudnn(void)
{
    reset();
    setenv("CONVSHIM", "0", 1);
    expect("switched off", "doctor " CSV "bin/plain", 0, "\nconfig,warning,CONVSHIM,");
    reset();
    setenv("CONVSHIM_CONFIGFILE", "bad.ini", 1);
    expect("a wrong option", "doctor " CSV "bin/plain", 0, "\nconfig,warning,options,");
    reset();
    machine.finds = "libcuda.so.1 libcudnn.so.9";
    expect("a driver", "doctor " CSV "bin/plain", 0, "\ndriver,ok,libcuda.so.1,");
    expect("cuDNN 9", "doctor " LIBRARY "--format csv", 0,
           "\ncudnn,ok,libcudnn.so.9,cuDNN 9.19.2 in ");
    machine.finds = "libcudnn.so.8";
    expect("cuDNN 8", "doctor " LIBRARY "--format csv", 0, "\ncudnn,warning,libcudnn.so.8,");
}

static void programs(void)
{
    static const char nine[] = "\tlibcudnn.so.9 => lib/libcudnn.so.9 (0x1)\n\tlibx.so => "
                               "bin/looked (0x2)\n",
                      eight[] = "\tlibcudnn.so.8 => lib/libcudnn.so.8 (0x1)\n\tliby.so => "
                                "bin/inside (0x3)\n",
                      lost[] = "\tlibcudnn.so.9 => not found\n\tlibz.so => not found\n\tw (0x1)\n";
    static const struct {
        const char *name, *list;
        int status;
        const char *phrase;
    } rows[] = {{"linked", threads, 0, "\nframework,warning,linked,"},
                {"linked", nine, 0, "\nframework,ok,linked,"},
                {"linked", nine, 0, "\nframework,ok,linked,looked looks up cuDNN"},
                {"linked", eight, 1, "\nframework,fatal,linked,"},
                {"linked", eight, 1, "\nframework,fatal,linked,bin/inside contains"},
                {"linked", lost, 0, "\nframework,warning,linked,"},
                {"looked", threads, 0, "\nframework,warning,looked,"},
                {"inside", threads, 1, "\nframework,fatal,inside,bin/inside contains"},
                {"classes", threads, 1, "\nframework,fatal,classes,bin/classes contains"},
                {"plain", threads, 0, "\nframework,note,plain,"},
                {"plain", nine, 0, "\nframework,warning,plain,looked looks up cuDNN"},
                {"nowhere", threads, 1, "\nprogram,fatal,nowhere,"}};
    char line[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reset();
        machine.list = rows[i].list;
        snprintf(line, sizeof line, "doctor " CSV "%s", rows[i].name);
        expect(rows[i].list, line, rows[i].status, rows[i].phrase);
    }
}

#define PYTHON "python\tbin/python3\t3.12.1\n"
#define TORCH(version)                                                                             \
    "framework\t0\ttorch\t" version "\n"                                                           \
    "file\tsite/torch/lib/libtorch_cpu.so\nfile\tsite/torch/lib/libtorch_cuda.so\n"
#define NVIDIA "file\tsite/nvidia/cudnn/lib/libcudnn.so.9\n"
#define OTHERS                                                                                     \
    "framework\t1\tjaxlib\t0.7\nfile\tsite/jaxlib/xla_extension.so\n"                              \
    "framework\t3\tonnxruntime\t1.30\nfile\tsite/onnxruntime/capi/a.so\nend\n"

static void pythons(void)
{
    static const char four[] = PYTHON NVIDIA TORCH("2.9.1") OTHERS;
    static const struct {
        const char *answer, *finds;
        int status;
        const char *phrase;
    } rows[] = {{NULL, "", 0, "\npython,warning,"},
                {"", "", 0, "\npython,warning,"},
                {"Traceback\n  x\nImportError: no\n", "", 0, "ImportError: no"},
                {PYTHON, "", 0, "\npython,warning,"}, /* it breaks off */
                {PYTHON "end\n", "", 0, "\npython,ok,Python,3.12.1 in bin/python3"},
                {PYTHON "end\n", "", 0, "\nframework,note,frameworks,"},
                {four, "", 0, "\nframework,ok,PyTorch 2.9.1,"},
                {four, "", 0, "cuDNN 9.14.1 in "},
                {four, "", 0, "\nframework,warning,PyTorch 2.9.1,"},
                {four, "", 0, "\nframework,note,JAX 0.7,"},
                {four, "", 0, "\nframework,note,ONNX Runtime 1.30,"},
                {four, "libcudnn.so.9", 0, "cuDNN 9.19.2 in "},
                {four, "libcudnn.so.8", 1, "\nframework,fatal,PyTorch 2.9.1,"},
                {PYTHON TORCH("2.8.0") "end\n", "", 0, "\nframework,warning,PyTorch 2.8.0,"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reset();
        machine.python = rows[i].answer;
        machine.finds = rows[i].finds;
        expect(rows[i].answer ? rows[i].answer : "no answer", "doctor " CSV "bin/python3 main.py",
               rows[i].status, rows[i].phrase);
    }
    reset();
    machine.python = four;
    expect("no command", "doctor " LIBRARY "--format csv", 0, "\nframework,ok,PyTorch 2.9.1,");
}

static void caches(void)
{
    static const struct {
        const char *variable, *value, *severity;
    } rows[] = {
        {"JAX_COMPILATION_CACHE_DIR", "", "none"},
        {"JAX_COMPILATION_CACHE_DIR", "cache", "note"},
        {"TF_XLA_FLAGS", "--other=cache", "none"},
        {"TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory=cache --b", "note"},
        {"XLA_FLAGS", "--a --xla_gpu_per_fusion_autotune_cache_dir=cache\t--x=y", "note"},
        {"XLA_FLAGS", "--xla_gpu_kernel_cache_file=cache/file --x=y", "warning"},
        {"XLA_FLAGS", "--xla_gpu_dump_autotune_results_to=cache\n", "warning"},
        {"XLA_FLAGS", "--xla_gpu_load_autotune_results_from= cache", "none"},
    };
    char phrase[128];
    int status;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reset();
        setenv(rows[i].variable, rows[i].value, 1);
        snprintf(phrase, sizeof phrase, "\ncache,%s,%s,", rows[i].severity, rows[i].variable);
        if (strcmp(rows[i].severity, "none") != 0) {
            expect(rows[i].value, "doctor " CSV "bin/plain", 0, phrase);
            continue;
        }
        char *text = golden_output(cs_cli_doctor, "doctor " CSV "bin/plain", &status);
        CHECK(!strstr(text, "\ncache,"));
        free(text);
    }
}

static void whole_outputs(void)
{
    reset();
    golden_line(cs_cli_doctor, "doctor " LIBRARY "-- bin/plain");
    golden_line(cs_cli_doctor, "doctor " LIBRARY "--format csv -- bin/linked");
    golden_line(cs_cli_doctor, "doctor " LIBRARY "--format json -- bin/plain");
    telling = true;
    put_case("and the commands that it runs");
    golden_line(cs_cli_doctor, "doctor " LIBRARY "-- bin/looked");
    telling = false;
    put_case("a Python with frameworks and cuDNN 9");
    machine.python = PYTHON TORCH("2.9.1") OTHERS;
    machine.finds = "libcudnn.so.9";
    golden_line(cs_cli_doctor, "doctor " LIBRARY "-- bin/python3 main.py");
    put_case("cuDNN 8");
    machine.finds = "libcudnn.so.8";
    golden_line(cs_cli_doctor, "doctor " LIBRARY "-- bin/python3 main.py");
    put_case("the loader complains");
    machine.complain = "it: version `GLIBC_3' not found\n";
    golden_line(cs_cli_doctor, "doctor " LIBRARY "-- bin/inside");
    golden_check(root, "doctor.txt");
}

static void command_lines(void)
{
    static const struct golden_answer rows[] = {{"doctor --help", 0, "--library"},
                                                {"doctor --format xml", 2, "--format"},
                                                {"doctor " CSV "bin/plain --format xml", 0, ""},
                                                {"doctor --lib", 2, "--lib"}};
    reset();
    golden_answers(cs_cli_doctor, rows, sizeof rows / sizeof *rows);
}

/* --- the loader's search --- */

/* With a RUNPATH the RPATH does not count. */
static void folders_of_the_calling_file(void)
{
    static const struct {
        const char *rpath, *runpath, *variable, *folders;
    } rows[] = {{"$ORIGIN:${ORIGIN}y:$ORIGINS", NULL, NULL, "lib/:lib/y:lib/S"},
                {"r", "$ORIGIN", NULL, "lib/"},
                {"r", NULL, "/v", "r:/v"},
                {NULL, "/u", "/v", "/v:/u"},
                {"", "", "/v", "/v"},
                {NULL, "/u:$ORIGIN/w:/u:$ORIGIN/w:/v", "/v", "/v:/u:lib//w"}, /* each once */
                {NULL, NULL, NULL, ""}};
    char path[PATH_MAX], folders[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reset();
        if (rows[i].variable)
            setenv("LD_LIBRARY_PATH", rows[i].variable, 1);
        write_caller("lib/caller.so", "", NULL, rows[i].rpath, rows[i].runpath);
        snprintf(folders, sizeof folders, "LD_LIBRARY_PATH=%s", rows[i].folders);
        CHECK(!cs_loader_find("x", "lib/caller.so", path, sizeof path));
        CHECK_STR(folders_run, folders);
    }
}

static void memory_that_runs_short(void)
{
    reset();
    golden_short(cs_cli_doctor, "doctor " LIBRARY "-- bin/plain");
    golden_short(cs_cli_doctor, "doctor " LIBRARY "--format json -- bin/linked");
}

int main(void)
{
    char remove[64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root) || chdir(folder) != 0)
        return 1;
    golden_hide(folder, "FOLDER");
    setenv("HOME", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    make_files();
    TEST(the_library);
    TEST(preloaded_libraries);
    TEST(options_driver_and_cudnn);
    TEST(programs);
    TEST(pythons);
    TEST(caches);
    TEST(whole_outputs);
    TEST(command_lines);
    TEST(folders_of_the_calling_file);
    TEST(memory_that_runs_short);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    setenv("PATH", "/usr/bin:/bin", 1);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
