/* --baseline: peaks and contents that changed, and the status. */
#include "check.h"
#include "cli/common/json_tree.h"
#include "simdev/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN(ran, allocated, peak)                                                                  \
    "{\"version\":1,\"with\":{\"ran\":" ran ",\"allocated_peak\":" allocated                       \
    ",\"device_peak\":4000000,\"peak\":[" peak "]}}"
#define ROW(what, of, bytes)                                                                       \
    "{\"what\":\"" what "\",\"of\":\"" of "\",\"bytes\":" bytes ",\"blocks\":1}"

/* The status of a comparison. *changes_p: the changes, which the caller deletes. */
static int compare(const char *before, const char *after, double tolerance, cJSON **changes_p)
{
    cJSON *earlier = cJSON_Parse(before), *result = cJSON_Parse(after);
    CHECK(earlier && result);
    const int status = cs_baseline_compare(earlier, "base.json", tolerance, result);
    *changes_p = cJSON_DetachItemFromObject(cJSON_GetObjectItem(result, "baseline"), "changes");
    cJSON_Delete(result);
    cJSON_Delete(earlier);
    return status;
}

static void growth_above_the_tolerance_is_grown(void)
{
    static const struct {
        const char *after;
        double tolerance;
        int status;
    } rows[] = {{RUN("true", "1000000", ""), 0, 0},
                {RUN("true", "1000001", ""), 0, 1},
                {RUN("true", "1020000", ""), 2, 0},
                {RUN("true", "1020001", ""), 2, 1},
                {RUN("true", "500", ""), 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cJSON *changes;
        CHECK_INT(compare(RUN("true", "1000000", ""), rows[i].after, rows[i].tolerance, &changes),
                  rows[i].status);
        CHECK_INT(cJSON_GetArraySize(changes), 2);
        cJSON_Delete(changes);
    }
}

#define CONVOLUTION(of, engine, required)                                                          \
    "{\"of\":\"" of "\",\"calls\":1,\"engine\":" engine ",\"required\":" required ",\"reported\":" \
    "1}"
#define WITH_ENGINES(planning, peak, convolutions)                                                 \
    "{\"version\":1,\"planning\":\"" planning "\",\"convolutions\":[" convolutions                 \
    "],\"with\":{\"ran\":true,\"allocated_peak\":" peak                                            \
    ",\"device_peak\":4000000,\"peak\":[" ROW("tensors", "a.py:3 f", peak) "]}}"

/* cuDNN chooses another engine with a larger workspace: that is the cause, and not the contents of
 * the two peaks, which are those of other calls. */
static void a_changed_engine_is_the_cause(void)
{
    static const char before[] = WITH_ENGINES(
        "cudnn 9.19.0", "9000000",
        CONVOLUTION("a", "34", "29360128") "," CONVOLUTION("a", "34", "1024") "," CONVOLUTION(
            "b", "6", "1048576") "," CONVOLUTION("c", "6", "0")),
                      after[] = WITH_ENGINES(
                          "cudnn 9.26.0", "90000000",
                          CONVOLUTION("c", "7", "0") "," CONVOLUTION(
                              "a", "22",
                              "629145600") "," CONVOLUTION("b", "6",
                                                           "1048576") "," CONVOLUTION("d", "1",
                                                                                      "9"));
    char *text = NULL;
    size_t size = 0;
    cJSON *earlier = cJSON_Parse(before), *result = cJSON_Parse(after);
    CHECK_INT(cs_baseline_compare(earlier, "base.json", 1, result), 1);
    FILE *out = open_memstream(&text, &size);
    cs_baseline_print(earlier, result, out);
    fclose(out);
    CHECK(strstr(text, "why\n  cuDNN changed, 9.19.0 -> 9.26.0, and chose other engines for 2 "
                       "convolutions:\n"
                       "    a: workspace 28 MiB -> 600 MiB, engine 34 -> 22\n"
                       "    c: workspace 0 B -> 0 B, engine 6 -> 7\n"));
    CHECK(!strstr(text, "tensors"));
    free(text);
    cJSON_Delete(earlier);
    cJSON_Delete(result);
}

static void contents_are_joined_by_place_without_line_numbers(void)
{
    cJSON *changes;
    CHECK_INT(compare(RUN("true", "9",
                          ROW("tensors", "a.py:3 f",
                              "1000000") "," ROW("workspace", "k3x3 nchw, a.py:9 g", "500000")),
                      RUN("true", "9",
                          ROW("tensors", "a.py:14 f", "1000000") "," ROW(
                              "workspace", "k3x3 nchw, a.py:20 g",
                              "2500000") "," ROW("tensors", "b.py:1 f",
                                                 "100000") "," ROW("tensors", "c.py:1 f", "10")),
                      1, &changes),
              0);
    CHECK_INT(cJSON_GetArraySize(changes), 4);
    const cJSON *layer = cJSON_GetArrayItem(changes, 2), *line = cJSON_GetArrayItem(changes, 3);
    CHECK_STR(cs_json_text(layer, "what"), "workspace");
    CHECK_STR(cs_json_text(layer, "of"), "k3x3 nchw, a.py:20 g");
    CHECK_INT(cs_json_whole_at(layer, "before", -1), 500000);
    CHECK_INT(cs_json_whole_at(layer, "after", -1), 2500000);
    CHECK_STR(cs_json_text(line, "of"), "b.py:1 f");
    CHECK_INT(cs_json_whole_at(line, "before", -1), 0);
    cJSON_Delete(changes);
}

static void failed_runs_are_not_compared(void)
{
    static const char *const before[] = {RUN("true", "9", ""), "{\"version\":1,\"without\":{}}"},
                             *const after[] = {RUN("false", "99", ""), RUN("true", "99", "")};
    for (int i = 0; i < 2; i++) {
        cJSON *changes;
        CHECK_INT(compare(before[i], after[i], 1, &changes), 3);
        CHECK_INT(cJSON_GetArraySize(changes), 0);
        cJSON_Delete(changes);
    }
}

static void only_json_of_simulate_is_read(void)
{
    static const char *const texts[] = {"", "{}", "{\"version\":2}", "[1"};
    char path[] = "/tmp/convshim-baseline-XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0 && close(file) == 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *out = fopen(path, "w");
        CHECK(out && fputs(texts[i], out) >= 0 && fclose(out) == 0);
        CHECK(!cs_baseline_read(path));
    }
    unlink(path);
    CHECK(!cs_baseline_read(path));
}

int main(void)
{
    TEST(growth_above_the_tolerance_is_grown);
    TEST(a_changed_engine_is_the_cause);
    TEST(contents_are_joined_by_place_without_line_numbers);
    TEST(failed_runs_are_not_compared);
    TEST(only_json_of_simulate_is_read);
    return REPORT();
}
