/* Opens cuDNN for the command, in a process without an application or a device. The library's own
 * code plans with it. For that purpose this part has its own cs_real() (cudnn/bind/real.h). The
 * library's cs_real() searches only libraries that an application has loaded. */
#ifndef CS_CUDNN_STANDALONE_STANDALONE_H
#define CS_CUDNN_STANDALONE_STANDALONE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the cuDNN of a file, or of a name that the loader searches. Called once, before any thread
 * plans. The library stays open. False, with the loader's text in `error`, if it cannot be opened
 * or cannot plan without a device (before 9.8). */
bool cs_standalone_open(const char *file, char *error, size_t size);

/* The version from cudnnGetVersion, 0 before one is open. */
size_t cs_standalone_version(void);

/* The file that was opened, "" before. */
const char *cs_standalone_file(void);

/* Libraries that cuDNN needs to plan without a device: the CUDA driver and cuBLASLt, or their
 * stand-ins (src/cudnn/standalone/stand_ins). They stay loaded until the process ends.
 *
 * Loads libcuda.so.1, or its stand-in if no driver is installed. Without either, cuDNN offers no
 * engine that it compiles at run time, and from 9.27 on no engine at all. One thread, before any
 * plan; cs_standalone_open calls it. */
void cs_standalone_open_driver(void);

/* Loads the stand-in of cuBLASLt, for processes that run no plan. Without it, cuDNN does not offer
 * the engines that call cuBLASLt, which programs get for 1x1 windows. Any thread, before its first
 * plan. */
void cs_standalone_open_cublas(void);

#endif
