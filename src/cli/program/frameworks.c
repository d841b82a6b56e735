/* Finds the files that use cuDNN: those of a Python's frameworks, or of the command and its
 * libraries. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include "cli/common/array.h"
#include "cli/program/child.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Examines one file, and adds it if it uses cuDNN. */
static void add_client(struct cs_program_facts *facts, struct cs_examined *subject,
                       const char *path)
{
    struct cs_elf elf;
    const char *why;
    if (!cs_elf_open(&elf, path, &why))
        return;
    const enum cs_linkage linkage = cs_linkage_of(&elf);
    cs_elf_close(&elf);
    if (linkage == CS_LINKAGE_NONE)
        return;
    struct cs_client *client = cs_array_add(&subject->client, &subject->clients, sizeof *client);
    facts->broken = facts->broken || !client;
    if (!client)
        return;
    client->linkage = linkage;
    snprintf(client->path, sizeof client->path, "%s", path);
}

static struct cs_examined *add_subject(struct cs_program_facts *facts, const char *title)
{
    struct cs_examined *subject = cs_array_add(&facts->subject, &facts->subjects, sizeof *subject);
    facts->broken = facts->broken || !subject;
    if (subject)
        *subject = (struct cs_examined){.title = title, .package = "", .version = "", .asked = ""};
    return subject;
}

/* --- the cuDNN of a subject --- */

static void take_cudnn(void *ctx, const char *name, const char *path)
{
    char *cudnn = ctx;
    if (!*cudnn && path && strncmp(name, "libcudnn.so.", strlen("libcudnn.so.")) == 0)
        snprintf(cudnn, PATH_MAX, "%s", path);
}

/* Searches for the subject's cuDNN by its files of that linkage. True after a result. `lists`:
 * among the libraries that the files link. Otherwise as if the files looked cuDNN up. */
static bool search_for(struct cs_examined *subject, enum cs_linkage linkage, bool lists)
{
    for (size_t i = 0; i < subject->clients && !*subject->cudnn; i++) {
        const struct cs_client *client = &subject->client[i];
        if (client->linkage != linkage)
            continue;
        if (lists)
            cs_loader_list(client->path, take_cudnn, subject->cudnn);
        else
            (void)cs_libcudnn_find(client->path, subject->cudnn);
    }
    return *subject->cudnn;
}

/* Takes the cuDNN of NVIDIA's package, which frameworks load by hand if the loader finds none.
 * False: there is none. */
static bool take_packaged(const struct cs_program_facts *facts, struct cs_examined *subject)
{
    for (size_t i = 0; i < facts->nvidia_libraries && !subject->packaged; i++) {
        subject->packaged = strcmp(cs_path_file(facts->nvidia[i]), "libcudnn.so.9") == 0;
        if (subject->packaged)
            snprintf(subject->cudnn, sizeof subject->cudnn, "%s", facts->nvidia[i]);
    }
    return subject->packaged;
}

/* Removes the ".." that $ORIGIN leaves, and empty names, from the folder of a path. The file's name
 * stays, because it is a link. */
static void tidy_path(char path[PATH_MAX])
{
    char folder[PATH_MAX], real[PATH_MAX], whole[2 * PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(cs_path_file(path) - path), path);
    if (!realpath(folder, real))
        return;
    int length = snprintf(whole, sizeof whole, "%s/%s", real, cs_path_file(path));
    if (length < PATH_MAX)
        memcpy(path, whole, (size_t)length + 1);
}

/* Finds the cuDNN of a subject. All files of a process use the same one: the one that a file links,
 * or else looks up. A file may call functions of cuDNN without naming a library. Then another file
 * next to it, a stand-in, provides and looks up these functions (TensorFlow). So its own folders
 * are searched last. */
static void find_cudnn(const struct cs_program_facts *facts, struct cs_examined *subject)
{
    bool calls = false;
    for (size_t i = 0; i < subject->clients; i++)
        calls |= subject->client[i].linkage != CS_LINKAGE_INSIDE;
    if (!calls || !(search_for(subject, CS_LINKAGE_LINKED, true) ||
                    search_for(subject, CS_LINKAGE_LOOKED, false) ||
                    search_for(subject, CS_LINKAGE_LINKED, false) || take_packaged(facts, subject)))
        return;
    subject->cudnn_version = cs_libcudnn_version(subject->cudnn);
    tidy_path(subject->cudnn);
}

/* --- the frameworks of a Python --- */

static const struct framework {
    const char *title, *asked;
} frameworks[] = {
#define CS_FRAMEWORK(title, packages, files, asked) {title, asked},
#include "cli/program/frameworks.def"
#undef CS_FRAMEWORK
};

enum {
    FRAMEWORKS = sizeof frameworks / sizeof *frameworks
};

/* The program that Python runs to list the frameworks. Its arguments are pairs: the names of a
 * framework's packages, and the patterns of its files. It prints a line for each framework whose
 * modules are found, then one for each of the files. The first pair has no packages: NVIDIA's
 * libraries. find_spec of a name without a dot reads folders and imports nothing. The current
 * directory, which -c puts first, is removed before the first import that could find a file there.
 */
