/* The CUDA driver of the process that plans alone, or what stands in for it where there is none.
 * One thread, before any plans. */
#ifndef CS_CUDNN_STANDALONE_OPEN_DRIVER_H
#define CS_CUDNN_STANDALONE_OPEN_DRIVER_H

#include <stdbool.h>

enum {
    CS_LINKED_TO_DRIVER = 92700 /* the first cuDNN that plans nothing without a libcuda.so.1 */
};

/* True if the loader finds a CUDA driver: without one cuDNN does not offer engines that it compiles
 * at run time. The answer stays the same when a stand-in is loaded. */
bool cs_standalone_driver(void);

/* Loads the library of src/cudnn/standalone/nodriver as libcuda.so.1, for good. Where that fails
 * (no memfd), cuDNN says so when it plans. */
void cs_standalone_stand_in(void);

#endif
