/* The CUDA driver of a process that plans without a device, or a stand-in if none is installed.
 * Called by one thread, before any plan. */
#ifndef CS_CUDNN_STANDALONE_OPEN_DRIVER_H
#define CS_CUDNN_STANDALONE_OPEN_DRIVER_H

/* Loads libcuda.so.1, or the library of src/cudnn/standalone/nodriver under that name, until the
 * process ends. Without either, cuDNN offers no engine that it compiles at run time, and from 9.27
 * on no engine at all. */
void cs_standalone_open_driver(void);

#endif
