/* The candidates of a decision as members of the JSON summary. */
#include "account/summary_json.h"

#include <math.h>

static const char *axes_name(const uint8_t axis[CS_MAX_CUTS])
{
    return cs_axis_tiling_name(
        &(struct cs_tiling){.axis = {(enum cs_axis)axis[0], (enum cs_axis)axis[1]}});
}

static void put_choice(struct cs_json *json, const struct cs_choice *choice)
{
    cs_json_open(json, NULL, '{');
    cs_json_string(json, "axis", axes_name(choice->axis));
    cs_json_open(json, "step", '[');
    for (int i = 0; i < CS_MAX_CUTS; i++)
        cs_json_integer(json, NULL, choice->step[i]);
    cs_json_close(json, ']');
    cs_json_integer(json, "run_count", choice->runs);
    cs_json_integer(json, "tiles", choice->tiles);
    cs_json_integer(json, "lanes", choice->lanes);
    cs_json_string(json, "relaxation",
                   cs_problem_relaxation_name((enum cs_relaxation)choice->relaxation));
    cs_json_boolean(json, "staged", choice->staged);
    cs_json_integer(json, "workspace", choice->workspace);
    if (isfinite(choice->score))
        cs_json_number(json, "score", choice->score);
    else
        cs_json_null(json, "score");
    cs_json_boolean(json, "picked", choice->picked);
    cs_json_close(json, '}');
}

void cs_summary_json_choices(struct cs_json *json, const char *key,
                             const struct cs_choices *choices)
{
    cs_json_open(json, key, '[');
    for (int i = 0; i < choices->count; i++)
        put_choice(json, &choices->choice[i]);
    cs_json_close(json, ']');
}
