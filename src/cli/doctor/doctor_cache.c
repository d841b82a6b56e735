/* Check of XLA's caches: compiled programs and tuning results contain workspace sizes. If a cache
 * is written with the library and used without it, a whole convolution runs in a tile's workspace.
 * `convshim run` uses folders below those of the caches, one for each version and options. */
#include "cli/common/environment.h"
#include "cli/doctor/doctor.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A variable that names a cache, or an option in its value that does. */
static const struct place {
    const char *variable, *option; /* NULL: the variable is the path */
    bool separated;                /* by convshim run (cli/run/xla_cache.h) */
} places[] = {
    {"JAX_COMPILATION_CACHE_DIR", NULL, true},
    {"TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory=", true},
    {"XLA_FLAGS", "--xla_gpu_per_fusion_autotune_cache_dir=", true},
    {"XLA_FLAGS", "--xla_gpu_kernel_cache_file=", false},
    {"XLA_FLAGS", "--xla_gpu_dump_autotune_results_to=", false},
    {"XLA_FLAGS", "--xla_gpu_load_autotune_results_from=", false},
};

/* Copies the path in the variable to `path`. NULL if there is none. */
static const char *find_path(const struct place *place, char *path, size_t size)
{
    const char *value = cs_cli_variable(place->variable);
    const char *start = value && place->option ? strstr(value, place->option) : value;
    if (!start)
        return NULL;
    start += place->option ? strlen(place->option) : 0;
    snprintf(path, size, "%.*s", place->option ? (int)strcspn(start, " \t\n") : (int)strlen(start),
             start);
    return *path ? path : NULL;
}

/* True if the cache has content. A path that is no local folder (gs://...) counts as one with
 * content. */
static bool is_filled(const char *path)
{
    struct stat status;
    if (strstr(path, "://"))
        return true;
    if (stat(path, &status) != 0)
        return false;
    if (!S_ISDIR(status.st_mode))
        return status.st_size > 0;
    int entries = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        entries++;
    if (folder)
        closedir(folder);
    return entries > 2; /* . and .. */
}

void cs_doctor_cache(struct cs_doctor *doctor)
{
    char path[PATH_MAX];
    bool found = false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!find_path(&places[i], path, sizeof path))
            continue;
        found = true;
        if (places[i].separated)
            cs_doctor_add(
                doctor, CS_CHECK_cache, CS_NOTE, places[i].variable,
                "convshim run uses a folder below %s for each version and set of "
                "options. With LD_PRELOAD alone, use another folder than without convshim",
                path);
        else if (is_filled(path))
            cs_doctor_add(doctor, CS_CHECK_cache, CS_WARNING, places[i].variable,
                          "%s holds compiled programs or tuning results: workspace sizes stored "
                          "with convshim are too small for runs without it",
                          path);
        else
            cs_doctor_add(doctor, CS_CHECK_cache, CS_NOTE, places[i].variable,
                          "%s is empty: use it only with convshim, or only without", path);
    }
    if (!found)
        cs_doctor_add(doctor, CS_CHECK_cache, CS_FINE, "XLA's caches",
                      "no variable of the environment sets one, but a program can");
}
