/* Properties of a device and an engine, for predicting the time of a plan. A value. An unknown
 * member is 0 (or ""). Then the prediction uses a row of src/decide/devices.def: the one with the
 * highest capability that is not above the device's, or the lowest row for 0. A profile of zeros is
 * allowed. */
#ifndef CONVSHIM_PROFILE_H
#define CONVSHIM_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CS_PROFILE_NAME = 64 /* bytes, NUL included */
};

/* The traits of an engine, from its notes and knobs. */
struct cs_engine_traits {
    bool known; /* false: guessed from the workspace */
    bool tensor_cores;
    bool clusters;  /* its thread blocks form clusters, as kernels made for 9.0 and later do */
    int winograd;   /* extent of its transformed tiles; 0: no Winograd, 1: unknown extent */
    int64_t splits; /* parts of its sums; 0: unknown */
};

/* Two constants of decide/cost.def as measured on a GPU. `convshim verify --profile` adds them to
 * the profile that it prints, as kernelNanoseconds and laneGainPercent. */
struct cs_ladder {
    bool known;       /* false: the constants of cost.def apply */
    double kernel_us; /* microseconds that each kernel adds; for the three kernel_us */
    double
        lane_gain; /* share of the possible overlap of lanes that is reached, 0 to 1; for overlap */
};

struct cs_profile {
    char name[CS_PROFILE_NAME]; /* from the driver. GeForce GPUs have half the tensor arithmetic of
                                   other GPUs of their capability */
    int64_t capability;         /* 100 * major + 10 * minor */
    int64_t multiprocessors;
    int64_t clock;                  /* clock of the multiprocessors in kHz */
    int64_t memory_clock;           /* kHz; memory transfers twice the bus width in each clock */
    int64_t bus_width;              /* bits */
    int64_t l2;                     /* bytes */
    int64_t memory;                 /* bytes; predictions do not use it */
    struct cs_engine_traits engine; /* engine that the application chose */
    struct cs_ladder ladder;
};

#endif
