/* The search of `convshim tune`, question by question: programs are models of a few convolutions,
 * of which each holds its workspace beside what is around it, and each has a least that tiles take.
 */
#include "golden.h"

#include "cli/tune/exposure.h"
#include "cli/tune/tune.h"
#include <cjson/cJSON.h>
#include <inttypes.h>

#define cs_simulated_runs model_runs
#define cs_simulated_result_output model_output
#define cs_exposures_of_run model_exposures
#define cs_exposures_measure model_measure
static bool model_runs(struct cs_simulation *simulation, struct cs_simulated_run *run,
                       struct cs_simulated_result *result, size_t runs);
static bool model_output(const struct cs_simulated_run *run, FILE *out);
static bool model_exposures(const struct cs_simulated_run *run,
                            const struct cs_simulated_result *result, struct cs_exposures *to);
static bool model_measure(struct cs_exposures *exposures, const struct cs_simulated_run *run,
                          const struct cs_simulated_result *result);
#include "cli/tune/tune_search.c" /* NOLINT(bugprone-suspicious-include) */

enum {
    SITES = 4
};

static char folder[] = "/tmp/convshim-outputs-XXXXXX", root[PATH_MAX];

/* Sizes in 64 KiB. */
static const struct program {
    const char *name;
    int64_t level;
    struct site {
        int64_t required, around, least, ns, launches;
    } site[SITES];
    int64_t more;  /* that the framework's allocator gives */
    int status[2]; /* of the first two runs */
    bool unused, unplanned, unsummed, told, breaks;
} programs[] = {
    {.name = "one that sticks out",
     .level = 100,
     .site = {{200, 90, 5, 30, 3}, {20, 60, 1, 10, 1}, {10, 100, 0, 5, 2}, {0, 50, 0, 1, 0}}},
    {.name = "several, of which one cannot come as low",
     .level = 100,
     .site = {{200, 90, 60, 30, 3}, {120, 60, 7, 10, 1}, {40, 80, 3, 10, 2}, {41, 80, 3, 10, 2}},
     .more = 1,
     .told = true},
    {.name = "one that is never tiled",
     .level = 50,
     .site = {{90, 40, 100, 7, 3}, {90, 45, 10, 7, 3}, {30, 30, 10, 7, 3}, {80, 48, 20, 9, 9}}},
    {.name = "none", .level = 100, .site = {{1, 90, 0, 0, 0}, {2, 90, 0, 0, 0}}},
    {.name = "one that ends badly", .level = 100, .status = {3, 0}},
    {.name = "one without convolutions", .level = 100, .unused = true},
    {.name = "one that no cuDNN planned", .level = 100, .unplanned = true},
    {.name = "one without the library", .level = 100, .unsummed = true},
    {.name = "tiling everything ends badly",
     .level = 100,
     .site = {{200, 90, 5, 30, 3}},
     .status = {0, 1}},
    {.name = "rules end badly", .level = 100, .site = {{200, 90, 5, 30, 3}}, .breaks = true},
};

static const int64_t unit = 64 << 10;
static const struct program *program;
static struct cs_tune *tune;
static int asked;

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What a site holds with a limit, 0: none. */
static int64_t held(const struct site *site, int64_t limit)
{
    limit /= unit;
    return limit > 0 && limit >= site->least && site->required > limit ? site->least
                                                                       : site->required;
}

static int64_t peak_with(const int64_t limit[SITES])
{
    int64_t peak = program->level;
    for (int i = 0; i < SITES; i++)
        peak = most(peak, program->site[i].around + held(&program->site[i], limit[i]));
    return (peak + program->more) * unit;
}

/* Those of the rules as they are, in the order of the sites. */
static void limits_of(int64_t limit[SITES])
{
    memset(limit, 0, SITES * sizeof *limit);
    for (size_t i = 0; i < tune->exposures.count; i++)
        limit[atoi(tune->exposures.item[i].keys)] = tune->exposures.item[i].limit;
}

static void put_file(const char *path)
{
    char line[128];
    FILE *file = fopen(path, "r");
    CHECK(file);
    while (file && fgets(line, sizeof line, file))
        printf("%.*s;", (int)strcspn(line, "\n"), line);
    if (file)
        fclose(file);
}

