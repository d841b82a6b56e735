/* src/base/checked.h against 128-bit arithmetic. */
#include "base/checked.h"

#include "check.h"

static uint64_t state = 0x2545f4914f6cdd1d;

/* Of random magnitude, so that about half of the products overflow. */
static int64_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    int shift = (int)(state % 63);
    uint64_t bits = state * 0x9e3779b97f4a7c15;
    return (int64_t)(bits >> shift) * (bits & 1 ? 1 : -1);
}

static bool fits(__int128 value)
{
    return value >= INT64_MIN && value <= INT64_MAX;
}

static void products_and_sums_are_exact_or_refused(void)
{
    int refused = 0;
    for (int i = 0; i < 200000; i++) {
        int64_t a = random_number(), b = random_number(), result = 42;
        bool ok = cs_mul(a, b, &result);
        CHECK(ok == fits((__int128)a * b));
        CHECK(result == (ok ? (int64_t)((__int128)a * b) : 42));
        refused += !ok;
        result = 42;
        ok = cs_add(a, b, &result);
        CHECK(ok == fits((__int128)a + b));
        CHECK(result == (ok ? (int64_t)((__int128)a + b) : 42));
    }
    CHECK(refused > 1000 && refused < 199000);
}

static void an_operand_may_be_the_result(void)
{
    int64_t value = INT64_C(1) << 40;
    CHECK(cs_mul(value, 4, &value));
    CHECK_INT(value, INT64_C(1) << 42);
    CHECK(!cs_mul(value, value, &value));
    CHECK_INT(value, INT64_C(1) << 42);
    CHECK(!cs_add(value, INT64_MAX, &value));
    CHECK_INT(value, INT64_C(1) << 42);
}

static void quotients_are_rounded_up(void)
{
    for (int64_t a = 0; a < 200; a++) {
        for (int64_t b = 1; b < 20; b++) {
            int64_t quotient = cs_ceil_div(a, b);
            CHECK(quotient * b >= a && (quotient - 1) * b < a);
        }
    }
    CHECK_INT(cs_ceil_div(INT64_MAX, 1), INT64_MAX);
    CHECK_INT(cs_ceil_div(INT64_MAX, 2), INT64_C(1) << 62);
    CHECK_INT(cs_ceil_div(INT64_MAX, INT64_MAX), 1);
}

int main(void)
{
    TEST(products_and_sums_are_exact_or_refused);
    TEST(an_operand_may_be_the_result);
    TEST(quotients_are_rounded_up);
    return REPORT();
}
