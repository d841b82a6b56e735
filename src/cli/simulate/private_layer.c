/* Layers are overlayfs mounts in a mount namespace of the program's own, and in a user namespace
 * where this process is not privileged. */
#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/common/json_tree.h"
#include "cli/program/child.h"
#include "cli/simulate/simulate.h"
#include "cli/simulate/simulation.h"
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
    MOST_VISITS = 200000 /* of files without layers */
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

/* Adds a folder that the user can write. True if the list has it or a folder above it. */
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

/* A layer shows no file systems that are mounted below its folder, so each of them gets its own. */
static void add_mounts(struct cs_private_layers *layers)
{
    FILE *list = setmntent("/proc/self/mounts", "re");
    struct stat facts;
    for (const struct mntent *entry; list && (entry = getmntent(list));) {
        if (!is_below(layers, entry->mnt_dir) || stat(entry->mnt_dir, &facts) != 0 ||
            !S_ISDIR(facts.st_mode))
            continue;
        if (layers->folders == CS_LAYERS)
            layers->error = E2BIG;
        else
            snprintf(layers->folder[layers->folders++], PATH_MAX, "%s", entry->mnt_dir);
    }
    if (list)
        endmntent(list);
}

/* Lists the folders that get a layer. Sorted, so that a folder comes before those below it. */
static void find_folders(struct cs_private_layers *layers, char *const *command)
{
    const char *home = cs_cli_variable("HOME");
    char real[PATH_MAX];
    layers->folders = 0;
    layers->error = 0;
    if (getcwd(layers->here, sizeof layers->here) && !is_root(layers->here))
        (void)add_folder(layers, layers->here);
    for (char *const *argument = command; *argument && *++argument;)
        add_argument(layers, *argument);
    if (layers->whole && home && realpath(home, real) && !is_left_out(real))
        (void)add_folder(layers, real);
    if (layers->whole)
        add_others(layers, "/", 2);
    add_mounts(layers);
    qsort(layers->folder, layers->folders, PATH_MAX, compare_folders);
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

/* Appends a path as an option of a mount, in which commas and colons have a meaning. */
static void put_path(char *text, size_t size, const char *name, const char *path)
{
    size_t length = strlen(text);
    length += (size_t)snprintf(text + length, size - length, "%s=", name);
    for (; *path && length + 3 < size; path++) {
        if (strchr(",:\\", *path))
            text[length++] = '\\';
        text[length++] = *path;
    }
    text[length] = '\0';
}

/* A file system on which no layer is possible, such as /proc, appears without one and cannot be
 * written. */
static bool bind_read_only(const char *from, const char *to)
{
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0 &&
           mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

/* The kernel must note in the upper folder which of its folders hide those below. Without that
 * note, programs cannot remove a folder (EIO). In a user namespace only attributes of users can
 * hold it, and a folder of the layer below cannot be renamed (EXDEV). Volatile: the end of a layer
 * waits for no disk. */
static const char *overlay_options(const char *upper)
{
    const bool trusted = setxattr(upper, "trusted.convshim", "", 0, 0) == 0 &&
                         removexattr(upper, "trusted.convshim") == 0;
    return trusted ? ",redirect_dir=on,volatile" : ",userxattr,volatile";
}

/* Mounts a layer over the folder with index `which`. `file`: that folder, opened before any layer
 * was mounted. False with errno. */
static bool add_layer(const struct cs_private_layers *layers, size_t which, int file,
                      const char *name)
{
    char base[PATH_MAX + 64], upper[PATH_MAX + 128], work[PATH_MAX + 128], lower[64];
    snprintf(lower, sizeof lower, "/proc/self/fd/%d", file);
    snprintf(base, sizeof base, "%s/%s/%zu", layers->area.path, name, which);
    snprintf(upper, sizeof upper, "%s/files", base);
    snprintf(work, sizeof work, "%s/scratch", base);
    if (mkdir(base, 0700) != 0 || mkdir(upper, 0755) != 0 || mkdir(work, 0700) != 0)
        return false;
    const char *const kinds[] = {overlay_options(upper), ""};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char options[6 * PATH_MAX + 512] = "";
        put_path(options, sizeof options, "lowerdir", lower);
        put_path(options, sizeof options, ",upperdir", upper);
        put_path(options, sizeof options, ",workdir", work);
        strncat(options, kinds[i], sizeof options - strlen(options) - 1);
        if (mount("overlay", layers->folder[which], "overlay", 0, options) == 0)
            return true;
    }
    int error = errno;
    bool below = false;
    for (size_t i = 0; i < which; i++)
        below = below || is_in(layers->folder[which], layers->folder[i]);
    if (below && bind_read_only(lower, layers->folder[which]))
        return true;
    errno = error;
    return false;
}

static bool add_layers(const struct cs_private_layers *layers, const char *name)
{
    int file[CS_LAYERS] = {0};
    for (size_t i = 0; i < layers->folders; i++)
        file[i] = open(layers->folder[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < layers->folders; i++)
        if (file[i] < 0 || !add_layer(layers, i, file[i], name))
            return false;
    return true;
}

/* A folder that layers must not cover: the simulation's folder, or a cache. */
struct shared {
    char path[PATH_MAX];
    int file; /* -1: there is none */
};

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

/* The files that it opens are closed at the end of this process, or if it executes a program. */
static bool enter_layers(const struct cs_private_layers *layers, const char *name)
{
    struct shared shared[MOST_SHARED];
    char here[PATH_MAX], base[PATH_MAX + 64];
    snprintf(base, sizeof base, "%s/%s", layers->area.path, name);
    if (!getcwd(here, sizeof here) || mkdir(base, 0700) != 0 || !enter_namespaces())
        return false;
    open_shared(layers, shared);
    if (!add_layers(layers, name))
        return false;
    for (size_t i = 0; i < MOST_SHARED; i++)
        if (!uncover_shared(&shared[i]))
            return false;
    return chdir(here) == 0;
}

int cs_layers_enter(const struct cs_private_layers *layers, const char *name)
{
    if (!*layers->area.path || enter_layers(layers, name))
        return 0;
    return errno ? errno : EINVAL;
}

/* --- the folders of the layers --- */

/* Enters the layers in a child process, which exits with 0 or the errno value of the failure. */
static int try_layers(void *layers)
{
    return cs_layers_enter(layers, "try");
}

/* Makes the area at the first place where layers work: a layer cannot be in the folder that it
 * covers, or on another overlay. False with the first error in `layers`. */
static bool find_area(struct cs_private_layers *layers)
{
    if (layers->error)
        return false;
    const char *const places[] = {cs_temporary_place(), "/var/tmp", "/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!cs_temporary_folder_make(&layers->area, places[i], "files"))
            continue;
        int error = cs_child_run(try_layers, layers);
        if (error == 0) {
            layers->error = 0;
            return true;
        }
        if (layers->error == 0)
            layers->error = error > 0 ? error : errno;
        cs_temporary_folder_remove(&layers->area);
    }
    return false;
}

void cs_layers_begin(struct cs_private_layers *layers, char *const *command, const char *shared)
{
    *layers = (struct cs_private_layers){.whole = true};
    snprintf(layers->shared, sizeof layers->shared, "%s", shared);
    clock_gettime(CLOCK_REALTIME_COARSE, &layers->begun);
    find_folders(layers, command);
    if (find_area(layers)) {
        if (is_root(layers->here) && access("/", W_OK) == 0)
            layers->error = EBUSY; /* a process is not moved behind a mount over its root */
        return;
    }
    const int error = layers->error;
    layers->whole = false;
    find_folders(layers, command);
    if (layers->folders > 0)
        (void)find_area(layers);
    layers->error = error;
}

void cs_layers_end(struct cs_private_layers *layers, const char *keep)
{
    char to[PATH_MAX + 16];
    char *output = NULL;
    if (*layers->area.path && keep) {
        snprintf(to, sizeof to, "%s/layers", keep);
        const char *argv[] = {"cp", "-a", "--", layers->area.path, to, NULL};
        (void)cs_child_output(argv, NULL, &output);
        free(output);
    }
    cs_temporary_folder_remove(&layers->area);
}

/* --- written files --- */

/* The files that programs wrote or removed, sorted. In the working folder by their paths in it.
 * Without layers, files that have changed since the beginning. */
struct written {
    char **name;
    size_t count;
    bool more; /* the list is not complete */
};

static void add_name(struct written *to, const char *prefix, const char *path, bool removed)
{
    char *name = NULL;
    if (to->count == MOST_NAMES) {
        to->more = true;
        return;
    }
    if (asprintf(&name, "%s%s%s", prefix, path, removed ? " (removed)" : "") < 0)
        return;
    bool listed = false; /* both runs write the same files */
    for (size_t i = 0; i < to->count && !listed; i++)
        listed = strcmp(to->name[i], name) == 0;
    char **place = listed ? NULL : cs_array_add(&to->name, &to->count, sizeof(char *));
    if (place)
        *place = name;
    else
        free(name);
}

/* A file in a layer: written, or removed, which is a character device. Without layers: changed
 * since the beginning.
 */
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

/* Lists the files of a folder, or those of one program's layer over it. */
static void list_folder(const struct cs_private_layers *layers, size_t which, const char *layer,
                        struct written *written)
{
    char path[PATH_MAX + 300], prefix[PATH_MAX + 1] = "";
    const char *folder = layers->folder[which];
    if (layer)
        snprintf(path, sizeof path, "%s/%.255s/%zu/files", layers->area.path, layer, which);
    else
        snprintf(path, sizeof path, "%s", folder);
    if (strcmp(folder, layers->here) != 0)
        snprintf(prefix, sizeof prefix, "%s/", folder);
    FTS *walk = fts_open((char *const[]){path, NULL}, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    const size_t base = strlen(path) + 1;
    size_t visits = 0;
    for (FTSENT *entry; walk && !written->more && (entry = fts_read(walk));) {
        written->more = !layer && ++visits >= MOST_VISITS;
        if (is_written(layers, entry, layer != NULL))
            add_name(written, prefix, entry->fts_path + base, S_ISCHR(entry->fts_statp->st_mode));
    }
    if (walk)
        fts_close(walk);
}

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

static void list_written(const struct cs_private_layers *layers, struct written *written)
{
    DIR *area = *layers->area.path ? opendir(layers->area.path) : NULL;
    *written = (struct written){.count = 0};
    for (const struct dirent *entry; area && (entry = readdir(area));)
        for (size_t i = 0; i < layers->folders && entry->d_name[0] != '.'; i++)
            list_folder(layers, i, entry->d_name, written);
    for (size_t i = 0; i < layers->folders && !*layers->area.path; i++)
        list_folder(layers, i, NULL, written);
    if (area)
        closedir(area);
    if (written->count > 0)
        qsort(written->name, written->count, sizeof *written->name, compare_names);
}

static void free_written(struct written *written)
{
    for (size_t i = 0; i < written->count; i++)
        free(written->name[i]);
    free(written->name);
    *written = (struct written){.count = 0};
}

void cs_written_print(const struct cs_private_layers *layers, FILE *out)
{
    struct written written;
    list_written(layers, &written);
    if (written.count > 0) {
        fputs("\nfiles that the program ", out);
        fputs(*layers->area.path ? "wrote in a private layer (your own files are unchanged)\n"
                                 : "MAY HAVE REPLACED (they changed while it ran)\n",
              out);
    }
    for (size_t i = 0; i < written.count && i < MOST_SHOWN; i++) {
        fputs("  * ", out);
        for (char *end = written.name[i]; (end = strchr(end, '\n'));)
            *end = '?';
        cs_cli_put(written.name[i], out);
        fputc('\n', out);
    }
    if (written.count > MOST_SHOWN)
        fprintf(out, "  * and %zu%s more\n", written.count - MOST_SHOWN, written.more ? " or" : "");
    free_written(&written);
}

struct cJSON *cs_written_json(const struct cs_private_layers *layers)
{
    struct written written;
    cJSON *object = cJSON_CreateObject(), *names = cJSON_AddArrayToObject(object, "names");
    list_written(layers, &written);
    cJSON_AddBoolToObject(object, "private", *layers->area.path != '\0');
    for (size_t i = 0; i < written.count; i++)
        cs_json_add(names, NULL, cJSON_CreateString(written.name[i]));
    free_written(&written);
    return object;
}
