/* Decides whether a lookup gets one of our entries or what the real dlsym says. */
#include "intercept/loader/dlsym.h"

#include "base/log.h"
#include "config/config.h"
#include "cudnn/bind/find_dlsym.h"
#include "flow/instance.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/* Every thread that fills these finds the same, so that there is nothing to lock. */
struct functions {
    _Atomic(void *) libc, next;
};
static struct functions plain, versioned_too;

/* Stands in where nothing is found. */
static void *find_nothing(void)
{
    return NULL;
}

/* Seldom called: what they need is not saved on the way of every lookup. */
__attribute__((noinline)) CS_EARLY static void *fill(struct functions *f, _Atomic(void *) *which,
                                                     const char *name)
{
    struct cs_dlsym_found found = cs_find_dlsym(name);
    atomic_store_explicit(&f->libc, found.libc ? found.libc : (void *)find_nothing,
                          memory_order_relaxed);
    atomic_store_explicit(&f->next, found.next ? found.next : (void *)find_nothing,
                          memory_order_relaxed);
    return atomic_load_explicit(which, memory_order_relaxed);
}

CS_EARLY static void *known(struct functions *f, _Atomic(void *) *which, const char *name)
{
    void *function = atomic_load_explicit(which, memory_order_relaxed);
    return function ? function : fill(f, which, name);
}

struct cs_dlsym_libc cs_dlsym_libc(void)
{
    return (struct cs_dlsym_libc){
        (cs_dlsym_fn *)known(&plain, &plain.libc, "dlsym"),
        (cs_dlvsym_fn *)known(&versioned_too, &versioned_too.libc, "dlvsym")};
}

static bool ours(const Dl_info *there)
{
    Dl_info here;
    return dladdr(&plain, &here) && there->dli_fbase == here.dli_fbase;
}

/* The vendor's library looks its own parts up: with our entries it would call itself for ever. */
static bool served(const void *caller)
{
    Dl_info from;
    return !dladdr(caller, &from) || !(cs_vendor_file(from.dli_fname) || ours(&from));
}

static void say_once(const char *path)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said) && cs_instance())
        cs_log(CS_LOG_INFO, "%s is not the cuDNN in use: whoever looks it up has it unchanged",
               path);
}

/* The objects that were answered, by their lowest address; 0: none yet. */
enum {
    MAX_ANSWERED = 16
};
static _Atomic(uintptr_t) answered[MAX_ANSWERED];

static void note_answered(const void *caller)
{
    Dl_info from;
    if (!dladdr(caller, &from))
        return;
    uintptr_t object = (uintptr_t)from.dli_fbase, known = 0;
    for (int i = 0; i < MAX_ANSWERED && known != object; i++) {
        known = 0;
        if (atomic_compare_exchange_strong(&answered[i], &known, object))
            return;
    }
}

bool cs_dlsym_answered(uintptr_t from, uintptr_t to)
{
    for (int i = 0; i < MAX_ANSWERED; i++) {
        uintptr_t object = atomic_load(&answered[i]);
        if (object >= from && object < to)
            return true;
    }
    return false;
}

__attribute__((noinline)) static void *answer(void *handle, const char *name, const char *version,
                                              const void *caller, int versioned)
{
    void *entry = cs_vendor_entry(name);
    if (!entry || handle == RTLD_DEFAULT || handle == RTLD_NEXT || cs_config_disabled() ||
        !served(caller))
        return NULL;
    struct cs_dlsym_libc libc = cs_dlsym_libc();
    void *found = versioned ? libc.dlvsym(handle, name, version) : libc.dlsym(handle, name);
    Dl_info owner;
    if (!found || !dladdr(found, &owner) || !cs_vendor_file(owner.dli_fname) || ours(&owner))
        return NULL;
    if (!cs_vendor_entry_calls(name, found)) {
        if (cs_vendor_bound())
            say_once(owner.dli_fname);
        return NULL;
    }
    note_answered(caller);
    return entry;
}

CS_EARLY struct cs_dlsym_verdict cs_dlsym_judge(void *handle, const char *name, const char *version,
                                                const void *caller, int versioned)
{
    struct cs_dlsym_verdict verdict = {NULL, NULL};
    if (name && name[0] == 'c' && name[1] == 'u' && name[2] == 'd' && name[3] == 'n' &&
        name[4] == 'n' && cs_find_dlsym_relocated())
        verdict.answer = answer(handle, name, version, caller, versioned);
    verdict.next = versioned ? known(&versioned_too, &versioned_too.next, "dlvsym")
                             : known(&plain, &plain.next, "dlsym");
    return verdict;
}
