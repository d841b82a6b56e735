/* The tables of real functions: from which of the loaded libraries each slot comes, when a table is
 * made anew, and what is there without memory. */
#include "cudnn/bind/real.h"

#include "check.h"
#include "cudnn/bind/driver.h"
#include "cudnn/bind/find_dlsym.h"
#include "cudnn/bind/runtime.h"
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIBRARIES = 6,
    FUNCTIONS = 600
};

/* What is loaded, of the test's own. */
static struct library {
    const char *path;
    const char *lacks; /* names with that in them, NULL: none */
    const char *only;  /* names without that in them, NULL: none */
    size_t version;    /* 0: it does not say */
    bool ours;
    int opened;
} loaded[LIBRARIES], behind; /* what RTLD_NEXT finds */
static int libraries;
#include "cudnn/loaded_libraries.h"

/* Every function that was found, by its library and its name: its address is this. */
static struct function {
    const struct library *library;
    char text[80];
} function[FUNCTIONS];
static int functions;
static bool no_memory, raced; /* another thread is first */

static size_t version_of_first(void)
{
    return loaded[0].version;
}

static size_t version_of_second(void)
{
    return loaded[1].version;
}

static size_t version_behind(void)
{
    return behind.version;
}

static void *look_up(void *place, const char *name)
{
    const struct library *library = place == RTLD_NEXT ? &behind : place;
    if (strcmp(name, "cudnnGetVersion") == 0)
        return library->version == 0   ? NULL
               : library == &behind    ? (void *)version_behind
               : library == &loaded[0] ? (void *)version_of_first
                                       : (void *)version_of_second;
    if (!library->path || (library->lacks && strstr(name, library->lacks)) ||
        (library->only && !strstr(name, library->only)))
        return NULL;
    for (int i = 0; i < functions; i++)
        if (function[i].library == library && strcmp(function[i].text, name) == 0)
            return &function[i];
    CHECK(functions < FUNCTIONS);
    snprintf(function[functions].text, sizeof function->text, "%s", name);
    function[functions].library = library;
    return &function[functions++];
}

/* The library that has a function. */
static const struct library *library_of(const void *address)
{
    if (address == (void *)version_of_first || address == (void *)version_of_second)
        return &loaded[address == (void *)version_of_second];
    return address == (void *)version_behind ? &behind
                                             : ((const struct function *)address)->library;
}

static int address_of(const void *address, Dl_info *there)
{
    memset(there, 0, sizeof *there);
    there->dli_fbase = (void *)(uintptr_t)library_of(address);
    return 1;
}

static int holder_of(const void *address, Dl_info *there, void **own, int flags)
{
    CHECK_INT(flags, RTLD_DL_LINKMAP);
    *own = (void *)(uintptr_t)library_of(address);
    return address_of(address, there);
}

struct cs_find_dlsym_libc cs_find_dlsym_libc(void)
{
    return (struct cs_find_dlsym_libc){look_up, NULL};
}

bool cs_find_dlsym_ours(const void *base)
{
    return ((const struct library *)base)->ours;
}

static void *zeros(size_t count, size_t size);
static void *bytes(size_t size);

#define dlopen open_loaded
#define dlclose close_loaded
#define dladdr address_of
#define dladdr1 holder_of
#define dl_iterate_phdr each
#define calloc zeros
#define malloc bytes
#include "cudnn/bind/real.c" /* NOLINT(bugprone-suspicious-include) */
#undef dlopen
#undef dlclose
#undef dladdr
#undef dladdr1
#undef dl_iterate_phdr
#undef calloc
#undef malloc

static struct bound others_table;

static void *zeros(size_t count, size_t size)
{
    if (raced)
        atomic_store(&bound_real, &others_table);
    return no_memory ? NULL : calloc(count, size);
}

static void *bytes(size_t size)
{
    return no_memory ? NULL : malloc(size);
}

static void load(int count, const struct library *these)
{
    libraries = count;
    if (count > 0)
        memcpy(loaded, these, (size_t)count * sizeof *these);
}

/* The tables of the test before; a process keeps its own for ever. */
static void forget_tables(void)
{
    const struct bound *table = atomic_exchange(&bound_real, NULL);
    while (table && table != &others_table) {
        const struct bound *before = table->before;
        free((void *)(uintptr_t)table);
        table = before;
    }
}

static void start(int count, const struct library *these)
{
    forget_tables();
    no_memory = raced = false;
    behind = (struct library){0};
    load(count, these);
}

static const struct library dispatcher = {.path = "libcudnn.so.9", .version = 91900},
                            graph = {.path = "libcudnn_graph.so.9",
                                     .only = "Backend",
                                     .version = 91900},
                            cnn = {.path = "libcudnn_cnn.so.9", .only = "Convolution"},
                            ops = {.path = "libcudnn_ops.so.9", .lacks = "Convolution"},
                            renamed_old = {.path = "/x/libcudnn.so.8", .version = 8907},
                            renamed_new = {.path = "/x/libcudnn-1.so.9", .version = 91001};

