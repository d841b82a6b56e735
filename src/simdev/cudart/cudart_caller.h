/* Who calls: for reports that a person reads. Thread-safe. */
#ifndef CUDART_CALLER_H
#define CUDART_CALLER_H

#include <stddef.h>

/* The function that called into the device's libraries, as far as symbols that are exported tell,
 * without its parameters; else the file that it is in. */
void simdev_caller_name(char *name, size_t size);

#endif
