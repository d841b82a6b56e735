/* One convolution that a client runs and checks itself; libwork.so, which links cuDNN for programs
 * that do not. A program that has not linked it finds the functions with dlsym. One thread at a
 * time uses a work. */
#ifndef WORK_H
#define WORK_H

struct work;

/* Outcome of a run. Refused: cuDNN reports that it does not support it. */
enum work_result {
    WORK_RIGHT,
    WORK_WRONG,
    WORK_REFUSED,
    WORK_FAILED
};

/* Plans the convolution on a new handle, through cudnnBackend* or, with legacy nonzero,
 * cudnnConvolutionForward. On WORK_RIGHT the caller owns *work_p. */
typedef enum work_result work_open_fn(int legacy, struct work **work_p);
/* Runs it once and compares with a host loop. */
typedef enum work_result work_run_fn(struct work *work);
typedef void work_close_fn(struct work *work);
/* The least call that the library intercepts. */
typedef enum work_result work_touch_fn(void);

work_open_fn work_open;
work_run_fn work_run;
work_close_fn work_close;
work_touch_fn work_touch;

#endif
