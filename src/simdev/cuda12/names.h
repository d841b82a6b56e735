/* Included before everything else where the stand-in for CUDA 12 is compiled: what CUDA 13 calls
 * otherwise, or has made larger, goes by the name that it has there. The old forms are in
 * cudart_cuda12.c. */
#ifndef SIMDEV_CUDA12_NAMES_H
#define SIMDEV_CUDA12_NAMES_H

/* With edges' data, which CUDA 12 tells apart by a number. */
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#define cudaGraphAddNode cudaGraphAddNode_v2
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2

/* With a place instead of a device's number. */
#define cudaMemAdvise cudaMemAdvise_v2
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_v2

/* What fills a structure that CUDA 12 has another of: for the stand-ins alone. */
#define cudaGetDeviceProperties simdev_13_GetDeviceProperties
#define cudaPointerGetAttributes simdev_13_PointerGetAttributes

#define SIMDEV_RUNTIME_VERSION 12080

#endif
