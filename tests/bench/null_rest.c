/* Every function of cuDNN that the library calls, doing nothing. No header: arguments do not matter
 * to a function that ignores them, and what it returns stands for CUDNN_STATUS_SUCCESS.
 * null_cudnn.c overrides those that must answer. */
#define CS_CALL(name)                                                                              \
    int name(void);                                                                                \
    __attribute__((weak)) int name(void)                                                           \
    {                                                                                              \
        return 0;                                                                                  \
    }
#include "cudnn/calls.def"
#undef CS_CALL
