/* NVTX hands over a table in which the library puts what listens to ranges. */
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
    *count_p = 11; /* and without the one behind it */
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

static void what_nvtx_has_is_listened_to(void)
{
    callbacks.size = sizeof callbacks;
    callbacks.functions = functions;
    answer = 1;
    CHECK_INT(InitializeInjectionNvtx2(get), 1);
    for (int i = 0; i < 12; i++)
        CHECK_INT(slot[i] != NULL, i == 8 || i == 9);
}

static void what_cannot_be_listened_to_is_left_alone(void)
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
    TEST(what_nvtx_has_is_listened_to);
    TEST(what_cannot_be_listened_to_is_left_alone);
    return REPORT();
}
