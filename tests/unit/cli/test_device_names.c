/* Names of GPUs as people and nvidia-smi write them. */
#include "check.h"
#include "cli/common/data_files.h"
#include <string.h>

static const int64_t gib = INT64_C(1) << 30;

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
        "a10",          "a100",      "a100-40gb", "a6000",        "b200",       "gh200",
        "h100",         "h20",       "h200",      "l4",           "l40s",       "p100",
        "rtx2060",      "rtx2070",   "rtx2080",   "rtx2080ti",    "rtx3050",    "rtx3060",
        "rtx3060ti",    "rtx3070",   "rtx3080",   "rtx3090",      "rtx4060",    "rtx4060ti",
        "rtx3070ti",    "rtx3080ti", "rtx3090ti", "rtx4070super", "rtx4070ti",  "rtx4070tisuper",
        "rtx4080super", "rtx5060ti", "rtx4070",   "rtx4080",      "rtx4090",    "rtx5060",
        "rtx5070",      "rtx5070ti", "rtx5080",   "rtx5090",      "rtx6000ada", "t4",
        "v100",         "v100-16gb"};
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

/* Cards that are sold with two sizes have two profiles, and the usual one names the other. */
static void cards_with_two_sizes_have_two_profiles(void)
{
    static const char *const rows[][2] = {{"4060 Ti", "RTX 4060 Ti 8GB"},
                                          {"RTX 3060 12GB", "RTX 3060 8GB"},
                                          {"3080", "3080 12GB"},
                                          {"3050", "3050 6GB"},
                                          {"RTX 5060 Ti 16GB", "5060 Ti 8GB"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_device_file usual, other;
        char error[CS_DEVICE_FILE_ERROR];
        const bool found = cs_device_file_load(rows[i][0], NULL, &usual, error) &&
                           cs_device_file_load(rows[i][1], NULL, &other, error);
        CHECK(found);
        if (!found)
            continue;
        CHECK_STR(usual.other, other.name);
        CHECK_STR(usual.title, other.title);
        CHECK_STR(other.other, "");
        CHECK(usual.memory != other.memory);
        cs_device_file_fini(&usual);
        cs_device_file_fini(&other);
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
    TEST(names_as_people_write_them);
    TEST(every_profile_is_found_by_its_title);
    TEST(cards_with_two_sizes_have_two_profiles);
    TEST(an_unknown_name_is_shown_as_written);
    return REPORT();
}
