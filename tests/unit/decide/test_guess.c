/* What guesses learn of answers, and which forms a refusal rules out: numbers small enough to be
 * worked out by hand. */
#include "decide/guess.h"

#include "decide/forms.h"
#include "fake_vendor.h"

enum {
    FORMS = 29
};

/* Eight images, 1 to 1 channels of 16 x 16 halves, padded: 4 KiB of either image, a filter of 18
 * bytes. */
static struct cs_problem images;
static struct cs_question question;

static void start(struct cs_guesser *guesser, int64_t required)
{
    images = same(8, 1, 1, 16, 16, 1);
    question = (struct cs_question){.problem = &images, .required = required};
    cs_guess_start(guesser, &question);
}

static struct cs_guess guess_of(struct cs_guesser *guesser, enum cs_axis axis, int64_t step)
{
    struct cs_tiling tiling = {.axis = {axis}, .step = {step, 1}, .lanes = 1};
    struct cs_guess guess = {0};
    CHECK(cs_guess_tiles(guesser, &tiling, &guess));
    return guess;
}

static bool near(double a, double b)
{
    double difference = a > b ? a - b : b - a;
    return difference <= 1e-9 * (b > 1 ? b : 1);
}

static void at_first_every_byte_needs_as_much(void)
{
    struct cs_guesser guesser;
    start(&guesser, 2 * 8210);
    CHECK(guesser.images == 8192 && guesser.filter == 18);
    CHECK(cs_guess_whole(&guesser) == 8210);
    CHECK(guesser.per_image == 2 && guesser.per_filter == 2 && guesser.fixed == 0);
    CHECK(guesser.scale == 1 && guesser.excess == 1 && guesser.late == 0);
    struct cs_guess half = guess_of(&guesser, CS_AXIS_N, 4);
    CHECK(half.tiles == 2 && half.images == 4096 && half.filter == 18 && half.staged == 0);
    CHECK(half.each == 2 * 4114 && half.workspace == half.each && !half.uneven);
    struct cs_tiling two = {.axis = {CS_AXIS_N}, .step = {4, 1}, .lanes = 2};
    CHECK(cs_guess_tiles(&guesser, &two, &half) && half.workspace == 2 * half.each);
}

