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
}

static void wrong_values_are_refused(void)
{
    static const char *const wrong[] = {"",
                                        "px",
                                        "=1",
                                        "px=",
                                        "px=1,,2",
                                        "p x=1",
                                        "px=2..2",
                                        "px=3..2",
                                        "px=1..2x",
                                        "px=..2",
                                        "px=1..",
                                        "px=-1..2",
                                        "px=1..99999999999999999999"};
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
    TEST(wrong_values_are_refused);
    TEST(names_in_braces_are_replaced);
    TEST(growth_by_the_value_and_by_its_square);
    return REPORT();
}
