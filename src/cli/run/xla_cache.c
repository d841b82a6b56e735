/* Gives XLA's caches a folder for each version of the library and set of options. */
#include "cli/run/xla_cache.h"

#include "base/hash.h"
#include "base/version.h"
#include "cli/common/rule_text.h"
#include "config/ladder.h"
#include "config/option.h"
#include "config/option_text.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cs_xla_cache cs_xla_caches[CS_XLA_CACHES] = {
    {"JAX_COMPILATION_CACHE_DIR", NULL, true},
    {"TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory=", true},
    {"XLA_FLAGS", "--xla_gpu_per_fusion_autotune_cache_dir=", true},
    {"XLA_FLAGS", "--xla_gpu_kernel_cache_file=", false},
    {"XLA_FLAGS", "--xla_gpu_dump_autotune_results_to=", false},
    {"XLA_FLAGS", "--xla_gpu_load_autotune_results_from=", false},
};

static uint64_t add_text(uint64_t hash, const char *text)
{
    return cs_hash_bytes(hash, text, strlen(text) + 1);
}

static uint64_t add_options(uint64_t hash, const struct cs_config *config)
{
    char text[CS_OPTION_VALUE];
    for (int i = 0; i < CS_OPTIONS; i++) {
        if (cs_option_is_output(i))
            continue;
        cs_option_text(config, i, text, sizeof text);
        hash = add_text(hash, text);
    }
    for (int i = 0; i < config->rules.count; i++) {
        cs_explain_rule(&config->rules.rule[i], text, sizeof text);
        hash = add_text(hash, text);
    }
    return hash;
}

static uint64_t hash_file(const char *folder, const char *name)
{
    char path[CS_LADDER_PATH + 256], text[CS_LADDER_TEXT];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    return cs_hash_bytes(add_text(CS_HASH_START, name), text, length);
}

/* The hash of the files for all GPUs, because the program's GPU is not known. A sum, because the
 * order of the files may change. */
static uint64_t hash_ladders(void)
{
    char path[CS_LADDER_PATH];
    uint64_t sum = 0;
    if (!cs_ladder_path("any", path))
        return 0;
    *strrchr(path, '/') = '\0';
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            sum += hash_file(path, entry->d_name);
    if (folder)
        closedir(folder);
    return sum;
}

void cs_xla_cache_name(const struct cs_config *config, char name[CS_XLA_CACHE_NAME])
{
    uint64_t hash = cs_hash_word(add_options(CS_HASH_START, config), hash_ladders());
    snprintf(name, CS_XLA_CACHE_NAME, "convshim-%s-%016llx", CS_VERSION, (unsigned long long)hash);
}

const char *cs_xla_cache_path(const struct cs_xla_cache *cache, const char *value, size_t *length_p)
{
    const char *option = cache->option;
    const char *path = value && option ? strstr(value, option) : value;
    if (!path)
        return NULL;
    path += option ? strlen(option) : 0;
    *length_p = option ? strcspn(path, " \t\n") : strlen(path);
    return *length_p > 0 ? path : NULL;
}

char *cs_xla_cache_value(const struct cs_xla_cache *cache, const char *value, const char *name)
{
    size_t length;
    char *changed;
    const char *path = cs_xla_cache_path(cache, value, &length);
    const char *end = path ? path + length : NULL;
    const size_t added = strlen(name);
    if (!path || (length > added && memcmp(end - added, name, added) == 0) ||
        asprintf(&changed, "%.*s%s%s%s", (int)(end - value), value, end[-1] == '/' ? "" : "/", name,
                 end) < 0)
        return NULL;
    return changed;
}
