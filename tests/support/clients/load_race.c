/* A thread makes the process's first cuDNN call while another one is in a plugin's constructor, and
 * so has the loader's lock: load_race PLUGIN. */
#include <cudnn.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>

/* The plugin's constructor sets them. */
sem_t load_race_go;
bool load_race_child; /* a child that it forked was served */

static void *thread(void *unused)
{
    cudnnBackendDescriptor_t descriptor;
    (void)unused;
    sem_wait(&load_race_go);
    cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &descriptor);
    cudnnBackendDestroyDescriptor(descriptor);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;
    if (argc != 2 || sem_init(&load_race_go, 0, 0) != 0 ||
        pthread_create(&other, NULL, thread, NULL) != 0)
        return 2;
    if (dlopen(argv[1], RTLD_NOW) == NULL) {
        fprintf(stderr, "load_race: %s\n", dlerror());
        return 2;
    }
    pthread_join(other, NULL);
    puts(load_race_child ? "both were served" : "the child was not served");
    return 0;
}
