/* Packs a fused pointwise operation into the opaque words of struct cs_step, and unpacks it. */
#include "cudnn/plan/fusion.h"

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
