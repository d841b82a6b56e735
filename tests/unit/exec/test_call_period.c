#include "check.h"
#include "exec/call_period.h"
#include "random_problem.h"

enum {
    MANY = 400,    /* random programs */
    LONGEST = 600, /* calls of theirs */
    REPEATS = 6,   /* of each */
    SEED = 5028,
    MIB = 1 << 20
};

struct program {
    int calls;
    uint64_t call[CS_CALL_PERIOD_MAX + 1];
    int64_t bytes[CS_CALL_PERIOD_MAX + 1];
};

static struct cs_call_period detector;

static void add(struct program *program, uint64_t call, int64_t bytes)
{
    program->call[program->calls] = call;
    program->bytes[program->calls++] = bytes;
}

static void add_times(struct program *program, int times, uint64_t call, int64_t bytes)
{
    while (times-- > 0)
        add(program, call, bytes);
}

/* Runs the program so often; returns the places that the calls of the last time had together. */
static unsigned run(const struct program *program, int times)
{
    unsigned places = 0;
    for (int i = 0; i < times * program->calls; i++) {
        int at = i % program->calls;
        places = at == 0 ? 0 : places;
        places |= cs_call_period_add(&detector, program->call[at], program->bytes[at]);
    }
    return places;
}

/* Runs it once more and expects these places: per call a letter, F, D, L, or - for none, in the
 * order of the enumeration where it has several, then separated by spaces. */
static void expect_places(const struct program *program, const char *required)
{
    static const char letter[] = {'B', 'F', 'D', 'L'};
    char text[8 * CS_CALL_PERIOD_MAX] = "";
    size_t length = 0;
    for (int i = 0; i < program->calls; i++) {
        unsigned places = cs_call_period_add(&detector, program->call[i], program->bytes[i]);
        if (i > 0)
            text[length++] = ' ';
        for (int j = 0; j < 4; j++)
            if (places & 1U << j)
                text[length++] = letter[j];
        if (places == 0)
            text[length++] = '-';
    }
    text[length] = '\0';
    CHECK_STR(text, required);
}

/* Low calls, then high ones, different from each other. */
static struct program stages(uint64_t first, int low, int high)
{
    struct program program = {.calls = 0};
    for (int i = 0; i < low; i++)
        add(&program, first + (uint64_t)i, 2 * MIB);
    for (int i = 0; i < high; i++)
        add(&program, first + 1000 + (uint64_t)i, 100 * MIB);
    return program;
}

static void finds_the_stages(void)
{
    struct program program = stages(1, 4, 3);
    cs_call_period_init(&detector);
    CHECK_INT(run(&program, 2), 0);
    CHECK_INT(detector.period, 0); /* too little yet */
    run(&program, 2);
    CHECK_INT(detector.period, 7);
    expect_places(&program, "F - - D - - L");
    expect_places(&program, "F - - D - - L");
}

/* A period is one when it has come twice; it is looked for every eighth call. */
static void period_is_recognized_at_its_repetition(void)
{
    for (int low = 13; low <= 45; low += 8) {
        struct program program = stages(1, low, 3);
        int calls = 0;
        memset(&detector, 0x55, sizeof detector); /* as left by an earlier use */
        cs_call_period_init(&detector);
        while (detector.period == 0 && calls < 200) {
            int at = calls++ % program.calls;
            (void)cs_call_period_add(&detector, program.call[at], program.bytes[at]);
        }
        CHECK_INT(detector.period, program.calls);
        CHECK_INT(calls, 2 * program.calls);
    }
}

static void one_low_call_is_door_and_fall(void)
{
    struct program program = stages(1, 1, 6);
    cs_call_period_init(&detector);
    run(&program, 5);
    expect_places(&program, "FD - - - - - L");
}

static void small_dips_belong_to_the_stage(void)
{
    struct program program = stages(1, 10, 3);
    add(&program, 500, 1 * MIB);
    add_times(&program, 2, 501, 90 * MIB);
    cs_call_period_init(&detector);
    run(&program, 4);
    expect_places(&program, "F - - - - - - - - D - - - - - L");
}

static void long_low_stretches_all_have_a_door(void)
{
    struct program program = stages(1, 4, 2), other = stages(2000, 3, 2);
    for (int i = 0; i < other.calls; i++)
        add(&program, other.call[i], other.bytes[i]);
    cs_call_period_init(&detector);
    run(&program, 4);
    expect_places(&program, "F - - D - L F - D - L");
}