static bool model_runs(struct cs_simulation *simulation, struct cs_simulated_run *run,
                       struct cs_simulated_result *result, size_t runs)
{
    CHECK(simulation == tune->simulation);
    for (size_t i = 0; i < runs; i++, asked++) {
        static const struct cs_simulated_result none;
        int64_t limit[SITES] = {0};
        /* What is there would be freed. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
        CHECK(memcmp(&result[i], &none, sizeof none) == 0);
        if (asked == 1)
            for (int j = 0; j < SITES; j++)
                limit[j] = 12 * unit; /* as 64 MiB of larger ones */
        else if (asked > 1)
            limits_of(limit);
        int64_t peak = peak_with(limit), capacity = run[i].capacity;
        bool fails = asked < 2 ? program->status[asked] != 0 : program->breaks;
        result[i] = (struct cs_simulated_result){
            .status = fails                         ? 3
                      : peak > capacity + 20 * unit ? 1
                                                    : 0,
            .used = true,
            .planned = !program->unplanned,
            .launches = program->unused ? 0 : 9,
            .device_peak = peak + 2 * unit,
            .allocated = program->told ? peak : -1,
            .failed = program->told ? peak > capacity : -1,
            .refused = peak > capacity,
            .missing_bytes = peak > capacity ? peak - capacity : 0,
            .calls = SITES,
            .tiled = asked,
            .extra_launches = 2 * asked,
            .nanoseconds = 1000 + asked,
            .summary = program->unsummed ? NULL : cJSON_CreateObject()};
        snprintf(result[i].planning, sizeof result[i].planning, "cudnn 9");
        snprintf(result[i].framework, sizeof result[i].framework, "F");
        printf("run %d (%s, %s, with %d, record %d) on %" PRId64 ": ", asked, run[i].name,
               run[i].profile, run[i].with, run[i].history, capacity / unit);
        put_file(run[i].file);
        printf(" -> %d, %" PRId64 "\n", result[i].status, peak / unit);
    }
    return true;
}

static bool model_output(const struct cs_simulated_run *run, FILE *out)
{
    (void)run;
    if (program->status[0] == 3)
        fputs("what it printed\n", out);
    return program->status[0] == 3;
}

static bool model_exposures(const struct cs_simulated_run *run,
                            const struct cs_simulated_result *result, struct cs_exposures *to)
{
    CHECK(run->history && result->launches == 9);
    *to = (struct cs_exposures){.level = program->level * unit,
                                .peak = peak_with((const int64_t[SITES]){0}),
                                .item = calloc(SITES, sizeof *to->item)};
    for (int i = 0; to->item && i < SITES; i++) {
        const struct site *site = &program->site[i];
        struct cs_exposure *exposure = &to->item[to->count++];
        *exposure = (struct cs_exposure){.required = site->required * unit,
                                         .around = site->around * unit,
                                         .extra_ns = -1,
                                         .extra_launches = -1,
                                         .bought = -1};
        snprintf(exposure->keys, sizeof exposure->keys, "%d\n", i);
    }
    return to->item != NULL;
}

static bool model_measure(struct cs_exposures *exposures, const struct cs_simulated_run *run,
                          const struct cs_simulated_result *result)
{
    CHECK(run->history && result->status == 0);
    for (size_t i = 0; i < exposures->count; i++) {
        struct cs_exposure *exposure = &exposures->item[i];
        const struct site *site = &program->site[atoi(exposure->keys)];
        exposure->reported = held(site, exposure->limit) * unit;
        exposure->untiled = exposure->limit > 0 && held(site, exposure->limit) == site->required;
        exposure->extra_ns = exposure->limit > 0 ? site->ns : 0;
        exposure->extra_launches = exposure->limit > 0 ? site->launches : 0;
    }
    return true;
}

static void put_point(const char *name, const struct cs_tune_point *point)
{
    printf("%s: ran %d, fits %d, peak %" PRId64 ", reserved %" PRId64 ", %" PRId64 " of %" PRId64
           ", %" PRId64 " more, %" PRId64 " ns, missing %" PRId64 "\n",
           name, point->ran, point->fits, point->peak, point->reserved, point->tiled, point->calls,
           point->extra_launches, point->nanoseconds, point->missing_bytes);
}

static int search(void *options)
{
    static struct cs_simulation simulation;
    static const struct cs_device_file device = {.path = (char *)"device.json"};
    struct cs_tune own = {.options = options, .simulation = &simulation, .device = &device};
    snprintf(simulation.work, sizeof simulation.work, ".");
    tune = &own;
    asked = 0;
    bool good = cs_tune_search(&own);
    printf("found %d after %d runs, target %" PRId64 ", allocated %d, %s, %s\n", good, own.runs,
           own.target / unit, own.allocated, own.planning, own.framework);
    put_point("untiled", &own.untiled);
    put_point("everything", &own.everything);
    put_point("tuned", &own.tuned);
    for (size_t i = 0; i < own.exposures.count; i++) {
        const struct cs_exposure *exposure = &own.exposures.item[i];
        printf("%.1s: limit %" PRId64 ", too small %" PRId64 ", bought %" PRId64 "\n",
               exposure->keys, exposure->limit / unit, exposure->too_small / unit,
               exposure->bought < 0 ? -1 : exposure->bought / unit);
    }
    cs_exposures_fini(&own.exposures);
    return !good;
}

