/* Functions of a CUDA 13 driver that are not simulated. They exist, so that programs can look them
 * up, and they are refused. Does not include the header that declares them, because their parameter
 * types are not needed. */
#include "simdev.h"

enum {
    NOT_SUPPORTED = 801 /* CUDA_ERROR_NOT_SUPPORTED */
};

#define REFUSED(name)                                                                              \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return NOT_SUPPORTED;                                                                      \
    }

/* Contexts of a part of a device. */
REFUSED(cuGreenCtxCreate)
REFUSED(cuGreenCtxDestroy)
REFUSED(cuGreenCtxStreamCreate)
REFUSED(cuGreenCtxGetDevResource)
REFUSED(cuGreenCtxRecordEvent)
REFUSED(cuGreenCtxWaitEvent)
REFUSED(cuCtxFromGreenCtx)
REFUSED(cuStreamGetGreenCtx)
REFUSED(cuDeviceGetDevResource)
REFUSED(cuCtxGetDevResource)
REFUSED(cuDevResourceGenerateDesc)
REFUSED(cuDevSmResourceSplitByCount)

/* Memory shared with other devices, processes and machines. */
REFUSED(cuMulticastCreate)
REFUSED(cuMulticastAddDevice)
REFUSED(cuMulticastBindMem)
REFUSED(cuMulticastBindAddr)
REFUSED(cuMulticastUnbind)
REFUSED(cuMulticastGetGranularity)
REFUSED(cuMemGetHandleForAddressRange)

/* The driver's log, and values that streams wait for. */
REFUSED(cuLogsRegisterCallback)
REFUSED(cuLogsUnregisterCallback)
REFUSED(cuStreamWriteValue32_v2)
REFUSED(cuStreamWriteValue64_v2)
REFUSED(cuStreamWaitValue32_v2)
REFUSED(cuStreamWaitValue64_v2)
REFUSED(cuStreamBatchMemOp_v2)
