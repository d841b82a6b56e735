/* Account mode: values that the program's framework computes on the host instead of the device. The
 * hook of `convshim simulate` calls these functions from inside PyTorch. */
#include "cudart_values.h"

#include "cudart_bytes.h"
#include <stdbool.h>
#include <string.h>

enum {
    MOST_PIECES = 4096, /* that are forgotten one by one */
    MOST_ASSUMED = 512  /* that are stored one by one although they are unknown */
};

_Atomic int simdev_values_told;

/* Number of innermost dimensions that are contiguous. `run` receives their bytes. */
static int inner_dimensions(const struct simdev_values *values, size_t *run)
{
    int inner = (int)values->dimensions;
    *run = values->element;
    while (inner > 0 && (values->extent[inner - 1] == 1 ||
                         values->stride[inner - 1] * (int64_t)values->element == (int64_t)*run))
        *run *= (size_t)values->extent[--inner];
    return inner;
}

/* `bytes` contiguous ones on the device, and their place on the host or an element. */
typedef bool visit_piece(char *device, char *host, size_t bytes, size_t element);

/* Visits every piece of the tensor in the order of its elements. A tensor without memory (PyTorch's
 * zero tensors, which forward-mode differentiation makes) has no pieces. `step`: of the host's
 * place for each byte, 0 or 1. */
static bool each_piece(const struct simdev_values *values, char *host, size_t step,
                       visit_piece *visit)
{
    int64_t at[SIMDEV_VALUES_DIMENSIONS] = {0};
    size_t run;
    const int outer = inner_dimensions(values, &run);
    bool good = true;
    if (!values->device)
        return true;
    for (int i = 0; i < values->dimensions; i++)
        if (values->extent[i] <= 0)
            return true;
    for (;;) {
        int64_t offset = 0;
        int i = outer - 1;
        for (int j = 0; j < outer; j++)
            offset += at[j] * values->stride[j];
        good = visit((char *)values->device + offset * (int64_t)values->element, host, run,
                     values->element) &&
               good;
        host += step * run;
        while (i >= 0 && ++at[i] == values->extent[i])
            at[i--] = 0;
        if (i < 0)
            return good;
    }
}

static bool read_piece(char *device, char *host, size_t bytes, size_t element)
{
    (void)element;
    return simdev_bytes_peek(host, device, bytes) == 0;
}

static bool write_piece(char *device, char *host, size_t bytes, size_t element)
{
    (void)element;
    simdev_bytes_write(device, host, bytes);
    return true;
}

static size_t bytes_of(const struct simdev_values *values)
{
    size_t bytes = values->element;
    for (int i = 0; i < values->dimensions; i++)
        bytes *= (size_t)values->extent[i];
    return bytes;
}

int simdev_values_read(const struct simdev_values *values, void *host)
{
    if (!values->device)
        memset(host, 0, bytes_of(values));
    return values->dimensions <= SIMDEV_VALUES_DIMENSIONS &&
           each_piece(values, host, 1, read_piece);
}

void simdev_values_write(const struct simdev_values *values, void *host)
{
    if (values->dimensions <= SIMDEV_VALUES_DIMENSIONS)
        (void)each_piece(values, host, 1, write_piece);
}

static bool forget_piece(char *device, char *host, size_t bytes, size_t element)
{
    (void)host, (void)element;
    simdev_bytes_forget(device, bytes);
    return true;
}

/* From the first element to the last; strides are not negative. */
static size_t span_of(const struct simdev_values *values)
{
    size_t last = 0;
    for (int i = 0; i < values->dimensions; i++)
        last += (size_t)((values->extent[i] - 1) * values->stride[i]);
    return (last + 1) * values->element;
}

/* False: there are more pieces than that. */
static bool has_at_most(const struct simdev_values *values, size_t most)
{
    size_t run, pieces = 1;
    const int outer = inner_dimensions(values, &run);
    for (int i = 0; i < outer; i++)
        pieces *= (size_t)values->extent[i];
    return outer == 0 || (pieces <= most && values->dimensions <= SIMDEV_VALUES_DIMENSIONS);
}

void simdev_values_forget_tensor(const struct simdev_values *values)
{
    if (has_at_most(values, MOST_PIECES))
        (void)each_piece(values, NULL, 0, forget_piece);
    else
        simdev_values_forget(values->device, span_of(values));
}

static bool assume_piece(char *device, char *host, size_t bytes, size_t element)
{
    (void)element;
    simdev_bytes_assume(device, host, bytes);
    return true;
}

void simdev_values_assume(const struct simdev_values *values, void *host)
{
    if (has_at_most(values, MOST_ASSUMED))
        (void)each_piece(values, host, 1, assume_piece);
    else
        simdev_values_forget_tensor(values);
}

static bool write_element(char *device, char *value, size_t bytes, size_t element)
{
    simdev_bytes_set(device, value, (unsigned)element, bytes);
    return true;
}

static bool assume_element(char *device, char *value, size_t bytes, size_t element)
{
    simdev_bytes_assume_set(device, value, (unsigned)element, bytes);
    return true;
}

void simdev_values_write_all(const struct simdev_values *values, void *element, int known)
{
    const size_t bytes = bytes_of(values);
    visit_piece *write = known ? write_element : assume_element;
    if (!values->device || bytes == 0)
        return;
    if (span_of(values) == bytes)
        (void)write(values->device, element, bytes, values->element);
    else if (has_at_most(values, MOST_PIECES))
        (void)each_piece(values, element, 0, write);
    else
        simdev_values_forget_tensor(values);
}

void simdev_values_forget(const void *device, size_t bytes)
{
    if (device && bytes > 0)
        simdev_bytes_forget(device, bytes);
}

uint64_t simdev_values_first(const void *device, size_t element)
{
    uint64_t first = 0;
    if (device && element <= sizeof first)
        (void)simdev_bytes_peek(&first, device, element);
    return first;
}

int simdev_values_are_one(const void *device, size_t bytes)
{
    return !device || simdev_bytes_repeat(device, bytes);
}

uint64_t simdev_values_unknown(void)
{
    return simdev_bytes_unwritten().reads;
}
