/* Gives XLA's caches a folder for each version of the library and set of options. */
#include "cli/program/xla_cache.h"

#include "base/hash.h"
#include "base/version.h"
#include "cli/common/rule_text.h"
#include "config/option.h"
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

/* Writes all options and rules that decide. */
static void put_options(const struct cs_config *config, FILE *out)
{
    char text[CS_OPTION_VALUE];
    for (int i = 0; i < CS_OPTIONS; i++)
        if (!cs_option_is_output(i)) {
            cs_option_text(config, i, text, sizeof text);
            fprintf(out, "%s\n", text);
        }
    for (int i = 0; i < config->rules.count; i++)
        cs_explain_rule(&config->rules.rule[i], out);
}

bool cs_xla_cache_name(const struct cs_config *config, char name[CS_XLA_CACHE_NAME])
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (out)
        put_options(config, out);
    if (!out || fclose(out) != 0) {
        free(text);
        return false;
    }
    snprintf(name, CS_XLA_CACHE_NAME, "convshim-%s-%016llx", CS_VERSION,
             (unsigned long long)cs_hash_bytes(CS_HASH_START, text, length));
    free(text);
    return true;
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
