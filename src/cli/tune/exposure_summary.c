/* Exposures from the summary of a run without a record. The memory held around a call is from the
 * anatomy of the step (convshim report), without the call's workspace. */
#include "cli/common/cli.h"
#include "cli/common/read_file.h"
#include "cli/report/summary_reader.h"
#include "cli/tune/exposure.h"
#include "cli/tune/rule_keys.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static cJSON *read_json(const char *path)
{
    char error[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, error);
    cJSON *root = text ? cJSON_Parse(text) : NULL;
    free(text);
    return root;
}

static struct cs_exposure *add(struct cs_exposures *to, const struct cs_summary_site *site,
                               const cJSON *json)
{
    char keys[sizeof to->item->keys];
    cs_rule_keys(json, keys, sizeof keys);
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(to->item[i].keys, keys) == 0)
            return &to->item[i];
    struct cs_exposure *grown = reallocarray(to->item, to->count + 1, sizeof *to->item);
    if (!grown)
        return NULL;
    to->item = grown;
    struct cs_exposure *exposure = &to->item[to->count++];
    *exposure = (struct cs_exposure){.bought = -1, .extra_ns = -1, .extra_launches = -1};
    snprintf(exposure->keys, sizeof exposure->keys, "%s", keys);
    snprintf(exposure->text, sizeof exposure->text, "%s", site->text);
    snprintf(exposure->line, sizeof exposure->line, "%s", site->name);
    return exposure;
}

static bool add_moment(struct cs_exposures *to, const struct cs_run_summary *run,
                       const struct cs_anatomy_moment *moment, const cJSON *sites)
{
    const struct cs_summary_site *site = &run->site[moment->site];
    struct cs_exposure *exposure = add(to, site, cJSON_GetArrayItem(sites, (int)moment->site));
    if (!exposure)
        return false;
    int64_t around = moment->before - site->shape.required;
    exposure->calls++;
    if (site->shape.required > exposure->required)
        exposure->required = site->shape.required;
    if (around > exposure->around)
        exposure->around = around;
    if (around > to->level)
        to->level = around;
    if (moment->before > to->peak)
        to->peak = moment->before;
    return true;
}

static bool add_step(const struct cs_run_summary *run, const cJSON *sites, struct cs_exposures *to)
{
    struct cs_anatomy anatomy;
    bool good = cs_summary_anatomy(run, &anatomy);
    if (!good)
        return false;
    for (size_t i = 0; i < anatomy.moments && good; i++)
        good = add_moment(to, run, &anatomy.moment[i], sites);
    cs_anatomy_fini(&anatomy);
    return good;
}

bool cs_exposures_of_summary(const char *path, struct cs_exposures *to)
{
    struct cs_run_summary run;
    char error[CS_SUMMARY_ERROR];
    *to = (struct cs_exposures){.count = 0};
    if (!cs_summary_read(path, &run, error)) {
        cs_cli_complain("tune: %s", error);
        return false;
    }
    cJSON *root = read_json(path);
    bool good = root && add_step(&run, cJSON_GetObjectItemCaseSensitive(root, "sites"), to);
    if (!good)
        cs_cli_complain("tune: %s: out of memory, or numbers of 64 bits and more", path);
    else if (to->count == 0)
        cs_cli_complain(
            "tune: %s: the peak is unknown, because the order of calls is missing or shows no step",
            path);
    cJSON_Delete(root);
    cs_summary_fini(&run);
    if (!good || to->count == 0)
        cs_exposures_fini(to);
    return good && to->count > 0;
}
