/* Threads that may be cancelled at any instruction make descriptors, set them and destroy them, and
 * are cancelled. Nothing that others need may be left taken: then the program does not end.
 * cancelled ROUNDS */
#include <cudnn.h>
#include <cudnn_backend.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    DESCRIPTORS = 500, /* that are used after a cancellation: of every part of a table */
    SPREAD = 97        /* microseconds between the earliest and the latest cancellation */
};

static atomic_int working;

static void use(cudnnBackendDescriptor_t tensor)
{
    static const int64_t uid = 1;
    if (tensor)
        cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
}

static void *work(void *unused)
{
    static _Thread_local cudnnBackendDescriptor_t tensor;
    int before;
    (void)unused;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    for (;;) {
        cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor);
        use(tensor);
        cudnnBackendDestroyDescriptor(tensor);
        atomic_store(&working, 1);
    }
    return NULL;
}

static int use_many(void)
{
    static cudnnBackendDescriptor_t tensor[DESCRIPTORS];
    int failed = 0;
    for (int i = 0; i < DESCRIPTORS; i++) {
        failed += cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor[i]) != 0;
        use(tensor[i]);
    }
    for (int i = 0; i < DESCRIPTORS; i++)
        failed += cudnnBackendDestroyDescriptor(tensor[i]) != 0;
    return failed;
}

static int cancel_one(int round)
{
    const struct timespec moment = {.tv_nsec = round % SPREAD * 1000L};
    pthread_t thread;
    void *end = NULL;
    atomic_store(&working, 0);
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    while (!atomic_load(&working))
        continue;
    nanosleep(&moment, NULL);
    pthread_cancel(thread);
    pthread_join(thread, &end);
    return end == PTHREAD_CANCELED ? use_many() : 1;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, failed = 0;
    failed += use_many();
    for (int round = 0; round < rounds; round++)
        failed += cancel_one(round);
    printf("%d rounds, %d failed\n", rounds, failed);
    return failed != 0;
}
