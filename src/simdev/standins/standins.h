/* Inside of `standins`, the program that writes stand-ins for installed libraries of NVIDIA's:
 * shared libraries of the same soname, names and symbol versions, whose functions enter
 * libsimdev-standin.so. One thread. */
#ifndef STANDINS_H
#define STANDINS_H

#include "standin.h"
#include <elf.h>

/* --- installed.c: what an installed library exports --- */

struct standin_export {
    const char *name;
    const char *version; /* NULL: it has none */
    bool hidden;         /* not the version that programs are linked against */
};

struct standin_installed {
    const unsigned char *bytes; /* the file, mapped */
    size_t size;
    int machine;        /* EM_X86_64, ... */
    const char *soname; /* texts point into the file */
    struct standin_export *function;
    size_t functions;
};

/* False, with a line of why, and nothing to close. Every offset is checked against the file's size.
 */
bool standin_installed_open(struct standin_installed *installed, const char *path,
                            const char **why);
void standin_installed_close(struct standin_installed *installed);

/* --- rules.c: what calls.def says --- */

struct standin_rules {
    char library[32];
    int error;
    const char *lines; /* of this library, behind its first */
};

/* The rules for a library as "cublas"; false: calls.def knows nothing of it. */
bool standin_rules_find(const char *library, struct standin_rules *rules);
/* What a function is to do; one that fits no line is STANDIN_MISSING. Its name is the caller's. */
struct standin_function standin_rules_function(const struct standin_rules *rules, const char *name);

/* --- write_library.c --- */

struct standin_plan {
    const char *soname,
        *core; /* of the library; of the one that it enters, "libsimdev-standin.so" */
    int machine;
    struct standin_planned {
        struct standin_export as;
        const char *by_hand; /* the core's function that it is; NULL: it is `does` */
        struct standin_function does;
    } * function;
    size_t functions;
};

/* The bytes of a shared library, to be freed; NULL if memory is short or the machine is not known.
 */
unsigned char *standin_write(const struct standin_plan *plan, size_t *size);

/* --- machine_code.c: the few instructions that a stand-in has --- */

struct standin_machine {
    int machine;
    uint32_t relative, absolute; /* types of relocations: an address in the library, a symbol's */
    /* Code at address `at`: passes the structure at `data` to the core by jumping to `common`. */
    void (*stub)(unsigned char *code, uint64_t at, uint64_t data, uint64_t common);
    /* Jumps to the function whose address is in `slot`. */
    void (*jump)(unsigned char *code, uint64_t at, uint64_t slot);
    /* Calls the core's entry, whose address is in `slot`, and returns what it returns. */
    void (*common)(unsigned char *code, uint64_t at, uint64_t slot);
};

enum {
    STANDIN_CODE = 16,   /* bytes that a stub or a jump may take */
    STANDIN_COMMON = 64, /* and the common part */
    STANDIN_PAGE = 1 << 16
};

/* NULL: of no machine that is known. */
const struct standin_machine *standin_machine(int machine);

#endif
