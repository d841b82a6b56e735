/* Packs a fused pointwise operation into the opaque words of struct cs_step, and unpacks it. */
#include "cudnn/plan/fusion.h"

#include <cudnn.h>
#include <string.h>

/* Indexes of a step's words. */
enum {
    MODE,
    PRECISION,
    OPERANDS,
    SETTINGS = OPERANDS + CS_PW_OPERANDS
};

_Static_assert(SETTINGS + 3 * CS_MAX_SETTINGS <= CS_STEP_WORDS, "settings do not fit a step");

void cs_fusion_pack(const struct cs_pointwise *pointwise, struct cs_step *step)
{
    int used = SETTINGS;
    step->word[MODE] = pointwise->mode;
    step->word[PRECISION] = pointwise->precision;
    for (int i = 0; i < CS_PW_OPERANDS; i++)
        step->word[OPERANDS + i] = pointwise->operand[i];
    for (int i = 0; i < pointwise->settings; i++) {
        step->word[used++] = pointwise->setting[i].name;
        step->word[used++] = pointwise->setting[i].type;
        step->word[used++] = pointwise->setting[i].bits;
    }
    step->words = used;
}

void cs_fusion_unpack(const struct cs_step *step, struct cs_pointwise *pointwise)
{
    *pointwise = (struct cs_pointwise){.mode = step->word[MODE],
                                       .precision = step->word[PRECISION],
                                       .settings = (step->words - SETTINGS) / 3};
    for (int i = 0; i < CS_PW_OPERANDS; i++)
        pointwise->operand[i] = step->word[OPERANDS + i];
    for (int i = 0; i < pointwise->settings; i++) {
        const int64_t *word = &step->word[SETTINGS + 3 * i];
        pointwise->setting[i] = (struct cs_setting){word[0], word[1], word[2]};
    }
}

static bool is_number(int64_t type)
{
    return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_DOUBLE || type == CUDNN_TYPE_FLOAT ||
           type == CUDNN_TYPE_NAN_PROPOGATION;
}

bool cs_fusion_valid(const struct cs_step *step, int tensors)
{
    struct cs_pointwise pointwise;
    if (step->words < SETTINGS || step->words > SETTINGS + 3 * CS_MAX_SETTINGS ||
        (step->words - SETTINGS) % 3 != 0)
        return false;
    cs_fusion_unpack(step, &pointwise);
    for (int i = 0; i < CS_PW_OPERANDS; i++)
        if (pointwise.operand[i] < -1 || pointwise.operand[i] >= tensors)
            return false;
    for (int i = 0; i < pointwise.settings; i++)
        if (!is_number(pointwise.setting[i].type))
            return false;
    return true;
}

/* The scale of the second operand, 1 if the application has not set it. */
static double second_scale(const struct cs_pointwise *pointwise)
{
    double wide = 1;
    for (int i = 0; i < pointwise->settings; i++) {
        const struct cs_setting *setting = &pointwise->setting[i];
        float narrow;
        if (setting->name != CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2)
            continue;
        if (setting->type == CUDNN_TYPE_DOUBLE) {
            memcpy(&wide, &setting->bits, sizeof wide);
        } else if (setting->type == CUDNN_TYPE_FLOAT) {
            memcpy(&narrow, &setting->bits, sizeof narrow);
            wide = (double)narrow;
        }
    }
    return wide;
}

bool cs_fusion_reads(const struct cs_step *step, int64_t tensor)
{
    struct cs_pointwise pointwise;
    cs_fusion_unpack(step, &pointwise);
    bool adds_nothing = pointwise.mode == CUDNN_POINTWISE_ADD && second_scale(&pointwise) == 0;
    return pointwise.operand[CS_PW_X] == tensor || pointwise.operand[CS_PW_T] == tensor ||
           (pointwise.operand[CS_PW_B] == tensor && !adds_nothing);
}
