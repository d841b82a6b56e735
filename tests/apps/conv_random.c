/* Runs many small convolutions, random or of patch_conv's sweep, and writes what came out. */
#include "problems.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    int64_t count; /* -1: 2000, or the rest of the sweep */
    int64_t seed;
    int64_t first;
    int64_t every;
    bool sweep;
    bool list;
    bool check;
    bool api[2];
    cudnnDataType_t types[3];
    int type_count;
    enum data kind;
    const char *dump;
};

struct tally {
    uint64_t problems, refused, errors;
};

/* One problem on the device. */
struct run {
    uint64_t index;
    enum conv_api api;
    struct conv_problem problem;
    struct problem_data data;
    void *x, *w, *y; /* device */
    void *result;    /* y's storage after the run */
    void *packed;    /* the view's elements in order */
};

static const char USAGE[] =
    "usage: conv_random [--count N] [--seed S] [--first I] [--api graph|legacy|both]\n"
    "                   [--dtype f32|f16|bf16|all] [--data integers|normal] [--check]\n"
    "                   [--sweep patch_conv [--every K]] [--dump PATH] [--list]\n"
    "Runs N (2000) forward convolutions, numbers I (0), I + 1, ... of the seed, or every "
    "K-th of the\n"
    "25,200 settings of patch_conv's sweep. --check compares with a plain host loop "
    "(integers only),\n"
    "--dump writes one record per problem, --list prints the problems and runs nothing.\n"
    "Status: 0, 1 on any error, 2 on usage. Problems that cuDNN refuses are counted, no "
    "errors.\n";

static void run_close(struct run *run)
{
    cudaFree(run->x);
    cudaFree(run->w);
    cudaFree(run->y);
    free(run->result);
    free(run->packed);
    problem_release(&run->data);
}

/* What was made so far is the caller's also on failure. */
static bool run_open(const struct options *options, struct run *run)
{
    const struct conv_problem *p = &run->problem;
    if (!problem_fill(p, (uint64_t)options->seed ^ run->index << 20, options->kind, &run->data))
        return false;
    run->result = malloc(tensor_storage_bytes(&p->y));
    run->packed = malloc((size_t)tensor_elements(&p->y) * dtype_size(p->y.type));
    run->x = client_upload(run->data.x, tensor_storage_bytes(&p->x), NULL);
    run->w = client_upload(run->data.w, tensor_storage_bytes(&p->w), NULL);
    run->y = client_upload(run->data.y, tensor_storage_bytes(&p->y), NULL);
    return run->result != NULL && run->packed != NULL && run->x != NULL && run->w != NULL &&
           run->y != NULL;
}

static enum outcome convolve(cudnnHandle_t handle, struct run *run)
{
    const struct conv_problem *p = &run->problem;
    /* Clients differ in these habits; each is seen often. */
    const struct conv_settings settings = {.mode = CUDNN_HEUR_MODE_A,
                                           .plan_handle = (run->index / 3 & 1) != 0,
                                           .ask_config = (run->index / 6 & 1) != 0,
                                           .ask_workspace = (run->index / 3 & 1) != 0};
    struct conv_plan plan = {.choice = 0};
    bool planned = false;
    enum outcome outcome =
        conv_run(handle, run->api, p, &settings, tensor_first(&p->x, run->x),
                 tensor_first(&p->w, run->w), tensor_first(&p->y, run->y), &plan, &planned);
    if (planned)
        conv_plan_destroy(&plan);
    if (outcome == OUTCOME_OK && cudaMemcpy(run->result, run->y, tensor_storage_bytes(&p->y),
                                            cudaMemcpyDeviceToHost) != cudaSuccess)
        outcome = OUTCOME_ERROR;
    return outcome;
}

/* Moves the view's elements into `packed`; false if one is NaN, which no problem yields. */
static bool pack_result(struct run *run)
{
    const struct tensor *y = &run->problem.y;
    size_t size = dtype_size(y->type);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    size_t next = 0;
    bool good = true;
    do {
        size_t index = tensor_index(y, at);
        memcpy((char *)run->packed + next++ * size, (char *)run->result + index * size, size);
        good = good && !isnan(dtype_load(y->type, run->result, index));
    } while (tensor_step(y, at));
    return good;
}

/* False if anything outside the view changed. Overwrites the image of y before the run. */
static bool surroundings_intact(struct run *run)
{
    const struct tensor *y = &run->problem.y;
    size_t size = dtype_size(y->type);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    do {
        size_t place = tensor_index(y, at) * size;
        memcpy((char *)run->data.y + place, (char *)run->result + place, size);
    } while (tensor_step(y, at));
    return memcmp(run->data.y, run->result, tensor_storage_bytes(y)) == 0;
}

static bool matches_reference(struct run *run)
{
    const struct tensor *y = &run->problem.y;
    int64_t at[CLIENT_MAX_DIMS] = {0};
    problem_reference(&run->problem, &run->data, run->data.y);
    do {
        size_t index = tensor_index(y, at);
        if (dtype_load(y->type, run->data.y, index) != dtype_load(y->type, run->result, index))
            return false;
    } while (tensor_step(y, at));
    return true;
}

static const char *find_fault(const struct options *options, struct run *run)
{
    if (!pack_result(run))
        return "an output element was not written";
    if (options->check && !matches_reference(run))
        return "differs from the host loop";
    if (!surroundings_intact(run))
        return "wrote outside the output";
    return NULL;
}

