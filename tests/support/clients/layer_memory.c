#include "layer_memory.h"

#include <stdlib.h>
#include <string.h>

bool layer_allocate(const struct conv_problem *problem, struct layer_memory *memory)
{
    const size_t bytes = tensor_storage_bytes(&problem->y);
    memset(memory, 0, sizeof *memory);
    if (!problem_fill(problem, 1, DATA_INTEGERS, &memory->data))
        return false;
    memory->expected = malloc(bytes);
    memory->result = malloc(bytes);
    if (memory->expected == NULL || memory->result == NULL)
        return false;
    memcpy(memory->expected, memory->data.y, bytes);
    problem_reference(problem, &memory->data, memory->expected);
    memory->x = client_upload(memory->data.x, tensor_storage_bytes(&problem->x), NULL);
    memory->w = client_upload(memory->data.w, tensor_storage_bytes(&problem->w), NULL);
    memory->y = client_upload(memory->data.y, bytes, NULL);
    return memory->x != NULL && memory->w != NULL && memory->y != NULL;
}

void layer_free(struct layer_memory *memory)
{
    cudaFree(memory->x);
    cudaFree(memory->w);
    cudaFree(memory->y);
    problem_release(&memory->data);
    free(memory->expected);
    free(memory->result);
}

bool layer_right(const struct conv_problem *problem, struct layer_memory *memory)
{
    TRY_CUDA(cudaDeviceSynchronize(), fail);
    TRY_CUDA(cudaMemcpy(memory->result, memory->y, tensor_storage_bytes(&problem->y),
                        cudaMemcpyDeviceToHost),
             fail);
    for (size_t i = 0; i < (size_t)tensor_elements(&problem->y); i++)
        if (dtype_load(problem->y.type, memory->result, i) !=
            dtype_load(problem->y.type, memory->expected, i))
            return false;
    return true;
fail:
    return false;
}