static const char script[] =
    "import sys\n"
    "sys.path = [place for place in sys.path if place]\n"
    "import glob, importlib.util, importlib.metadata, os\n"
    "def put(*fields):\n"
    "    print(*fields, sep='\\t')\n"
    "def folders(module):\n"
    "    try:\n"
    "        spec = importlib.util.find_spec(module)\n"
    "    except (ImportError, ValueError, AttributeError):\n"
    "        spec = None\n"
    "    return spec and spec.submodule_search_locations or []\n"
    "def package(names):\n"
    "    for name in names.split():\n"
    "        try:\n"
    "            return name, importlib.metadata.version(name)\n"
    "        except Exception:\n"
    "            pass\n"
    "    return '', ''\n"
    "put('python', sys.executable, '.'.join(map(str, sys.version_info[:3])))\n"
    "for row in range(1, len(sys.argv), 2):\n"
    "    patterns = [pattern.split('/', 1) for pattern in sys.argv[row + 1].split()]\n"
    "    places = [(folder, rest) for module, rest in patterns for folder in folders(module)]\n"
    "    if places and sys.argv[row]:\n"
    "        put('framework', row // 2 - 1, *package(sys.argv[row]))\n"
    "    seen = set()\n"
    "    for folder, rest in places:\n"
    "        for file in sorted(glob.glob(os.path.join(glob.escape(folder), rest))):\n"
    "            real = os.path.realpath(file)\n"
    "            if real not in seen:\n"
    "                put('file', file)\n"
    "            seen.add(real)\n"
    "put('end')\n";

/* Cuts the next field off a line. Returns "" if there is none. */
static char *cut_field(char **line_p)
{
    char *start = *line_p, *end = strchrnul(start, '\t');
    *line_p = *end ? end + 1 : end;
    *end = '\0';
    return start;
}

/* Adds the framework of a line. NULL if memory is short. */
static struct cs_examined *add_framework(struct cs_program_facts *facts, char *line)
{
    const struct framework *framework = &frameworks[atoi(cut_field(&line)) % FRAMEWORKS];
    struct cs_examined *subject = add_subject(facts, framework->title);
    if (!subject)
        return NULL;
    subject->asked = framework->asked;
    subject->package = cut_field(&line);
    subject->version = line;
    return subject;
}

static void add_nvidia(struct cs_program_facts *facts, const char *path)
{
    const char **place = cs_array_add(&facts->nvidia, &facts->nvidia_libraries, sizeof *place);
    facts->broken = facts->broken || !place;
    if (place)
        *place = path;
}

/* Reads the lines of the script, and skips other output of the Python between them. True if the
 * last line was read. */
static bool read_listing(struct cs_program_facts *facts, char *why, size_t size)
{
    struct cs_examined *subject = NULL; /* NULL: the files are NVIDIA's libraries */
    char *rest = facts->listing;
    const char *version = NULL;
    for (char *line; (line = cs_child_line(&rest));) {
        const char *kind = cut_field(&line);
        if (strcmp(kind, "python") == 0) {
            snprintf(facts->python, sizeof facts->python, "%s", cut_field(&line));
            version = line;
        } else if (strcmp(kind, "framework") == 0) {
            subject = add_framework(facts, line);
        } else if (strcmp(kind, "file") == 0) {
            subject ? add_client(facts, subject, line) : add_nvidia(facts, line);
        } else if (strcmp(kind, "end") == 0) {
            facts->python_version = version;
        } else if (*kind) {
            snprintf(why, size, "%s", kind); /* the last line of a traceback names the error */
        }
    }
    return facts->python_version;
}

bool cs_frameworks_find(struct cs_program_facts *facts, char *why, size_t size)
{
    const char *const argv[] = {facts->python, "-c", script, "", "nvidia/*/lib/lib*.so.*",
#define CS_FRAMEWORK(title, packages, files, asked) packages, files,
#include "cli/program/frameworks.def"
#undef CS_FRAMEWORK
                                NULL};
    snprintf(why, size, "it cannot be run");
    if (cs_child_output(argv, NULL, &facts->listing) < 0 || !read_listing(facts, why, size))
        return false;
    for (size_t i = 0; i < facts->subjects; i++)
        find_cudnn(facts, &facts->subject[i]);
    return true;
}

/* --- the command's own files --- */

/* Examines one of the command's libraries, unless it is a part of cuDNN. */
static void look_at_library(void *ctx, const char *name, const char *path)
{
    struct cs_program_facts *facts = ctx;
    if (path && strchr(path, '/') &&
        strncmp(cs_path_file(name), "libcudnn", strlen("libcudnn")) != 0)
        add_client(facts, facts->subject, path);
}

void cs_own_files_find(struct cs_program_facts *facts)
{
    struct cs_examined *subject = add_subject(facts, cs_path_file(facts->program));
    if (!subject)
        return;
    add_client(facts, subject, facts->program);
    cs_loader_list(facts->program, look_at_library, facts);
    find_cudnn(facts, subject);
}

void cs_program_free(struct cs_program_facts *facts)
{
    for (size_t i = 0; i < facts->subjects; i++)
        free(facts->subject[i].client);
    free(facts->subject);
    free(facts->nvidia);
    free(facts->listing);
}
