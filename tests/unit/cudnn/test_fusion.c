/* The words of a fused operation, and which tensors it reads. */
#include "cudnn/plan/fusion.h"

#include "check.h"
#include <cudnn.h>

static void packed_step_unpacks_alike(void)
{
    for (int settings = 0; settings <= CS_MAX_SETTINGS; settings++) {
        struct cs_pointwise in = {.mode = 12,
                                  .precision = 3,
                                  .operand = {4, -1, 6, 7},
                                  .settings = settings},
                            out;
        struct cs_step step = {0};
        for (int i = 0; i < settings; i++)
            in.setting[i] = (struct cs_setting){100 + i, 200 + i, -300 - i};
        memset(&out, 0x55, sizeof out);
        cs_fusion_pack(&in, &step);
        CHECK_INT(step.words, 6 + 3 * settings);
        cs_fusion_unpack(&step, &out);
        CHECK_INT(out.mode, in.mode);
        CHECK_INT(out.precision, in.precision);
        CHECK(memcmp(out.operand, in.operand, sizeof in.operand) == 0);
        CHECK_INT(out.settings, settings);
        for (int i = 0; i < settings; i++) {
            CHECK_INT(out.setting[i].name, in.setting[i].name);
            CHECK_INT(out.setting[i].type, in.setting[i].type);
            CHECK_INT(out.setting[i].bits, in.setting[i].bits);
        }
    }
}

static struct cs_setting single(int64_t name, float value)
{
    struct cs_setting setting = {name, CUDNN_TYPE_FLOAT, 0};
    memcpy(&setting.bits, &value, sizeof value);
    return setting;
}

static struct cs_setting wide(int64_t name, double value)
{
    struct cs_setting setting = {name, CUDNN_TYPE_DOUBLE, 0};
    memcpy(&setting.bits, &value, sizeof value);
    return setting;
}

static bool reads(int64_t mode, int settings, const struct cs_setting *setting, int64_t tensor)
{
    struct cs_pointwise pointwise = {.mode = mode, .operand = {1, 2, 3, 4}, .settings = settings};
    struct cs_step step;
    for (int i = 0; i < settings; i++)
        pointwise.setting[i] = setting[i];
    cs_fusion_pack(&pointwise, &step);
    return cs_fusion_reads(&step, tensor);
}

/* All operands but the result, and without those that an addition multiplies by 0. */
static void operands_read_by_a_step_are_listed(void)
{
    const int64_t alpha1 = CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1;
    const int64_t alpha2 = CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2;
    const struct {
        int64_t mode;
        int settings;
        struct cs_setting setting[2];
        bool second;
    } cases[] = {{CUDNN_POINTWISE_ADD, 0, {{0}}, true},
                 {CUDNN_POINTWISE_ADD, 1, {single(alpha2, 0)}, false},
                 {CUDNN_POINTWISE_ADD, 1, {wide(alpha2, 0)}, false},
                 {CUDNN_POINTWISE_ADD, 1, {single(alpha2, 0.5F)}, true},
                 {CUDNN_POINTWISE_ADD, 1, {wide(alpha2, 1e-300)}, true},
                 {CUDNN_POINTWISE_ADD, 1, {single(alpha1, 0)}, true},
                 {CUDNN_POINTWISE_ADD, 2, {single(alpha1, 1), single(alpha2, 0)}, false},
                 {CUDNN_POINTWISE_ADD, 2, {single(alpha2, 0), single(alpha1, 1)}, false},
                 {CUDNN_POINTWISE_ADD, 1, {{alpha2, CUDNN_TYPE_INT64, 0}}, true},
                 {CUDNN_POINTWISE_MUL, 1, {single(alpha2, 0)}, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool wanted[] = {false, true, cases[i].second, true, false, false};
        for (int tensor = 0; tensor < 6; tensor++)
            CHECK_INT(reads(cases[i].mode, cases[i].settings, cases[i].setting, tensor),
                      wanted[tensor]);
    }
}

int main(void)
{
    TEST(packed_step_unpacks_alike);
    TEST(operands_read_by_a_step_are_listed);
    return REPORT();
}
