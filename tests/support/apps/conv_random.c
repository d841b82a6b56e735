/* Runs many small convolutions, alone or fused with pointwise operations, and writes their results.
 * The problems are random, those of patch_conv's sweep, or given. */
#include "random_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GIVEN 64

struct options {
    int64_t count; /* -1: 2000, or the rest of the sweep */
    int64_t seed;
    int64_t first;
    int64_t every;
    bool sweep;
    bool dilated;
    bool list;
    bool check;
    bool api[2];
    bool direction[CONV_DIRECTIONS];
    bool fused;
    bool form[FUSED_FORMS];
    cudnnDataType_t types[3];
    int type_count;
    enum data kind;
    const char *given[MAX_GIVEN]; /* problems of the command line */
    int given_count;
    const char *dump, *reference;
};

/* The current work, and its outcomes by direction, then by form. */
struct session {
    const struct options *options;
    cudnnHandle_t handle;
    struct run_settings settings;
    struct tally tallies[CONV_DIRECTIONS + FUSED_FORMS];
};

static const char USAGE[] =
    "usage: conv_random [--count N] [--seed S] [--first I] [--api graph|legacy|both]\n"
    "                   [--direction forward|data|filter|all | --fused FORM|all]\n"
    "                   [--dtype f32|f16|bf16|all] [--data integers|normal] [--check]\n"
    "                   [--sweep patch_conv [--every K] | --dilated] [--problem TEXT]...\n"
    "                   [--dump PATH] [--reference PATH] [--list]\n"
    "Runs N (2000) convolutions of each direction, numbers I (0), I + 1, ... of the seed (with "
    "--dilated of\n"
    "stride 1 and dilations up to 8), or every K-th of the\n"
    "25,200 settings of patch_conv's sweep, or the problems of the command line, written as --list "
    "prints\n"
    "them. --fused runs graphs of a forward convolution with pointwise operations; FORM: "
    "residual, scaled,\n"
    "activation, broadcast, input, filter, legacy. --check compares with a plain host loop "
    "(integers only),\n"
    "--dump writes one record per problem, --reference the same by the host loop in double, "
    "--list prints the\n"
    "problems and runs nothing.\n"
    "Status: 0, 1 on any error, 2 on usage. Problems that cuDNN refuses are counted, no "
    "errors.\n";

/* Lists or runs the problem in *run; `kind` selects the tally. */
static bool take_problem(struct session *session, struct run *run, int kind)
{
    if (!session->options->list)
        return run_problem(session->handle, &session->settings, run, &session->tallies[kind]);
    char text[1600];
    run_print(run, text, sizeof text);
    return puts(text) >= 0;
}

static cudnnDataType_t pick_type(const struct options *options, uint64_t index)
{
    uint64_t turn = index / (uint64_t)(options->sweep ? options->every : 1);
    return options->types[turn % (uint64_t)options->type_count];
}

static bool take_directions(struct session *session, uint64_t index)
{
    const struct options *options = session->options;
    cudnnDataType_t type = pick_type(options, index);
    void (*draw)(uint64_t, uint64_t, enum conv_direction, cudnnDataType_t, bool,
                 struct conv_problem *) = options->dilated ? problem_dilated : problem_random;
    for (enum conv_direction direction = CONV_FORWARD; direction < CONV_DIRECTIONS; direction++) {
        for (enum conv_api api = CONV_GRAPH; api <= CONV_LEGACY; api++) {
            struct run run = {.index = index, .api = api};
            if (!options->direction[direction] || !options->api[api])
                continue;
            if (options->sweep)
                problem_patch_conv(index, direction, type, &run.problem);
            else
                draw((uint64_t)options->seed, index, direction, type, api == CONV_LEGACY,
                     &run.problem);
            if (!take_problem(session, &run, (int)direction))
                return false;
        }
    }
    return true;
}

