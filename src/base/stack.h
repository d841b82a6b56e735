/* Planning takes more of a thread's stack than some threads have: fibers, and threads of 64 KiB,
 * which are enough for cuDNN. Where little is left, what the library does runs on a stack of its
 * own, one a thread, kept until the thread ends. */
#ifndef CS_BASE_STACK_H
#define CS_BASE_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Of the calling thread's stack the part above which anything of ours finds enough: where it begins
 * and its size, 0 until asked. As base/nest.h says. */
struct cs_stack_part {
    uintptr_t from, size;
};
extern __thread struct cs_stack_part cs_stack_part __attribute__((tls_model("initial-exec")));

/* Finds out if that has not been asked yet, and answers. */
bool cs_stack_measure(uintptr_t here);

/* True if the calling thread has enough stack left for anything that the library does. */
static inline bool cs_stack_ample(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here - cs_stack_part.from < cs_stack_part.size || cs_stack_measure(here);
}

/* Calls a function on the thread's other stack; on this one if there is no memory for it. Not to be
 * called from there. */
int cs_stack_run(int (*function)(void *arg), void *arg);

/* Calls a function on a stack that is there for the end of the process: in a signal's handler the
 * one in use may be of 8 KiB. Takes no memory. There is one; who comes while another thread is on
 * it waits, two seconds at most. False, and nothing was called, if it did not become free. */
bool cs_stack_run_last(int (*function)(void *arg), void *arg);

/* In a forked child, where whoever was on it is not. */
void cs_stack_fork(void);

#endif
