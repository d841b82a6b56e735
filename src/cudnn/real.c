#include "cudnn/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static struct cs_real table;
static const struct cs_real empty;
static _Atomic(const struct cs_real *) bound;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A framework's extension loads cuDNN RTLD_LOCAL: RTLD_NEXT does not see it, its soname does. Never
 * loads anything. */
static void *loaded(const char *soname)
{
    return dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
}

static bool ours(const void *address)
{
    Dl_info there, here;
    return dladdr(address, &there) && dladdr(&table, &here) && there.dli_fbase == here.dli_fbase;
}

static void *symbol_in(void *library, const char *name)
{
    void *address = dlsym(library, name);
    return address && !ours(address) ? address : NULL;
}

/* All functions from one cuDNN: the dispatcher where it is loaded, else the sub-libraries that a
 * program linked alone. */
static void *find(const char *name)
{
    static const char *const sub[] = {"libcudnn_graph.so.9", "libcudnn_cnn.so.9",
                                      "libcudnn_ops.so.9"};
    void *dispatcher = loaded("libcudnn.so.9");
    if (dispatcher)
        return symbol_in(dispatcher, name);
    for (size_t i = 0; i < sizeof sub / sizeof *sub; i++) {
        void *library = loaded(sub[i]);
        void *address = library ? symbol_in(library, name) : NULL;
        if (address)
            return address;
    }
    return symbol_in(RTLD_NEXT, name);
}

static bool bind(void)
{
#define CS_CALL(name) table.name = (__typeof__(name) *)find(#name);
#include "cudnn/calls.def"
#undef CS_CALL
    return table.cudnnBackendCreateDescriptor || table.cudnnConvolutionForward;
}

const struct cs_real *cs_real(void)
{
    const struct cs_real *now = atomic_load_explicit(&bound, memory_order_acquire);
    if (now)
        return now;
    pthread_mutex_lock(&lock);
    now = atomic_load_explicit(&bound, memory_order_relaxed);
    if (!now && bind()) {
        now = &table;
        atomic_store_explicit(&bound, now, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return now ? now : &empty;
}
