/* Shared by the tests of the simulated libcudart: TAP, and work for streams. Each test program
 * includes it once. */
#ifndef SELFTEST_CUDART_H
#define SELFTEST_CUDART_H

#include "simdev.h"
#include <cjson/cJSON.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static int checks, failed;

static bool check(bool good, const char *name)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++checks, name);
    failed += !good;
    return good;
}

/* True if a call failed with this error. Clears the last error. */
static inline bool fails(cudaError_t error, cudaError_t wanted)
{
    if (error != wanted)
        printf("# error %s instead of %s\n", cudaGetErrorName(error), cudaGetErrorName(wanted));
    (void)cudaGetLastError();
    return error == wanted;
}

/* Prints the plan and returns the status for main. */
static int finish_checks(void)
{
    printf("1..%d\n", checks);
    return failed != 0;
}

static inline void *device_alloc(size_t bytes)
{
    void *ptr = NULL;
    return cudaMalloc(&ptr, bytes) == cudaSuccess ? ptr : NULL;
}

/* NULL if the file is missing or is not JSON. */
static inline cJSON *read_json(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t bytes = 0;
    cJSON *json = file && getdelim(&text, &bytes, '\0', file) > 0 ? cJSON_Parse(text) : NULL;
    if (file)
        fclose(file);
    free(text);
    return json;
}

/* Queues a function that may run once. */
static inline cudaError_t enqueue(cudaStream_t stream, void (*run)(void *), void *arg)
{
    return simdev_enqueue(stream, &(struct simdev_work){.run = run, .arg = arg});
}

static inline void wait_gate(void *gate)
{
    while (sem_wait(gate) != 0)
        ;
}

static inline void open_gate(void *gate)
{
    sem_post(gate);
}

static inline void sleep_5ms(void *unused)
{
    (void)unused;
    usleep(5000);
}

#endif
