/* The box of a copy: rows, planes and boxes of views with known copies, at the limits of a device's
 * copies. */
#include "check.h"
#include "convshim/copy.h"

static const struct row {
    const char *what;
    int64_t dims[CS_DIMS], view[CS_DIMS], packed[CS_DIMS];
    enum cs_status status;
    struct cs_copy copy; /* view and packed bytes a step of rows, planes and boxes */
} table[] = {
    {"all in one",
     {2, 3, 1, 4, 5},
     {60, 20, 0, 5, 1},
     {60, 20, 0, 5, 1},
     CS_OK,
     {480, 1, 1, 1, {0, 0}, {0, 0}, {0, 0}}},
    {"rows",
     {1, 1, 1, 4, 5},
     {99, 99, 0, 8, 1},
     {20, 20, 0, 5, 1},
     CS_OK,
     {20, 4, 1, 1, {32, 20}, {0, 0}, {0, 0}}},
    {"rows of two dimensions",
     {1, 3, 1, 4, 5},
     {99, 32, 0, 8, 1},
     {60, 20, 0, 5, 1},
     CS_OK,
     {20, 12, 1, 1, {32, 20}, {0, 0}, {0, 0}}},
    {"planes",
     {1, 3, 1, 4, 5},
     {0, 40, 0, 8, 1},
     {60, 20, 0, 5, 1},
     CS_OK,
     {20, 4, 3, 1, {32, 20}, {160, 80}, {0, 0}}},
    {"planes that are no rows apart",
     {1, 3, 1, 4, 5},
     {0, 41, 0, 8, 1},
     {60, 20, 0, 5, 1},
     CS_OK,
     {20, 4, 1, 3, {32, 20}, {0, 0}, {164, 80}}},
    {"the fewer are the boxes",
     {1, 5, 1, 4, 5},
     {0, 41, 0, 8, 1},
     {100, 20, 0, 5, 1},
     CS_OK,
     {20, 5, 1, 4, {164, 80}, {0, 0}, {32, 20}}},
    {"boxes of planes",
     {2, 3, 1, 4, 5},
     {999, 40, 0, 8, 1},
     {60, 20, 0, 5, 1},
     CS_OK,
     {20, 4, 3, 2, {32, 20}, {160, 80}, {3996, 240}}},
    {"planes between the rows",
     {1, 4, 1, 3, 5},
     {0, 10, 0, 40, 1},
     {60, 15, 0, 5, 1},
     CS_OK,
     {20, 4, 1, 3, {40, 60}, {0, 0}, {160, 20}}},
    {"more than rows, planes and boxes",
     {2, 2, 2, 2, 2},
     {999, 201, 51, 11, 3},
     {16, 8, 4, 2, 1},
     CS_ILLEGAL,
     {0}},
    {"elements one by one",
     {1, 1, 1, 1, 5},
     {0, 0, 0, 0, 3},
     {5, 5, 0, 5, 1},
     CS_OK,
     {4, 5, 1, 1, {12, 4}, {0, 0}, {0, 0}}},
};

static void tensors_of(const struct row *row, struct cs_tensor *view, struct cs_tensor *packed)
{
    *view = (struct cs_tensor){.dtype = CS_F32};
    memcpy(view->dims, row->dims, sizeof view->dims);
    *packed = *view;
    memcpy(view->strides, row->view, sizeof view->strides);
    memcpy(packed->strides, row->packed, sizeof packed->strides);
}

static void known_copies_are_found(void)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *row = &table[i];
        struct cs_tensor view, packed;
        struct cs_copy copy;
        tensors_of(row, &view, &packed);
        enum cs_status status = cs_copy_between(&view, &packed, &copy);
        if (status != row->status ||
            (status == CS_OK && memcmp(&copy, &row->copy, sizeof copy) != 0)) {
            printf("# %s: status %d", row->what, (int)status);
            for (size_t k = 0; status == CS_OK && k < sizeof copy / sizeof copy.width; k++)
                printf(" %lld", (long long)((const int64_t *)&copy)[k]);
            printf("\n");
        }
        CHECK_INT(status, row->status);
        CHECK(status != CS_OK || memcmp(&copy, &row->copy, sizeof copy) == 0);
    }
}

/* Elements of 2 bytes in one row, and from one row to the next. */
static void a_row_is_as_long_as_a_device_copies(void)
{
    const int64_t most = CS_COPY_PITCH / 2;
    for (int64_t elements = most - 1; elements <= most + 1; elements++) {
        struct cs_copy copy;
        struct cs_tensor view = {
            .dtype = CS_F16, .dims = {1, 1, 1, 1, elements}, .strides = {1, 1, 0, 1, 1}};
        CHECK_INT(cs_copy_between(&view, &view, &copy), elements <= most ? CS_OK : CS_ILLEGAL);
        view = (struct cs_tensor){
            .dtype = CS_F16, .dims = {1, 1, 1, 2, 64}, .strides = {128, 128, 0, 64, 1}};
        struct cs_tensor packed = view;
        view.strides[CS_H] = elements;
        CHECK_INT(cs_copy_between(&view, &packed, &copy), CS_OK);
        CHECK_INT(copy.height, elements <= most ? 2 : 1);
        CHECK_INT(copy.times, elements <= most ? 1 : 2);
    }
}

/* Rows that overlap are boxes. */
static void rows_lie_side_by_side(void)
{
    for (int64_t apart = 15; apart <= 17; apart++) {
        struct cs_tensor packed = {
            .dtype = CS_F16, .dims = {1, 1, 1, 2, 16}, .strides = {32, 32, 0, 16, 1}};
        struct cs_tensor view = packed;
        struct cs_copy copy;
        view.strides[CS_H] = apart;
        CHECK_INT(cs_copy_between(&view, &packed, &copy), CS_OK);
        CHECK_INT(copy.width, apart == 16 ? 64 : 32);
        CHECK_INT(copy.height, apart > 16 ? 2 : 1);
        CHECK_INT(copy.times, apart < 16 ? 2 : 1);
    }
}

int main(void)
{
    TEST(known_copies_are_found);
    TEST(a_row_is_as_long_as_a_device_copies);
    TEST(rows_lie_side_by_side);
    return REPORT();
}
