/* The cost model's predictions for measured convolutions, for scripts that judge and fit it: they
 * use the model through this program alone. */
#include "convshim/plan.h"
#include "decide/cost.h"
#include "random_problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: predict POINTS\n"
    "Reads points from the file, then lines from stdin; answers each of those by one line with "
    "the\n"
    "predicted seconds (cs_cost.decided) of every point. A line is empty or sets coefficients of "
    "src/decide/cost.def,\n"
    "NAME=VALUE NAME=VALUE ..., for itself alone.\n"
    "A point is a line of\n"
    "  NAME (of the GPU, without blanks) CAPABILITY MULTIPROCESSORS CLOCK MEMORY_CLOCK BUS_WIDTH "
    "L2\n"
    "  KNOWN TENSOR_CORES CLUSTERS SPLITS (of the engine; 0 0 0 0: unknown)\n"
    "  fwd|dgrad|wgrad f32|f16|bf16 nchw|nhwc\n"
    "  N C D H W K KD KH KW SD SH SW PD PH PW GROUPS\n"
    "  AXIS TILES LANES WORKSPACE STEP STEP REQUIRED (- 1 1 W 0 0 W for the untiled call; W of all "
    "lanes)\n"
    "AXIS has one or two letters, as in H or ND. A step is the extent of a tile on its axis. 0: "
    "from\n"
    "the number of tiles, for one axis.\n"
    "nan: it cannot be cut that way.\n"
    "Status: 0; 1 if a line is not understood; 2 on usage.\n";

enum {
    LINE = 1024,
    WORD = 64,
    SHAPE = 16,
    TILES = 6 /* numbers that follow the axis */
};

struct point {
    struct cs_profile profile;
    bool cut; /* the plan is one */
    struct cs_plan plan;
    int64_t required;
};

static struct point *points;
static size_t count;

static int place_of(const char *word, const char *(*name)(int), int names)
{
    for (int i = 0; i < names; i++)
        if (strcmp(word, name(i)) == 0)
            return i;
    return -1;
}

static const char *dtype_name(int i)
{
    return cs_problem_dtype_name((enum cs_dtype)i);
}

static enum cs_axis axis_of(char letter)
{
    for (int i = CS_AXIS_NONE; i < CS_AXES; i++) {
        const struct cs_tiling tiling = {.axis = {(enum cs_axis)i}};
        if (cs_axis_tiling_name(&tiling)[0] == letter)
            return (enum cs_axis)i;
    }
    return CS_AXIS_NONE;
}

static const char *direction_name(int i)
{
    static const char *const names[] = {"fwd", "dgrad", "wgrad"};
    return names[i];
}

static bool take_extents(const int64_t shape[SHAPE], struct cs_problem *problem)
{
    struct cs_tensor *x = &problem->tensor[CS_X], *filter = &problem->tensor[CS_FILTER];
    struct cs_tensor *y = &problem->tensor[CS_Y];
    int64_t groups = shape[15];
    if (groups < 1)
        return false;
    problem->groups = groups;
    problem->spatial = shape[2] > 1 || shape[6] > 1 ? 3 : 2;
    memcpy(x->dims, shape, sizeof x->dims);
    y->dims[CS_N] = x->dims[CS_N];
    y->dims[CS_C] = filter->dims[CS_N] = shape[5];
    filter->dims[CS_C] = x->dims[CS_C] / groups;
    for (int i = 0; i < CS_SPATIAL; i++) {
        filter->dims[CS_D + i] = shape[6 + i];
        problem->stride[i] = shape[9 + i];
        problem->pre[i] = problem->post[i] = shape[12 + i];
        problem->dilation[i] = 1;
        if (shape[9 + i] < 1)
            return false;
        y->dims[CS_D + i] =
            (x->dims[CS_D + i] + 2 * shape[12 + i] - shape[6 + i]) / shape[9 + i] + 1;
    }
    return true;
}

static bool make_problem(const char *dir, const char *dtype, const char *layout,
                         const int64_t shape[SHAPE], struct cs_problem *problem)
{
    struct rng rng = {1};
    int direction = place_of(dir, direction_name, CS_DIRECTIONS);
    int type = place_of(dtype, dtype_name, CS_DTYPES);
    bool last = strcmp(layout, "nhwc") == 0;
    *problem = (struct cs_problem){.compute = CS_F32, .alpha = 1};
    if (direction < 0 || type < 0 || (!last && strcmp(layout, "nchw") != 0) ||
        !take_extents(shape, problem))
        return false;
    problem->direction = (enum cs_direction)direction;
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem->tensor[i].dtype = (enum cs_dtype)type;
        problem->tensor[i].alignment = 16;
        random_strides(&rng, last ? CHANNELS_LAST : CHANNELS_FIRST, problem->spatial,
                       &problem->tensor[i]);
    }
    settle_operands(problem);
    return cs_problem_check(problem) == CS_OK;
}

static double operand_bytes(const struct cs_problem *problem)
{
    double sum = 0;
    for (int i = 0; i < CS_OPERANDS; i++) {
        int64_t bytes = 0;
        if (cs_problem_tensor_bytes(&problem->tensor[i], &bytes) == CS_OK)
            sum += (double)bytes;
    }
    return sum;
}

/* Measurements contain the total workspace of the plan: the largest kind gets its lane's share, the
 * others less in proportion to their size. */
