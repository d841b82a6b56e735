/* Measures two constants of the cost model on the GPU that is present: the time that a kernel adds,
 * and the share of it that two lanes hide. Also repeats a tiled convolution, and counts the results
 * that differ. */
#include "base/clock.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/verify/verify.h"
#include "convshim/profile.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW = 8,
    MANY = 32,   /* tiles of the ladder's ends; the GPU, not the host, must be the limit of both */
    KERNELS = 4, /* of a tile: conversions of x and the filter, the convolution, y */
    REPEATS = 50
};

/* Runs the convolution as `tiles` tiles of H on `lanes` lanes. Returns the microseconds of a call;
 * 0: it did not run as such tiles. *differing_p: repeats with other bits. */
static double run_tiles(const struct cs_verification *verification, const struct cs_layer *layer,
                        int tiles, int lanes, int repeats, double end, int64_t *differing_p)
{
    bool in_time;
    struct cs_verified row = {.layer = layer, .json = cJSON_CreateObject()}, *rows[] = {&row};
    const struct cs_verify_job job = {.verification = verification,
                                      .side = CS_VERIFY_TILED,
                                      .row = rows,
                                      .count = 1,
                                      .tiles = tiles,
                                      .lanes = lanes,
                                      .repeats = repeats};
    if (end > cs_clock_seconds())
        (void)cs_verify_run(&job, end, &in_time);
    const cJSON *measured = cs_verified_line(&row, CS_VERIFY_TILED);
    const char *axis = cs_json_text(measured, "axis");
    bool as_asked = axis && strcmp(axis, "H") == 0 &&
                    cs_json_whole_at(measured, "tiles", 0) == tiles &&
                    cs_json_whole_at(measured, "lanes", 0) == lanes;
    double us = as_asked ? cs_json_double(measured, "median_us") : 0;
    *differing_p = cs_json_whole_at(measured, "differing", 0);
    cJSON_Delete(row.json);
    return us;
}

/* Measures the constants in three runs. They are not `known` if a run fails. */
static struct cs_ladder measure_ladder(const struct cs_verification *verification,
                                       const struct cs_layer *layer, double end)
{
    int64_t differing;
    double few = run_tiles(verification, layer, FEW, 1, 1, end, &differing), many = 0, two = 0;
    if (few > 0)
        many = run_tiles(verification, layer, MANY, 1, 1, end, &differing);
    if (many > 0)
        two = run_tiles(verification, layer, MANY, 2, 1, end, &differing);
    double each = (many - few) / (MANY - FEW); /* added by a tile */
    if (two <= 0 || each <= 0)
        return (struct cs_ladder){.known = false};
    return (struct cs_ladder){true, each / KERNELS, fmin(fmax((many - two) / (each * MANY), 0), 1)};
}

/* Adds the constants to the profile, for other commands: as integers, which cuDNN's descriptions of
 * devices have alone. */
static void add_to_profile(struct cs_verification *verification, const struct cs_ladder *ladder)
{
    cJSON *gpu = cJSON_GetObjectItem(verification->json, "gpu");
    cJSON *profile = verification->profile ? cJSON_Parse(verification->profile) : NULL;
    if (!gpu || !profile)
        return cJSON_Delete(profile);
    cJSON_AddNumberToObject(profile, "kernelNanoseconds", round(ladder->kernel_us * 1000));
    cJSON_AddNumberToObject(profile, "laneGainPercent", round(ladder->lane_gain * 100));
    char *text = cJSON_PrintUnformatted(profile);
    if (text)
        cJSON_ReplaceItemInObject(gpu, "profile", cJSON_CreateString(text));
    free(text);
    cJSON_Delete(profile);
    verification->profile = cs_json_text(gpu, "profile");
}

void cs_verify_ladder(struct cs_verification *verification, double end)
{
    struct cs_layers layers = {.count = 0};
    struct cs_ladder ladder = {.known = false};
    cJSON *json = cJSON_AddObjectToObject(verification->json, "ladder");
    int64_t differing = 0;
    if (cs_verify_add("ladder", "1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw", NULL, &layers))
        ladder = measure_ladder(verification, &layers.layer[0], end);
    if (ladder.known) {
        cJSON_AddNumberToObject(json, "kernel_us", ladder.kernel_us);
        cJSON_AddNumberToObject(json, "lane_gain", ladder.lane_gain);
    }
    if (cs_verify_add("repeats", "1x256x256x256 -> 256 k3x3 s1 p1 f16 nchw", NULL, &layers) &&
        run_tiles(verification, &layers.layer[1], FEW, 2, REPEATS, end, &differing) > 0) {
        cJSON_AddNumberToObject(json, "repeats", REPEATS);
        cJSON_AddNumberToObject(json, "differing", (double)differing);
    }
    if (ladder.known && !verification->simulated)
        add_to_profile(verification, &ladder);
    cs_layers_fini(&layers);
}
