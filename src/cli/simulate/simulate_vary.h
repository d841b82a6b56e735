/* Several values of an argument: the memory that the program needs with each, its growth, and the
 * largest value that fits. One thread. */
#ifndef CS_CLI_SIMULATE_SIMULATE_VARY_H
#define CS_CLI_SIMULATE_SIMULATE_VARY_H

#include "cli/simulate/simulate.h"

/* The command with "{NAME}" replaced in each word; cs_vary_free_command frees it. NULL: memory is
 * short. `*uses_p`: whether any word has it. */
char **cs_vary_command(char *const *command, const char *name, const char *value, bool *uses_p);
void cs_vary_free_command(char **command);

/* Of one value and side; -1: not known. */
struct cs_vary_peaks {
    int64_t allocated, reserved, device_peak, needed;
    enum cs_answer answer;
};

struct cs_vary_row {
    char value[CS_VARY_TEXT];
    double number; /* of the value; NAN: it is none */
    struct cs_vary_peaks side[CS_SIDES];
};

/* Growth of the allocated peak, or of the device peak if no framework reports any, between the rows
 * of the smallest and the largest number, for each unit of the value or of its square, and the
 * largest distance of another row from that line; NAN: not known. */
struct cs_slope {
    double each, distance;
};
struct cs_slope cs_vary_slope(const struct cs_vary_row *row, size_t rows, enum cs_side side,
                              bool square);

/* Runs the program with the values, and prints the rows. `pair` has the device and the options of
 * all runs. Returns the status of the command. */
int cs_simulate_vary(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                     const struct cs_simulated_pair *pair);

#endif
