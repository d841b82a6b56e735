/* `convshim simulate`: what was asked for, what came of it, and how that is shown. One thread. */
#ifndef CS_CLI_SIMULATE_SIMULATE_H
#define CS_CLI_SIMULATE_SIMULATE_H

#include "cli/common/table.h"
#include "cli/simulate/simulated_result.h"

enum cs_side {
    CS_WITHOUT,
    CS_WITH,
    CS_SIDES
};

struct cs_simulate_options {
    const char *device, *only, *preset, *cudnn, *library, *keep;
    int64_t capacity; /* 0: the profile's */
    int cuda, jobs;
    bool side[CS_SIDES]; /* which are chosen */
    enum cs_format format;
    struct cs_library_options given;
};

/* Reads the command line. -1: go on, argv[*operand_p] is the program; else the status to end with.
 */
int cs_simulate_options(int argc, char **argv, struct cs_simulate_options *options, int *operand_p);

/* A program without and with the library, on one device of one capacity. */
struct cs_simulated_pair {
    bool chosen[CS_SIDES];
    struct cs_simulated_run run[CS_SIDES];
    struct cs_simulated_result result[CS_SIDES];
    /* With memory to spare, where the run above had none: what its plans are compared with. */
    bool has_base[CS_SIDES];
    struct cs_simulated_run base_run[CS_SIDES];
    struct cs_simulated_result base[CS_SIDES];
};

/* Prints the pair; false if memory ran out. */
bool cs_simulate_print(const struct cs_simulation *simulation, const struct cs_device_file *device,
                       const struct cs_simulated_pair *pair, enum cs_format format);

/* One line: how the program ran on that side. */
void cs_simulate_verdict(const struct cs_simulated_pair *pair, enum cs_side side, char *text,
                         size_t size);

#endif
