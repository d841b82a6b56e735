/* The core of all stand-in libraries, which their functions call: implements each kind of function.
 */
#include "standin.h"

#include <stdlib.h>
#include <string.h>

#include "simdev.h"

static const uint64_t handle_mark = 0x73696d6465763a68; /* no pointer, no small number */

enum {
#if defined __aarch64__
    REGISTERS = 8,
#else
    REGISTERS = 6,
#endif
    ARGUMENTS = 20,              /* that standin_calls.def may speak of */
    ESTIMATED_BYTES = 1 << 20,   /* estimate of a workspace whose real size only the library has */
    ESTIMATED_ELEMENTS = 1 << 16 /* the same for a number of elements */
};

static struct standin_handle *create_handle(void)
{
    struct standin_handle *made = calloc(1, sizeof *made);
    if (made)
        made->mark = handle_mark;
    return made;
}

/* NULL if `handle` is not a handle. */
static struct standin_handle *find_handle(const void *pointer)
{
    struct standin_handle *handle = (struct standin_handle *)(uintptr_t)pointer;
    return handle && handle->mark == handle_mark ? handle : NULL;
}

bool standin_work(const char *name, cudaStream_t stream)
{
    return simdev_account_mode() && simdev_account_call(stream, name, NULL) == cudaSuccess;
}

static void zero_results(const struct standin_function *function, const uintptr_t *argument,
                         bool host_only)
{
    for (int i = 0; i < STANDIN_RESULTS && function->result[i].bytes > 0; i++) {
        void *at = (void *)argument[function->result[i].argument];
        if (at && (!host_only || !simdev_range_alive(at, 0)))
            memset(at, 0, (size_t)function->result[i].bytes);
    }
}

static bool create_result(const struct standin_function *function, const uintptr_t *argument)
{
    void **at = (void **)argument[function->result[0].argument];
    struct standin_handle *made = at ? create_handle() : NULL;
    if (made)
        *at = made;
    return made != NULL;
}

static bool destroy_argument(const uintptr_t *argument)
{
    struct standin_handle *handle = find_handle((void *)argument[0]);
    if (handle)
        handle->mark = 0;
    free(handle);
    return true;
}

static bool set_stream(const uintptr_t *argument)
{
    struct standin_handle *handle = find_handle((void *)argument[0]);
    if (handle)
        handle->stream = (cudaStream_t)argument[1];
    return handle != NULL;
}

static bool queue_work(const struct standin_function *function, const uintptr_t *argument)
{
    const struct standin_handle *handle = find_handle((void *)argument[0]);
    if (!standin_work(function->name, handle ? handle->stream : NULL))
        return false;
    zero_results(function, argument, true);
    return true;
}

static bool estimate_results(const struct standin_function *function, const uintptr_t *argument)
{
    for (int i = 0; i < STANDIN_RESULTS && function->result[i].bytes > 0; i++) {
        void *at = (void *)argument[function->result[i].argument];
        const int elements = ESTIMATED_ELEMENTS;
        const size_t bytes = ESTIMATED_BYTES;
        if (at && function->result[i].bytes == (int)sizeof elements)
            memcpy(at, &elements, sizeof elements);
        else if (at)
            memcpy(at, &bytes, sizeof bytes);
    }
    simdev_estimated(function->name);
    return true;
}

static bool write_number(const struct standin_function *function, const uintptr_t *argument)
{
    int *at = (int *)argument[function->result[0].argument];
    if (at)
        *at = function->value;
    return at != NULL;
}

static bool store_property(const struct standin_function *function, const uintptr_t *argument)
{
    const int parts[] = {function->value / (STANDIN_PART * STANDIN_PART),
                         function->value / STANDIN_PART % STANDIN_PART,
                         function->value % STANDIN_PART};
    int *at = (int *)argument[function->result[0].argument];
    const int part = (int)argument[0];
    if (!at || part < 0 || part >= (int)(sizeof parts / sizeof *parts))
        return false;
    *at = parts[part];
    return true;
}

static uintptr_t call_by_rule(const struct standin_function *function, const uintptr_t *argument)
{
    bool good = true;
    switch (function->kind) {
    case STANDIN_CREATE:
        good = create_result(function, argument);
        break;
    case STANDIN_DESTROY:
        good = destroy_argument(argument);
        break;
    case STANDIN_STREAM:
        good = set_stream(argument);
        break;
    case STANDIN_WORK:
        good = queue_work(function, argument);
        break;
    case STANDIN_ZERO:
        zero_results(function, argument, false);
        break;
    case STANDIN_SIZE:
        good = estimate_results(function, argument);
        break;
    case STANDIN_TEXT:
        return (uintptr_t) "error of a simulated library";
    case STANDIN_FAIL:
        good = false;
        break;
    case STANDIN_MISSING:
        good = !simdev_missing(function->name);
        break;
    case STANDIN_ANSWER:
        return (uintptr_t)function->value;
    case STANDIN_TELL:
        good = write_number(function, argument);
        break;
    case STANDIN_PROPERTY:
        good = store_property(function, argument);
        break;
    case STANDIN_HOST:
    case STANDIN_KINDS:
        break;
    }
    return good ? 0 : (uintptr_t)function->error;
}

/* The number of arguments that the function's results need. No further arguments are read from the
 * stack, because there may be none. */
static int arguments_of(const struct standin_function *function)
{
    int last = 1;
    for (int i = 0; i < STANDIN_RESULTS && function->result[i].bytes > 0; i++)
        if (function->result[i].argument > last)
            last = function->result[i].argument;
    return last + 1 < ARGUMENTS ? last + 1 : ARGUMENTS;
}

STANDIN_EXPORT uintptr_t standin_enter(const struct standin_function *function,
                                       const uintptr_t *registers, const uintptr_t *stack)
{
    uintptr_t argument[ARGUMENTS] = {0};
    const int arguments = arguments_of(function);
    for (int i = 0; i < arguments; i++)
        argument[i] = i < REGISTERS ? registers[i] : stack[i - REGISTERS];
    return call_by_rule(function, argument);
}
