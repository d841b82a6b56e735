/* Measures two constants of the cost model on the GPU that is present: the time that a kernel adds,
 * and the share of it that two lanes hide. */
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/verify/verify.h"
#include "config/ladder.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FEW = 8,
    MANY = 32,   /* tiles of the ladder's ends; the GPU, not the host, must be the limit of both */
    KERNELS = 4, /* of a tile: conversions of x and the filter, the convolution, y */
    REPEATS = 50
};

/* The line of one convolution, run as `tiles` tiles of H on `lanes` lanes. The caller owns it.
 * NULL: it did not run as such tiles. */
static cJSON *run(const struct cs_verification *verification, const struct cs_layer *layer,
                  int tiles, int lanes, int repeats, double end)
{
    char config[128];
    cJSON *measured = NULL;
    bool in_time = false;
    snprintf(config, sizeof config,
             "policy=fixed;tiles=%d;lanes=%d;workspace=1MiB;threshold=0;max_slowdown=off", tiles,
             lanes);
    const struct cs_verify_job job = {.verification = verification,
                                      .side = CS_VERIFY_TILED,
                                      .layer = &layer,
                                      .count = 1,
                                      .config = config,
                                      .repeats = repeats,
                                      .measured = &measured};
    const char *axis = NULL;
    if (end > cs_verify_seconds() && cs_verify_run(&job, end, &in_time))
        axis = cs_verify_text(measured, "axis");
    if (axis && strcmp(axis, "H") == 0 && (int)cs_verify_number(measured, "tiles") == tiles &&
        (int)cs_verify_number(measured, "lanes") == lanes &&
        cs_verify_number(measured, "median_us") > 0)
        return measured;
    cJSON_Delete(measured);
    return NULL;
}

static double time_of(const cJSON *measured)
{
    return cs_verify_number(measured, "median_us");
}

static bool put(const void *text, FILE *out)
{
    return fputs(text, out) >= 0;
}

/* In the user's cache, where the library and the other commands read it. */
static void keep(const struct cs_verification *verification, const struct cs_ladder *ladder)
{
    char path[CS_LADDER_PATH], text[CS_LADDER_TEXT];
    struct cs_ladder parsed;
    cs_ladder_write(ladder, verification->gpu.name, text);
    if (!cs_ladder_path(verification->gpu.name, path) ||
        cs_ladder_parse(text, verification->gpu.name, &parsed) != NULL)
        return;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    if (!cs_output_write(path, put, text))
        cs_cli_complain("verify: the measured constants are not kept: %s: %s", path,
                        strerror(errno));
}

void cs_verify_ladder(struct cs_verification *verification, double end)
{
    struct cs_verify_ladder *ladder = &verification->ladder;
    struct cs_layers layers = {.count = 0};
    struct cs_verify_options options = *verification->options;
    options.dtype_given = false;
    if (!cs_verify_add(&options, "ladder", "1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw", &layers) ||
        !cs_verify_add(&options, "repeats", "1x256x256x256 -> 256 k3x3 s1 p1 f16 nchw", &layers)) {
        cs_layers_fini(&layers);
        return;
    }
    cJSON *few = run(verification, &layers.layer[0], FEW, 1, 1, end);
    cJSON *many = few ? run(verification, &layers.layer[0], MANY, 1, 1, end) : NULL;
    cJSON *two_lanes = many ? run(verification, &layers.layer[0], MANY, 2, 1, end) : NULL;
    cJSON *repeated = run(verification, &layers.layer[1], FEW, 2, REPEATS, end);
    double added = time_of(many) - time_of(few); /* by MANY - FEW tiles */
    ladder->known = two_lanes && added > 0;
    if (ladder->known) {
        ladder->kernel_us = added / (MANY - FEW) / KERNELS;
        double hidden = (time_of(many) - time_of(two_lanes)) / (added / (MANY - FEW) * MANY);
        ladder->lane_gain = fmin(fmax(hidden, 0), 1);
    }
    ladder->repeats = repeated ? REPEATS : 0;
    ladder->differing = (int64_t)cs_verify_number(repeated, "differing");
    if (ladder->known && !verification->gpu.simulated)
        keep(verification, &(struct cs_ladder){true, ladder->kernel_us, ladder->lane_gain});
    cJSON_Delete(few);
    cJSON_Delete(many);
    cJSON_Delete(two_lanes);
    cJSON_Delete(repeated);
    cs_layers_fini(&layers);
}
