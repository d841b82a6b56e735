/* cuDNN by lookup, as ONNX Runtime, XLA and the cudnn package of Python use it instead of linking
 * it. */
#ifndef LOADER_CUDNN_H
#define LOADER_CUDNN_H

#include <cudnn.h>

struct loader_cudnn {
#define CUDNN(name) __typeof__(name) *name;
#include "loader_names.def"
#undef CUDNN
};

/* Loaded and looked up at the first call, which must succeed; any thread. Variables:
 *   LOADER_FILE   the file to load; libcudnn.so.9
 *   LOADER_FLAGS  deepbind: RTLD_DEEPBIND too
 *   LOADER_CALL   dlvsym: looked up with the version libcudnn.so.9; else dlsym */
const struct loader_cudnn *loader_cudnn(void);

#endif
