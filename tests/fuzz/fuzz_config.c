/* Any bytes as an ini file or as CONVSHIM_CONFIG: every option stays within what options.def
 * allows, every note is one line. */
#include "bytes.h"
#include "config/ini.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const policies[] = {"off", "fit", "fixed", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void take_note(void *ctx, const char *line)
{
    int *notes = ctx;
    require(++*notes <= 17 && *line);
    for (; *line; line++)
        require(isprint((unsigned char)*line));
}

static void check(const struct cs_config *config)
{
    const int64_t kib = 1024, tib = kib * kib * kib * kib;
    bool known = false;
    for (size_t i = 0; policies[i]; i++)
        known |= strcmp(config->policy.text, policies[i]) == 0;
    require(known);
    require(config->workspace >= kib && config->workspace <= tib);
    require(config->threshold >= CS_CONFIG_AUTO && config->threshold <= tib);
    require(config->tiles >= 1 && config->tiles <= 1024);
    require(config->lanes >= CS_CONFIG_AUTO && config->lanes != 0 && config->lanes <= 8);
    require(config->backing >= CS_CONFIG_BACKING_AUTO && config->backing <= CS_CONFIG_BACKING_OWN);
    require(config->arena >= CS_CONFIG_AUTO && config->arena <= tib);
    require(config->interleave == CS_INTERLEAVE_OFF || config->interleave == CS_INTERLEAVE_STAGE);
    require(config->interleave_budget == 0 ||
            (config->interleave_budget >= kib * kib && config->interleave_budget <= tib));
    require(config->interleave_timeout >= 1 && config->interleave_timeout <= 60000);
    require(memchr(config->log_file.text, '\0', sizeof config->log_file.text) != NULL);
    require(config->summary.form >= CS_SUMMARY_OFF && config->summary.form <= CS_SUMMARY_JSON);
}

static void load_file(struct cs_load *load, const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("ini", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    require(cs_load_file(load, path) == 0);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cs_config config;
    int notes = 0;
    struct cs_load load = {
        .config = &config, .policies = policies, .note = take_note, .ctx = &notes};
    cs_config_default(&config);
    load_file(&load, data, size);
    check(&config);
    char *items = malloc(size + 1);
    require(items != NULL);
    if (size > 0)
        memcpy(items, data, size);
    items[size] = '\0';
    notes = 0;
    cs_config_default(&config);
    cs_load_items(&load, "CONVSHIM_CONFIG", items);
    check(&config);
    free(items);
    return 0;
}
