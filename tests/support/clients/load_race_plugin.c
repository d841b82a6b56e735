/* A plugin whose constructor, which runs under the loader's lock, makes an intercepted call; before
 * that a child does, while the process's first call is under way on another thread. */
#include <cudnn.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MICROSECONDS = 300000, /* a first call takes less */
    SECONDS = 30           /* after this time a call counts as hanging */
};

extern sem_t load_race_go;
extern bool load_race_child;

static void call(void)
{
    cudnnBackendDescriptor_t descriptor;
    cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &descriptor);
    cudnnBackendDestroyDescriptor(descriptor);
}

__attribute__((constructor)) static void constructor(void)
{
    int status = 1;
    sem_post(&load_race_go);
    usleep(MICROSECONDS);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        call();
        _exit(0);
    }
    load_race_child = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    call();
}
