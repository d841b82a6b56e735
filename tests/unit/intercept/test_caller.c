/* Code is cuDNN's if the object that holds it is named so; what was found once is not looked for
 * again. */
#include "check.h"
#include "cudnn/bind/real.h"
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    OBJECTS = 100, /* more than are remembered */
    STEP = 1 << 24,
    SIZE = 3 << 19,  /* ends inside a block of what no object holds */
    SHORT = 1 << 12, /* a segment; between its two lies nothing */
    THREADS = 4
};

/* A list of the loader's, of the test's own: objects of two segments each, STEP apart. */
static struct {
    int count, asked;
    const char *name[OBJECTS];
} loaded;

static uintptr_t base_of(int object)
{
    return (uintptr_t)STEP * (uintptr_t)(object + 1);
}

static const void *code_of(int object, uintptr_t offset)
{
    uintptr_t address = base_of(object) + offset;
    return (const void *)address;
}

static int listed(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    loaded.asked++;
    for (int i = 0; i < loaded.count; i++) {
        const Elf64_Phdr segments[] = {
            {.p_type = PT_NOTE, .p_vaddr = 0, .p_memsz = (uint64_t)STEP * OBJECTS},
            {.p_type = PT_LOAD, .p_vaddr = SIZE - SHORT, .p_memsz = SHORT},
            {.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = SHORT},
        };
        struct dl_phdr_info object = {.dlpi_addr = base_of(i),
                                      .dlpi_name = loaded.name[i],
                                      .dlpi_phdr = segments,
                                      .dlpi_phnum = 3};
        int result = callback(&object, sizeof object, data);
        if (result != 0)
            return result;
    }
    return 0;
}

/* src/cudnn/bind/real.c */
bool cs_real_has_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "libcudnn", 8) == 0;
}

#define dl_iterate_phdr listed /* not the real one's name, which a sanitizer's runtime calls */
#include "intercept/loader/caller.c" /* NOLINT(bugprone-suspicious-include) */
#undef dl_iterate_phdr

static void load(void)
{
    loaded.count = 4;
    loaded.name[0] = "";
    loaded.name[1] = "/usr/lib/libcudnn_engines_runtime_compiled.so.9";
    loaded.name[2] = "/opt/libcudnn/libtorch_cuda.so";
    loaded.name[3] = "libcudnn_graph.so.9";
}

static bool asked_by(int object, uintptr_t offset, bool *cudnn_p)
{
    int before = loaded.asked;
    *cudnn_p = cs_caller_is_cudnn(code_of(object, offset));
    return loaded.asked > before;
}

static void the_object_that_holds_the_code_tells(void)
{
    static const bool wanted[] = {false, true, false, true};
    load();
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < loaded.count; i++) {
            bool cudnn;
            bool asked = asked_by(i, (uintptr_t)round * (SIZE - SHORT), &cudnn);
            CHECK(cudnn == wanted[i]);
            CHECK(asked == (round == 0)); /* the second segment is known with the first */
            CHECK(!asked_by(i, SIZE - 1, &cudnn));
            CHECK(cudnn == wanted[i]);
        }
}

/* Neither the end of an object nor what lies between objects is cuDNN's. */
static void what_no_object_holds_is_the_applications(void)
{
    bool cudnn;
    load();
    CHECK(asked_by(1, SIZE, &cudnn));
    CHECK(!cudnn);
    CHECK(!asked_by(1, SIZE + 1, &cudnn)); /* of the same block */
    CHECK(!cudnn);
    CHECK(asked_by(2, (uintptr_t)2 * SIZE, &cudnn));
    CHECK(!cudnn);
}

/* Nor is cuDNN's code the application's for lying beside such a block, which is asked for first. */
static void beside_an_object_begins_the_other_range(void)
{
    bool cudnn;
    load();
    loaded.name[4] = loaded.name[5] = "libcudnn_heuristic.so.9";
    loaded.count = 6;
    CHECK(asked_by(4, SIZE, &cudnn));
    CHECK(!cudnn);
    CHECK(asked_by(4, SIZE - 1, &cudnn));
    CHECK(cudnn);
    loaded.name[5] = "libcudnn_ops.so.9";
    CHECK(asked_by(5, (uintptr_t)-1, &cudnn));
    CHECK(!cudnn);
    CHECK(asked_by(5, 0, &cudnn));
    CHECK(cudnn);
}

/* A block without an object ends where one begins, also one that is loaded into it afterwards. */
static void generated_code_takes_no_object_into_its_range(void)
{
    bool cudnn;
    load();
    loaded.count = 6;
    CHECK(asked_by(6, 2 * SIZE, &cudnn)); /* behind where a seventh object will lie */
    loaded.name[6] = "libcudnn_adv.so.9";
    loaded.count = 7;
    CHECK(asked_by(6, 8, &cudnn));
    CHECK(cudnn);
    CHECK(!asked_by(6, 2 * SIZE + 8, &cudnn));
    CHECK(!cudnn);
}

static void more_objects_than_are_remembered_are_told_apart_still(void)
{
    load();
    for (int i = 7; i < OBJECTS; i++)
        loaded.name[i] = i % 3 == 0 ? "libcudnn_ops.so.9" : "plugin.so";
    loaded.count = OBJECTS;
    int asked = 0;
    for (int round = 0; round < 2; round++, asked = round == 1 ? 0 : asked)
        for (int i = 7; i < OBJECTS; i++) {
            bool cudnn;
            asked += asked_by(i, 0, &cudnn);
            CHECK(cudnn == (i % 3 == 0));
        }
    CHECK(asked > 0 && asked < OBJECTS / 2); /* in the second round */
}

int main(void)
{
    TEST(the_object_that_holds_the_code_tells);
    TEST(what_no_object_holds_is_the_applications);
    TEST(beside_an_object_begins_the_other_range);
    TEST(generated_code_takes_no_object_into_its_range);
    TEST(more_objects_than_are_remembered_are_told_apart_still);
    return REPORT();
}