static bool take_forms(struct session *session, uint64_t index)
{
    const struct options *options = session->options;
    for (enum fused_form form = FUSED_RESIDUAL; form < FUSED_FORMS; form++) {
        struct run run = {.index = index,
                          .api = form == FUSED_LEGACY ? CONV_LEGACY : CONV_GRAPH,
                          .is_fused = true};
        if (!options->form[form])
            continue;
        fused_random((uint64_t)options->seed, index, form, pick_type(options, index), &run.fused);
        if (!take_problem(session, &run, CONV_DIRECTIONS + (int)form))
            return false;
    }
    return true;
}

static bool take_given(struct session *session)
{
    const struct options *options = session->options;
    for (int i = 0; i < options->given_count; i++) {
        for (enum conv_api api = CONV_GRAPH; api <= CONV_LEGACY; api++) {
            struct run run = {.index = (uint64_t)i, .api = api};
            if (!options->api[api])
                continue;
            if (!problem_parse(options->given[i], &run.problem) ||
                !take_problem(session, &run, (int)run.problem.direction))
                return false;
        }
    }
    return true;
}

/* The index of the n-th problem; false after the last one. */
static bool pick_index(const struct options *options, int64_t n, uint64_t *index)
{
    int64_t count = options->count >= 0 || options->sweep ? options->count : 2000;
    *index = (uint64_t)(options->first + n * (options->sweep ? options->every : 1));
    if (options->sweep && *index >= PROBLEM_PATCH_CONV_COUNT)
        return false;
    return count < 0 || n < count;
}

static bool take_problems(struct session *session)
{
    const struct options *options = session->options;
    uint64_t index;
    if (options->given_count > 0)
        return take_given(session);
    for (int64_t n = 0; pick_index(options, n, &index); n++)
        if (!(options->fused ? take_forms(session, index) : take_directions(session, index)))
            return false;
    return true;
}

static struct tally sum_up(const struct session *session)
{
    struct tally sum = {0};
    for (size_t i = 0; i < sizeof session->tallies / sizeof *session->tallies; i++) {
        sum.problems += session->tallies[i].problems;
        sum.refused += session->tallies[i].refused;
        sum.errors += session->tallies[i].errors;
    }
    return sum;
}

static void print_tally(const char *name, const struct tally *tally)
{
    printf("%s: %" PRIu64 " problems, %" PRIu64 " refused, %" PRIu64 " errors\n", name,
           tally->problems, tally->refused, tally->errors);
}

static void print_tallies(const struct session *session)
{
    struct tally sum = sum_up(session);
    for (int i = 0; i < CONV_DIRECTIONS + FUSED_FORMS; i++) {
        const struct tally *tally = &session->tallies[i];
        if (tally->problems > 0 && tally->problems < sum.problems)
            print_tally(i < CONV_DIRECTIONS
                            ? conv_direction_name((enum conv_direction)i)
                            : fused_form_name((enum fused_form)(i - CONV_DIRECTIONS)),
                        tally);
    }
    print_tally("conv_random", &sum);
}

static bool open_file(const char *path, FILE **file)
{
    *file = path != NULL ? fopen(path, "wb") : NULL;
    if (path == NULL || *file != NULL)
        return true;
    perror(path);
    return false;
}

static bool close_file(FILE *file, uint64_t records)
{
    if (file == NULL)
        return true;
    bool good = fprintf(file, "end records=%" PRIu64 "\n", records) > 0;
    return fclose(file) == 0 && good;
}

static bool run_all(struct session *session)
{
    const struct options *options = session->options;
    bool good = open_file(options->dump, &session->settings.dump) &&
                open_file(options->reference, &session->settings.reference);
    if (!options->list)
        TRY_CUDNN(cudnnCreate(&session->handle), close_files);
    good = good && take_problems(session);
close_files:
    if (session->handle != NULL)
        cudnnDestroy(session->handle);
    else if (!options->list)
        good = false;
    uint64_t records = sum_up(session).problems;
    good = close_file(session->settings.dump, records) && good;
    good = close_file(session->settings.reference, records) && good;
    if (!good)
        fputs("conv_random: not everything was run and written\n", stderr);
    return good;
}

