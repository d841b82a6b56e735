/* Named ranges that the program opens and closes in each thread. Reports name convolutions by them.
 * Names are copied. If more than CS_RANGES ranges are open, inner ones have the name of the last
 * that fits. */
#ifndef CS_BASE_RANGE_H
#define CS_BASE_RANGE_H

enum {
    CS_RANGES = 8,
    CS_RANGE_NAME = 48 /* bytes, NUL included */
};

/* Opens a range and returns its level, from 0. A `name` of NULL counts as "". */
int cs_range_push(const char *name);

/* Closes the innermost range and returns its level, or -1 if no range is open. */
int cs_range_pop(void);

/* The name of the innermost open range of the calling thread, "" if no range is open. */
const char *cs_range_name(void);

#endif
