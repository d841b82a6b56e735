/* Contents of a fat binary: the images for each architecture, compressed or not, and the kernels
 * and variables of an ELF image. Pure: no CUDA, no locks. */
#ifndef CUDART_IMAGE_H
#define CUDART_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One ELF image, in a separate buffer if it was decompressed. */
struct simdev_image {
    const unsigned char *elf;
    size_t bytes;
    void *owned; /* to be freed; may be NULL */
    int arch;    /* 10 * major + minor of the compute capability */
};

/* The image that a device of compute capability `arch` would run. False if there is no such image
 * (PTX only), or if it cannot be read. */
bool simdev_image_find(const void *fat, int arch, struct simdev_image *image);
void simdev_image_release(struct simdev_image *image);

enum {
    SIMDEV_MOST_PARAMETERS = 64 /* most parameters that are recorded for a kernel */
};

/* Properties of one kernel. -1: unknown. */
struct simdev_image_kernel {
    int registers, max_threads, static_shared, local, parameter_bytes;
    unsigned parameters;
    uint16_t bytes[SIMDEV_MOST_PARAMETERS]; /* of each parameter, in order */
};
bool simdev_image_kernel(const struct simdev_image *image, const char *name,
                         struct simdev_image_kernel *kernel);
/* Calls back with the name of every kernel. */
void simdev_image_kernels(const struct simdev_image *image,
                          void (*seen)(const char *name, void *arg), void *arg);
/* The size of a variable, and its initial bytes (NULL: zeros). */
bool simdev_image_variable(const struct simdev_image *image, const char *name, size_t *bytes,
                           const void **initial);

#endif
