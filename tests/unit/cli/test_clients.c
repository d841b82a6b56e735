/* Which files of a framework or a command come to cuDNN, and to which one: with files whose linkage
 * stands in their names, and a loader, that are the test's own. */
#include "check.h"
#include "cli/doctor/clients.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/elf.h"
#include "cli/doctor/libcudnn.h"
#include "cli/doctor/loader.h"
#include <sys/stat.h>
#include <unistd.h>

static char work_folder[] = "/tmp/convshim-clients-XXXXXX";
static int opened;

/* --- files: what they are is in their names --- */

static bool open_made(struct cs_elf *elf, const char *path, const char **why_p)
{
    *why_p = "none";
    if (strstr(path, "text"))
        return false;
    *elf = (struct cs_elf){.soname = strrchr(path, '/') + 1, .rpath = "/r", .runpath = "/s"};
    opened++;
    return true;
}

static void close_made(struct cs_elf *elf)
{
    CHECK(elf->soname != NULL);
    opened--;
}

static bool holds_made(const struct cs_elf *elf, const char *bytes, size_t size)
{
    CHECK(size == sizeof "RTLD_DEEPBIND" && strcmp(bytes, "RTLD_DEEPBIND") == 0);
    return strstr(elf->soname, "deep") != NULL;
}

static void symbols_made(const struct cs_elf *elf, cs_elf_symbol_fn *each, void *ctx)
{
    each(ctx, "malloc", true);
    if (strstr(elf->soname, "python"))
        each(ctx, "Py_BytesMain", !strstr(elf->soname, "embeds"));
    each(ctx, "free", false);
}

static enum cs_linkage linkage_made(const struct cs_elf *elf)
{
    return strstr(elf->soname, "linked")   ? CS_LINKAGE_LINKED
           : strstr(elf->soname, "looked") ? CS_LINKAGE_LOOKED
           : strstr(elf->soname, "inside") ? CS_LINKAGE_INSIDE
                                           : CS_LINKAGE_NONE;
}

/* --- the loader --- */

static struct loaded {
    const char *name, *path;
} loads[8];               /* what any file brings along, up to a name that is NULL */
static const char *finds; /* the one cuDNN that is found; NULL: none */
static int most_found = 9;
static int numbered; /* each find is of another folder, by its number; 0: of one */
static char searched[256];

static bool list_made(const char *file, const char *preload, cs_loader_fn *each, void *ctx,
                      char *said, size_t size)
{
    CHECK(file && !preload && said && size > 0);
    for (int i = 0; i < 8 && loads[i].name; i++)
        each(ctx, loads[i].name, loads[i].path);
    return true;
}

static bool find_made(const char *name, const char *origin, const char *rpath, const char *runpath,
                      char *path, size_t size)
{
    snprintf(searched, sizeof searched, "%s%s%s",
             strncmp(origin, work_folder, strlen(work_folder)) == 0 ? origin + strlen(work_folder)
                                                                    : origin,
             rpath, runpath);
    if (!finds || strcmp(name, finds) != 0 || numbered > most_found)
        return false;
    if (numbered > 0)
        snprintf(path, size, "/found%d/%s", numbered++, name);
    else
        snprintf(path, size, "%s/lib/../lib/%s", work_folder, name);
    return true;
}

static int version_made(const char *path, const struct cs_packages *of)
{
    CHECK(of != NULL);
    const char *number = strstr(path, "/found");
    return number                 ? 91800 + atoi(number + strlen("/found"))
           : strstr(path, "so.8") ? 8907
           : strstr(path, "site") ? 91400
                                  : 91900;
}

/* --- what is found --- */

static int refuses = -1; /* the request for memory that is refused; -1: none */

static void *grow_or_not(void *items, size_t count, size_t size)
{
    return refuses >= 0 && refuses-- == 0 ? NULL : (reallocarray)(items, count, size);
}

#define reallocarray(items, count, size) grow_or_not(items, count, size)
#define cs_elf_open open_made
#define cs_elf_close close_made
#define cs_elf_holds holds_made
#define cs_elf_symbols symbols_made
#define cs_linkage_of linkage_made
#define cs_loader_list list_made
#define cs_loader_find find_made
#define cs_libcudnn_version version_made
#include "cli/doctor/clients.c" /* NOLINT(bugprone-suspicious-include) */

static struct cs_doctor doctor;

