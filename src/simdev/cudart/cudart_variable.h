/* Variables of the program's modules: __device__, __constant__ and __managed__ ones. Their storage
 * is made when its address is first asked for, one on each device, and does not count as memory of
 * the program: on a GPU it is part of the module's image. Thread-safe. */
#ifndef CUDART_VARIABLE_H
#define CUDART_VARIABLE_H

#include "cudart_module.h"

struct simdev_variable;

/* Of a loaded module, made when first asked for. NULL if memory is short. */
struct simdev_variable *simdev_variable_of_module(struct simdev_module *module, const char *name,
                                                  size_t bytes);
/* Its address on the current device; `initial` NULL: zeros. False if memory is short. */
bool simdev_variable_store(struct simdev_variable *variable, const void *initial, void **address);
/* The module is gone, and its variables' storage. */
void simdev_variable_drop(struct simdev_module *module);
/* The same at the end of a program, when the device is not to be asked any more. */
void simdev_variable_forget(struct simdev_module *module);

/* The first bytes of a registered variable, as its image has them; false if it tells of none. */
bool simdev_module_initial(struct simdev_module *module, const char *name, size_t bytes, void *to);
/* What is inside nvcc's wrapper around a fat binary. */
const void *simdev_module_data(const void *image);

#endif
