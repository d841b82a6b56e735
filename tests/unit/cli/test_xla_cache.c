/* Folders of XLA's caches below those that the user named. */
#include "cli/program/xla_cache.h"

#include "check.h"
#include <stdlib.h>

static void folder_is_below_the_named_one(void)
{
    static const struct {
        const char *variable, *value, *expected; /* NULL: unchanged */
    } rows[] = {
        {"JAX_COMPILATION_CACHE_DIR", NULL, NULL},
        {"JAX_COMPILATION_CACHE_DIR", "", NULL},
        {"JAX_COMPILATION_CACHE_DIR", "/a/b c", "/a/b c/NAME"},
        {"JAX_COMPILATION_CACHE_DIR", "/a/", "/a/NAME"},
        {"JAX_COMPILATION_CACHE_DIR", "gs://a/b", "gs://a/b/NAME"},
        {"JAX_COMPILATION_CACHE_DIR", "/a/NAME", NULL},
        {"XLA_FLAGS", NULL, NULL},
        {"XLA_FLAGS", "--x=y", NULL},
        {"XLA_FLAGS", "--xla_gpu_per_fusion_autotune_cache_dir= --x", NULL},
        {"XLA_FLAGS", "--xla_gpu_per_fusion_autotune_cache_dir=/a",
         "--xla_gpu_per_fusion_autotune_cache_dir=/a/NAME"},
        {"XLA_FLAGS", "--x --xla_gpu_per_fusion_autotune_cache_dir=/a\t--y",
         "--x --xla_gpu_per_fusion_autotune_cache_dir=/a/NAME\t--y"},
        {"TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory=b --y",
         "--tf_xla_persistent_cache_directory=b/NAME --y"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int index = 0;
        while (strcmp(cs_xla_caches[index].variable, rows[i].variable) != 0)
            index++;
        char *value = cs_xla_cache_value(&cs_xla_caches[index], rows[i].value, "NAME");
        CHECK_STR(value ? value : "unchanged", rows[i].expected ? rows[i].expected : "unchanged");
        free(value);
    }
}

/* Every option that decides changes the name; those of the output do not. */
static void name_depends_on_the_options_that_decide(void)
{
    static const struct {
        const char *items;
        bool same;
    } rows[] = {{"", true},
                {"log=debug;summary=off", true},
                {"price=5", false},
                {"workspace=64MiB", false},
                {"max_slowdown=1.5", false},
                {"rule.a.c=5;rule.a.lanes=1", false},
                {"lanes=1", false},
                {"backing=own", false}};
    static const char *const policies[] = {"fit", NULL};
    static struct cs_config config;
    char name[CS_XLA_CACHE_NAME], plain[CS_XLA_CACHE_NAME];
    cs_config_default(&config);
    CHECK(cs_xla_cache_name(&config, plain));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cs_config_load_items(&config, rows[i].items, policies, NULL, NULL);
        CHECK(cs_xla_cache_name(&config, name));
        CHECK_INT(strcmp(name, plain) == 0, rows[i].same);
    }
}

int main(void)
{
    TEST(folder_is_below_the_named_one);
    TEST(name_depends_on_the_options_that_decide);
    return REPORT();
}
