/* The name of the caller, for reports. Thread-safe. */
#ifndef CUDART_CALLER_H
#define CUDART_CALLER_H

#include <stddef.h>

/* The function that called into the device's libraries, without its parameters, as exported symbols
 * show it. Otherwise, the name of the file that contains it. */
void simdev_caller_name(char *name, size_t size);

#endif
