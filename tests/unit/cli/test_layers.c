#include "check.h"
#include "cli/layers/layers.h"
#include "descriptors.h"
#include <unistd.h>

enum {
    RANDOM_LISTS = 3000
};

typedef bool reader(struct cs_layers *, const char *, const struct cs_layer_rules *, char *);

/* Reads a list from its own file. */
static bool read_list(reader *read, const char *text, size_t length,
                      const struct cs_layer_rules *rules, struct cs_layers *layers, char *error)
{
    char path[] = "/tmp/test_layers.XXXXXX";
    int file = mkstemp(path);
    bool good = file >= 0 && write(file, text, length) == (ssize_t)length;
    CHECK(good);
    *layers = (struct cs_layers){.count = 0};
    *error = '\0';
    good = good && read(layers, path, rules, error);
    close(file);
    unlink(path);
    CHECK(good == (*error == '\0'));
    CHECK(!good || layers->count > 0);
    return good;
}

static bool list_of(const char *text, struct cs_layers *layers, char *error)
{
    static const struct cs_layer_rules plain = {.layout = CS_CHANNELS_FIRST};
    return read_list(cs_layers_list, text, strlen(text), &plain, layers, error);
}

/* A missing layer is a layer of zeros. */
static const struct cs_layer *at(const struct cs_layers *layers, size_t i)
{
    static const struct cs_layer none = {(char *)"", (char *)"", {.spatial = 0}, {-1, 0}};
    CHECK(i < layers->count);
    return i < layers->count ? &layers->layer[i] : &none;
}

static void columns_of_the_list(void)
{
    struct cs_layers layers;
    char error[CS_LAYERS_ERROR];
    CHECK(list_of("# remark\n\n1x4x64x32 -> 512 k3x3 s2x1 p1 g2 bf16 , two , m\r\n"
                  "2x4x8x64x64 -> 16 k3x3x3 s1 p1 f32 wgrad, three\n1x16x9 -> 8 k3 d2 f16 nwc",
                  &layers, error));
    CHECK_INT(layers.count, 3);
    const struct cs_problem *two = &at(&layers, 0)->problem, *three = &at(&layers, 1)->problem;
    CHECK_STR(at(&layers, 0)->model, "m");
    CHECK_STR(at(&layers, 0)->name, "two");
    CHECK_STR(at(&layers, 1)->model, "");
    CHECK_STR(at(&layers, 1)->name, "three");
    CHECK_STR(at(&layers, 2)->name, "1x16x9 -> 8 k3 d2 f16 nwc");
    CHECK_INT(two->spatial, 2);
    CHECK_INT(two->groups, 2);
    CHECK_INT(two->tensor[CS_FILTER].dims[CS_C], 2);
    CHECK_INT(two->tensor[CS_Y].dims[CS_H], 32);
    CHECK_INT(two->tensor[CS_X].dims[CS_W], 32);
    CHECK_INT(two->tensor[CS_X].dtype, CS_BF16);
    CHECK_INT(three->spatial, 3);
    CHECK_INT(three->direction, CS_BACKWARD_FILTER);
    CHECK_INT(three->pre[0], 1);
    CHECK_INT(at(&layers, 2)->problem.tensor[CS_X].strides[CS_C], 1);
    CHECK_INT(at(&layers, 2)->problem.tensor[CS_Y].dims[CS_W], 5);
    cs_layers_fini(&layers);
}

/* A convolution of a summary, with one text replaced. */
static bool read_site(const char *was, const char *is, const struct cs_layer_rules *rules,
                      struct cs_layers *layers, char *error)
{
    static const char sound[] =
        "{\"schema\": \"convshim summary\", \"version\": 1, \"process\": {\"program\": \"app\"}, "
        "\"sites\": [{\"name\": \"\", "
        "\"calls\": 3, \"free\": 9, \"engine\": 5, "
        "\"required\": 4, \"problem\": {\"text\": \"a "
        "convolution\", \"direction\": \"fwd\", "
        "\"spatial\": 2, \"groups\": 1, \"compute\": \"f32\", "
        "\"padding\": [[0, 1, 2], [0, 1, 2]], \"stride\": [1, 1, 1], \"dilation\": [1, 1, 1], "
        "\"x\": {\"dims\": [1, 4, 1, 8, 8], \"strides\": [256, 64, 64, 8, 1], \"dtype\": \"f16\"}, "
        "\"w\": {\"dims\": [2, 4, 1, 3, 5], \"strides\": [60, 15, 15, 5, 1], \"dtype\": \"f16\"}, "
        "\"y\": {\"dims\": [1, 2, 1, 8, 8], \"strides\": [128, 64, 64, 8, 1], "
        "\"dtype\": \"f16\"}}}]}";
    char text[sizeof sound + 64];
    const char *at = strstr(sound, was);
    CHECK(at != NULL);
    *layers = (struct cs_layers){.count = 0};
    if (!at)
        return false;
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - sound), sound, is, at + strlen(was));
    return read_list(cs_layers_summary, text, strlen(text), rules, layers, error);
}

