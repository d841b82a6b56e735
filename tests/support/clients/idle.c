/* Links cuDNN and the CUDA runtime and calls no function of them. idle [WAY]: the way in which it
 * ends. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (argc > 1)
        (void)!write(STDOUT_FILENO, "begin\n", 6);
    if (strcmp(way, "exit") == 0)
        exit(0);
    if (strcmp(way, "_exit") == 0)
        _exit(0);
    if (strcmp(way, "_Exit") == 0)
        _Exit(0);
    if (strcmp(way, "kill") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(way, "raise") == 0)
        raise(SIGTERM);
    return 0;
}
