/* Finds the loaded PyTorch and fills the table of its functions. */
#include "cudnn/bind/torch.h"

#include "base/path.h"
#include "cudnn/bind/find_dlsym.h"
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static struct cs_torch table;

enum state {
    UNBOUND,
    BINDING, /* a thread fills the table */
    BOUND
};
static _Atomic(enum state) state;

/* Counts the loaded files of PyTorch's basic library (dl_iterate_phdr). */
static int count_c10(struct dl_phdr_info *object, size_t size, void *count)
{
    (void)size;
    *(int *)count += strcmp(cs_path_file(object->dlpi_name), "libc10.so") == 0;
    return 0;
}

/* The function of that name in a loaded library, which stays loaded from now on. NULL: none. */
static void *find_function(const char *soname, const char *name)
{
    void *library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    return library ? cs_find_dlsym_libc().dlsym(library, name) : NULL;
}

static void fill_table(void)
{
    int copies = 0;
    dl_iterate_phdr(count_c10, &copies);
    if (copies == 1)
        table.report = (cs_torch_report *)find_function("libc10.so", CS_TORCH_REPORT);
#define CS_TORCH(library, name, parameters)                                                        \
    table.name = (int32_t(*) parameters)find_function(library, #name);
#include "cudnn/bind/torch.def"
#undef CS_TORCH
    (void)dlerror(); /* a missing function must not leave an error for the program */
}

const struct cs_torch *cs_torch(void)
{
    static const struct cs_torch none;
    enum state now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == UNBOUND && atomic_compare_exchange_strong(&state, &now, BINDING)) {
        fill_table();
        atomic_store_explicit(&state, now = BOUND, memory_order_release);
    }
    return now == BOUND ? &table : &none;
}