static void convolutions_of_a_summary(void)
{
    static const struct cs_layer_rules plain = {.layout = CS_CHANNELS_FIRST};
    struct cs_layers layers;
    char error[CS_LAYERS_ERROR];
    CHECK(read_site("1", "1", &plain, &layers, error));
    CHECK_INT((int64_t)layers.count, 1);
    CHECK_STR(at(&layers, 0)->model, "app");
    CHECK_STR(at(&layers, 0)->name, "a convolution");
    CHECK_INT(at(&layers, 0)->problem.post[2], 2);
    CHECK_INT(at(&layers, 0)->problem.tensor[CS_Y].strides[0], 128);
    CHECK_INT(at(&layers, 0)->recorded.engine, 5);
    CHECK_INT(at(&layers, 0)->recorded.required, 4);
    cs_layers_fini(&layers);
    CHECK(read_site("\"name\": \"\"", "\"name\": \"mine\"", &plain, &layers, error));
    CHECK_STR(at(&layers, 0)->name, "mine");
    cs_layers_fini(&layers);
    /* A convolution that never ran is not a layer, so this list is empty. */
    CHECK(!read_site("\"calls\": 3", "\"calls\": 0", &plain, &layers, error));
    CHECK_INT((int64_t)layers.count, 0);
    cs_layers_fini(&layers);
}

static void rules_of_the_command_for_a_summary(void)
{
    const enum cs_direction direction = CS_BACKWARD_DATA;
    const enum cs_dtype dtype = CS_F32;
    const struct cs_layer_rules rules = {
        .layout = CS_CHANNELS_FIRST, .direction = &direction, .dtype = &dtype};
    struct cs_layers layers;
    char error[CS_LAYERS_ERROR];
    CHECK(read_site("1", "1", &rules, &layers, error));
    CHECK_INT((int)at(&layers, 0)->problem.direction, CS_BACKWARD_DATA);
    CHECK_INT((int)at(&layers, 0)->problem.tensor[CS_W].dtype, CS_F32);
    CHECK(at(&layers, 0)->problem.tensor[CS_X].written);
    cs_layers_fini(&layers);
}

static void every_wrong_member_is_refused(void)
{
    static const struct cs_layer_rules plain = {.layout = CS_CHANNELS_FIRST};
    static const char *const wrong[][2] = {
        {"\"fwd\"", "\"forward!\""},
        {"\"direction\": \"fwd\"", "\"direction\": 0"},
        {"\"spatial\": 2", "\"spatial\": 0"},
        {"\"spatial\": 2", "\"spatial\": 4"},
        {"\"spatial\": 2", "\"spatial\": \"2\""},
        {"\"groups\": 1", "\"groups\": -1"},
        {"\"groups\": 1", "\"groups\": 1e300"},
        {"\"groups\": 1", "\"groups\": 3"},
        {"\"compute\": \"f32\"", "\"compute\": \"f33\""},
        {"\"compute\": \"f32\"", "\"compute\": 32"},
        {"[[0, 1, 2], [0, 1, 2]]", "[[0, 1, 2]]"},
        {"[[0, 1, 2], [0, 1, 2]]", "[[0, 1], [0, 1, 2]]"},
        {"[[0, 1, 2], [0, 1, 2]]", "[[0, 1, 2], [0, 1, null]]"},
        {"\"stride\": [1, 1, 1]", "\"stride\": [1, 1]"},
        {"\"stride\": [1, 1, 1]", "\"strides\": [1, 1, 1]"},
        {"\"dilation\": [1, 1, 1]", "\"dilation\": [1, -1, 1]"},
        {"[1, 4, 1, 8, 8]", "[1, 4, 8, 8]"},
        {"[256, 64, 64, 8, 1]", "[256, 64, 64, 8, []]"},
        {"[2, 4, 1, 3, 5]", "[2, 3, 1, 3, 5]"},
        {"\"dtype\": \"f16\"", "\"dtype\": \"f17\""},
        {"\"dtype\": \"f16\"", "\"dtype\": {}"},
        {"\"y\": {", "\"z\": {"},
        {"\"problem\"", "\"problems\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cs_layers layers;
        char error[CS_LAYERS_ERROR];
        bool taken = read_site(wrong[i][0], wrong[i][1], &plain, &layers, error);
        CHECK_STR(taken ? wrong[i][1] : "", "");
        CHECK(strstr(error, "not a convolution in the form of a summary") != NULL);
        cs_layers_fini(&layers);
    }
}

/* A sound list with some characters changed: layers or notes, and nothing out of bounds (the
 * sanitizers' builds look). */
static void damaged_lists(void)
{
    static const struct cs_layer_rules plain = {.layout = CS_CHANNELS_FIRST};
    static const char marks[] = ",\"\n\r0-9x\\{}[]:a#\0 ";
    const char sound[] = "1x4x64x32 -> 512 k3x3 s2x1 p1 g2 bf16, two, m\n"
                         "2x4x8x64x64 -> 16 k3x3x3 s1 p1 f32 wgrad, three, m\n";
    uint64_t state = 77;
    int refused = 0;
    for (int i = 0; i < RANDOM_LISTS; i++) {
        char text[sizeof sound];
        struct cs_layers layers;
        char error[CS_LAYERS_ERROR];
        memcpy(text, sound, sizeof text);
        for (int changes = 0; changes < 1 + i % 3; changes++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[(state >> 33) % (sizeof text - 1)] = marks[(state >> 20) % (sizeof marks - 1)];
        }
        refused += !read_list(i % 2 ? cs_layers_list : cs_layers_summary, text, sizeof text - 1,
                              &plain, &layers, error);
        cs_layers_fini(&layers);
    }
    CHECK(refused > RANDOM_LISTS / 2 && refused < RANDOM_LISTS);
}

int main(void)
{
    descriptors_begin();
    TEST(columns_of_the_list);
    TEST(convolutions_of_a_summary);
    TEST(rules_of_the_command_for_a_summary);
    TEST(every_wrong_member_is_refused);
    TEST(damaged_lists);
    TEST(no_descriptor_is_left_open);
    return REPORT();
}
