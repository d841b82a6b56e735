/* Variables of the program's modules: __device__, __constant__ and __managed__. Their storage is
 * created on the first query of the address, once on each device. It does not count as memory of
 * the program, because on a GPU it is part of the module's image. Thread-safe. */
#ifndef CUDART_VARIABLE_H
#define CUDART_VARIABLE_H

#include "cudart_module.h"

struct simdev_variable;

/* A variable of a loaded module, created on first use. NULL if memory is short. */
struct simdev_variable *simdev_variable_of_module(struct simdev_module *module, const char *name,
                                                  size_t bytes);
/* Its address on the current device; `initial` NULL: zeros. False if memory is short. */
bool simdev_variable_store(struct simdev_variable *variable, const void *initial, void **address);
/* Frees the storage of the variables of an unloaded module. */
void simdev_variable_drop(struct simdev_module *module);
/* The same at the end of a program, without a call of the device. */
void simdev_variable_forget(struct simdev_module *module);

/* The first bytes of a registered variable from its image. False if the image lacks them. */
bool simdev_module_initial(struct simdev_module *module, const char *name, size_t bytes, void *to);

#endif
