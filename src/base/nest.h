/* Counts for each thread how deep it is inside the library. While the count is above 0, calls come
 * from the library or from the vendor's code, and must reach the real function. The TLS model is
 * initial-exec because a preloaded library's TLS must not be allocated lazily inside an intercepted
 * call. */
#ifndef CS_BASE_NEST_H
#define CS_BASE_NEST_H

#include <stdbool.h>

extern __thread int cs_nest_depth __attribute__((tls_model("initial-exec")));

static inline bool cs_nested(void)
{
    return cs_nest_depth > 0;
}

static inline void cs_nest_enter(void)
{
    cs_nest_depth++;
}

static inline void cs_nest_leave(void)
{
    cs_nest_depth--;
}

#endif