/* A tile with the whole filter: a line through it and the whole. */
static void a_tile_of_images_gives_a_line(void)
{
    static const struct {
        double required, bytes, per_image, per_filter, fixed;
    } rows[] = {
        {16384, 8192, 2, 0, 0},              /* of images alone */
        {16384 + 18, 8192 + 18, 2, 1, 0},    /* and of the filter */
        {16384 + 72, 8192 + 72, 2, 4, 0},    /* as much as may be of the filter */
        {16384 + 100, 8192 + 100, 2, 4, 28}, /* the rest of every tile */
        {8192, 8192, 0, 4, 8192 - 72},       /* of nothing that is divided */
        {8192, 9000, 0, 4, 9000 - 72},       /* more than the whole */
        {16384, 4096, 1, 0, 0},              /* less than its part of the whole */
        {16384, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_guesser guesser;
        start(&guesser, (int64_t)rows[i].required);
        struct cs_guess half = guess_of(&guesser, CS_AXIS_N, 4);
        guesser.scale = 7;
        cs_guess_learn_tile(&guesser, &half, rows[i].bytes);
        CHECK(guesser.scale == 1);
        CHECK(near(guesser.per_image, rows[i].per_image));
        CHECK(near(guesser.per_filter, rows[i].per_filter));
        CHECK(near(guesser.fixed, rows[i].fixed));
    }
}

/* A tile with a part of the filter, or all images, says only by how much guesses are off. */
static void a_tile_of_the_filter_gives_a_factor(void)
{
    struct cs_guesser guesser;
    images = same(1, 1, 1, 16, 16, 64);
    question = (struct cs_question){.problem = &images, .required = 1 << 20};
    cs_guess_start(&guesser, &question);
    double per_image = guesser.per_image, per_filter = guesser.per_filter;
    struct cs_guess half = guess_of(&guesser, CS_AXIS_K, 32);
    CHECK(half.filter < guesser.filter && half.images < guesser.images);
    cs_guess_learn_tile(&guesser, &half, 3 * half.each);
    CHECK(near(guesser.scale, 3));
    CHECK(near(guess_of(&guesser, CS_AXIS_K, 32).each, 3 * half.each));
    cs_guess_learn_tile(&guesser, &half, 6 * half.each);
    CHECK(near(guesser.scale, 6));
    CHECK(guesser.per_image == per_image && guesser.per_filter == per_filter && guesser.fixed == 0);
    half.images = guesser.images;
    half.filter = guesser.filter;
    cs_guess_learn_tile(&guesser, &half, 1 << 19);
    CHECK(near(guesser.scale, 0.5));
    guesser.scale = 1;
    guesser.per_image = guesser.per_filter = 0; /* nothing was guessed: no factor makes it more */
    cs_guess_learn_tile(&guesser, &half, 1000);
    CHECK(guesser.scale == 1);
    guesser.fixed = 500;
    cs_guess_learn_tile(&guesser, &half, 1000);
    CHECK(near(guesser.scale, 2));
    half.staged = 400; /* copies are no part of what the vendor needs */
    cs_guess_learn_tile(&guesser, &half, 900);
    CHECK(near(guesser.scale, 1));
    cs_guess_learn_tile(&guesser, &half, 300);
    CHECK(guesser.scale == 0);
}

static void learn(struct cs_guesser *guesser, double seconds, int lanes)
{
    struct cs_candidate candidate = {
        .tiling = {.axis = {CS_AXIS_N}, .step = {4, 1}, .lanes = lanes},
        .tiles = 2,
        .workspace = 8192 * (int64_t)(lanes > 1 ? lanes : 1),
        .seconds = seconds};
    cs_guess_learn(guesser, &candidate);
}

/* The workspace of one lane, and how much longer tiles take than was guessed. */
static void answers_correct_the_next_guess(void)
{
    static const double longer[] = {0.5, 1, 2, 3};
    struct cs_guesser guesser;
    for (int lanes = 0; lanes <= 2; lanes++) {
        start(&guesser, 16384);
        learn(&guesser, 0, lanes);
        CHECK(near(guesser.per_image, 2) && guesser.per_filter == 0);
        CHECK(guesser.excess == 1 && guesser.late == 0);
    }
    double whole = guesser.seconds, guessed = guess_of(&guesser, CS_AXIS_N, 4).seconds;
    CHECK(guessed > 1.005 * whole);
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        double seconds = whole + longer[i] * (guessed - whole);
        learn(&guesser, seconds, 1);
        CHECK(near(guesser.excess, longer[i]) && guesser.late == 0);
        CHECK(near(guess_of(&guesser, CS_AXIS_N, 4).seconds / seconds, 1));
    }
    learn(&guesser, whole, 1); /* no longer than the whole: there is no factor */
    CHECK(guesser.excess == 1 && near(guesser.late * 1e9, (whole - guessed) * 1e9));
    CHECK(near(guess_of(&guesser, CS_AXIS_N, 4).seconds / whole, 1));
    learn(&guesser, 0, 1); /* nothing is known any more */
    CHECK(guesser.excess == 1 && guesser.late == 0);
    struct cs_guesser before = guesser;
    const struct cs_candidate none = {.tiling = {.axis = {CS_AXIS_N}, .step = {8, 1}}};
    cs_guess_learn(&guesser, &none);
    CHECK(guesser.per_image == before.per_image && guesser.scale == before.scale);
}

static void copies_of_the_filter_are_counted(void)
{
    struct cs_guesser guesser;
    images = towards(CS_BACKWARD_FILTER, 1, 64, 1, 16, 16, 8);
    images.tensor[CS_FILTER].dtype = CS_F32;
    question = (struct cs_question){.problem = &images, .required = 1 << 20};
    cs_guess_start(&guesser, &question);
    CHECK_INT(guess_of(&guesser, CS_AXIS_C, 32).staged, 8 * 32 * 9 * 4);
    CHECK_INT(guess_of(&guesser, CS_AXIS_K, 4).staged, 0);
    struct cs_tiling pair = {.axis = {CS_AXIS_K, CS_AXIS_C}, .step = {4, 32}, .lanes = 2};
    struct cs_guess guess;
    CHECK(cs_guess_tiles(&guesser, &pair, &guess));
    CHECK_INT(guess.staged, 4 * 32 * 9 * 4);
    CHECK(guess.workspace == 2 * guess.each); /* neither axis sums */
    pair = (struct cs_tiling){.axis = {CS_AXIS_K, CS_AXIS_H}, .step = {4, 8}, .lanes = 2};
    CHECK(cs_guess_tiles(&guesser, &pair, &guess) && guess.workspace == guess.each);
}

static void grades(void)
{
    const struct cs_goal goal = {.limit = 100, .most = 200, .dear = 2};
    CHECK_INT(cs_forms_grade(&goal, 100, 2), CS_GRADE_WITHIN);
    CHECK_INT(cs_forms_grade(&goal, 100.5, 2), CS_GRADE_RAISED);
    CHECK_INT(cs_forms_grade(&goal, 200, 2), CS_GRADE_RAISED);
    CHECK_INT(cs_forms_grade(&goal, 200.5, 2), CS_GRADE_NONE);
    CHECK_INT(cs_forms_grade(&goal, 100, 2.001), CS_GRADE_NONE);
    CHECK_INT(cs_forms_grade(&goal, 100, __builtin_nan("")), CS_GRADE_NONE);
    const struct cs_goal lower = {.limit = 200, .most = 100, .dear = 2};
    CHECK_INT(cs_forms_grade(&lower, 150, 1), CS_GRADE_NONE);
}

