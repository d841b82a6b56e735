/* Redirects CUDA runtimes that are linked into programs and libraries to the simulated libcudart.
 *
 * nvcc links the runtime statically by default. Such a runtime drives the device through tables of
 * the driver without names, which the simulated driver lacks. But its functions have names in the
 * symbol table of the file, unless that was stripped. This library, an auditor of the loader
 * (LD_AUDIT), writes a jump to the simulated function at the start of each one. The loader reports
 * objects when they are mapped, before their constructors, which register kernels.
 *
 * It is in a separate namespace of the loader, so it shares no code with the simulated libcudart.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files --- */

struct file {
    const unsigned char *bytes;
    size_t size;
};

struct symbols {
    const ElfW(Sym) * symbol;
    size_t count;
    const char *names; /* ends with a 0 */
    size_t names_size;
};

static bool open_file(const char *path, struct file *file)
{
    struct stat about;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    void *bytes = MAP_FAILED;
    if (fstat(descriptor, &about) == 0 && about.st_size > (off_t)sizeof(ElfW(Ehdr)))
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (bytes == MAP_FAILED)
        return false;
    *file = (struct file){bytes, (size_t)about.st_size};
    return true;
}

static void close_file(const struct file *file)
{
    munmap((void *)(uintptr_t)file->bytes, file->size);
}

/* NULL if the range is not inside of the file. */
static const void *part_of(const struct file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

/* The first symbol table of that type. False: there is none, or the file is damaged. */
static bool find_symbols(const struct file *file, unsigned type, struct symbols *symbols)
{
    const ElfW(Ehdr) *head = part_of(file, 0, sizeof *head);
    const ElfW(Shdr) *section =
        head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0
            ? part_of(file, head->e_shoff, (uint64_t)head->e_shnum * sizeof *section)
            : NULL;
    for (int i = 0; section && i < head->e_shnum; i++) {
        if (section[i].sh_type != type || section[i].sh_link >= head->e_shnum)
            continue;
        const ElfW(Shdr) *names = &section[section[i].sh_link];
        symbols->symbol = part_of(file, section[i].sh_offset, section[i].sh_size);
        symbols->count = section[i].sh_size / sizeof *symbols->symbol;
        symbols->names = part_of(file, names->sh_offset, names->sh_size);
        symbols->names_size = names->sh_size;
        return symbols->symbol && symbols->names && symbols->names_size > 0 &&
               symbols->names[symbols->names_size - 1] == '\0';
    }
    return false;
}

/* The name of a function that the file contains, else "". */
static const char *function_name(const struct symbols *symbols, size_t index)
{
    const ElfW(Sym) *symbol = &symbols->symbol[index];
    bool is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
                       symbol->st_shndx != SHN_UNDEF && symbol->st_name < symbols->names_size;
    return is_function ? symbols->names + symbol->st_name : "";
}

/* --- the simulated libcudart --- */

static struct {
    struct file file; /* kept open, because the names are in it */
    struct symbols symbols;
    uintptr_t base; /* 0: not loaded yet */
} runtime;

static void take_runtime(const struct link_map *object)
{
    if (!open_file(object->l_name, &runtime.file))
        return;
    if (find_symbols(&runtime.file, SHT_DYNSYM, &runtime.symbols))
        runtime.base = object->l_addr;
    else
        close_file(&runtime.file);
}

/* The address of the simulated function of that name; 0: there is none. */
static uintptr_t find_simulated(const char *name)
{
    for (size_t i = 0; i < runtime.symbols.count; i++)
        if (strcmp(function_name(&runtime.symbols, i), name) == 0)
            return runtime.base + runtime.symbols.symbol[i].st_value;
    return 0;
}

/* --- jumps --- */

#if defined __aarch64__
static const unsigned char jump[] = {0x50, 0, 0,    0x58, /* ldr x16, 8 */
                                     0,    2, 0x1f, 0xd6, /* br x16 */
                                     0,    0, 0,    0,    0, 0, 0, 0};
enum {
    TARGET = 8
};
#else
static const unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, /* movabs target, %rax */
                                     0xff, 0xe0};                        /* jmp *%rax */
enum {
    TARGET = 2
};
#endif

/* Writes the jump, if the function is large enough. The few that are not only jump to another one.
 */
static void redirect_function(uintptr_t function, size_t size, uintptr_t target)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = function & ~(page - 1);
    const size_t length = (function + sizeof jump - first + page - 1) & ~(page - 1);
    unsigned char *code = (unsigned char *)function;
    if (size < sizeof jump ||
        mprotect((void *)first, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return;
    memcpy(code, jump, sizeof jump);
    memcpy(code + TARGET, &target, sizeof target);
    __builtin___clear_cache((char *)code, (char *)code + sizeof jump);
    mprotect((void *)first, length, PROT_READ | PROT_EXEC);
}

static bool has_runtime(const struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->count; i++)
        if (strcmp(function_name(symbols, i), "cudaGetDeviceCount") == 0)
            return true;
    return false;
}

static void redirect_all(const char *path, uintptr_t base)
{
    struct file file;
    struct symbols symbols;
    if (!open_file(path, &file))
        return;
    if (find_symbols(&file, SHT_SYMTAB, &symbols) && has_runtime(&symbols))
        for (size_t i = 0; i < symbols.count; i++) {
            const char *name = function_name(&symbols, i);
            const bool is_api = strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0;
            const uintptr_t target = is_api ? find_simulated(name) : 0;
            if (target)
                redirect_function(base + symbols.symbol[i].st_value, symbols.symbol[i].st_size,
                                  target);
        }
    close_file(&file);
}

/* --- the loader's calls, which hold its lock --- */

/* Objects that were mapped since the last consistent state. */
static struct object {
    struct object *next;
    uintptr_t base;
    char path[];
} * waiting;

/* Libraries that plan without a device contain such a runtime, too. */
static bool is_planner(const char *name)
{
    static const char *const libraries[] = {"libcudnn", "libcublas", "libnvrtc"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

__attribute__((visibility("default"))) unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

__attribute__((visibility("default"))) unsigned la_objopen(struct link_map *object, Lmid_t space,
                                                           uintptr_t *cookie)
{
    static const char cudart[] = "libcudart.so.";
    const char *path = *object->l_name ? object->l_name : "/proc/self/exe",
               *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    (void)cookie;
    if (space != LM_ID_BASE || is_planner(name))
        return 0;
    if (strncmp(name, cudart, strlen(cudart)) == 0) {
        if (!runtime.base)
            take_runtime(object);
        return 0;
    }
    const size_t length = strlen(path) + 1;
    struct object *one = malloc(sizeof *one + length);
    if (!one)
        return 0;
    *one = (struct object){.next = waiting, .base = object->l_addr};
    memcpy(one->path, path, length);
    waiting = one;
    return 0;
}

__attribute__((visibility("default"))) void la_activity(uintptr_t *cookie, unsigned flag)
{
    (void)cookie;
    if (flag != LA_ACT_CONSISTENT || !runtime.base)
        return;
    for (struct object *one = waiting, *next; one; one = next) {
        next = one->next;
        redirect_all(one->path, one->base);
        free(one);
    }
    waiting = NULL;
}
