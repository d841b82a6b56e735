/* Writes the results of `convshim verify` as JSON (--out). */
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/verify/verify.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>
#include <time.h>

enum {
    FORMAT_VERSION = 2
};

#ifndef CS_COMMIT
#define CS_COMMIT ""
#endif

static cJSON *difference_json(const struct cs_difference *difference)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "elements", (double)difference->elements);
    cJSON_AddNumberToObject(object, "differing", (double)difference->differing);
    cJSON_AddNumberToObject(object, "largest_difference", difference->largest);
    cJSON_AddNumberToObject(object, "largest_number", difference->value);
    return object;
}

static cJSON *predicted_json(const struct cs_prediction *prediction)
{
    cJSON *object = cJSON_CreateObject();
    if (prediction->seconds <= 0)
        return object;
    cJSON_AddNumberToObject(object, "untiled_us", prediction->seconds * 1e6);
    cJSON_AddNumberToObject(object, "time_ratio",
                            prediction->time_ratio > 0 ? prediction->time_ratio : 1);
    cJSON_AddNumberToObject(object, "required", (double)prediction->offer.workspace);
    cJSON_AddNumberToObject(object, "reported",
                            (double)(prediction->tiled_peak - prediction->floor));
    return object;
}

static cJSON *row_json(const struct cs_verified *row)
{
    static const char *const names[CS_VERIFY_SIDES] = {"untiled", "with_convshim", "untiled_again"};
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", row->layer->name);
    cJSON_AddStringToObject(object, "result", cs_verdict_names[row->verdict]);
    cJSON_AddBoolToObject(object, "tiled", row->tiled);
    if (cs_verify_ratio(row) > 0)
        cJSON_AddNumberToObject(object, "time_ratio", cs_verify_ratio(row));
    if (row->difference.known)
        cs_json_add(object, "difference", difference_json(&row->difference));
    cs_json_add(object, "predicted", predicted_json(&row->prediction));
    for (int side = 0; side < CS_VERIFY_SIDES; side++)
        if (row->measured[side])
            cs_json_add(object, names[side], cJSON_Duplicate(row->measured[side], true));
    return object;
}

static cJSON *ladder_json(const struct cs_verify_ladder *ladder)
{
    cJSON *object = cJSON_CreateObject();
    if (ladder->known) {
        cJSON_AddNumberToObject(object, "kernel_us", ladder->kernel_us);
        cJSON_AddNumberToObject(object, "lane_gain", ladder->lane_gain);
    }
    cJSON_AddNumberToObject(object, "repeats", (double)ladder->repeats);
    cJSON_AddNumberToObject(object, "differing", (double)ladder->differing);
    return object;
}

/* A verification with its answer. */
struct answered {
    const struct cs_verification *verification;
    const char *answer;
};

static bool write_json(const void *state, FILE *out)
{
    const struct answered *answered = state;
    const struct cs_verification *verification = answered->verification;
    char date[24];
    const struct cs_child_variables *given = &verification->options->given;
    time_t now = time(NULL);
    cs_json_begin();
    cJSON *root = cJSON_CreateObject(), *rows = cJSON_CreateArray();
    cJSON_AddNumberToObject(root, "version", FORMAT_VERSION);
    cJSON_AddStringToObject(root, "convshim", CS_VERSION);
    cJSON_AddStringToObject(root, "commit", CS_COMMIT);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    cJSON_AddStringToObject(root, "date", date);
    cJSON_AddStringToObject(root, "answer", answered->answer);
    cJSON_AddNumberToObject(root, "seconds", verification->seconds);
    cJSON_AddNumberToObject(root, "left_out", (double)verification->left_out);
    if (given->items > 0)
        cs_json_add(root, "options",
                    cJSON_CreateStringArray((const char *const *)given->item, (int)given->items));
    cs_json_add(root, "gpu", cJSON_Duplicate(verification->gpu.json, true));
    if (verification->ladder.known || verification->ladder.repeats > 0)
        cs_json_add(root, "ladder", ladder_json(&verification->ladder));
    for (size_t i = 0; i < verification->rows; i++)
        cs_json_add(rows, NULL, row_json(&verification->row[i]));
    cs_json_add(root, "convolutions", rows);
    return cs_json_print(root, out);
}

bool cs_verify_write(const struct cs_verification *verification, const char *answer)
{
    const char *path = verification->options->out;
    bool good =
        !path || cs_output_write(path, write_json, &(struct answered){verification, answer});
    if (!good)
        cs_cli_complain("verify: --out %s: %s", path, strerror(errno));
    return good;
}
