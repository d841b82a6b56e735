/* Runs functions on a second stack if a thread's own is too small. Planning needs more stack than
 * some threads have: fibers and threads of 64 KiB have enough for cuDNN alone. Each thread has one
 * second stack, kept until the thread ends. */
#ifndef CS_BASE_STACK_H
#define CS_BASE_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* The part of the calling thread's stack that has enough stack below it: its lowest address and its
 * size, 0 until measured. The TLS model is explained in base/nest.h. */
struct cs_stack_part {
    uintptr_t from, size;
};
extern __thread struct cs_stack_part cs_stack_part __attribute__((tls_model("initial-exec")));

/* Measures the part if this thread has not done so yet. True if `here` has enough stack below it.
 */
bool cs_stack_measure(uintptr_t here);

/* True if the calling thread has enough stack left for anything that the library does. */
static inline bool cs_stack_ample(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here - cs_stack_part.from < cs_stack_part.size || cs_stack_measure(here);
}

/* Calls a function on the thread's second stack, or on the current one if memory is short. Must not
 * be called on the second stack. */
int cs_stack_run(int (*function)(void *arg), void *arg);

/* Calls a function on a stack that is reserved for the end of the process, because a signal handler
 * may have only 8 KiB. Allocates no memory. The process has one such stack. A second thread waits
 * for it, at most two seconds. If the stack does not become free, the function is not called and
 * the result is false. */
bool cs_stack_run_last(int (*function)(void *arg), void *arg);

/* Frees the stack of cs_stack_run_last in a forked child: its user may be a thread of the parent.
 */
void cs_stack_fork(void);

#endif