static void every_search(void)
{
    static struct cs_tune_options options[] = {
        {.within = 1, .runs = 60},
        {.within = 30, .runs = 60},
        {.lowest = true, .within = 0.1, .runs = 60},
        {.lowest = true, .within = 10, .runs = 60},
        {.fits = 150 * (64 << 10), .within = 1, .runs = 60},
        {.fits = 120 * (64 << 10), .within = 1, .runs = 60},
        {.fits = 101 * (64 << 10), .within = 1, .runs = 60},
        {.fits = 60 * (64 << 10), .within = 1, .runs = 60},
        {.fits = 1000 * (64 << 10), .within = 1, .runs = 60},
        {.within = 1, .runs = 4},
        {.lowest = true, .within = 0.1, .runs = 5},
        {.fits = 150 * (64 << 10), .within = 1, .runs = 7},
    };
    char title[128];
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (size_t j = 0; j < sizeof options / sizeof *options; j++) {
            program = &programs[i];
            snprintf(title, sizeof title, "%s, options %zu", program->name, j);
            if (i < 3 || j == 0 || (i == 3 && j == 5) || (i > 7 && j == 2))
                golden_add(title, search, &options[j]);
        }
    golden_check(root, "outputs_tune_search.txt");
}

/* A limit was too small where a call could not be tiled with it; where more than it was reported
 * without that, half of what was. */
static void limits_that_did_not_do(void)
{
    static const struct {
        int64_t limit, untiled, reported;
        int64_t too_small; /* 7: as it was */
    } rows[] = {{0, 3, 900, 7},     {100, 0, 100, 7},  {100, 0, 99, 7},   {100, 1, 0, 100},
                {100, 1, 900, 100}, {100, 0, 101, 51}, {100, 0, 102, 51}, {100, 0, 900, 450},
                {1, 1, 0, 1},       {100, 0, 0, 7}};
    enum {
        ROWS = sizeof rows / sizeof *rows
    };
    struct cs_exposure item[ROWS + 1];
    for (size_t i = 0; i < ROWS; i++) {
        struct cs_exposures one = {.item = item, .count = 1};
        item[0] = item[1] = (struct cs_exposure){.limit = rows[i].limit,
                                                 .untiled = rows[i].untiled,
                                                 .reported = rows[i].reported,
                                                 .too_small = 7};
        CHECK_INT(note_too_small(&one), rows[i].too_small != 7);
        CHECK_INT(item[0].too_small, rows[i].too_small);
        CHECK_INT(item[1].too_small, 7); /* there is but one */
    }
}

/* By what the peak is over the goal, down to the level, and so often. */
static void how_low_it_aims(void)
{
    static const struct {
        int64_t peak, level;
        int64_t target; /* of 1000, with a goal of 900 */
    } rows[] = {{900, 0, 1000},   {899, 0, 1000},   {901, 0, 999}, {950, 949, 950},
                {950, 950, 1000}, {950, 951, 1000}, {1899, 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_tune aims = {
            .target = 1000, .tuned.peak = rows[i].peak, .exposures.level = rows[i].level};
        int lowered = 0;
        CHECK_INT(aim_lower(&aims, 900, &lowered), rows[i].target < 1000);
        CHECK_INT(aims.target, rows[i].target);
    }
    struct cs_tune aims = {.target = 1000, .tuned.peak = 901};
    int lowered = 0;
    for (int i = 0; i < MOST_LOWERED; i++)
        CHECK(aim_lower(&aims, 900, &lowered));
    CHECK(!aim_lower(&aims, 900, &lowered));
    CHECK_INT(aims.target, 1000 - MOST_LOWERED);
}

/* Rules first, the dearest of them first; of equals by their keys. */
static void the_order_of_prices(void)
{
    static const struct cs_exposure sorted[] = {
        {.limit = 1, .extra_ns = 9, .extra_launches = 1, .keys = "b"},
        {.limit = 900, .extra_ns = 8, .extra_launches = 3, .keys = "z"},
        {.limit = 1, .extra_ns = 8, .extra_launches = 2, .keys = "a"},
        {.limit = 2, .extra_ns = 8, .extra_launches = 2, .keys = "b"},
        {.limit = 1, .extra_ns = -1, .extra_launches = -1, .keys = "a"},
        {.limit = 0, .extra_ns = 99, .extra_launches = 0, .keys = "a"},
        {.limit = 0, .extra_ns = 9, .extra_launches = 99, .keys = "a"}};
    enum {
        COUNT = sizeof sorted / sizeof *sorted
    };
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) {
            int order = compare_price(&sorted[i], &sorted[j]);
            CHECK_INT((order > 0) - (order < 0), (i > j) - (i < j));
        }
}

int main(void)
{
    char remove[64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root) || chdir(folder) != 0)
        return 1;
    TEST(every_search);
    TEST(limits_that_did_not_do);
    TEST(how_low_it_aims);
    TEST(the_order_of_prices);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    free(golden_text);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
