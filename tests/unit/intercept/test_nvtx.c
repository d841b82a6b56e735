/* NVTX provides a table, into which the library writes its callbacks for ranges. */
#include "base/range.h"
#include "check.h"
#include <stdint.h>

typedef void function(void);
typedef const void *tables(uint32_t id);
int InitializeInjectionNvtx2(tables *get);

static struct {
    size_t size;
    int (*functions)(int module, function ****table, unsigned *count);
} callbacks;
static function *slot[12], **table[12];
static int answer;

static int functions(int module, function ****table_p, unsigned *count_p)
{
    CHECK_INT(module, 1);
    for (int i = 0; i < 12; i++)
        table[i] = &slot[i];
    table[10] = NULL; /* an NVTX without it */
    *table_p = table;
    *count_p = 11; /* and without the one after it */
    return answer;
}

static const void *get(uint32_t id)
{
    CHECK_INT(id, 1);
    return &callbacks;
}

static const void *get_nothing(uint32_t id)
{
    (void)id;
    return NULL;
}

static void callbacks_for_ranges_are_set(void)
{
    callbacks.size = sizeof callbacks;
    callbacks.functions = functions;
    answer = 1;
    CHECK_INT(InitializeInjectionNvtx2(get), 1);
    for (int i = 0; i < 12; i++)
        CHECK_INT(slot[i] != NULL, i == 8 || i == 9);
}

static void unknown_tables_are_left_unchanged(void)
{
    for (int i = 0; i < 12; i++)
        slot[i] = NULL;
    CHECK_INT(InitializeInjectionNvtx2(NULL), 0);
    CHECK_INT(InitializeInjectionNvtx2(get_nothing), 0);
    callbacks.size = sizeof callbacks - 1;
    CHECK_INT(InitializeInjectionNvtx2(get), 0);
    callbacks.size = sizeof callbacks;
    answer = 0;
    CHECK_INT(InitializeInjectionNvtx2(get), 0);
    for (int i = 0; i < 12; i++)
        CHECK(!slot[i]);
}

int main(void)
{
    TEST(callbacks_for_ranges_are_set);
    TEST(unknown_tables_are_left_unchanged);
    return REPORT();
}
