#include "gpu.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int gpu_open(const char *program)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        fprintf(stderr, "%s: no CUDA device: %s\n", program,
                error != cudaSuccess ? cudaGetErrorString(error) : "the driver lists none");
        return GPU_NONE;
    }
    TRY_CUDA(cudaSetDevice(0), fail);
    return 0;
fail:
    return 1;
}

int64_t gpu_free_memory(void)
{
    size_t available = 0;
    size_t total = 0;
    TRY_CUDA(cudaMemGetInfo(&available, &total), fail);
    return (int64_t)available;
fail:
    return -1;
}

static const char *separator;

static void put_key(const char *key)
{
    printf("%s\"%s\": ", separator, key);
    separator = ", ";
}

void json_open(void)
{
    putchar('{');
    separator = "";
}

void json_text(const char *key, const char *value)
{
    put_key(key);
    putchar('"');
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if ((unsigned char)*c < ' ')
            printf("\\u%04x", (unsigned)*c);
        else
            putchar(*c);
    }
    putchar('"');
}

void json_integer(const char *key, int64_t value)
{
    put_key(key);
    printf("%" PRId64, value);
}

void json_number(const char *key, double value)
{
    put_key(key);
    if (isfinite(value))
        printf("%.9g", value);
    else
        fputs("null", stdout);
}

void json_flag(const char *key, bool value)
{
    put_key(key);
    fputs(value ? "true" : "false", stdout);
}

bool json_close(void)
{
    puts("}");
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    perror("stdout");
    return false;
}

static bool parse_size(const char *text, int64_t *bytes)
{
    static const char units[] = "kmgt";
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || errno != 0)
        return false;
    int shift = 0;
    if (*end != '\0') {
        const char *unit = strchr(units, tolower((unsigned char)*end));
        if (unit == NULL)
            return false;
        shift = 10 * (int)(unit - units + 1);
        end++;
        if (*end != '\0' && strcasecmp(end, "b") != 0 && strcasecmp(end, "ib") != 0)
            return false;
    }
    if (number > INT64_MAX >> shift)
        return false;
    *bytes = (int64_t)number << shift;
    return true;
}

bool option_size(const char *option, const char *text, int64_t *bytes)
{
    return parse_size(text, bytes) ||
           option_refuse(option, text, "a size: bytes, or as in 64MiB, 256M, 1g");
}
