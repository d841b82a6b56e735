/* An address is cuDNN's if the object around it is, in any order of queries. */
#include "intercept/loader/objects.h"

#include "loaded_objects.h"

enum {
    BYTES = 0x1000,
    BLOCK = 1 << 20 /* of code outside of objects */
};

WRAPPED(bool, cs_real_owns, const char *path)
{
    return strcmp(path, "cudnn") == 0;
}

/* Three objects, the middle one is cuDNN. */
static void add_three(uintptr_t base)
{
    loaded.count = 0;
    loaded_add("below", base, BYTES);
    loaded_add("cudnn", base + BYTES, BYTES);
    loaded_add("above", base + 2 * BYTES, BYTES);
}

static void check_object(uintptr_t base, int object)
{
    const uintptr_t first = base + (uintptr_t)object * BYTES + 0x100, last = first + BYTES - 0x101;
    const uintptr_t places[] = {first, last, first + BYTES / 2};
    for (int i = 0; i < 3; i++)
        CHECK_INT(cs_caller_is_cudnn((void *)places[i]), object == 1);
}

static void an_object_is_known_after_its_first_query_in_any_order(void)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (uintptr_t i = 0; i < 6; i++) {
        uintptr_t base = (i + 1) << 32;
        add_three(base);
        loaded.walks = 0;
        for (int k = 0; k < 6; k++)
            check_object(base, orders[i][k % 3]);
        CHECK_INT(loaded.walks, 3);
    }
}

/* The code of a JIT compiler lies between objects. Its answer does not reach into them. */
static void code_outside_of_objects_is_not_cudnn(void)
{
    const uintptr_t base = UINT64_C(20) << 32, end = base + 3 * BYTES;
    add_three(base);
    CHECK(!cs_caller_is_cudnn((void *)(base + 0x80))); /* before the first segment */
    CHECK(!cs_caller_is_cudnn((void *)(base + BYTES + 0x80)));
    CHECK(!cs_caller_is_cudnn((void *)end));
    check_object(base, 1);
    check_object(base, 0);
    loaded.walks = 0;
    CHECK(!cs_caller_is_cudnn((void *)(base + BLOCK - 1)));
    CHECK_INT(loaded.walks, 0);
    CHECK(!cs_caller_is_cudnn((void *)(base + BLOCK)));
    CHECK_INT(loaded.walks, 1);
}

static void more_objects_than_are_kept_are_searched_each_time(void)
{
    loaded.count = 0;
    for (uintptr_t i = 0; i < 100; i++)
        loaded_add(i % 2 ? "cudnn" : "other", (i + 100) << 32, BYTES);
    for (int round = 0; round < 2; round++)
        for (uintptr_t i = 0; i < 100; i++)
            CHECK_INT(cs_caller_is_cudnn((void *)(((i + 100) << 32) + 0x180)), i % 2);
}

int main(void)
{
    TEST(an_object_is_known_after_its_first_query_in_any_order);
    TEST(code_outside_of_objects_is_not_cudnn);
    TEST(more_objects_than_are_kept_are_searched_each_time);
    return REPORT();
}
