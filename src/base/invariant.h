/* Checks of a part's own state. CS_INVARIANT is called at the public functions of a part, where its
 * state must be sound. In a debug build (CS_DEBUG: all sanitizer builds, and the objects that unit
 * tests link) a broken invariant is counted and printed to standard error as `invariant broken`,
 * for which every unit test and every whole-program test fails. The call continues. Other builds
 * contain no code of the checks. */
#ifndef CS_BASE_INVARIANT_H
#define CS_BASE_INVARIANT_H

#ifdef CS_DEBUG
#define CS_INVARIANT(condition)                                                                    \
    ((condition) ? (void)0 : cs_invariant_broken(#condition, __FILE__, __LINE__))
#else
#define CS_INVARIANT(condition) ((void)(0 && (condition)))
#endif

/* Counts a broken invariant and prints it. Thread-safe, under any lock. */
void cs_invariant_broken(const char *condition, const char *file, int line);

/* Returns the number of broken invariants so far. */
int cs_invariant_faults(void);

#endif
