/* A program that sets an option of convshim and reads the summary (include/convshim.h). It also
 * runs without the library, because it looks the functions up:
 *
 *     cc -I include -o control docs/examples/control.c -ldl
 *     convshim run -- ./control workspace=64MiB */
#define _GNU_SOURCE
#include <convshim.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints the summary so far, which is JSON. It may grow between the two calls. */
static void print_summary(size_t (*summary)(char *, size_t))
{
    size_t size = summary(NULL, 0) + 1;
    char *json = size > 1 ? malloc(size) : NULL;
    if (json && summary(json, size) < size)
        puts(json);
    else
        puts("no convolution yet");
    free(json);
}

int main(int argc, char **argv)
{
    __typeof__(convshim_version) *version =
        (__typeof__(convshim_version) *)dlsym(RTLD_DEFAULT, "convshim_version");
    __typeof__(convshim_configure) *configure =
        (__typeof__(convshim_configure) *)dlsym(RTLD_DEFAULT, "convshim_configure");
    __typeof__(convshim_summary) *summary =
        (__typeof__(convshim_summary) *)dlsym(RTLD_DEFAULT, "convshim_summary");
    char error[256];
    if (!version || !configure || !summary) {
        puts("convshim is not preloaded");
        return 0;
    }
    printf("convshim %s\n", version());
    if (argc > 1 && configure(argv[1], error, sizeof error) != 0) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    /* The program's convolutions run here. */
    print_summary(summary);
    return 0;
}