static void put(char *to, const char *path)
{
    strcat(to, strncmp(path, work_folder, strlen(work_folder)) == 0 ? path + strlen(work_folder)
                                                                    : path);
}

/* Subjects, each with its files, a line each. */
static const char *found(void)
{
    static char text[8192];
    text[0] = '\0';
    cs_clients_find(&doctor);
    CHECK(!doctor.broken);
    CHECK_INT(opened, 0);
    for (size_t i = 0; i < doctor.subjects; i++) {
        const struct cs_examined *subject = &doctor.subject[i];
        char name[128];
        strcat(text, cs_examined_name(subject, name, sizeof name));
        strcat(strcat(text, *subject->package ? ", " : ""), subject->package);
        strcat(text, *subject->asked ? ", asked\n" : "\n");
        for (size_t j = 0; j < subject->clients; j++) {
            const struct cs_client *client = &subject->client[j];
            size_t length;
            put(strcat(text, "  "), client->path);
            put(strcat(text, *client->cudnn ? " has " : ""), client->cudnn);
            length = strlen(text);
            snprintf(text + length, sizeof text - length, "%s%s%s %d\n",
                     client->names_none ? ", names none" : "", client->packaged ? ", packaged" : "",
                     client->names_deepbind ? ", deepbind" : "", client->version);
        }
        free(subject->client);
    }
    free(doctor.subject);
    return text;
}

static void touch(const char *path)
{
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s/%s", work_folder, path);
    for (char *at = whole + sizeof work_folder; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        (void)mkdir(whole, 0700);
    }
    FILE *file = fopen(whole, "we");
    CHECK(file && fclose(file) == 0);
}

