/* Which lookups return an entry: those for the function that the entry calls, by programs. */
#include "intercept/loader/dlsym.h"

#include "check.h"
#include "cudnn/bind/find_dlsym.h"
#include "cudnn/bind/real.h"
#include "flow/instance.h"
#include <dlfcn.h>

static char entry, function, next[2], library, program[64], cudnn_code, own_code;
static bool disabled, relocated, bound;
static void *found;         /* by libc's lookup */
static const char *in_file; /* the file that `found` lies in; NULL: in none */
static bool is_real;        /* the entry calls `found` */
static int lookups, versioned_lookups, instances;

WRAPPED(void *, cs_entries_find, const char *name)
{
    return strcmp(name, "cudnnEntry") == 0 ? &entry : NULL;
}

WRAPPED(bool, cs_entries_call, const char *name, const void *address)
{
    CHECK(strcmp(name, "cudnnEntry") == 0 && address == found);
    return is_real;
}

WRAPPED(bool, cs_real_owns, const char *path)
{
    return strcmp(path, "/cudnn") == 0;
}

WRAPPED(bool, cs_real_has_file, const char *path)
{
    return strncmp(path, "/cudnn", 6) == 0;
}

WRAPPED(bool, cs_real_bound, void)
{
    return bound;
}

WRAPPED(bool, cs_config_disabled, void)
{
    return disabled;
}

WRAPPED(struct cs *, cs_instance, const struct cs_host *host)
{
    instances++;
    return host ? NULL : NULL;
}

WRAPPED(bool, cs_find_dlsym_relocated, void)
{
    return relocated;
}

WRAPPED(void *, cs_find_dlsym_next, bool versioned)
{
    return &next[versioned];
}

WRAPPED(bool, cs_find_dlsym_ours, const void *base)
{
    return base == &own_code;
}

static void *look_up(void *handle, const char *name)
{
    CHECK(handle == &library && strcmp(name, "cudnnEntry") == 0);
    lookups++;
    return found;
}

static void *look_up_version(void *handle, const char *name, const char *version)
{
    CHECK_STR(version, "V");
    versioned_lookups++;
    return look_up(handle, name);
}

WRAPPED(struct cs_find_dlsym_libc, cs_find_dlsym_libc, void)
{
    return (struct cs_find_dlsym_libc){look_up, look_up_version};
}

WRAPPED(int, dladdr, const void *address, Dl_info *info)
{
    if (address == &function)
        *info = (Dl_info){.dli_fname = in_file, .dli_fbase = &function};
    else if (address == &own_code)
        *info = (Dl_info){.dli_fname = "/cudnn-own", .dli_fbase = &own_code};
    else if (address == &cudnn_code)
        *info = (Dl_info){.dli_fname = "/cudnn", .dli_fbase = &cudnn_code};
    else if ((const char *)address >= program && (const char *)address < program + sizeof program)
        *info = (Dl_info){.dli_fname = "/program", .dli_fbase = (void *)(uintptr_t)address};
    else
        return 0;
    return info->dli_fname != NULL;
}

static void start(void)
{
    disabled = false;
    relocated = bound = is_real = true;
    found = &function;
    in_file = "/cudnn";
    lookups = versioned_lookups = instances = 0;
}

static void *answer(void *handle, const char *name, const void *caller, int versioned)
{
    struct cs_dlsym_verdict verdict = cs_dlsym_judge(handle, name, "V", caller, versioned);
    CHECK(verdict.next == &next[versioned]);
    return verdict.answer;
}

static void the_function_that_the_entry_calls_is_replaced(void)
{
    start();
    CHECK(!cs_dlsym_answered(1, UINTPTR_MAX));
    CHECK(answer(&library, "cudnnEntry", program, 0) == &entry);
    CHECK(lookups == 1 && versioned_lookups == 0);
    CHECK(answer(&library, "cudnnEntry", program, 1) == &entry);
    CHECK(versioned_lookups == 1);
    CHECK(answer(&library, "cudnnEntry", NULL, 0) == &entry); /* code outside of all objects */
    uintptr_t from = (uintptr_t)program;
    CHECK(cs_dlsym_answered(from, from + 1));
    CHECK(!cs_dlsym_answered(from + 1, UINTPTR_MAX) && !cs_dlsym_answered(1, from));
}

static void other_lookups_are_the_next_dlsyms(void)
{
    static const char *const names[] = {"cudnnOther", "cudn", "dudnnEntry", "", NULL};
    start();
    for (int i = 0; i < 5; i++)
        CHECK(!answer(&library, names[i], program, 0));
    CHECK(!answer(RTLD_DEFAULT, "cudnnEntry", program, 0));
    CHECK(!answer(RTLD_NEXT, "cudnnEntry", program, 0));
    CHECK(!answer(&library, "cudnnEntry", &cudnn_code, 0));
    CHECK(!answer(&library, "cudnnEntry", &own_code, 0));
    disabled = true;
    CHECK(!answer(&library, "cudnnEntry", program, 0));
    disabled = relocated = false;
    CHECK(!answer(&library, "cudnnEntry", program, 0));
    CHECK_INT(lookups, 0);
}

/* An entry replaces only a function that exists and is the real one. */
static void a_function_that_is_not_cudnns_is_not_replaced(void)
{
    start();
    found = NULL;
    CHECK(!answer(&library, "cudnnEntry", program, 0));
    found = &function;
    in_file = NULL;
    CHECK(!answer(&library, "cudnnEntry", program, 0));
    in_file = "/program";
    CHECK(!answer(&library, "cudnnEntry", program, 0));
    found = &own_code;
    CHECK(!answer(&library, "cudnnEntry", program, 0));
    start();
    is_real = bound = false;
    CHECK(!answer(&library, "cudnnEntry", program, 0));
    CHECK_INT(instances, 0);
    bound = true;
    for (int i = 0; i < 3; i++)
        CHECK(!answer(&library, "cudnnEntry", program + 1, 0));
    CHECK_INT(instances, 1); /* a second cuDNN is reported once */
    CHECK(!cs_dlsym_answered((uintptr_t)program + 1, UINTPTR_MAX));
}

static void sixteen_objects_are_recorded(void)
{
    start();
    for (int i = 0; i < 40; i++)
        CHECK(answer(&library, "cudnnEntry", program + i, 0) == &entry);
    for (int i = 0; i < 40; i++)
        CHECK_INT(cs_dlsym_answered((uintptr_t)program + (uintptr_t)i,
                                    (uintptr_t)program + (uintptr_t)i + 1),
                  i < 16);
}

int main(void)
{
    TEST(the_function_that_the_entry_calls_is_replaced);
    TEST(other_lookups_are_the_next_dlsyms);
    TEST(a_function_that_is_not_cudnns_is_not_replaced);
    TEST(sixteen_objects_are_recorded);
    return REPORT();
}
