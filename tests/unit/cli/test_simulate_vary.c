/* --vary: its values, the words of the command, and slopes. */
#include "check.h"
#include "cli/simulate/simulate.h"
#include <math.h>
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
    bool uses;
    char **copy = cs_vary_command(command, "px", "64", &uses);
    CHECK(copy && uses);
    CHECK_STR(copy[1], "64x64");
    CHECK_STR(copy[2], "{p}");
    CHECK_STR(copy[3], "{px");
    CHECK(!copy[4]);
    cs_vary_free_command(copy);
    copy = cs_vary_command(command, "q", "64", &uses);
    CHECK(copy && !uses);
    cs_vary_free_command(copy);
}

static struct cs_row row_of(double number, int64_t bytes)
{
    struct cs_row row = {.number = number,
                         .value[CS_FIGURE_allocated_peak] = {-1, bytes},
                         .value[CS_FIGURE_device_peak] = {-1, -1}};
    return row;
}

static void slopes_of_a_square_and_of_a_line(void)
{
    const struct cs_row square[] = {row_of(20, 100 + 3 * 400), row_of(10, 100 + 3 * 100),
                                    row_of(40, 100 + 3 * 1600), row_of(NAN, 7)},
                        line[] = {row_of(1, 15), row_of(2, 25), row_of(4, 45)};
    CHECK(cs_vary_slope(square, 4, CS_WITH, true).each == 3);
    CHECK(cs_vary_slope(square, 4, CS_WITH, true).distance < 1e-9);
    CHECK(cs_vary_slope(square, 4, CS_WITH, false).distance > 100);
    CHECK(cs_vary_slope(line, 3, CS_WITH, false).each == 10);
    CHECK(cs_vary_slope(line, 3, CS_WITH, false).distance < 1e-9);
    CHECK(isnan(cs_vary_slope(line, 3, CS_WITHOUT, false).each));
    CHECK(isnan(cs_vary_slope(line, 1, CS_WITH, false).each));
}

int main(void)
{
    TEST(lists_and_ranges);
    TEST(wrong_values_are_refused);
    TEST(names_in_braces_are_replaced);
    TEST(slopes_of_a_square_and_of_a_line);
    return REPORT();
}
