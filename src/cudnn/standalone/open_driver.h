/* The CUDA driver of the process that plans alone, or a stand-in if none is installed. One thread,
 * before any plans. */
#ifndef CS_CUDNN_STANDALONE_OPEN_DRIVER_H
#define CS_CUDNN_STANDALONE_OPEN_DRIVER_H

/* Loads libcuda.so.1, or the library of src/cudnn/standalone/nodriver under that name, for good.
 * Without either, cuDNN offers no engine that it compiles at run time, and from 9.27 on no engine
 * at all. */
void cs_standalone_open_driver(void);

#endif