/* A low stretch is a stage from half the longest on. */
static void half_the_longest_is_a_stage(void)
{
    static const struct {
        int longest, other;
        unsigned places; /* of the other's first call */
    } rows[] = {{10, 5, CS_CALL_AFTER_FALL}, {10, 4, 0}, {9, 5, CS_CALL_AFTER_FALL}, {9, 4, 0},
                {2, 1, CS_CALL_AFTER_FALL},  {3, 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program program = stages(1, rows[i].longest, 3),
                       other = stages(2000, rows[i].other, 2);
        unsigned places = 0;
        for (int j = 0; j < other.calls; j++)
            add(&program, other.call[j], other.bytes[j]);
        cs_call_period_init(&detector);
        run(&program, 4);
        for (int j = 0; j <= rows[i].longest + 3; j++)
            places = cs_call_period_add(&detector, program.call[j], program.bytes[j]);
        CHECK_INT(places & CS_CALL_AFTER_FALL, rows[i].places);
    }
}

/* A low stage may begin in one period and end in the next. */
static void the_period_has_no_beginning(void)
{
    struct program program = {.calls = 0};
    add(&program, 1, 3 * MIB);
    add(&program, 2, 4 * MIB);
    add(&program, 3, 80 * MIB);
    add(&program, 4, 90 * MIB);
    add(&program, 5, 5 * MIB);
    cs_call_period_init(&detector);
    run(&program, 8);
    expect_places(&program, "- D - L F");
}

static void a_period_without_low_calls_has_its_lowest(void)
{
    struct program program = {.calls = 0};
    static const int64_t bytes[] = {90, 80, 60, 100, 60, 95};
    for (int i = 0; i < 6; i++)
        add(&program, (uint64_t)i, bytes[i] * MIB);
    cs_call_period_init(&detector);
    run(&program, 4);
    CHECK_INT(detector.period, 0); /* it may be a loop inside a stage */
    run(&program, 6);
    CHECK_INT(detector.period, 6);
    unsigned places[6], gates = 0;
    for (int i = 0; i < 6; i++) {
        places[i] = cs_call_period_add(&detector, program.call[i], program.bytes[i]);
        gates += (places[i] & CS_CALL_BEFORE_RISE) != 0;
    }
    CHECK_INT(gates, 1);
    CHECK_INT((places[2] | places[4]) & CS_CALL_BEFORE_RISE, CS_CALL_BEFORE_RISE);
}

static void single_repeated_call_has_no_stages(void)
{
    cs_call_period_init(&detector);
    for (int i = 0; i < 3 * CS_CALL_EXPECTED; i++)
        CHECK_INT(cs_call_period_add(&detector, 7, 100 * MIB), 0);
    CHECK_INT(detector.period, 0);
}

static void a_few_calls_are_no_period(void)
{
    struct program program = stages(1, 1, 1);
    cs_call_period_init(&detector);
    CHECK_INT(run(&program, 8), 0);
    CHECK_INT(detector.period, 0);
    run(&program, 8);
    CHECK_INT(detector.period, 2);
    expect_places(&program, "FD L");
}

/* Denoising steps, then a decoder with equal layers: neither loop is the period. */
static struct program pipeline(int steps)
{
    struct program program = {.calls = 0};
    for (int i = 0; i < steps; i++)
        for (int j = 0; j < 5; j++)
            add(&program, (uint64_t)j, (j == 2 ? 4 : 9) * MIB);
    add_times(&program, 6, 100, 30 * MIB);
    add_times(&program, 6, 101, 110 * MIB);
    add_times(&program, 6, 102, 220 * MIB);
    return program;
}

static void loops_inside_are_not_the_period(void)
{
    struct program program = pipeline(20);
    cs_call_period_init(&detector);
    run(&program, 3);
    CHECK_INT(detector.period, program.calls);
    int door = -1, fall = -1, others = 0;
    for (int i = 0; i < program.calls; i++) {
        unsigned places = cs_call_period_add(&detector, program.call[i], program.bytes[i]);
        door = places & CS_CALL_BEFORE_RISE ? i : door;
        fall = places & CS_CALL_AFTER_FALL ? i : fall;
        others += places != 0;
    }
    CHECK_INT(door, 105); /* the last call whose bytes are at most a fifth of 220 MiB */
    CHECK_INT(fall, 0);
    CHECK_INT(others, 3);
}

/* Once the decoder has been seen, no step of the denoiser is held any more. */
static void low_loops_are_never_held(void)
{
    struct program program = pipeline(20);
    cs_call_period_init(&detector);
    run(&program, 1);
    for (int i = 0; i < 100; i++)
        CHECK_INT(cs_call_period_add(&detector, program.call[i], program.bytes[i]), 0);
}

static void random_programs(void)
{
    for (uint64_t n = 0; n < MANY; n++) {
        struct rng rng = {SEED + n};
        struct program program = {.calls = 0};
        int low = (int)rng_between(&rng, 1, LONGEST / 2);
        int high = (int)rng_between(&rng, 1, LONGEST / 2);
        int prefix = (int)rng_between(&rng, 0, 300);
        for (int i = 0; i < low + high; i++)
            add(&program, (uint64_t)rng_between(&rng, 1, 1 + LONGEST / 4),
                i < low ? rng_between(&rng, 0, 40 * MIB) : rng_between(&rng, 41 * MIB, 200 * MIB));
        program.bytes[low] = 200 * MIB;
        cs_call_period_init(&detector);
        for (int i = 0; i < prefix; i++)
            cs_call_period_add(&detector, 1000 + rng_next(&rng) % 50,
                               rng_between(&rng, 0, 200 * MIB));
        run(&program, REPEATS + 32 / program.calls);
        for (int i = 0; i < program.calls; i++) {
            unsigned places = cs_call_period_add(&detector, program.call[i], program.bytes[i]),
                     required = 0;
            required |= i == 0 ? CS_CALL_AFTER_FALL : 0U;
            required |= i == low - 1 ? CS_CALL_BEFORE_RISE : 0U;
            required |= i == low + high - 1 ? CS_CALL_LAST : 0U;
            CHECK_INT(places, required);
        }
    }
}

/* Where the older half of the memory is given up, the newer one keeps calls and bytes together. */
static void full_history_keeps_the_newest_calls(void)
{
    struct program program = stages(1, 5, 4);
    for (int before = CS_CALL_EXPECTED - 60; before <= CS_CALL_EXPECTED; before++) {
        cs_call_period_init(&detector);
        for (int i = 0; i < before; i++)
            cs_call_period_add(&detector, 10000 + (uint64_t)i, 7 * MIB);
        run(&program, 6);
        CHECK_INT(detector.period, 9);
        expect_places(&program, "F - - - D - - - L");
    }
}

static void changed_program_is_learned_again(void)
{
    struct program first = stages(1, 5, 4), second = stages(5000, 6, 2);
    cs_call_period_init(&detector);
    run(&first, 4);
    CHECK_INT(cs_call_period_add(&detector, second.call[0], second.bytes[0]), CS_CALL_UNEXPECTED);
    CHECK_INT(cs_call_period_add(&detector, second.call[1], second.bytes[1]), 0);
    for (int i = 2; i < second.calls; i++)
        cs_call_period_add(&detector, second.call[i], second.bytes[i]);
    run(&second, 3);
    CHECK_INT(detector.period, 8);
    expect_places(&second, "F - - - - D - L");
    expect_places(&second, "F - - - - D - L");
}

/* One call too many once in a while costs two periods. */
static void one_call_too_many(void)
{
    struct program program = stages(1, 20, 10);
    cs_call_period_init(&detector);
    run(&program, 3);
    CHECK_INT(detector.period, 30);
    CHECK_INT(cs_call_period_add(&detector, 77, MIB), CS_CALL_UNEXPECTED);
    run(&program, 2);
    CHECK_INT(detector.period, 0);
    cs_call_period_add(&detector, program.call[0], program.bytes[0]);
    for (int i = 1; i < program.calls; i++)
        cs_call_period_add(&detector, program.call[i], program.bytes[i]);
    CHECK_INT(detector.period, 30);
}

static void the_longest_period(void)
{
    for (int excess = 0; excess < 2; excess++) {
        struct program program = stages(1, CS_CALL_PERIOD_MAX - 24 + excess, 24);
        cs_call_period_init(&detector);
        run(&program, 12);
        CHECK_INT(detector.period, excess ? 0 : CS_CALL_PERIOD_MAX);
    }
}

int main(void)
{
    TEST(finds_the_stages);
    TEST(period_is_recognized_at_its_repetition);
    TEST(one_low_call_is_door_and_fall);
    TEST(half_the_longest_is_a_stage);
    TEST(small_dips_belong_to_the_stage);
    TEST(long_low_stretches_all_have_a_door);
    TEST(the_period_has_no_beginning);
    TEST(a_period_without_low_calls_has_its_lowest);
    TEST(single_repeated_call_has_no_stages);
    TEST(a_few_calls_are_no_period);
    TEST(loops_inside_are_not_the_period);
    TEST(low_loops_are_never_held);
    TEST(random_programs);
    TEST(full_history_keeps_the_newest_calls);
    TEST(changed_program_is_learned_again);
    TEST(one_call_too_many);
    TEST(the_longest_period);
    return REPORT();
}
