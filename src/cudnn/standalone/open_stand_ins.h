/* Libraries that cuDNN needs to plan without a device: the CUDA driver and cuBLASLt, or the
 * stand-ins of src/cudnn/standalone/stand_ins under their names. They stay loaded until the process
 * ends. */
#ifndef CS_CUDNN_STANDALONE_OPEN_STAND_INS_H
#define CS_CUDNN_STANDALONE_OPEN_STAND_INS_H

/* Loads libcuda.so.1, or its stand-in if no driver is installed. Without either, cuDNN offers no
 * engine that it compiles at run time, and from 9.27 on no engine at all. One thread, before any
 * plan. */
void cs_standalone_open_driver(void);

/* Loads the stand-in of cuBLASLt, for processes that run no plan. Without it, cuDNN does not offer
 * the engines that call cuBLASLt, which programs get for 1x1 windows. Any thread, before its first
 * plan. */
void cs_standalone_open_cublas(void);

#endif
