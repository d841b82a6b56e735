/* Interfaces inside `standins`, the program that writes stand-ins for installed NVIDIA libraries. A
 * stand-in is a shared library of the same soname, names and symbol versions, whose functions call
 * libsimdev-standin.so. One thread. */
#ifndef STANDINS_H
#define STANDINS_H

#include "standin.h"
#include <elf.h>

/* --- read_library.c: the exports of an installed library --- */

struct standin_export {
    const char *name;
    const char *version; /* NULL: it has none */
    bool hidden;         /* not the default version for linking */
};

struct standin_installed {
    const unsigned char *bytes; /* the file, mapped */
    size_t size;
    int machine;        /* EM_X86_64, ... */
    const char *soname; /* texts point into the file */
    struct standin_export *function;
    size_t functions;
};

/* On an error, prints the reason and returns false, and there is nothing to close. Every offset is
 * checked against the file's size. */
bool standin_installed_open(struct standin_installed *installed, const char *path,
                            const char **why);
void standin_installed_close(struct standin_installed *installed);

/* --- call_rules.c: the rules of standin_calls.def --- */

struct standin_rules {
    char library[32];
    int error;
    const char *lines; /* of this library, after its first line */
};

/* The rules for a library such as "cublas". False if standin_calls.def has none. */
bool standin_rules_find(const char *library, struct standin_rules *rules);
/* The rule for a function. STANDIN_MISSING if no line matches. The caller owns the name. */
struct standin_function standin_rules_function(const struct standin_rules *rules, const char *name);

/* --- write_library.c --- */

struct standin_plan {
    const char *soname, *core; /* soname of the library, and of its core, "libsimdev-standin.so" */
    int machine;
    struct standin_planned {
        struct standin_export as;
        const char *by_hand; /* the core's function for this name; NULL: as `does` defines */
        struct standin_function does;
    } * function;
    size_t functions;
};

/* The bytes of a shared library, to be freed. NULL if memory is short or the machine is not
 * supported. */
unsigned char *standin_write(const struct standin_plan *plan, size_t *size);

/* --- machine_code.c: the instructions of a stand-in --- */

struct standin_machine {
    int machine;
    uint32_t relative,
        absolute; /* types of relocations: an address in the library, an address of a symbol */
    /* Code at address `at`: passes the structure at `data` to the core by jumping to `common`. */
    void (*stub)(unsigned char *code, uint64_t at, uint64_t data, uint64_t common);
    /* Jumps to the function whose address is in `slot`. */
    void (*jump)(unsigned char *code, uint64_t at, uint64_t slot);
    /* Calls the core's entry, whose address is in `slot`, and returns its result. */
    void (*common)(unsigned char *code, uint64_t at, uint64_t slot);
};

enum {
    STANDIN_CODE = 16,   /* most bytes of a stub or a jump */
    STANDIN_COMMON = 64, /* and the common part */
    STANDIN_PAGE = 1 << 16
};

/* NULL if the machine is not supported. */
const struct standin_machine *standin_machine(int machine);

#endif