/* Nothing is there, nothing is found. */
static void begin(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/*", work_folder);
    CHECK(system(command) == 0);
    memset(&doctor, 0, sizeof doctor);
    memset(loads, 0, sizeof loads);
    finds = NULL;
    numbered = 0;
    touch("lib/none");
}

static struct cs_module modules[4];
static struct cs_package packages[4];

/* A Python that has these. */
static void have(size_t of_modules, size_t of_packages)
{
    static char text[] = "answer";
    doctor.packages = (struct cs_packages){.text = text,
                                           .module = modules,
                                           .modules = of_modules,
                                           .package = packages,
                                           .packages = of_packages};
}

static const char *in(const char *path)
{
    static char whole[8][PATH_MAX];
    static int next;
    char *to = whole[next++ % 8];
    snprintf(to, PATH_MAX, "%s/%s", work_folder, path);
    return to;
}

static void put_link(const char *to, const char *path)
{
    CHECK_INT(symlink(to, in(path)), 0);
}

/* Of names that lead to one file the first; of folders of a module each. */
static void files_of_frameworks(void)
{
    begin();
    touch("site/torch/lib/libtorch_a_looked.so");
    put_link("libtorch_a_looked.so", "site/torch/lib/libtorch_b_looked.so");
    touch("site/torch/lib/libtorch_c_linked.so");
    put_link("nowhere", "site/torch/lib/libtorch_d_linked.so");
    touch("site/torch/lib/libtorch_plain.so");
    touch("site/torch/lib/libtorch_text_linked.so");
    touch("site/torch/lib/libother_linked.so");
    touch("more/torch/lib/libtorch_z_inside.so");
    touch("site/onnxruntime/capi/deep.so");
    touch("site/onnxruntime/capi/python_deep.so");
    touch("site/onnxruntime/capi/python_embeds_deep_looked.so");
    finds = "libcudnn.so.9";
    modules[0] = (struct cs_module){"torch", in("site/torch")};
    modules[1] = (struct cs_module){"torc", in("site/torch")};
    modules[2] = (struct cs_module){"torch", in("more/torch")};
    modules[3] = (struct cs_module){"onnxruntime", in("site/onnxruntime")};
    packages[0] = (struct cs_package){"onnxruntime", "1.30", in("site")};
    packages[1] = (struct cs_package){"torch", "2.9.1", in("site")};
    have(4, 2);
    CHECK_STR(found(), "PyTorch 2.9.1, torch\n"
                       "  /site/torch/lib/libtorch_a_looked.so has /lib/libcudnn.so.9 91900\n"
                       "  /site/torch/lib/libtorch_c_linked.so has /lib/libcudnn.so.9, names none "
                       "91900\n"
                       "  /more/torch/lib/libtorch_z_inside.so 0\n"
                       "ONNX Runtime 1.30, onnxruntime, asked\n"
                       "  /site/onnxruntime/capi/deep.so, deepbind 0\n"
                       "  /site/onnxruntime/capi/python_embeds_deep_looked.so has "
                       "/lib/libcudnn.so.9, deepbind 91900\n");
    CHECK_STR(searched, "/site/onnxruntime/capi//r/s");
    doctor = (struct cs_doctor){.library_option = NULL};
    have(1, 0);
    CHECK_STR(found(), "PyTorch\n"
                       "  /site/torch/lib/libtorch_a_looked.so has /lib/libcudnn.so.9 91900\n"
                       "  /site/torch/lib/libtorch_c_linked.so has /lib/libcudnn.so.9, names none "
                       "91900\n");
    doctor = (struct cs_doctor){.library_option = NULL};
    have(0, 2);
    CHECK_STR(found(), "");
}

/* Of a file that names no cuDNN it is the one of a file that looks it up. */
static void stand_ins(void)
{
    static const struct {
        const char *file[3];
        int has[3]; /* the one that was found so manyth; 0: none */
    } rows[] = {{{"1_linked", "2_looked", NULL}, {2, 2, 0}},
                {{"1_looked", "2_linked", NULL}, {1, 1, 0}},
                {{"1_linked", "2_linked", "3_looked"}, {3, 3, 3}},
                {{"1_linked", "2_looked", "3_looked"}, {2, 2, 3}},
                {{"1_looked", "2_linked", "3_linked"}, {1, 1, 1}},
                {{"1_linked", "2_linked", NULL}, {1, 2, 0}},
                {{"1_inside", "2_linked", NULL}, {0, 1, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[1024] = "PyTorch\n";
        begin();
        for (int j = 0; j < 3 && rows[i].file[j]; j++) {
            char name[64];
            const char *file = rows[i].file[j];
            snprintf(name, sizeof name, "site/torch/lib/libtorch%s.so", file);
            touch(name);
            char has[64] = "";
            if (rows[i].has[j] > 0)
                snprintf(has, sizeof has, " has /found%d/libcudnn.so.9", rows[i].has[j]);
            snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "  /%s%s%s %d\n",
                     name, has, strstr(file, "linked") ? ", names none" : "",
                     *has ? 91800 + rows[i].has[j] : 0);
        }
        numbered = 1;
        finds = "libcudnn.so.9";
        loads[0] = (struct loaded){"libc.so.6", "/lib/libc.so.6"};
        loads[1] = (struct loaded){"libcudnn_ops.so.9", "/lib/libcudnn_ops.so.9"};
        loads[2] = (struct loaded){"libcudnn.so.9", NULL}; /* not found */
        modules[0] = (struct cs_module){"torch", in("site/torch")};
        have(1, 0);
        CHECK_STR(found(), wanted);
    }
}

/* The one that looks it up may have it of a package that the loader does not find; one that is
 * found is taken for itself before. */
static void stand_ins_for_a_package(void)
{
    begin();
    touch("site/torch/lib/libtorch1_linked.so");
    touch("site/torch/lib/libtorch2_looked.so");
    touch("site/nvidia/cudnn/lib/libcudnn.so.9");
    modules[0] = (struct cs_module){"torch", in("site/torch")};
    packages[0] = (struct cs_package){"nvidia-cublas", "13", in("site")};
    packages[1] = (struct cs_package){"nvidia-cudnn-cu12", "9.14", in("nowhere")};
    packages[2] = (struct cs_package){"nvidia-cudnn-cu13", "9.14", in("site")};
    packages[3] = (struct cs_package){"nvidia-cudnn-cu14", "9.15", in("lib")};
    have(1, 4);
    static const char wanted[] =
        "PyTorch\n"
        "  /site/torch/lib/libtorch1_linked.so has "
        "/site/nvidia/cudnn/lib/libcudnn.so.9, names none, packaged 91400\n"
        "  /site/torch/lib/libtorch2_looked.so has "
        "/site/nvidia/cudnn/lib/libcudnn.so.9, packaged 91400\n";
    CHECK_STR(found(), wanted);
    doctor = (struct cs_doctor){.library_option = NULL};
    packages[2].folder = in("site/");
    have(1, 4);
    CHECK_STR(found(), wanted);
    doctor = (struct cs_doctor){.library_option = NULL};
    have(1, 2);
    CHECK_STR(found(), "PyTorch\n"
                       "  /site/torch/lib/libtorch1_linked.so, names none, packaged 0\n"
                       "  /site/torch/lib/libtorch2_looked.so, packaged 0\n");
    doctor = (struct cs_doctor){.library_option = NULL};
    have(1, 4);
    loads[0] = (struct loaded){"libcudnn.so.8", "/a/libcudnn.so.8"};
    loads[1] = (struct loaded){"libcudnn.so.9", "/b/libcudnn.so.9"};
    finds = "libcudnn.so.8";
    CHECK_STR(found(), "PyTorch\n"
                       "  /site/torch/lib/libtorch1_linked.so has /a/libcudnn.so.8 8907\n"
                       "  /site/torch/lib/libtorch2_looked.so has /lib/libcudnn.so.8 8907\n");
}

/* Also where the loader finds another one for the first. */
static void a_package_in_place_of_what_is_found(void)
{
    begin();
    touch("site/torch/lib/libtorch1_linked.so");
    touch("site/torch/lib/libtorch2_looked.so");
    touch("site/nvidia/cudnn/lib/libcudnn.so.9");
    modules[0] = (struct cs_module){"torch", in("site/torch")};
    packages[0] = (struct cs_package){"nvidia-cudnn-cu13", "9.14", in("site")};
    have(1, 1);
    finds = "libcudnn.so.9";
    numbered = most_found = 1;
    CHECK_STR(found(), "PyTorch\n"
                       "  /site/torch/lib/libtorch1_linked.so has "
                       "/site/nvidia/cudnn/lib/libcudnn.so.9, names none, packaged 91400\n"
                       "  /site/torch/lib/libtorch2_looked.so has "
                       "/site/nvidia/cudnn/lib/libcudnn.so.9, packaged 91400\n");
    most_found = 9;
}

/* Two subjects with a file each: whichever request is refused, it is known. */
static void memory_that_is_short(void)
{
    begin();
    touch("site/torch/lib/libtorch1_looked.so");
    touch("site/onnxruntime/capi/a_looked.so");
    modules[0] = (struct cs_module){"torch", in("site/torch")};
    modules[1] = (struct cs_module){"onnxruntime", in("site/onnxruntime")};
    for (int request = 0; request < 5; request++) {
        doctor = (struct cs_doctor){.library_option = NULL};
        have(2, 0);
        refuses = request;
        cs_clients_find(&doctor);
        CHECK_INT(doctor.broken, request < 4);
        for (size_t i = 0; i < doctor.subjects; i++)
            free(doctor.subject[i].client);
        free(doctor.subject);
    }
    CHECK_INT(refuses, 0); /* none was left to refuse */
    refuses = -1;
    doctor = (struct cs_doctor){.program = "/bin/train_looked"};
    refuses = 0;
    cs_clients_find(&doctor);
    CHECK(doctor.broken);
    CHECK_INT(doctor.subjects, 0);
}

/* The command's file and its libraries; a cuDNN is no application of itself. */
static void a_command(void)
{
    begin();
    loads[0] = (struct loaded){"libx_linked.so", "/x/libx_linked.so"};
    loads[1] = (struct loaded){"linux-vdso_linked.so", NULL};
    loads[2] = (struct loaded){"bare_linked.so", "bare_linked.so"};
    loads[3] = (struct loaded){"libcudnn.so.9", "/y/linked/libcudnn_linked.so.9"};
    loads[4] = (struct loaded){"libcudnn_looked.so", "/y/libcudnn_looked.so"};
    loads[5] = (struct loaded){"libz.so", "/y/libz_inside.so"};
    CHECK_STR(found(), "");
    snprintf(doctor.program, sizeof doctor.program, "/bin/train_looked");
    finds = "libcudnn.so.8";
    CHECK_STR(found(), "train_looked\n"
                       "  /bin/train_looked has /lib/libcudnn.so.8 8907\n"
                       "  /x/libx_linked.so has /y/linked/libcudnn_linked.so.9 91900\n"
                       "  /y/libz_inside.so 0\n");
}

int main(void)
{
    char command[64];
    if (!mkdtemp(work_folder))
        return 1;
    TEST(files_of_frameworks);
    TEST(stand_ins);
    TEST(stand_ins_for_a_package);
    TEST(a_package_in_place_of_what_is_found);
    TEST(memory_that_is_short);
    TEST(a_command);
    snprintf(command, sizeof command, "rm -r %s", work_folder);
    return REPORT() || system(command) != 0;
}
