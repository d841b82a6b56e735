#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A finalized device descriptor with one attribute; NULL and the status if cuDNN refuses. */
static cudnnStatus_t make(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          int64_t count, const void *value, cudnnBackendDescriptor_t *desc)
{
    cudnnBackendDescriptor_t made = NULL;
    cudnnStatus_t status = cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &made);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = cudnnBackendSetAttribute(made, name, type, count, value);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendFinalize(made);
    if (status != CUDNN_STATUS_SUCCESS) {
        cudnnBackendDestroyDescriptor(made);
        return status;
    }
    *desc = made;
    return CUDNN_STATUS_SUCCESS;
}

static bool read_text(cudnnBackendDescriptor_t desc, char **text)
{
    char *read = NULL;
    int64_t length = 0;
    TRY_CUDNN(cudnnBackendGetAttribute(desc, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                       CUDNN_TYPE_CHAR, 0, &length, NULL),
              fail);
    read = calloc((size_t)length + 1, 1);
    if (read == NULL) {
        perror("profile");
        return false;
    }
    TRY_CUDNN(cudnnBackendGetAttribute(desc, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                       CUDNN_TYPE_CHAR, length, &length, read),
              fail);
    *text = read;
    return true;
fail:
    free(read);
    return false;
}

bool profile_capture(cudnnHandle_t handle, int device, char **text)
{
    const int32_t number = device;
    cudnnBackendDescriptor_t desc = NULL;
    if (make(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &number, &desc) !=
        CUDNN_STATUS_SUCCESS)
        TRY_CUDNN(make(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle, &desc), fail);
    bool captured = read_text(desc, text);
    cudnnBackendDestroyDescriptor(desc);
    return captured;
fail:
    return false;
}

static bool complain(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return false;
}

bool profile_read(const char *path, char **text)
{
    enum {
        LONGEST = 1 << 20
    };
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return complain(path);
    char *read = malloc(LONGEST + 1);
    size_t length = read != NULL ? fread(read, 1, LONGEST, file) : 0;
    bool whole = read != NULL && !ferror(file);
    if (!whole)
        complain(path);
    fclose(file);
    if (!whole) {
        free(read);
        return false;
    }
    read[length] = '\0';
    *text = read;
    return true;
}

bool profile_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return complain(path);
    bool written = fprintf(file, "%s\n", text) > 0;
    if (fclose(file) != 0 || !written)
        return complain(path);
    return true;
}

bool profile_describe(const char *text, cudnnBackendDescriptor_t *desc)
{
    TRY_CUDNN(make(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   (int64_t)strlen(text) + 1, text, desc),
              fail);
    return true;
fail:
    return false;
}