static void which_of_two_guesses_is_better(void)
{
    static const struct {
        struct cs_goal goal;
        enum cs_grade grade, than;
        double workspace, price, other, other_price;
        bool better;
    } rows[] = {
        {{.aim = 1}, CS_GRADE_WITHIN, CS_GRADE_RAISED, 900, 9, 1, 1, true},
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_WITHIN, 1, 1, 900, 9, false},
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_NONE, 900, 9, 1, 1, true},
        /* Within: price and what the bytes are worth together. */
        {{.aim = 1}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 900, 1, 100, 2, true},
        {{.aim = 1}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 100, 2, 900, 2, false},
        {{.aim = 1, .worth = 1}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 100, 2, 101, 2, true},
        {{.aim = 1, .worth = 1}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 101, 1, 100, 2, false},
        {{.aim = 1, .worth = 1}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 101, 1, 100, 2.5, true},
        {{.aim = 100, .worth = 1}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 10, 2, 90, 2, false},
        {{.aim = 100, .worth = 1}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 10, 2, 101, 2, true},
        {{.aim = 100, .worth = 1}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 101, 2, 10, 2.5, false},
        /* Beyond, or the least: bytes, by more than a fiftieth; of about as many the price. */
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_RAISED, 979, 9, 1000, 1, true},
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_RAISED, 980, 9, 1000, 1, false},
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_RAISED, 981, 1, 1000, 9, true},
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_RAISED, 1000, 1, 981, 9, true},
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_RAISED, 1000, 1, 980, 9, true},
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_RAISED, 1000, 1, 979, 9, false},
        {{.aim = 1}, CS_GRADE_RAISED, CS_GRADE_RAISED, 1000, 1, 1000, 1, false},
        {{.aim = 1, .least = true}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 100, 9, 900, 1, true},
        {{.aim = 1, .least = true}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 900, 1, 100, 9, false},
        {{.aim = 1000, .least = true}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 100, 9, 900, 1, false},
        {{.aim = 1000, .least = true}, CS_GRADE_WITHIN, CS_GRADE_WITHIN, 900, 1, 100, 9, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cs_guess guess = {.workspace = rows[i].workspace, .price = rows[i].price};
        const struct cs_guess best = {.workspace = rows[i].other, .price = rows[i].other_price};
        bool better = cs_forms_better(&rows[i].goal, rows[i].grade, &guess, rows[i].than, &best);
        if (better != rows[i].better)
            printf("# row %zu\n", i);
        CHECK_INT(better, rows[i].better);
    }
}

/* The forms as forms.c has them, a letter for each axis. */
static const char *const form_names[FORMS] = {
    "N",  "D",  "H",  "d",  "h",  "W",  "w",  "K",  "C",  "Nd", "Nh", "Nw", "Kh", "Ch", "ND",
    "NH", "DH", "HW", "KN", "KH", "KC", "CN", "CH", "NW", "DW", "KW", "CW", "KD", "CD"};

static unsigned forms_with(const char *letters, bool pairs_alone)
{
    unsigned forms = 0;
    for (int i = 0; i < FORMS; i++)
        if (strpbrk(form_names[i], letters) && (!pairs_alone || form_names[i][1]))
            forms |= 1u << i;
    return forms;
}

static void what_a_refusal_rules_out(void)
{
    const struct cs_guess even = {.uneven = false}, uneven = {.uneven = true};
    for (int form = 0; form < FORMS; form++) {
        const char *name = form_names[form], *inner = name + strlen(name) - 1;
        unsigned want = !name[1]                ? forms_with(inner, false)
                        : strchr("dhw", *inner) ? forms_with(inner, true)
                                                : forms_with("NDHWKCdhw", true);
        CHECK_INT(cs_forms_without(form, &even), want);
        CHECK_INT(cs_forms_without(form, &uneven), 1u << 31);
    }
    CHECK_INT(cs_forms_of_filter(), forms_with("KC", false));
}

int main(void)
{
    TEST(at_first_every_byte_needs_as_much);
    TEST(a_tile_of_images_gives_a_line);
    TEST(a_tile_of_the_filter_gives_a_factor);
    TEST(answers_correct_the_next_guess);
    TEST(copies_of_the_filter_are_counted);
    TEST(grades);
    TEST(which_of_two_guesses_is_better);
    TEST(what_a_refusal_rules_out);
    return REPORT();
}
