/* --vary: its values, the words of the command, and the growth. */
#include "check.h"
#include "cli/common/json_tree.h"
#include "simdev/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static void lists_and_ranges(void)
{
    struct cs_vary vary;
    CHECK(!cs_vary_parse("px=512,1024,a-b", &vary));
    CHECK_STR(vary.name, "px");
    CHECK_INT(vary.values, 3);
    CHECK_STR(vary.value[2], "a-b");
    CHECK(!cs_vary_parse("n_1=1..256", &vary));
    CHECK_INT(vary.values, 0);
    CHECK_INT(vary.low, 1);
    CHECK_INT(vary.high, 256);
    CHECK_INT(vary.step, 1);
    CHECK(!cs_vary_parse("px=512..2563:8", &vary));
    CHECK_INT(vary.low, 512);
    CHECK_INT(vary.high, 2560);
    CHECK_INT(vary.step, 8);
}

/* --- the search of a range --- */

/* A program that needs `each` bytes for each unit, up to `runs` units run under pressure, values
 * from `breaks` on fail for another reason. */
struct program {
    int64_t each, memory, runs, breaks;
    int tried;
};

static void try_program(void *ctx, struct cs_vary_trial *trial)
{
    struct program *program = ctx;
    program->tried++;
    trial->needed = program->each * trial->value;
    trial->fit = trial->value >= program->breaks               ? CS_SIM_FIT_NONE
                 : trial->needed <= program->memory / 100 * 95 ? CS_SIM_FIT_YES
                 : trial->value <= program->runs               ? CS_SIM_FIT_MAY_FAIL
                                                               : CS_SIM_FIT_NO;
    if (trial->fit == CS_SIM_FIT_NONE)
        trial->needed = -1;
}

static void the_largest_value_of_a_range(void)
{
    const struct {
        const char *range;
        double tolerance;
        struct program program;
        struct cs_vary_largest largest;
        int most_tried;
    } rows[] = {
        {"n=1..256", 0, {10, 2000, 205, 999, 0}, {190, 205, -1}, 14},
        {"n=1..256", 1, {10, 2000, 205, 999, 0}, {189, 204, -1}, 13},
        {"n=8..256:8", 0, {10, 2000, 205, 999, 0}, {184, 200, -1}, 8},
        {"n=1..64", 1, {10, 2000, 205, 999, 0}, {64, 64, -1}, 2},
        {"n=210..256", 1, {10, 2000, 205, 999, 0}, {-1, -1, -1}, 1},
        {"n=200..256", 0, {10, 2000, 205, 999, 0}, {-1, 205, -1}, 9},
        {"n=1..256", 0, {10, 2000, 205, 250, 0}, {-1, 1, 256}, 2},
        {"n=1..256", 0, {10, 2000, 205, 1, 0}, {-1, -1, 1}, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program program = rows[i].program;
        struct cs_vary vary;
        CHECK(!cs_vary_parse(rows[i].range, &vary));
        const struct cs_vary_largest largest =
            cs_vary_search(&vary, rows[i].tolerance, program.memory, try_program, &program);
        const double least = 1 - rows[i].tolerance / 100;
        CHECK_INT(largest.failure, rows[i].largest.failure);
        CHECK(largest.fits <= rows[i].largest.fits + 2 &&
              (double)largest.fits >= least * (double)rows[i].largest.fits - 1);
        CHECK(rows[i].tolerance > 0 || largest.fits == rows[i].largest.fits);
        CHECK(rows[i].tolerance > 0 || largest.runs == rows[i].largest.runs);
        CHECK(largest.runs >= largest.fits && largest.runs <= 205);
        CHECK(program.tried <= rows[i].most_tried);
    }
}

static void wrong_values_are_refused(void)
{
    static const char *const wrong[] = {"px=512-1024", "",
                                        "px",          "=1",
                                        "px=",         "px=1,,2",
                                        "p x=1",       "px=2..2",
                                        "px=3..2",     "px=1..2x",
                                        "px=..2",      "px=1..",
                                        "px=-1..2",    "px=1..99999999999999999999",
                                        "px=1..9:",    "px=1..9:0",
                                        "px=1..9:9",   "px=1..9:2x",
                                        "px=1..9:2:3"};
    struct cs_vary vary;
    char many[200] = "v=0";
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(cs_vary_parse(wrong[i], &vary) || !fprintf(stderr, "%s is accepted\n", wrong[i]));
    for (int i = 0; i < CS_VARY_VALUES - 1; i++)
        strcat(many, ",1");
    CHECK(!cs_vary_parse(many, &vary));
    strcat(many, ",1");
    CHECK(cs_vary_parse(many, &vary));
}

static void names_in_braces_are_replaced(void)
{
    char *command[] = {"a.py", "{px}x{px}", "{p}", "{px", NULL};
    char **copy = cs_vary_command(command, "px", "64");
    CHECK(copy);
    CHECK_STR(copy[1], "64x64");
    CHECK_STR(copy[2], "{p}");
    CHECK_STR(copy[3], "{px");
    CHECK(!copy[4]);
    cs_vary_free_command(copy);
}

/* The growth of the allocated peak with the library, for results "NAME BYTES". The caller deletes
 * it. */
static cJSON *growth_of(const char *const *row, size_t rows, enum cs_side side)
{
    cJSON *results = cJSON_CreateArray(), *growth = cJSON_CreateObject();
    for (size_t i = 0; i < rows; i++) {
        cJSON *result = cJSON_CreateObject();
        char name[16];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(row[i], " "), row[i]);
        cJSON_AddStringToObject(result, "name", name);
        cJSON_AddNumberToObject(cJSON_AddObjectToObject(result, "with"), "allocated_peak",
                                atof(strchr(row[i], ' ')));
        cJSON_AddItemToArray(results, result);
    }
    cs_vary_add_growth(results, side, growth);
    cJSON_Delete(results);
    return growth;
}

static void growth_by_the_value_and_by_its_square(void)
{
    static const char *const square[] = {"20 1300", "10 400", "40 4900", "x 7"}, *const line[] = {
                                                                                     "1 15", "2 25",
                                                                                     "4 45"};
    cJSON *growth = growth_of(square, 4, CS_WITH);
    CHECK(cs_json_double(growth, "bytes_for_each_square") == 3);
    CHECK(cs_json_double(growth, "bytes_for_each") == 150);
    CHECK(cJSON_IsTrue(cs_json_at(growth, "grows_with_square")));
    cJSON_Delete(growth);
    growth = growth_of(line, 3, CS_WITH);
    CHECK(cs_json_double(growth, "bytes_for_each") == 10);
    CHECK(cJSON_IsFalse(cs_json_at(growth, "grows_with_square")));
    cJSON_Delete(growth);
    growth = growth_of(line, 3, CS_WITHOUT);
    CHECK(!growth->child);
    cJSON_Delete(growth);
    growth = growth_of(line, 1, CS_WITH);
    CHECK(!growth->child);
    cJSON_Delete(growth);
}

int main(void)
{
    TEST(lists_and_ranges);
    TEST(the_largest_value_of_a_range);
    TEST(wrong_values_are_refused);
    TEST(names_in_braces_are_replaced);
    TEST(growth_by_the_value_and_by_its_square);
    return REPORT();
}
