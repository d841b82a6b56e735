/* The command line of `convshim predict`: each option sets its member alone. */
#include "check.h"
#include "cli/common/cli.h"
#include "cli/predict/predict.h"
#include <stddef.h>

enum kind {
    TEXT, /* the value itself is kept */
    NUMBER,
    BYTES, /* an int64_t */
};

static const struct {
    const char *option, *value;
    enum kind kind;
    size_t at;
    int64_t number;
} row[] = {
#define AT(member) offsetof(struct cs_predict_options, member)
    {"--layers", "list", TEXT, AT(list), 0},
    {"--summary", "file", TEXT, AT(summary), 0},
    {"--device", "t4", TEXT, AT(device), 0},
    {"--devices", "folder", TEXT, AT(devices), 0},
    {"--cudnn", "lib", TEXT, AT(cudnn), 0},
    {"--dtype", "bf16", NUMBER, AT(dtype), CS_BF16},
    {"--dtype", "f32", NUMBER, AT(dtype), CS_F32},
    {"--dir", "dgrad", NUMBER, AT(direction), CS_BACKWARD_DATA},
    {"--dir", "wgrad", NUMBER, AT(direction), CS_BACKWARD_FILTER},
    {"--layout", "nhwc", NUMBER, AT(layers.layout), CS_CHANNELS_LAST},
    {"--format", "json", NUMBER, AT(format), CS_FORMAT_JSON},
    {"--format", "csv", NUMBER, AT(format), CS_FORMAT_CSV},
    {"--workspace", "5MiB", BYTES, AT(config.workspace), 5 << 20},
    {"--price", "7", BYTES, AT(config.price), 7000},
    {"--max-slowdown", "1.5", BYTES, AT(config.max_slowdown), 1500},
};

/* Reads a command line. The expected value is read by the same function. */
static int taken(const char *option, const char *value, struct cs_predict_options *options)
{
    char *argv[8] = {"predict"};
    int argc = 1;
    const bool is_source =
        option && (strcmp(option, "--layers") == 0 || strcmp(option, "--summary") == 0);
    if (!is_source)
        argv[argc++] = "1x2x3x4 -> 5 k3x3";
    if (option)
        argv[argc++] = (char *)(uintptr_t)option;
    if (value)
        argv[argc++] = (char *)(uintptr_t)value;
    return cs_predict_options(argc, argv, options);
}

static void each_option_sets_its_member(void)
{
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct cs_predict_options options;
        const char *at = (const char *)&options + row[i].at, *text;
        int number;
        int64_t bytes;
        memset(&options, 0x55, sizeof options);
        CHECK_INT(taken(row[i].option, row[i].value, &options), -1);
        memcpy(&text, at, sizeof text);
        memcpy(&number, at, sizeof number);
        switch (row[i].kind) {
        case TEXT:
            CHECK_STR(text, row[i].value);
            break;
        case NUMBER:
            CHECK_INT(number, row[i].number);
            break;
        case BYTES:
            memcpy(&bytes, at, sizeof bytes);
            CHECK_INT(bytes, row[i].number);
        }
        CHECK_INT(!!options.layers.dtype, strcmp(row[i].option, "--dtype") == 0);
        CHECK_INT(!!options.layers.direction, strcmp(row[i].option, "--dir") == 0);
    }
}

static void omitted_options_have_defaults(void)
{
    struct cs_predict_options options;
    memset(&options, 0x55, sizeof options);
    CHECK_INT(taken(NULL, NULL, &options), -1);
    CHECK(!options.layers.dtype && !options.layers.direction && !options.layers.layout);
    CHECK_STR(options.device, "h200");
    CHECK_STR(options.shape, "1x2x3x4 -> 5 k3x3");
    CHECK(!options.list && !options.summary && !options.devices && !options.cudnn);
    CHECK(!options.file && !options.program && !options.script);
    CHECK_INT(options.format, CS_FORMAT_TEXT);
    CHECK_INT(options.rules.count, 0);
}

int main(void)
{
    TEST(each_option_sets_its_member);
    TEST(omitted_options_have_defaults);
    return REPORT();
}
