/* Runs a convolution inside ranges as NVTX 3 opens them: its headers find a tool by
 * NVTX_INJECTION64_PATH and call through the table that the tool fills. Uses NVIDIA's headers if
 * they are installed; otherwise this file does the same. */
#include "work.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define OWN 0
#else
#define OWN 1
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
    } message;
} nvtxEventAttributes_t;
enum {
    NVTX_VERSION = 3,
    NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t),
    NVTX_MESSAGE_TYPE_ASCII = 1
};
#define messageType message_type
typedef void function(void);

static function *functions[16];
static function **table[16];

static int module_functions(int module, function ****table_p, unsigned *count_p)
{
    for (int i = 0; i < 16; i++)
        table[i] = &functions[i];
    *table_p = table;
    *count_p = 16;
    return module == 1;
}

static const struct {
    size_t size;
    int (*functions)(int module, function ****table_p, unsigned *count_p);
} callbacks = {sizeof callbacks, module_functions};

static const void *get_table(uint32_t id)
{
    return id == 1 ? &callbacks : NULL;
}

/* As nvtxInitializeInjectionLibrary does. */
static void initialize(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*entry)(const void *(*)(uint32_t)) = NULL;
    if (tool)
        *(void **)&entry = dlsym(tool, "InitializeInjectionNvtx2");
    if (entry)
        entry(get_table);
}

static int nvtxRangePushA(const char *message)
{
    static int initialized;
    if (!initialized++)
        initialize();
    return functions[9] ? ((int (*)(const char *))functions[9])(message) : -2;
}

static int nvtxRangePushEx(const nvtxEventAttributes_t *attributes)
{
    return functions[8] ? ((int (*)(const nvtxEventAttributes_t *))functions[8])(attributes) : -2;
}

static int nvtxRangePop(void)
{
    return functions[11] ? ((int (*)(void))functions[11])() : -2;
}
#endif

static bool run(const char *path, int legacy)
{
    void *library = dlopen(path, RTLD_NOW);
    work_open_fn *open = NULL;
    work_run_fn *run_it = NULL;
    work_close_fn *close = NULL;
    struct work *work;
    if (!library)
        return false;
    *(void **)&open = dlsym(library, "work_open");
    *(void **)&run_it = dlsym(library, "work_run");
    *(void **)&close = dlsym(library, "work_close");
    if (!open || !run_it || !close || open(legacy, &work) != WORK_RIGHT)
        return false;
    bool right = run_it(work) == WORK_RIGHT;
    close(work);
    return right;
}

int main(int argc, char **argv)
{
    nvtxEventAttributes_t inner = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = "decoder \"up\" 3"}};
    if (argc != 2)
        return 2;
    int outermost = nvtxRangePushA("step");
    int level = nvtxRangePushEx(&inner);
    bool right = run(argv[1], 0);
    int popped = nvtxRangePop();
    right = run(argv[1], 1) && right;
    nvtxRangePop();
    printf("own %d levels %d %d %d\n", OWN, outermost, level, popped);
    return !right;
}
