/* Facts of a profile that launches need: of the calling thread's device, or of the device whose
 * work it runs. */
#ifndef CUDART_DEVICE_H
#define CUDART_DEVICE_H

#include <stddef.h>

struct simdev_limits {
    int warp, threads_per_block, threads_per_multiprocessor, blocks_per_multiprocessor;
    int registers_per_block, registers_per_multiprocessor;
    int shared_per_block, shared_per_block_optin, shared_reserved, shared_per_multiprocessor;
    int multiprocessors;
    int grid[3], block[3];
};

/* NULL while there is no device. */
const struct simdev_limits *simdev_device_limits(void);
/* 10 * major + minor of the compute capability. */
int simdev_device_arch(void);
/* For the time model, in units per nanosecond: bytes of device memory, bytes of the bus to the
 * host, and floating-point operations. */
struct simdev_rates {
    double memory, bus, arithmetic;
};
struct simdev_rates simdev_device_rates(void);

#endif
