/* Runs a command on a GPU of which nearly all memory is taken. */
#include "gpu.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The driver gives memory in blocks of this size. */
#define GRAIN (INT64_C(2) << 20)
#define MAX_BLOCKS 4096

struct ballast {
    void *block[MAX_BLOCKS];
    int blocks;
    int64_t bytes;
};

struct options {
    int64_t leave;
};

static const char USAGE[] =
    "usage: gpu_ballast --leave SIZE -- COMMAND [ARGUMENT...]\n"
    "Allocates all free memory of the GPU but SIZE (64MiB, 256M, 1g, bytes) and runs COMMAND\n"
    "at the same time. Its CUDA context is its own and needs memory too: some hundred MiB of "
    "SIZE.\n"
    "Prints a line of JSON after the command has ended: command_status is its exit status, or\n"
    "128 and the number of the signal.\n"
    "On the simulated device every process has its own GPU: take `with-simdev --capacity`.\n"
    "Status: 0 if the command ran, whatever its status; 1 on an error, 2 on usage, 77 without a\n"
    "device.\n";

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    return option == 'l' && option_size("leave", value, &options->leave);
}

static void drop_ballast(struct ballast *ballast)
{
    while (ballast->blocks > 0)
        cudaFree(ballast->block[--ballast->blocks]);
}

/* The largest free block up to `wanted` bytes; free memory may be in pieces. */
static bool take_block(struct ballast *ballast, int64_t wanted, bool *taken)
{
    *taken = false;
    for (int64_t bytes = wanted / GRAIN * GRAIN; bytes >= GRAIN;
         bytes = bytes / 2 / GRAIN * GRAIN) {
        cudaError_t error = cudaMalloc(&ballast->block[ballast->blocks], (size_t)bytes);
        if (error == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            continue;
        }
        TRY_CUDA(error, fail);
        ballast->blocks++;
        ballast->bytes += bytes;
        *taken = true;
        return true;
    }
    return true;
fail:
    return false;
}

static bool take_ballast(int64_t leave, struct ballast *ballast)
{
    bool taken = true;
    while (taken && ballast->blocks < MAX_BLOCKS) {
        int64_t available = gpu_free_memory();
        if (available < 0 || !take_block(ballast, available - leave, &taken))
            return false;
    }
    return true;
}

/* The command starts as a new program: it shares nothing with this one's CUDA context. */
static bool run_command(char **command, int *status)
{
    pid_t child;
    int state;
    int error = posix_spawnp(&child, command[0], NULL, NULL, command, environ);
    if (error != 0) {
        fprintf(stderr, "gpu_ballast: %s: %s\n", command[0], strerror(error));
        return false;
    }
    while (waitpid(child, &state, 0) < 0) {
        if (errno != EINTR) {
            perror("gpu_ballast: waitpid");
            return false;
        }
    }
    *status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return true;
}

static bool report(int64_t leave, int64_t free_before, int64_t ballast, int64_t free_after,
                   int command_status, double seconds)
{
    json_open();
    json_integer("leave_bytes", leave);
    json_integer("free_before", free_before);
    json_integer("ballast_bytes", ballast);
    json_integer("free_after", free_after);
    json_integer("command_status", command_status);
    json_number("seconds", seconds);
    return json_close();
}

static bool run(int64_t leave, char **command)
{
    struct ballast ballast = {.blocks = 0};
    int command_status = 0;
    int64_t free_before = gpu_free_memory();
    if (free_before < 0)
        return false;
    bool good = take_ballast(leave, &ballast);
    int64_t free_after = good ? gpu_free_memory() : -1;
    double start = client_seconds();
    good = free_after >= 0 && run_command(command, &command_status);
    double seconds = client_seconds() - start;
    drop_ballast(&ballast);
    return good && report(leave, free_before, ballast.bytes, free_after, command_status, seconds);
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"leave", required_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.leave = -1};
    int operands = 0;
    for (int i = 1; i < argc && operands == 0; i++)
        if (strcmp(argv[i], "--") == 0)
            operands = argc - i - 1;
    int status = options_parse(argc, argv, known, take, &options, USAGE, operands);
    if (status >= 0)
        return status;
    if (options.leave < 0 || operands == 0) {
        fprintf(stderr, "%s is missing\n%s", options.leave < 0 ? "--leave" : "-- COMMAND", USAGE);
        return 2;
    }
    status = gpu_open("gpu_ballast");
    if (status != 0)
        return status;
    return run(options.leave, argv + optind) ? 0 : 1;
}
