/* What the tests of the stand-in libcudart share: TAP, and work for streams. Each test program
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

/* Prints the plan; the status for main. */
static int finish_checks(void)
{
    printf("1..%d\n", checks);
    return failed != 0;
}

static void *device_alloc(size_t bytes)
{
    void *ptr = NULL;
    return cudaMalloc(&ptr, bytes) == cudaSuccess ? ptr : NULL;
}

/* NULL if there is no such file or no JSON in it. */
static cJSON *read_json(const char *path)
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

static void wait_gate(void *gate)
{
    while (sem_wait(gate) != 0)
        ;
}

static void open_gate(void *gate)
{
    sem_post(gate);
}

static void sleep_5ms(void *unused)
{
    (void)unused;
    usleep(5000);
}

#endif
