/* Makes the private layers. They are overlayfs mounts in the program's own mount namespace. If this
 * process is not privileged, the program also gets a user namespace. */
#include "simdev/simulate/private_layers.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/variables.h"
#include "cli/program/child.h"
#include "simdev/simulate/simulate.h"
#include "simdev/simulate/temporary_folder.h"
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    MOST_SHARED = 6,
    MOST_NAMES = 1000,
    MOST_SHOWN = 12,
    MOST_VISITS = 200000 /* files to look at if there are no layers */
};

static bool is_in(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* --- which folders --- */

static bool is_root(const char *folder)
{
    return strcmp(folder, "/") == 0;
}

/* True for a folder without a layer: shared by design, or no place for a program's results. */
static bool is_left_out(const char *folder)
{
    static const char *const exactly[] = {"/", "/tmp", "/var/tmp", "/lost+found"};
    static const char *const within[] = {"/dev", "/proc", "/sys",  "/run",  "/usr", "/bin",
                                         "/lib", "/etc",  "/boot", "/sbin", "/snap"};
    for (size_t i = 0; i < sizeof exactly / sizeof *exactly; i++)
        if (strcmp(folder, exactly[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        if (is_in(folder, within[i]))
            return true;
    return false;
}

/* Adds a folder, unless the user cannot write it. Returns true if the list then has it or a folder
 * above it. */
static bool add_folder(struct cs_private_layers *layers, const char *folder)
{
    for (size_t i = 0; i < layers->folders; i++)
        if (is_in(folder, layers->folder[i]))
            return true;
    const bool writable = layers->folders < CS_LAYERS && access(folder, W_OK) == 0;
    if (writable)
        snprintf(layers->folder[layers->folders++], PATH_MAX, "%s", folder);
    return writable;
}

/* Adds every folder that the user can write, up to `levels` below `parent`, such as /data or
 * /home/NAME. Some systems have links there, such as /home -> /var/home. */
static void add_others(struct cs_private_layers *layers, const char *parent, int levels)
{
    struct dirent **entry;
    char folder[PATH_MAX], real[PATH_MAX];
    struct stat facts;
    const int found = scandir(parent, &entry, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        snprintf(folder, sizeof folder, "%s/%s", is_root(parent) ? "" : parent, entry[i]->d_name);
        const bool kept = entry[i]->d_name[0] != '.' && !is_left_out(folder) &&
                          realpath(folder, real) && strcmp(real, "/var") != 0 &&
                          !is_left_out(real) && stat(real, &facts) == 0 && S_ISDIR(facts.st_mode);
        if (kept && !add_folder(layers, real) && levels > 1)
            add_others(layers, real, levels - 1);
        free(entry[i]);
    }
    if (found >= 0)
        free(entry);
}

/* Adds the folder of an argument PATH or NAME=PATH, if PATH begins with / or ../: PATH itself, or
 * the folder in which the file is or would be. */
static void add_argument(struct cs_private_layers *layers, const char *argument)
{
    const char *equals = strchr(argument, '='), *path = equals ? equals + 1 : argument;
    char real[PATH_MAX], folder[PATH_MAX];
    struct stat facts;
    if ((*path != '/' && strncmp(path, "../", strlen("../")) != 0) || strlen(path) >= PATH_MAX)
        return;
    snprintf(folder, sizeof folder, "%s", path);
    char *last = strrchr(folder, '/');
    if (!realpath(path, real) || stat(real, &facts) != 0 || !S_ISDIR(facts.st_mode)) {
        last[last == folder] = '\0';
        if (!realpath(folder, real))
            return;
    }
    if (!is_left_out(real))
        (void)add_folder(layers, real);
}

static int compare_folders(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* True if the place is below a folder of the list, and not in the list. */
static bool is_below(const struct cs_private_layers *layers, const char *place)
{
    bool below = false;
    for (size_t i = 0; i < layers->folders; i++) {
        if (strcmp(place, layers->folder[i]) == 0)
            return false;
        below = below || is_in(place, layers->folder[i]);
    }
    return below;
}

/* Adds the file systems that are mounted below folders of the list. A layer does not show them, so
 * each of them gets its own. Returns 0, or an errno value if they are too many. */
static int add_mounts(struct cs_private_layers *layers)
{
    FILE *list = setmntent("/proc/self/mounts", "re");
    struct stat facts;
    int error = 0;
    for (const struct mntent *entry; list && (entry = getmntent(list));) {
        if (!is_below(layers, entry->mnt_dir) || stat(entry->mnt_dir, &facts) != 0 ||
            !S_ISDIR(facts.st_mode))
            continue;
        if (layers->folders == CS_LAYERS)
            error = E2BIG;
        else
            snprintf(layers->folder[layers->folders++], PATH_MAX, "%s", entry->mnt_dir);
    }
    if (list)
        endmntent(list);
    return error;
}

/* Lists the folders that get a layer. Sorted, so that a folder comes before those below it. Returns
 * 0, or an errno value if they are too many. */
static int find_folders(struct cs_private_layers *layers, char *const *command)
{
    const char *home = cs_cli_variable("HOME");
    char real[PATH_MAX];
    layers->folders = 0;
    if (getcwd(layers->here, sizeof layers->here) && !is_root(layers->here))
        (void)add_folder(layers, layers->here);
    for (char *const *argument = command; *argument && *++argument;)
        add_argument(layers, *argument);
    if (layers->whole && home && realpath(home, real) && !is_left_out(real))
        (void)add_folder(layers, real);
    if (layers->whole)
        add_others(layers, "/", 2);
    const int error = add_mounts(layers);
    qsort(layers->folder, layers->folders, PATH_MAX, compare_folders);
    return error;
}

/* --- in the process that gets them --- */

static bool write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return good;
}

/* Moves this process into a separate mount namespace, and into a user namespace if it has no
 * privilege. The ids of user and group stay the same. False with errno. */
static bool enter_namespaces(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%ld %ld 1", (long)geteuid(), (long)geteuid());
    snprintf(groups, sizeof groups, "%ld %ld 1", (long)getegid(), (long)getegid());
    bool entered =
        unshare(CLONE_NEWNS) == 0 ||
        (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/uid_map", users) &&
         write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/gid_map", groups));
    return entered && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Shows the folder `from` at `to`, where it cannot be written. This is for file systems on which no
 * layer is possible, such as /proc. */
static bool bind_read_only(const char *from, const char *to)
{
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0 &&
           mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

/* Returns the overlayfs options for a layer with this upper folder. The kernel must note in it
 * which of its folders hide those below. Without that note, programs cannot remove a folder (EIO).
 * In a user namespace only attributes of users can hold the note, and a folder of the layer below
 * cannot be renamed (EXDEV). With `volatile`, the end of a layer waits for no disk. */
static const char *overlay_options(const char *upper)
{
    const bool trusted = setxattr(upper, "trusted.convshim", "", 0, 0) == 0 &&
                         removexattr(upper, "trusted.convshim") == 0;
    return trusted ? "redirect_dir=on,volatile" : "userxattr,volatile";
}

/* Mounts a layer over the folder with index `which`. If that fails and the folder is below another
 * one of the list, shows it read-only. `file`: that folder, opened before any layer was mounted.
 * False with errno. */
static bool add_layer(const struct cs_private_layers *layers, size_t which, int file,
                      const char *name)
{
    char base[PATH_MAX + 64], upper[PATH_MAX + 128], work[PATH_MAX + 128], options[256], lower[64];
    snprintf(base, sizeof base, "%s/%s/%zu", layers->area, name, which);
    snprintf(upper, sizeof upper, "%s/files", base);
    snprintf(work, sizeof work, "%s/scratch", base);
    if (mkdir(base, 0700) != 0 || mkdir(upper, 0755) != 0 || mkdir(work, 0700) != 0)
        return false;
    /* Descriptors, because commas and colons of paths have a meaning in options. */
    const int place = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(lower, sizeof lower, "/proc/self/fd/%d", file);
    snprintf(options, sizeof options,
             "lowerdir=%s,upperdir=/proc/self/fd/%d/files,workdir=/proc/self/fd/%d/scratch,%s",
             lower, place, place, overlay_options(upper));
    if (mount("overlay", layers->folder[which], "overlay", 0, options) == 0)
        return true;
    const int error = errno;
    for (size_t i = 0; i < which; i++)
        if (is_in(layers->folder[which], layers->folder[i]) &&
            bind_read_only(lower, layers->folder[which]))
            return true;
    errno = error;
    return false;
}

/* A folder that layers must not cover: the simulation's folder, or a cache. */
struct shared {
    char path[PATH_MAX];
    int file; /* -1: there is none */
};

/* Opens the folders that layers must not cover. */
static void open_shared(const struct cs_private_layers *layers, struct shared shared[MOST_SHARED])
{
    static const struct {
        const char *variable, *below;
    } caches[MOST_SHARED - 1] = {{"HOME", "/.cache"},
                                 {"HOME", "/.triton"},
                                 {"XDG_CACHE_HOME", ""},
                                 {"HF_HOME", ""},
                                 {"TORCH_HOME", ""}};
    snprintf(shared[0].path, PATH_MAX, "%s", layers->shared);
    for (size_t i = 1; i < MOST_SHARED; i++) {
        const char *value = cs_cli_variable(caches[i - 1].variable);
        snprintf(shared[i].path, PATH_MAX, "%s%s", value ? value : "", caches[i - 1].below);
    }
    for (size_t i = 0; i < MOST_SHARED; i++)
        shared[i].file = open(shared[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Shows a shared folder at its place again, if a layer covers it. */
static bool uncover_shared(const struct shared *shared)
{
    struct stat before, now;
    char path[64];
    if (shared->file < 0)
        return true;
    bool same = fstat(shared->file, &before) == 0 && stat(shared->path, &now) == 0 &&
                before.st_dev == now.st_dev && before.st_ino == now.st_ino;
    snprintf(path, sizeof path, "/proc/self/fd/%d", shared->file);
    return same || mount(path, shared->path, NULL, MS_BIND | MS_REC, NULL) == 0;
}

/* The files that this function opens are closed at the end of this process, or if it executes a
 * program. */
int cs_private_layers_enter(const struct cs_private_layers *layers, const char *name)
{
    struct shared shared[MOST_SHARED];
    char here[PATH_MAX], base[PATH_MAX + 64];
    int file[CS_LAYERS] = {0};
    if (!*layers->area)
        return 0;
    snprintf(base, sizeof base, "%s/%s", layers->area, name);
    if (!getcwd(here, sizeof here) || mkdir(base, 0700) != 0 || !enter_namespaces())
        return errno;
    open_shared(layers, shared);
    bool good = true;
    for (size_t i = 0; good && i < layers->folders; i++) {
        file[i] = open(layers->folder[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        good = file[i] >= 0;
    }
    for (size_t i = 0; good && i < layers->folders; i++)
        good = add_layer(layers, i, file[i], name);
    for (size_t i = 0; good && i < MOST_SHARED; i++)
        good = uncover_shared(&shared[i]);
    if (good && chdir(here) == 0)
        return 0;
    return errno ? errno : EINVAL;
}

/* --- the folders of the layers --- */

/* Enters the layers in a child process, which exits with 0 or the errno value of the failure. */
static int try_layers(void *layers)
{
    return cs_private_layers_enter(layers, "try");
}

/* Makes the folder of the layers, `area`, at the first place where layers work. A layer cannot be
 * in the folder that it covers, or on another overlay. Returns 0, or the first error. */
static int find_area(struct cs_private_layers *layers)
{
    const char *const places[] = {cs_temporary_place(), "/var/tmp", "/tmp", "/dev/shm"};
    int first = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!cs_temporary_folder_make(layers->area, places[i], "files"))
            continue;
        const int error = cs_child_run(try_layers, layers);
        if (error == 0)
            return 0;
        first = first ? first : error > 0 ? error : errno;
        cs_temporary_folder_remove(layers->area);
    }
    return first ? first : ENOENT;
}

void cs_private_layers_begin(struct cs_private_layers *layers, char *const *command,
                             const char *shared)
{
    *layers = (struct cs_private_layers){.whole = true};
    snprintf(layers->shared, sizeof layers->shared, "%s", shared);
    clock_gettime(CLOCK_REALTIME_COARSE, &layers->begun);
    layers->error = find_folders(layers, command);
    if (!layers->error)
        layers->error = find_area(layers);
    if (!layers->error) {
        if (is_root(layers->here) && access("/", W_OK) == 0)
            layers->error = EBUSY; /* a process is not moved behind a mount over its root */
        return;
    }
    layers->whole = false; /* without the other folders */
    if (find_folders(layers, command) == 0 && layers->folders > 0)
        (void)find_area(layers);
}

void cs_private_layers_end(struct cs_private_layers *layers, const char *keep)
{
    char to[PATH_MAX + 16];
    char *output = NULL;
    if (*layers->area && keep) {
        snprintf(to, sizeof to, "%s/layers", keep);
        const char *argv[] = {"cp", "-a", "--", layers->area, to, NULL};
        (void)cs_child_output(argv, NULL, &output);
        free(output);
    }
    cs_temporary_folder_remove(layers->area);
}

/* --- written files --- */

/* True if the program has written or removed this file. In a layer every file counts; a removed one
 * is a character device there. Without layers, a file counts if it has changed since the beginning.
 * Files in __pycache__ never count. */
static bool is_written(const struct cs_private_layers *layers, const FTSENT *entry, bool in_layer)
{
    const struct timespec *begun = &layers->begun, *changed = &entry->fts_statp->st_mtim;
    const int kind = entry->fts_info;
    if (strstr(entry->fts_path, "/__pycache__/"))
        return false;
    if (in_layer)
        return kind == FTS_F || kind == FTS_SL || kind == FTS_SLNONE || kind == FTS_DEFAULT;
    return kind == FTS_F && !is_in(entry->fts_path, layers->shared) &&
           (changed->tv_sec > begun->tv_sec ||
            (changed->tv_sec == begun->tv_sec && changed->tv_nsec >= begun->tv_nsec));
}

/* Adds a name that is not in the list yet: both runs write the same files. */
static void add_name(cJSON *names, const char *name)
{
    const cJSON *known;
    cJSON_ArrayForEach(known, names)
    {
        if (strcmp(known->valuestring, name) == 0)
            return;
    }
    cs_json_add(names, NULL, cJSON_CreateString(name));
}

static int by_name(const FTSENT **left, const FTSENT **right)
{
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

/* Adds the written files below `root`, which is the folder with index `which`, or a layer over it.
 * Names in the working folder are relative to it. */
static void add_names(cJSON *names, const struct cs_private_layers *layers, size_t which,
                      const char *root, bool in_layer)
{
    const char *folder = layers->folder[which];
    const bool is_here = strcmp(folder, layers->here) == 0;
    char name[2 * PATH_MAX];
    size_t visits = 0;
    FTS *walk = fts_open((char *const[]){(char *)root, NULL}, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR,
                         by_name);
    for (FTSENT *entry; walk && (in_layer || ++visits < MOST_VISITS) && (entry = fts_read(walk));) {
        if (!is_written(layers, entry, in_layer) || cJSON_GetArraySize(names) == MOST_NAMES)
            continue;
        snprintf(name, sizeof name, "%s%s%s%s", is_here ? "" : folder, is_here ? "" : "/",
                 entry->fts_path + strlen(root) + 1,
                 S_ISCHR(entry->fts_statp->st_mode) ? " (removed)" : "");
        add_name(names, name);
    }
    if (walk)
        fts_close(walk);
}

/* Returns the names of the files that programs wrote or removed. Without layers, of files that have
 * changed since the beginning. */
static cJSON *list_written(const struct cs_private_layers *layers)
{
    cJSON *names = cJSON_CreateArray();
    DIR *area = *layers->area ? opendir(layers->area) : NULL;
    char files[PATH_MAX + 300];
    for (const struct dirent *entry; area && (entry = readdir(area));)
        for (size_t i = 0; i < layers->folders && entry->d_name[0] != '.'; i++) {
            snprintf(files, sizeof files, "%s/%.255s/%zu/files", layers->area, entry->d_name, i);
            add_names(names, layers, i, files, true);
        }
    for (size_t i = 0; i < layers->folders && !*layers->area; i++)
        add_names(names, layers, i, layers->folder[i], false);
    if (area)
        closedir(area);
    return names;
}

void cs_private_layers_print(const struct cs_private_layers *layers, FILE *out)
{
    cJSON *names = list_written(layers);
    const int count = cJSON_GetArraySize(names);
    if (count > 0)
        fprintf(out, "\nfiles that the program %s\n",
                *layers->area ? "wrote in a private layer (your own files are unchanged)"
                              : "MAY HAVE REPLACED (they changed while it ran)");
    for (int i = 0; i < count && i < MOST_SHOWN; i++) {
        char *name = cJSON_GetArrayItem(names, i)->valuestring;
        for (char *end = name; (end = strchr(end, '\n'));)
            *end = '?';
        fputs("  * ", out);
        cs_cli_put(name, out);
        fputc('\n', out);
    }
    if (count > MOST_SHOWN)
        fprintf(out, "  * and %d%s more\n", count - MOST_SHOWN, count == MOST_NAMES ? " or" : "");
    cJSON_Delete(names);
}

struct cJSON *cs_private_layers_json(const struct cs_private_layers *layers)
{
    cJSON *object = cJSON_CreateObject();
    cs_json_add(object, "names", list_written(layers));
    cJSON_AddBoolToObject(object, "private", *layers->area != '\0');
    return object;
}
