/* Included before every other header when libcudart.so.12 is compiled. Maps functions and
 * structures that CUDA 13 renamed or enlarged to their CUDA 12 names. The old forms are in
 * cudart_cuda12.c. */
#ifndef SIMDEV_CUDA12_NAMES_H
#define SIMDEV_CUDA12_NAMES_H

/* With edge data: CUDA 12 has these forms under a name with a version number. */
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#define cudaGraphAddNode cudaGraphAddNode_v2
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2

/* With a location instead of a device number. */
#define cudaMemAdvise cudaMemAdvise_v2
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_v2

/* For internal use: these fill a structure that has a different layout in CUDA 12. */
#define cudaGetDeviceProperties simdev_13_GetDeviceProperties
#define cudaPointerGetAttributes simdev_13_PointerGetAttributes

#define SIMDEV_RUNTIME_VERSION 12080

#endif