static bool parse_type(const char *value, struct options *options)
{
    if (strcmp(value, "all") == 0)
        return true;
    options->type_count = 1;
    return dtype_parse(value, &options->types[0]) ||
           option_refuse("dtype", value, "f32, f16, bf16 or all");
}

static bool parse_data(const char *value, struct options *options)
{
    bool normal = strcmp(value, "normal") == 0;
    if (!normal && strcmp(value, "integers") != 0)
        return option_refuse("data", value, "integers or normal");
    options->kind = normal ? DATA_NORMAL : DATA_INTEGERS;
    return true;
}

static bool parse_given(const char *value, struct options *options)
{
    struct conv_problem problem;
    if (options->given_count == MAX_GIVEN)
        return option_refuse("problem", value, "taken: there are too many");
    options->given[options->given_count++] = value;
    return problem_parse(value, &problem);
}

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    switch (option) {
    case 'n':
        return option_number("count", value, 0, 1000000000, &options->count);
    case 's':
        return option_number("seed", value, 0, INT64_MAX, &options->seed);
    case 'f':
        return option_number("first", value, 0, 1000000000000, &options->first);
    case 'e':
        return option_number("every", value, 1, PROBLEM_PATCH_CONV_COUNT, &options->every);
    case 'a':
        return conv_apis_parse(value, options->api);
    case 'r':
        return conv_directions_parse(value, options->direction);
    case 'u':
        options->fused = true;
        return fused_forms_parse(value, options->form);
    case 'p':
        return parse_given(value, options);
    case 't':
        return parse_type(value, options);
    case 'd':
        return parse_data(value, options);
    case 'w':
        options->sweep = true;
        return strcmp(value, "patch_conv") == 0 || option_refuse("sweep", value, "patch_conv");
    case 'i':
        options->dilated = true;
        return true;
    case 'o':
        options->dump = value;
        return true;
    case 'x':
        options->reference = value;
        return true;
    case 'l':
        options->list = true;
        return true;
    case 'c':
        options->check = true;
        return true;
    default:
        return false;
    }
}

static bool options_fit(const struct options *options)
{
    if (options->check && options->kind == DATA_NORMAL)
        fputs("--check needs --data integers\n", stderr);
    else if (options->fused && (options->sweep || options->dilated || options->given_count > 0))
        fputs("--fused has its own problems\n", stderr);
    else
        return true;
    return false;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"count", required_argument, NULL, 'n'}, {"seed", required_argument, NULL, 's'},
        {"first", required_argument, NULL, 'f'}, {"every", required_argument, NULL, 'e'},
        {"api", required_argument, NULL, 'a'},   {"direction", required_argument, NULL, 'r'},
        {"fused", required_argument, NULL, 'u'}, {"problem", required_argument, NULL, 'p'},
        {"dtype", required_argument, NULL, 't'}, {"data", required_argument, NULL, 'd'},
        {"sweep", required_argument, NULL, 'w'}, {"dilated", no_argument, NULL, 'i'},
        {"dump", required_argument, NULL, 'o'},  {"reference", required_argument, NULL, 'x'},
        {"list", no_argument, NULL, 'l'},        {"check", no_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    struct options options = {.count = -1,
                              .seed = 1,
                              .every = 1,
                              .api = {true, false},
                              .direction = {true, false, false},
                              .types = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16},
                              .type_count = 3};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    if (!options_fit(&options))
        return 2;
    struct session session = {
        .options = &options,
        .settings = {.seed = (uint64_t)options.seed, .kind = options.kind, .check = options.check}};
    bool good = run_all(&session);
    if (!options.list)
        print_tallies(&session);
    return good && sum_up(&session).errors == 0 ? 0 : 1;
}
