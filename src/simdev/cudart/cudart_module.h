/* Fat binaries, and the kernels and variables that programs built by nvcc register. Also libraries
 * and modules that are loaded by a call. Thread-safe.
 *
 * A kernel is identified by the address of its stub in the program, or by a handle. Every function
 * that takes one accepts either. Kernels are never executed. */
#ifndef CUDART_MODULE_H
#define CUDART_MODULE_H

#include "cudart_account.h"

/* Properties of a kernel from its image. -1: unknown. */
struct simdev_kernel_facts {
    int registers;
    int max_threads; /* __launch_bounds__, or the limit that the registers allow */
    int static_shared, local, constant;
    int parameter_bytes;
    int ptx_version, binary_version; /* 10 * major + minor */
};

/* The sizes of a kernel's parameters, if its image has them. */
struct simdev_parameters {
    unsigned count;
    uint16_t bytes[];
};

struct simdev_module; /* a registered fat binary, or a loaded library */

struct simdev_function {
    const void *stub; /* NULL: of a loaded library */
    const char *name; /* as the compiler mangled it */
    struct simdev_module *module;
    struct simdev_function *next; /* of the same module */
    _Atomic(struct simdev_tally *) tally;
    _Atomic(struct simdev_parameters *) parameters; /* NULL: not read yet */
    atomic_int dynamic_shared; /* most dynamic shared memory of a launch; -1: not set */
};

/* NULL if no kernel has this address or handle. */
struct simdev_function *simdev_function_find(const void *key);
/* Properties from the images, otherwise defaults from the profile. */
struct simdev_kernel_facts simdev_function_facts(const struct simdev_function *function);
/* NULL if memory is short. */
const struct simdev_parameters *simdev_function_parameters(struct simdev_function *function);
/* The most dynamic shared memory of a launch. */
int simdev_function_dynamic_shared(const struct simdev_function *function);
/* How many blocks fit a multiprocessor. An error if a block does not fit. */
cudaError_t simdev_function_occupancy(const struct simdev_function *function, int threads,
                                      size_t shared, int *blocks);

/* The block size with the most threads on a multiprocessor, at most `limit` (0: no limit), and the
 * smallest grid that fills the device. */
cudaError_t simdev_function_best_block(const void *key, size_t shared, int limit, int *grid,
                                       int *block);

struct simdev_grid {
    dim3 blocks, threads;
    size_t shared;
    bool cooperative;
    void **arguments; /* of the kernel; NULL: unknown */
};

/* The launch as work that is not queued yet. */
cudaError_t simdev_launch_work(const void *key, const struct simdev_grid *grid,
                               struct simdev_work *work);
/* Queues a launch that is counted: a complete CUDA call. `function` names the call in messages. */
cudaError_t simdev_launch(const char *function, const void *key, const struct simdev_grid *grid,
                          cudaStream_t stream);

/* --- functions for libcuda too --- */

/* `image`: a fat binary, a cubin or PTX. CUDA does not promise to keep a reference or a copy, so
 * this copies the parts it needs. NULL if memory is short. */
struct simdev_module *simdev_module_load(const void *image);
/* A file's content, to be loaded; NULL if it cannot be read. */
void *simdev_module_read_file(const char *path);
/* False if the function above did not return this module. */
bool simdev_module_unload(struct simdev_module *module);
bool simdev_module_known(const struct simdev_module *module);
/* A kernel of a loaded module by name, created on first use. NULL if the image lists its kernels
 * and this is not one of them. */
struct simdev_function *simdev_module_function(struct simdev_module *module, const char *name);
/* Number of kernels that the images list. */
unsigned simdev_module_count(struct simdev_module *module);
/* All kernels that were looked up or that the images list. */
unsigned simdev_module_list(struct simdev_module *module, struct simdev_function **list,
                            unsigned most);
/* A variable's storage on the current device. False if there is no variable of this name. */
bool simdev_module_variable(struct simdev_module *module, const char *name, void **address,
                            size_t *bytes);

#endif