/* Where a slot of the table comes from: the file's name, "" if it is empty. */
static const char *from(const void *address)
{
    return address ? library_of(address)->path : "";
}

#define FROM(name) from((const void *)cs_real()->name)

/* Every slot has the function of its own name. */
static void check_names(void)
{
    const struct cs_real *real = cs_real();
#define CS_CALL(name)                                                                              \
    if (real->name && (void *)real->name != (void *)version_of_first &&                            \
        (void *)real->name != (void *)version_of_second &&                                         \
        (void *)real->name != (void *)version_behind)                                              \
        CHECK_STR(((const struct function *)(void *)real->name)->text, #name);
#include "cudnn/bind/calls.def"
#undef CS_CALL
}

static void the_dispatcher_has_all(void)
{
    start(3, (struct library[]){dispatcher, graph, cnn});
    CHECK(!cs_real_bound());
    CHECK_STR(FROM(cudnnBackendExecute), dispatcher.path);
    CHECK(cs_real_bound());
    CHECK_STR(FROM(cudnnConvolutionForward), dispatcher.path);
    CHECK_STR(FROM(cudnnDestroy), dispatcher.path);
    CHECK_INT(loaded[0].opened, 1);
    CHECK_INT(loaded[1].opened, 0);
    check_names();
    const struct cs_real *table = cs_real();
    CHECK(cs_real_completed() == table); /* there is nothing more to find */
    CHECK(cs_real() == table);
}

/* Parts are asked in their order; once there is more, a table that was made of parts is completed,
 * and what was found stays. */
static void parts_are_completed(void)
{
    start(1, (struct library[]){graph});
    CHECK_STR(FROM(cudnnBackendExecute), graph.path);
    CHECK_STR(FROM(cudnnConvolutionForward), "");
    const struct cs_real *first = cs_real();
    CHECK(cs_real_completed() == first); /* nothing came */
    load(2, (struct library[]){graph, cnn});
    const struct cs_real *second = cs_real_completed();
    CHECK(second != first);
    CHECK(cs_real() == second);
    CHECK_STR(FROM(cudnnConvolutionForward), cnn.path);
    CHECK_STR(FROM(cudnnBackendExecute), graph.path);
    CHECK(first->cudnnConvolutionForward == NULL); /* others may be reading it */
    CHECK_STR(FROM(cudnnDestroy), "");
    no_memory = true;
    load(3, (struct library[]){graph, cnn, ops});
    CHECK(cs_real_completed() == second);
    no_memory = false;
    CHECK(cs_real_completed() != second);
    CHECK_STR(FROM(cudnnDestroy), ops.path);
    check_names();
    load(4, (struct library[]){graph, cnn, ops, dispatcher});
    const struct cs_real *full = cs_real();
    CHECK(cs_real_completed() == full); /* no slot was empty */
}

static void elsewhere_in_its_order(void)
{
    start(2, (struct library[]){renamed_old, renamed_new});
    behind = (struct library){.path = "behind", .version = 91200};
    CHECK_STR(FROM(cudnnBackendExecute), renamed_new.path);
    const struct cs_real *table = cs_real();
    load(3, (struct library[]){renamed_old, renamed_new, dispatcher});
    CHECK(cs_real_completed() == table);       /* it is not a table of parts */
    start(1, (struct library[]){renamed_old}); /* who has called an entry has something behind it */
    behind = (struct library){.path = "behind", .version = 91200};
    CHECK_STR(FROM(cudnnBackendExecute), renamed_old.path);
    start(0, NULL);
    behind = (struct library){.path = "behind", .version = 91200};
    CHECK_STR(FROM(cudnnBackendExecute), "behind");
    start(0, NULL);
    CHECK_STR(FROM(cudnnBackendExecute), "");
    CHECK(!cs_real_bound()); /* to be looked for again */
}

/* A cuDNN with only one of both interfaces is one. */
static void one_interface_is_enough(void)
{
    static const struct library each[] = {{.path = "libcudnn.so.9", .lacks = "Backend"},
                                          {.path = "libcudnn.so.9", .only = "Backend"},
                                          {.path = "libcudnn.so.9", .only = "cudnnGet"}};
    for (int i = 0; i < 3; i++) {
        start(1, &each[i]);
        CHECK_STR(FROM(cudnnBackendExecute), i == 1 ? each[i].path : "");
        CHECK_INT(cs_real_bound(), i < 2);
    }
}

/* An address inside of our own library is none. */
static void never_our_own(void)
{
    start(3, (struct library[]){graph, cnn, ops});
    loaded[0].ours = true;
    CHECK_STR(FROM(cudnnBackendExecute), ops.path);
    CHECK_STR(FROM(cudnnConvolutionForward), cnn.path);
}

static void who_only_asks_is_not_served_by_another_major(void)
{
    static const size_t slot = offsetof(struct cs_real, cudnnBackendExecute);
    static const char *const name = "cudnnBackendExecute";
    start(1, (struct library[]){renamed_old});
    CHECK(!cs_real_calls(name, slot, look_up(&loaded[0], name)));
    CHECK(!cs_real_bound());
    behind = (struct library){.path = "behind", .version = 8907};
    CHECK(!cs_real_calls(name, slot, look_up(RTLD_NEXT, name)));
    CHECK(!cs_real_bound());
    behind.version = 100000;
    CHECK(!cs_real_calls(name, slot, look_up(RTLD_NEXT, name)));
    behind.version = 99999;
    CHECK(cs_real_calls(name, slot, look_up(RTLD_NEXT, name)));
    CHECK(cs_real_bound());
}

/* The slot's own address, or that of a part of the same cuDNN. */
static void the_same_function_of_a_part_is_ours(void)
{
    static const size_t slot = offsetof(struct cs_real, cudnnBackendExecute);
    static const char *const name = "cudnnBackendExecute";
    start(3, (struct library[]){dispatcher, graph, renamed_new});
    CHECK(cs_real_calls(name, slot, look_up(&loaded[0], name)));
    CHECK_INT(loaded[1].opened, 0);
    CHECK(cs_real_calls(name, slot, look_up(&loaded[1], name)));
    CHECK_INT(loaded[0].opened, 1); /* the table's own */
    CHECK_INT(loaded[1].opened, 0);
    CHECK(!cs_real_calls(name, slot, look_up(&loaded[2], name)));
    CHECK(!cs_real_calls(name, slot, look_up(&loaded[1], "cudnnBackendFinalize")));
    start(2, (struct library[]){renamed_new, graph});
    loaded[1].path = "libcudnn_graph.so.8"; /* no part of it */
    CHECK(!cs_real_calls(name, slot, look_up(&loaded[1], name)));
    CHECK(cs_real_calls(name, slot, look_up(&loaded[0], name)));
}

static void without_memory_or_after_another(void)
{
    start(1, (struct library[]){dispatcher});
    no_memory = true;
    CHECK_STR(FROM(cudnnBackendExecute), "");
    CHECK(!cs_real_bound());
    no_memory = false;
    raced = true;
    others_table.origin = DISPATCHER;
    CHECK(cs_real() == &others_table.real);
    raced = false;
    CHECK(cs_real() == &others_table.real);
}

static void files_of_cudnn(void)
{
    static const struct {
        const char *path;
        bool cudnn;
    } file[] = {{"libcudnn.so.9", true},
                {"/a/b/libcudnn.so.9.1.0", true},
                {"/a/libcudnn_cnn.so.8", true},
                {"/a/libcudnn-x.so", true},
                {"/a/libcudn.so", false},
                {"/libcudnn.so.9/libother.so", false},
                {"cudnn", false},
                {"", false}};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        CHECK_INT(cs_real_has_file(file[i].path), file[i].cudnn);
}

static void the_runtime_and_the_driver(void)
{
    struct cs_runtime runtime = {0};
    struct cs_driver driver = {0};
    const struct library new = {.path = "libcudart.so.13"}, old = {.path = "libcudart.so.12"},
                         cuda = {.path = "libcuda.so.1"};
    start(2, (struct library[]){old, new});
    CHECK(bind_runtime(&runtime));
    CHECK_STR(from((const void *)runtime.cudaGraphCreate), new.path);
    load(1, (struct library[]){old});
    CHECK(bind_runtime(&runtime));
    CHECK_STR(from((const void *)runtime.cudaGraphCreate), old.path);
    load(0, NULL);
    CHECK(bind_runtime(&runtime));
    CHECK_STR(from((const void *)runtime.cudaGraphCreate), "");
    behind = (struct library){.path = "behind"};
    CHECK(bind_runtime(&runtime));
    CHECK_STR(from((const void *)runtime.cudaGraphCreate), "behind");
    CHECK(!bind_driver(&driver)); /* nobody has loaded one */
    CHECK(!driver.cuMemAlloc_v2);
    CHECK(!cs_driver()->cuMemAlloc_v2);
    load(1, &cuda);
    CHECK(bind_driver(&driver));
    CHECK_STR(from((const void *)driver.cuMemAlloc_v2), cuda.path);
    CHECK_STR(from((const void *)cs_driver()->cuMemAlloc_v2), cuda.path);
    const struct cs_driver *once = cs_driver();
    load(0, NULL);
    CHECK(cs_driver() == once);
    CHECK_STR(from((const void *)cs_runtime()->cudaGraphCreate), "behind");
    CHECK(cs_runtime() == cs_runtime());
}

int main(void)
{
    TEST(the_dispatcher_has_all);
    TEST(parts_are_completed);
    TEST(elsewhere_in_its_order);
    TEST(one_interface_is_enough);
    TEST(never_our_own);
    TEST(who_only_asks_is_not_served_by_another_major);
    TEST(the_same_function_of_a_part_is_ours);
    TEST(without_memory_or_after_another);
    TEST(files_of_cudnn);
    TEST(the_runtime_and_the_driver);
    forget_tables();
    return REPORT();
}
