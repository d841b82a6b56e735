/* `convshim doctor --capture-device`: the profile of the GPU present, for conf/devices. */
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/doctor/doctor.h"
#include "cli/layers/plan_layers.h"
#include "cudnn/standalone/standalone.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    ERROR_BYTES = 512
};

/* "captured on 2026-01-31 with cuDNN 9.19.0" */
static bool date_source(char *text, size_t size)
{
    char day[16];
    time_t now = time(NULL);
    struct tm utc;
    size_t version = cs_standalone_version();
    if (!gmtime_r(&now, &utc) || strftime(day, sizeof day, "%Y-%m-%d", &utc) == 0)
        return false;
    snprintf(text, size, "captured on %s with cuDNN %zu.%zu.%zu", day, version / 10000,
             version % 10000 / 100, version % 100);
    return true;
}

/* Returns cuDNN's report, with the members that it lacks in front. NULL: not available. */
static char *complete_profile(const char *json, int bus_width)
{
    char source[96];
    cs_json_begin();
    cJSON *reported = cJSON_Parse(json), *profile = cJSON_CreateObject(), *item;
    char *text = NULL;
    if (cJSON_IsObject(reported) && date_source(source, sizeof source) &&
        cJSON_AddStringToObject(profile, "source", source)) {
        if (bus_width > 0)
            cJSON_AddNumberToObject(profile, "memoryBusWidth", bus_width);
        /* The simulated device's cuDNN has them already. */
        cJSON_DeleteItemFromObject(reported, "source");
        cJSON_DeleteItemFromObject(reported, "memoryBusWidth");
        while ((item = reported->child)) {
            cJSON_DetachItemViaPointer(reported, item);
            cs_json_add(profile, item->string, item);
        }
        text = cs_json_complete() ? cJSON_PrintUnformatted(profile) : NULL;
    }
    cJSON_Delete(reported);
    cJSON_Delete(profile);
    return text;
}

int cs_doctor_capture(const char *cudnn)
{
    char no_gpu[ERROR_BYTES], error[ERROR_BYTES], *json = NULL;
    int bus_width = 0;
    struct cs_trial *trial = NULL;
    struct cs_trial_gpu gpu;
    bool found = cs_trial_find_gpu(&trial, &gpu, no_gpu, sizeof no_gpu);
    char *text = NULL;
    if (!cs_find_cudnn(cudnn, error, sizeof error))
        cs_cli_complain("no cuDNN: %s", error);
    else if (!found)
        cs_cli_complain("no GPU: %s", no_gpu);
    else if (!cs_trial_open(trial, error, sizeof error))
        cs_cli_complain("%s", error);
    else if (!cs_trial_profile(trial, &json, &bus_width) ||
             !(text = complete_profile(json, bus_width)))
        cs_cli_complain("%s: cuDNN's description of the GPU cannot be read", cs_standalone_file());
    free(json);
    cs_trial_close(trial);
    if (!text)
        return CS_CLI_NO;
    if (bus_width == 0)
        cs_cli_complain("the driver does not report the width of the memory bus. Add "
                        "\"memoryBusWidth\": BITS to the profile by hand.");
    puts(text);
    cJSON_free(text);
    return CS_CLI_OK;
}
