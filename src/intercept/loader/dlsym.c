/* Decides whether a lookup returns an entry or the result of the real dlsym. */
#include "intercept/loader/dlsym.h"

#include "base/log.h"
#include "config/config.h"
#include "cudnn/bind/find_dlsym.h"
#include "cudnn/bind/real.h"
#include "flow/instance.h"
#include "intercept/entry/entries.h"
#include "intercept/intercept.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/* The objects that received an entry, by their lowest address. 0: free. */
enum {
    MAX_ANSWERED = 16
};
static _Atomic(uintptr_t) answered[MAX_ANSWERED];

/* True if lookups by this caller may return entries. False for the vendor's library and this one:
 * the vendor's looks its own parts up, and with the entries it would call itself endlessly. */
static bool is_served(const void *caller)
{
    Dl_info from;
    return !dladdr(caller, &from) ||
           !(cs_real_owns(from.dli_fname) || cs_find_dlsym_ours(from.dli_fbase));
}

static void log_second_cudnn(const char *path)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said) && cs_instance(&cs_host))
        cs_log(CS_LOG_INFO, "A second cuDNN is loaded, and its functions are not intercepted: %s",
               path);
}

/* Records the object of a caller that received an entry. The summary does not report it as a
 * bypass, for any contents of its slots. */
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

/* Returns the entry for a lookup, or NULL. RTLD_DEFAULT and RTLD_NEXT find the entries by the
 * loader's order. For a library's handle the real lookup runs first, because an entry replaces only
 * a function that exists and is cuDNN's. */
__attribute__((noinline)) static void *answer_lookup(void *handle, const char *name,
                                                     const char *version, const void *caller,
                                                     int versioned)
{
    void *entry = cs_entries_find(name);
    if (!entry || handle == RTLD_DEFAULT || handle == RTLD_NEXT || cs_config_disabled() ||
        !is_served(caller))
        return NULL;
    struct cs_find_dlsym_libc libc = cs_find_dlsym_libc();
    void *found = versioned ? libc.dlvsym(handle, name, version) : libc.dlsym(handle, name);
    Dl_info owner;
    if (!found || !dladdr(found, &owner) || !cs_real_has_file(owner.dli_fname) ||
        cs_find_dlsym_ours(owner.dli_fbase))
        return NULL;
    if (!cs_entries_call(name, found)) {
        if (cs_real_bound())
            log_second_cudnn(owner.dli_fname);
        return NULL;
    }
    note_answered(caller);
    return entry;
}

/* The loader may look names up before this library is relocated. Until then the code must call no
 * function through a slot, not even strncmp. */
CS_EARLY struct cs_dlsym_verdict cs_dlsym_judge(void *handle, const char *name, const char *version,
                                                const void *caller, int versioned)
{
    struct cs_dlsym_verdict verdict = {NULL, NULL};
    if (name && name[0] == 'c' && name[1] == 'u' && name[2] == 'd' && name[3] == 'n' &&
        name[4] == 'n' && cs_find_dlsym_relocated())
        verdict.answer = answer_lookup(handle, name, version, caller, versioned);
    verdict.next = cs_find_dlsym_next(versioned);
    return verdict;
}
