/* Shows the rows of `convshim simulate --vary`. One thread. */
#ifndef CS_CLI_SIMULATE_SIMULATE_VARY_PRINT_H
#define CS_CLI_SIMULATE_SIMULATE_VARY_PRINT_H

#include "cli/simulate/simulate_vary.h"

struct cs_vary_result {
    const struct cs_vary *vary;
    const struct cs_simulated_pair *pair; /* the device and the chosen sides */
    const struct cs_vary_row *row;        /* of a range in order of numbers */
    size_t rows;
    int64_t largest[CS_SIDES]; /* of a range, that fits; below it: none does; -2: no answer */
};

/* Prints the rows, the slopes and the largest values; false if memory ran out. */
bool cs_vary_print(const struct cs_simulation *simulation, const struct cs_vary_result *result,
                   enum cs_format format);

/* Writes a page with the same and a picture. False: a line has said why. */
bool cs_vary_html(const struct cs_simulation *simulation, const struct cs_vary_result *result,
                  const char *path);

#endif