static bool write_record(FILE *dump, const struct run *run, enum outcome outcome)
{
    static const char *const words[] = {"ok", "refused", "error"};
    const struct tensor *y = &run->problem.y;
    size_t bytes = outcome == OUTCOME_OK ? (size_t)tensor_elements(y) * dtype_size(y->type) : 0;
    char text[512];
    problem_print(&run->problem, text, sizeof text);
    fprintf(dump, "record=%" PRIu64 " api=%s %s status=%s bytes=%zu\n", run->index,
            conv_api_name(run->api), text, words[outcome], bytes);
    return bytes == 0 || fwrite(run->packed, bytes, 1, dump) == 1;
}

static bool run_problem(cudnnHandle_t handle, const struct options *options, struct run *run,
                        FILE *dump, struct tally *tally)
{
    enum outcome outcome = OUTCOME_ERROR;
    const char *fault = "no memory";
    if (run_open(options, run)) {
        outcome = convolve(handle, run);
        fault = outcome == OUTCOME_OK ? find_fault(options, run) : "failed";
    }
    if (outcome == OUTCOME_OK && fault != NULL)
        outcome = OUTCOME_ERROR;
    tally->problems++;
    tally->refused += outcome == OUTCOME_REFUSED;
    tally->errors += outcome == OUTCOME_ERROR;
    if (outcome == OUTCOME_ERROR) {
        char text[512];
        problem_print(&run->problem, text, sizeof text);
        fprintf(stderr, "record=%" PRIu64 " api=%s %s: %s\n", run->index, conv_api_name(run->api),
                text, fault);
    }
    bool written = dump == NULL || write_record(dump, run, outcome);
    run_close(run);
    return written;
}

static void pick_problem(const struct options *options, struct run *run)
{
    uint64_t turn = run->index / (uint64_t)(options->sweep ? options->every : 1);
    cudnnDataType_t type = options->types[turn % (uint64_t)options->type_count];
    if (options->sweep)
        problem_patch_conv(run->index, type, &run->problem);
    else
        problem_random((uint64_t)options->seed, run->index, type, run->api == CONV_LEGACY,
                       &run->problem);
}

/* The index of the n-th problem; false behind the last one. */
static bool pick_index(const struct options *options, int64_t n, uint64_t *index)
{
    int64_t count = options->count >= 0 || options->sweep ? options->count : 2000;
    *index = (uint64_t)(options->first + n * (options->sweep ? options->every : 1));
    if (options->sweep && *index >= PROBLEM_PATCH_CONV_COUNT)
        return false;
    return count < 0 || n < count;
}

static bool run_problems(cudnnHandle_t handle, const struct options *options, FILE *dump,
                         struct tally *tally)
{
    uint64_t index;
    for (int64_t n = 0; pick_index(options, n, &index); n++) {
        for (enum conv_api api = CONV_GRAPH; api <= CONV_LEGACY; api++) {
            struct run run = {.index = index, .api = api};
            if (!options->api[api])
                continue;
            pick_problem(options, &run);
            if (options->list) {
                char text[512];
                problem_print(&run.problem, text, sizeof text);
                printf("record=%" PRIu64 " api=%s %s\n", index, conv_api_name(api), text);
            } else if (!run_problem(handle, options, &run, dump, tally)) {
                return false;
            }
        }
    }
    return dump == NULL || fprintf(dump, "end records=%" PRIu64 "\n", tally->problems) > 0;
}

static bool run_all(const struct options *options, struct tally *tally)
{
    cudnnHandle_t handle = NULL;
    FILE *dump = NULL;
    bool good = false;
    if (options->dump != NULL && (dump = fopen(options->dump, "wb")) == NULL) {
        perror(options->dump);
        return false;
    }
    if (!options->list)
        TRY_CUDNN(cudnnCreate(&handle), close_dump);
    good = run_problems(handle, options, dump, tally);
    if (handle != NULL)
        cudnnDestroy(handle);
close_dump:
    if (dump != NULL && fclose(dump) != 0)
        good = false;
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
    case 't':
        return parse_type(value, options);
    case 'd':
        return parse_data(value, options);
    case 'w':
        options->sweep = true;
        return strcmp(value, "patch_conv") == 0 || option_refuse("sweep", value, "patch_conv");
    case 'o':
        options->dump = value;
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

int main(int argc, char **argv)
{
    static const struct option known[] = {{"count", required_argument, NULL, 'n'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"first", required_argument, NULL, 'f'},
                                          {"every", required_argument, NULL, 'e'},
                                          {"api", required_argument, NULL, 'a'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"data", required_argument, NULL, 'd'},
                                          {"sweep", required_argument, NULL, 'w'},
                                          {"dump", required_argument, NULL, 'o'},
                                          {"list", no_argument, NULL, 'l'},
                                          {"check", no_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.count = -1,
                              .seed = 1,
                              .every = 1,
                              .api = {true, false},
                              .types = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16},
                              .type_count = 3};
    struct tally tally = {0};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    if (options.check && options.kind == DATA_NORMAL) {
        fputs("--check needs --data integers\n", stderr);
        return 2;
    }
    bool good = run_all(&options, &tally);
    if (!options.list)
        printf("conv_random: %" PRIu64 " problems, %" PRIu64 " refused, %" PRIu64 " errors\n",
               tally.problems, tally.refused, tally.errors);
    return good && tally.errors == 0 ? 0 : 1;
}
