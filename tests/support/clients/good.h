/* For functions of a client that return false after they have printed a fault. */
#ifndef GOOD_H
#define GOOD_H

#include <stdio.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            return false;                                                                          \
        }                                                                                          \
    } while (0)
#define GOOD(call) CHECK((call) == CUDNN_STATUS_SUCCESS)

#endif
