/* Selects the planner: a real cuDNN, otherwise the rule of thumb. The report names it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cudnn_primitive.h"

static struct simdev_planner chosen;
static pthread_once_t chosen_once = PTHREAD_ONCE_INIT;
static bool is_refused;

static cudnnStatus_t refuse_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    (void)type, (void)out;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

/* Sizes by rule of thumb are not those of any cuDNN. They cause a message unless the user selected
 * them. They are refused if the user required a real cuDNN. */
static void report_rule(bool wished)
{
    static const char warning[] =
        "simdev: no real cuDNN found for planning (SIMDEV_CUDNN_DIR). Workspace sizes "
        "follow a rule of thumb.\n";
    const char *required = getenv("SIMDEV_REQUIRE_PLANNING");
    is_refused = required && strcmp(required, "real") == 0;
    if (is_refused) {
        simdev_violation("SIMDEV_REQUIRE_PLANNING=real: no real cuDNN found for planning "
                         "(SIMDEV_CUDNN_DIR, SIMDEV_PLANNING)");
        chosen.create = refuse_create;
    } else if (!wished) {
        const ssize_t ignored = write(STDERR_FILENO, warning, sizeof warning - 1);
        (void)ignored;
    }
}

/* Older versions can plan, but most of their plans contain no description. */
enum {
    DESCRIBES_ITSELF = 91000
};

static bool choose_real(const char *wish)
{
    if (!simdev_planner_real(&chosen))
        return false;
    const bool described = wish && strcmp(wish, "described") == 0;
    return !(described || chosen.version < DESCRIBES_ITSELF) || simdev_planner_described(&chosen);
}

static void choose_planner(void)
{
    const char *wish = getenv("SIMDEV_PLANNING");
    const bool by_rule = wish && strcmp(wish, "rule") == 0;
    char text[64] = "rule of thumb";
    if (!by_rule && choose_real(wish)) {
        const size_t version = chosen.version;
        snprintf(text, sizeof text, "cudnn %zu.%zu.%zu", version / 10000, version / 100 % 100,
                 version % 100);
    } else {
        chosen = (struct simdev_planner){.version = 0};
        simdev_planner_rule(&chosen);
        report_rule(by_rule);
    }
    simdev_note_planning(text);
}

const struct simdev_planner *simdev_planner(void)
{
    pthread_once(&chosen_once, choose_planner);
    return &chosen;
}

bool simdev_planner_refused(void)
{
    (void)simdev_planner();
    return is_refused;
}

/* Releases the planner's resources. No planning is possible after that. */
static void release_planner(void)
{
    simdev_planner_drop_devices(&chosen);
}

/* If a program unloads cuDNN and loads it again, it gets a new planner, new plans and new scratch.
 * A leak checker would report the old ones. The real cuDNN that plans stays loaded. */
__attribute__((destructor)) static void unload(void)
{
    if (simdev_is_exiting())
        return;
    simdev_legacy_plans_release();
    if (simdev_primitives_release)
        simdev_primitives_release();
    simdev_scratch_release_kept();
    release_planner();
}

cudnnStatus_t simdev_plan_text(cudnnBackendDescriptor_t plan, char **out)
{
    const struct simdev_planner *planner = simdev_planner();
    int64_t length = 0;
    cudnnStatus_t status = planner->get(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                        CUDNN_TYPE_CHAR, 0, &length, NULL);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    char *json = calloc((size_t)length + 1, 1);
    if (!json)
        return CUDNN_STATUS_ALLOC_FAILED;
    status = planner->get(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                          length, &length, json);
    if (status != CUDNN_STATUS_SUCCESS) {
        free(json);
        return status;
    }
    *out = json;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t simdev_plan_program(cudnnBackendDescriptor_t plan, struct simdev_program **out)
{
    char *json;
    int64_t workspace = 0;
    cudnnStatus_t status = simdev_planner()->get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                 CUDNN_TYPE_INT64, 1, NULL, &workspace);
    if (status == CUDNN_STATUS_SUCCESS)
        status = simdev_plan_text(plan, &json);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    struct simdev_program *program = simdev_program_parse(json, (size_t)workspace);
    free(json);
    if (!program)
        return CUDNN_STATUS_ALLOC_FAILED;
    *out = program;
    return CUDNN_STATUS_SUCCESS;
}
