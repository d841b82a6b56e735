/* Account mode: values of device memory that the program's framework computes on the host.
 * framework_values.py calls these functions and uses `struct simdev_values`. Thread-safe. */
#ifndef CUDART_VALUES_H
#define CUDART_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum {
    SIMDEV_VALUES_DIMENSIONS = 16
};

enum {
    SIMDEV_VALUES_UNTOLD,
    SIMDEV_VALUES_TOLD,
    SIMDEV_VALUES_OWN /* as TOLD, and the program reads results of its kernels, which are unknown */
};

/* A tensor on the device; strides are in elements. */
struct simdev_values {
    void *device;
    size_t element; /* bytes */
    int64_t dimensions;
    const int64_t *extent, *stride;
};

/* One of SIMDEV_VALUES_... UNTOLD: the framework does not report which memory its kernels write.
 * Otherwise it does, and a launch does not mark every address that is passed to the kernel as
 * possibly written. */
extern _Atomic int simdev_values_told;

/* Copies the elements to `host`, packed. Nonzero if all of them are known. Unknown ones are zeros,
 * or the assumed ones. Nothing is counted. */
int simdev_values_read(const struct simdev_values *values, void *host);
/* Copies packed elements from `host`: they are known from now on. */
void simdev_values_write(const struct simdev_values *values, void *host);
/* The same, but they stay unknown: they were computed from unknown elements. A tensor with many
 * gaps is forgotten instead, such as a column of a large picture. */
void simdev_values_assume(const struct simdev_values *values, void *host);
/* One of both for an element of 1, 2, 4 or 8 bytes, which all elements equal. A tensor with very
 * many gaps is forgotten instead. */
void simdev_values_write_all(const struct simdev_values *values, void *element, int known);
/* The first element, of at most 8 bytes, as an integer; 0 if it is unknown. */
uint64_t simdev_values_first(const void *device, size_t element);
/* Nonzero if the memory is unknown, or repeats a value. */
int simdev_values_are_one(const void *device, size_t bytes);
/* A kernel that was not executed has written this memory. */
void simdev_values_forget(const void *device, size_t bytes);
/* The same for a tensor with gaps. The gaps keep their values unless there are very many. */
void simdev_values_forget_tensor(const struct simdev_values *values);
/* How often the program has read memory that was never written. */
uint64_t simdev_values_unknown(void);

#endif
