/* The answer of `convshim simulate --fits`, and names of GPUs. */
#include "check.h"
#include "cli/layers/device_files.h"
#include "cli/simulate/simulate.h"
#include <string.h>

static const int64_t gib = INT64_C(1) << 30;

static void each_end_of_a_run_has_its_answer(void)
{
    static const struct {
        const char *name;
        struct cs_simulated_result result;
        enum cs_answer answer;
        const char *said;
    } rows[] = {
        {"no GPU", {.planned = true}, CS_ANSWER_NONE, "did not use the GPU"},
        {"found the GPU only", {.used = true, .planned = true}, CS_ANSWER_NONE, "did not use"},
        {"fails",
         {.used = true, .planned = true, .kernels = 1, .status = 1},
         CS_ANSWER_NONE,
         "but not"},
        {"rule of thumb", {.used = true, .kernels = 1}, CS_ANSWER_NONE, "cuDNN"},
        {"own limit",
         {.used = true, .status = 1, .limited = true},
         CS_ANSWER_NONE,
         "its own memory"},
        {"out of memory",
         {.used = true, .planned = true, .status = 1, .refused = 1, .missing_bytes = 1024},
         CS_ANSWER_NO,
         "short by 1 KiB"},
        {"a failed allocation",
         {.used = true, .planned = true, .kernels = 1, .failed = 2},
         CS_ANSWER_NO,
         "2 allocations fail"},
        {"95 %",
         {.used = true, .planned = true, .kernels = 1, .needed = INT64_C(1020054710)},
         CS_ANSWER_YES,
         "The GPU has 1024 MiB"},
        {"above 95 %",
         {.used = true, .planned = true, .kernels = 1, .needed = INT64_C(1020054711)},
         CS_ANSWER_MAY_FAIL,
         "fragmentation"}};
    static struct cs_simulated_pair pair;
    char text[512];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pair = (struct cs_simulated_pair){.capacity = gib, .context = 4096, .chosen = {true}};
        pair.result[CS_WITHOUT] = rows[i].result;
        enum cs_answer answer = cs_simulate_fits(&pair, CS_WITHOUT, text, sizeof text);
        CHECK_INT(answer, rows[i].answer);
        CHECK(strstr(text, rows[i].said) || !fprintf(stderr, "%s: %s\n", rows[i].name, text));
        CHECK_INT(cs_simulate_answer(&pair), rows[i].answer);
    }
}

static void too_little_memory_is_told_from_the_run_with_enough(void)
{
    static struct cs_simulated_pair pair;
    const struct cs_device_file device = {.title = "Tesla T4", .memory = 14 * gib};
    char text[512];
    pair = (struct cs_simulated_pair){.device = &device, .context = gib, .has_base = {true}};
    pair.result[CS_WITHOUT] = (struct cs_simulated_result){.used = true, .status = 1, .refused = 3};
    pair.base[CS_WITHOUT] = (struct cs_simulated_result){.used = true, .needed = 16 * gib};
    CHECK_INT(cs_simulate_fits(&pair, CS_WITHOUT, text, sizeof text), CS_ANSWER_NO);
    CHECK_STR(text, "No: needs 16.00 GiB with the context of 1024 MiB. Tesla T4 has 14.00 GiB, "
                    "2048 MiB too little.");
}

static void names_as_people_write_them(void)
{
    static const char *const rows[][2] = {{"NVIDIA GeForce RTX 4060", "rtx4060"},
                                          {"RTX4060", "rtx4060"},
                                          {"4060", "rtx4060"},
                                          {"GeForce RTX 2080 Ti", "rtx2080ti"},
                                          {"4060 ti 16GB", "rtx4060ti"},
                                          {"4060 ti 8GB", "rtx4060ti-8gb"},
                                          {"Tesla T4", "t4"},
                                          {"NVIDIA A100-SXM4-40GB", "a100-40gb"},
                                          {"NVIDIA A100 80GB PCIe", "a100"},
                                          {"Tesla V100-SXM2-32GB", "v100"},
                                          {"v100-16gb", "v100-16gb"},
                                          {"Tesla P100-PCIE-16GB", "p100"},
                                          {"NVIDIA H100 80GB HBM3", "h100"},
                                          {"NVIDIA H100 PCIe", "h100pcie"},
                                          {"NVIDIA RTX A6000", "a6000"},
                                          {"RTX 6000 Ada", "rtx6000ada"},
                                          {"NVIDIA GH200 480GB", "gh200"},
                                          {"", ""},
                                          {"--", "--"}};
    char name[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cs_device_name(rows[i][0], name, sizeof name);
        CHECK_STR(name, rows[i][1]);
    }
    CHECK(cs_device_name_refusal("A100 MIG 1g.10gb") && cs_device_name_refusal("NVIDIA GB10"));
    CHECK(cs_device_name_refusal("Jetson Orin") && cs_device_name_refusal("RTX 4090 Laptop GPU"));
    CHECK(!cs_device_name_refusal("RTX 4090") && !cs_device_name_refusal("h200"));
}

/* Every profile is found by the name that nvidia-smi prints, and its context is of the size that
 * programs show: 0.1 to 0.7 GiB. */
static void every_profile_is_found_by_its_title(void)
{
    static const char *const names[] = {
        "a10",       "a100",    "a100-40gb",  "a6000",     "b200",    "gh200",
        "h100",      "h20",     "h200",       "l4",        "l40s",    "p100",
        "rtx2060",   "rtx2070", "rtx2080",    "rtx2080ti", "rtx3050", "rtx3060",
        "rtx3060ti", "rtx3070", "rtx3080",    "rtx3090",   "rtx4060", "rtx4060ti",
        "rtx4070",   "rtx4080", "rtx4090",    "rtx5060",   "rtx5070", "rtx5070ti",
        "rtx5080",   "rtx5090", "rtx6000ada", "t4",        "v100",    "v100-16gb"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct cs_device_file device, again;
        char error[CS_DEVICE_FILE_ERROR];
        bool found = cs_device_file_load(names[i], NULL, &device, error);
        CHECK(found);
        if (!found)
            continue;
        CHECK(device.context >= gib / 16 && device.context < gib / 10 * 8);
        CHECK(strstr(device.source, "usable memory: "));
        found = cs_device_file_load(device.title, NULL, &again, error);
        CHECK(found);
        if (found) {
            CHECK_STR(again.name, names[i]);
            cs_device_file_fini(&again);
        }
        cs_device_file_fini(&device);
    }
}

static void an_unknown_name_is_shown_as_written(void)
{
    struct cs_device_file device;
    char error[CS_DEVICE_FILE_ERROR];
    CHECK(!cs_device_file_load("t4,h200", NULL, &device, error));
    CHECK_STR(error, "device 't4,h200': one name only, without a comma");
    CHECK(!cs_device_file_load("GeForce RTX 4061", NULL, &device, error));
    CHECK_STR(error, "unknown device 'GeForce RTX 4061'; did you mean 'rtx4060'?; to list all: "
                     "--device list");
}

int main(void)
{
    TEST(each_end_of_a_run_has_its_answer);
    TEST(too_little_memory_is_told_from_the_run_with_enough);
    TEST(names_as_people_write_them);
    TEST(every_profile_is_found_by_its_title);
    TEST(an_unknown_name_is_shown_as_written);
    return REPORT();
}
