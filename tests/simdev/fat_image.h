/* A fat binary in nvcc's format: one ELF image with two kernels and a variable. */
#ifndef FAT_IMAGE_H
#define FAT_IMAGE_H

#include <stddef.h>

enum fat_packing {
    FAT_PLAIN,
    FAT_LZ4,
    FAT_ZSTD
};

/* Properties of the image's kernels "plain" and "shared", and of its variable "numbers". */
enum {
    FAT_REGISTERS = 40,    /* of both */
    FAT_MAX_THREADS = 256, /* of "shared" */
    FAT_SHARED = 4096,     /* bytes, of "shared" */
    FAT_NUMBERS = 4        /* ints: 11, 22, 33, 44 */
};

/* For the architecture, 10 * major + minor. The memory is never freed. NULL if memory is short. */
const void *fat_image(int arch, enum fat_packing packing);

#endif
