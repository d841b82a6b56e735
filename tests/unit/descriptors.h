/* For tests of functions that open files: such a function may receive descriptor 0, as in a program
 * whose standard input is closed, and must close every descriptor that it opens. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include "check.h"
#include <fcntl.h>
#include <unistd.h>

static int descriptors_before;

static int descriptors_open(void)
{
    int found = 0;
    for (int i = 0; i < 512; i++)
        found += fcntl(i, F_GETFD) >= 0;
    return found;
}

/* Before the first test. */
static void descriptors_begin(void)
{
    close(STDIN_FILENO);
    descriptors_before = descriptors_open();
}

/* The last test. */
static void no_descriptor_is_left_open(void)
{
    CHECK_INT(descriptors_open(), descriptors_before);
}

#endif
