/* The content of an ELF file, which is read without loading or running it. Only 64-bit files of
 * this machine's byte order. Every offset is checked against the file's size, because a file may be
 * damaged or malicious. Not thread-safe for one struct. */
#ifndef CS_CLI_PROGRAM_ELF_H
#define CS_CLI_PROGRAM_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    CS_ELF_NEEDED = 256, /* entries that are kept */
/* The machine that this program runs on. */
#if defined __x86_64__
    CS_ELF_THIS_MACHINE = EM_X86_64
#elif defined __aarch64__
    CS_ELF_THIS_MACHINE = EM_AARCH64
#else
    CS_ELF_THIS_MACHINE = EM_NONE
#endif
};

struct cs_elf {
    const unsigned char *bytes; /* the whole file, mapped */
    size_t size;
    const Elf64_Phdr *segment;
    const Elf64_Shdr *section;
    int segments, sections;      /* 0 if the table is damaged */
    int machine;                 /* EM_X86_64, ... */
    const char *interpreter;     /* the loader that a program names; NULL: none */
    const char *rpath, *runpath; /* NULL: none. All texts point into the file */
    const char *needed[CS_ELF_NEEDED];
    int needs;
};

/* Opens and reads the file. If it returns false, *why_p is the reason (static text), and there is
 * nothing to close. */
bool cs_elf_open(struct cs_elf *elf, const char *path, const char **why_p);
void cs_elf_close(struct cs_elf *elf);

/* Receives a symbol of the table that the loader reads: `defined` there, or required from
 * elsewhere. */
typedef void cs_elf_symbol_fn(void *ctx, const char *name, bool defined);
void cs_elf_symbols(const struct cs_elf *elf, cs_elf_symbol_fn *each, void *ctx);

/* True if the constant data contain the bytes (a whole text: with its end). Code, and the GPU's
 * code that makes CUDA libraries large, is not read. */
bool cs_elf_holds(const struct cs_elf *elf, const char *bytes, size_t size);

/* The way in which a file reaches cuDNN, derived from its symbols and constants. The library makes
 * the same check for a running process (cs_bypass_find). Both use the same lists of
 * functions. */

enum cs_linkage {
    CS_LINKAGE_NONE,   /* not at all */
    CS_LINKAGE_LINKED, /* it calls functions of libcudnn: a preloaded library comes first */
    CS_LINKAGE_LOOKED, /* it looks them up by name: the library's dlsym answers */
    CS_LINKAGE_INSIDE  /* it has cuDNN in itself */
};

/* Returns how a file reaches cuDNN for convolutions. A file that links cuDNN only for other
 * operations counts as CS_LINKAGE_NONE. A file that defines functions with cuDNN's names and looks
 * such names up has stand-ins (TensorFlow). */
enum cs_linkage cs_linkage_of(const struct cs_elf *elf);

#endif
