/* Planning needs more stack than some threads have. Fibers and threads of 64 KiB have enough for
 * cuDNN alone. If little is left, the library runs on a second stack, one for each thread, kept
 * until the thread ends. */
#ifndef CS_BASE_STACK_H
#define CS_BASE_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* The addresses of the calling thread's stack that have enough of it below them: the lowest, and
 * their number, 0 until measured. The TLS model is explained in base/nest.h. */
struct cs_stack_part {
    uintptr_t from, size;
};
extern __thread struct cs_stack_part cs_stack_part __attribute__((tls_model("initial-exec")));

/* Measures the part if this thread has not yet. True if `here` has enough stack below it. */
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
 * may have only 8 KiB. Allocates no memory. The process has one such stack. A second thread
 * waits for it, at most two seconds. False, without a call, if it did not become free. */
bool cs_stack_run_last(int (*function)(void *arg), void *arg);

/* In a forked child: frees the stack of cs_stack_run_last, whose user may be a thread of the
 * parent. */
void cs_stack_fork(void);

#endif