static void share_workspace(struct cs_plan *plan, int64_t workspace)
{
    double size[CS_MAX_TILE_SHAPES], largest = 0;
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct cs_problem shape;
        cs_plan_problem(plan, i, &shape);
        size[i] = operand_bytes(&shape);
        largest = size[i] > largest ? size[i] : largest;
    }
    int64_t staged = plan->staged * plan->lanes;
    int64_t each = workspace > staged ? (workspace - staged) / plan->lanes : 0;
    for (int64_t i = 0; i < plan->shapes; i++)
        plan->shape[i].workspace = (int64_t)((double)each * (size[i] / largest));
    cs_plan_settle(plan);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool cut(const struct cs_problem *problem, const char *axes, const int64_t numbers[TILES],
                struct point *point)
{
    int64_t tiles = numbers[0], lanes = numbers[1];
    struct cs_tiling tiling = {.step = {1, 1}, .lanes = (int)lanes};
    if (tiles < 1 || lanes < 1 || lanes > CS_MAX_LANES || strlen(axes) > 2)
        return false;
    for (int i = 0; axes[i] && strcmp(axes, "-") != 0; i++) {
        enum cs_axis axis = axis_of(axes[i]);
        int64_t unit = cs_axis_unit(problem, axis);
        int64_t units = ceil_div(cs_axis_extent(problem, axis), unit);
        if (axis == CS_AXIS_NONE || (axes[1] && numbers[3 + i] == 0))
            return false;
        tiling.axis[i] = axis;
        tiling.step[i] = numbers[3 + i] > 0 ? numbers[3 + i] : ceil_div(units, tiles) * unit;
    }
    point->cut = cs_plan_cut(problem, &tiling, &point->plan) == CS_OK && point->plan.tiles == tiles;
    point->required = numbers[5];
    if (point->cut)
        share_workspace(&point->plan, numbers[2]);
    return true;
}

/* Copies the next word and moves on; false at the end. */
static bool word_of(const char **line, char word[WORD])
{
    size_t length;
    *line += strspn(*line, " \t\n");
    length = strcspn(*line, " \t\n");
    if (length == 0 || length >= WORD)
        return false;
    memcpy(word, *line, length);
    word[length] = '\0';
    *line += length;
    return true;
}

static bool number_of(const char **line, int64_t *number)
{
    char word[WORD], *end;
    if (!word_of(line, word))
        return false;
    *number = strtoll(word, &end, 10);
    return *end == '\0' && *number >= 0 && *number < INT64_C(1) << 48;
}

static bool read_profile(const char **line, struct cs_profile *profile)
{
    int64_t engine[4];
    *profile = (struct cs_profile){.capability = 0};
    bool read = word_of(line, profile->name) && number_of(line, &profile->capability) &&
                number_of(line, &profile->multiprocessors) && number_of(line, &profile->clock) &&
                number_of(line, &profile->memory_clock) && number_of(line, &profile->bus_width) &&
                number_of(line, &profile->l2);
    for (int i = 0; i < 4; i++)
        read = read && number_of(line, &engine[i]);
    if (read)
        profile->engine = (struct cs_engine_traits){.known = engine[0] != 0,
                                                    .tensor_cores = engine[1] != 0,
                                                    .clusters = engine[2] != 0,
                                                    .splits = engine[3]};
    return read;
}

static bool read_point(const char *line, struct point *point)
{
    char dir[WORD], dtype[WORD], layout[WORD], axis[WORD];
    int64_t shape[SHAPE], numbers[TILES];
    struct cs_problem problem;
    if (!read_profile(&line, &point->profile) || !word_of(&line, dir) || !word_of(&line, dtype) ||
        !word_of(&line, layout))
        return false;
    for (int i = 0; i < SHAPE; i++)
        if (!number_of(&line, &shape[i]))
            return false;
    if (!word_of(&line, axis) || !make_problem(dir, dtype, layout, shape, &problem))
        return false;
    for (int i = 0; i < TILES; i++)
        if (!number_of(&line, &numbers[i]))
            return false;
    return cut(&problem, axis, numbers, point);
}

static bool read_points(FILE *file)
{
    char line[LINE];
    while (fgets(line, sizeof line, file)) {
        struct point *more = realloc(points, (count + 1) * sizeof *points);
        if (!more)
            return false;
        points = more;
        if (!read_point(line, &points[count++])) {
            fprintf(stderr, "predict: not a point: %s", line);
            return false;
        }
    }
    return true;
}

static bool set(struct cs_coefficients *use, const char *name, double value)
{
#define CS_COST(row, usual, least, most, unit, meaning)                                            \
    if (strcmp(name, #row) == 0)                                                                   \
        return use->row = value, value >= (least) && value <= (most);
#include "decide/cost.def"
#undef CS_COST
    return false;
}

static bool read_coefficients(const char *line, struct cs_coefficients *use)
{
    char word[WORD], *end;
    *use = cs_cost_defaults;
    while (word_of(&line, word)) {
        char *value = strchr(word, '=');
        if (!value)
            return false;
        *value++ = '\0';
        double number = strtod(value, &end);
        if (end == value || *end != '\0' || !set(use, word, number))
            return false;
    }
    return true;
}

static bool answer(const char *line)
{
    struct cs_coefficients use;
    if (!read_coefficients(line, &use)) {
        fprintf(stderr, "predict: not coefficients within their bounds: %s", line);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (points[i].cut)
            printf("%s%.17g", i ? " " : "",
                   cs_cost_with(&points[i].plan, points[i].required, &points[i].profile, &use)
                       .decided);
        else
            printf("%snan", i ? " " : "");
    }
    return printf("\n") > 0 && fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    char line[LINE];
    if (argc != 2 || argv[1][0] == '-') {
        fputs(USAGE, argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    FILE *file = fopen(argv[1], "r");
    if (!file) {
        perror(argv[1]);
        return 1;
    }
    bool good = read_points(file);
    fclose(file);
    while (good && fgets(line, sizeof line, stdin))
        good = answer(line);
    free(points);
    return good ? 0 : 1;
}
