/* --baseline: peaks and contents that changed, and the status. */
#include "check.h"
#include "cli/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN(ran, allocated, peak)                                                                  \
    "{\"version\":1,\"with\":{\"ran\":" ran ",\"allocated_peak\":" allocated                       \
    ",\"device_peak\":4000000,\"peak\":[" peak "]}}"
#define ROW(what, of, bytes)                                                                       \
    "{\"what\":\"" what "\",\"of\":\"" of "\",\"bytes\":" bytes ",\"blocks\":1}"

static struct cs_growth *compare(const char *before, const char *after, double tolerance,
                                 size_t *growths_p, bool *grown_p)
{
    struct cs_baseline baseline = {.tolerance = tolerance, .earlier = cJSON_Parse(before)};
    cJSON *now = cJSON_Parse(after);
    CHECK(baseline.earlier && now);
    struct cs_growth *growth = cs_baseline_compare(&baseline, now, growths_p, grown_p);
    cJSON_Delete(now);
    cs_baseline_free(&baseline);
    return growth;
}

static void growth_above_the_tolerance_is_grown(void)
{
    static const struct {
        const char *after;
        double tolerance;
        bool grown;
    } rows[] = {{RUN("true", "1000000", ""), 0, false},
                {RUN("true", "1000001", ""), 0, true},
                {RUN("true", "1020000", ""), 2, false},
                {RUN("true", "1020001", ""), 2, true},
                {RUN("true", "500", ""), 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t growths;
        bool grown;
        free(compare(RUN("true", "1000000", ""), rows[i].after, rows[i].tolerance, &growths,
                     &grown));
        CHECK_INT(growths, 2);
        CHECK_INT(grown, rows[i].grown);
    }
}

static void contents_are_joined_by_place_without_line_numbers(void)
{
    size_t growths;
    bool grown;
    struct cs_growth *growth =
        compare(RUN("true", "9",
                    ROW("tensors", "a.py:3 f", "1000000") "," ROW("workspace",
                                                                  "k3x3 nchw, a.py:9 g", "500000")),
                RUN("true", "9",
                    ROW("tensors", "a.py:14 f", "1000000") "," ROW(
                        "workspace", "k3x3 nchw, a.py:20 g",
                        "2500000") "," ROW("tensors", "b.py:1 f",
                                           "100000") "," ROW("tensors", "c.py:1 f", "10")),
                1, &growths, &grown);
    CHECK_INT(growths, 4);
    CHECK_STR(growth[2].what, "workspace");
    CHECK_STR(growth[2].of, "k3x3 nchw, a.py:20 g");
    CHECK_INT(growth[2].after - growth[2].before, 2000000);
    CHECK_STR(growth[3].of, "b.py:1 f");
    CHECK_INT(growth[3].before, 0);
    CHECK(!grown);
    free(growth);
}

static void failed_runs_are_not_compared(void)
{
    size_t growths;
    bool grown;
    free(compare(RUN("true", "9", ""), RUN("false", "99", ""), 1, &growths, &grown));
    CHECK_INT(growths, 0);
    free(compare("{\"version\":1,\"without\":{}}", RUN("true", "99", ""), 1, &growths, &grown));
    CHECK_INT(growths, 0);
}

static void only_json_of_simulate_is_read(void)
{
    static const char *const texts[] = {"", "{}", "{\"version\":2}", "[1"};
    char path[] = "/tmp/convshim-baseline-XXXXXX";
    struct cs_baseline baseline;
    int file = mkstemp(path);
    CHECK(file >= 0 && close(file) == 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *out = fopen(path, "w");
        CHECK(out && fputs(texts[i], out) >= 0 && fclose(out) == 0);
        CHECK(!cs_baseline_read(&baseline, path, 1));
        cs_baseline_free(&baseline);
    }
    unlink(path);
    CHECK(!cs_baseline_read(&baseline, path, 1));
    cs_baseline_free(&baseline);
}

int main(void)
{
    TEST(growth_above_the_tolerance_is_grown);
    TEST(contents_are_joined_by_place_without_line_numbers);
    TEST(failed_runs_are_not_compared);
    TEST(only_json_of_simulate_is_read);
    return REPORT();
}
