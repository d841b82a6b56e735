/* Predicts workspace and time of tiles from the whole problem and a few tiles for which the vendor
 * was queried. A guess takes less than a microsecond and makes no query. Pure. */
#ifndef CS_DECIDE_GUESS_H
#define CS_DECIDE_GUESS_H

#include "decide/question.h"

/* Workspace and time of a set of tilings, corrected by the vendor's answers. */
struct cs_guess_model {
    double per_image, per_filter; /* workspace bytes for each byte of a tile's x and y, or filter */
    double fixed;                 /* workspace bytes of every tile in addition */
    double workspace_factor;      /* factor of all of these bytes, from the last answer */
    double added_time_factor;     /* factor of the time that tiles add to the untiled call */
    double time_factor;           /* factor of the whole time: learned instead if the last tiling
                                     hardly took longer than the untiled call; else 1 */
};

/* Kinds of tiles whose workspaces differ. */
enum {
    CS_GUESS_IMAGES,   /* cuts along N alone: images are as contiguous as untiled */
    CS_GUESS_CHANNELS, /* along K or C alone: a part of the filter, and all of one image */
    CS_GUESS_PARTS,    /* all others: engines may copy parts of images */
    CS_GUESS_KINDS
};

/* The state of all guesses for one question. */
struct cs_guesser {
    const struct cs_question *question;
    const struct cs_profile *profile;
    double images, filter; /* bytes of the untiled x and y, and of the filter */
    double seconds;        /* seconds of the untiled call */
    struct cs_guess_model model[CS_GUESS_KINDS];
    struct cs_problem tile; /* the one under examination */
};

/* The guessed workspace and time of one tiling. */
struct cs_guess {
    struct cs_tiling tiling;
    int64_t tiles;
    bool uneven;           /* phases of unequal length, which engines refuse more often */
    double images, filter; /* bytes of one tile's x and y, and of its filter */
    double staged;         /* bytes of one tile's packed copies */
    double each;           /* bytes of workspace on one lane, copies included */
    double workspace;      /* bytes of workspace on all lanes */
    double halo, copied;   /* bytes as in struct cs_candidate */
    double seconds;
};

/* Starts guesses for a question, from the workspace and time of the untiled call. If the real
 * device is unknown, the question's profile is that of a typical one. */
void cs_guess_start(struct cs_guesser *guesser, const struct cs_question *question);

/* Guesses workspace and time of a tiling, without its runs. False if the cut is not possible. */
bool cs_guess_tiles(struct cs_guesser *guesser, const struct cs_tiling *tiling,
                    struct cs_guess *guess);

/* cs_guess_tiles in two steps. cs_guess_size sets all members except the seconds. cs_guess_seconds
 * adds the seconds of the last guess, which take most of the time. */
bool cs_guess_size(struct cs_guesser *guesser, const struct cs_tiling *tiling,
                   struct cs_guess *guess);
void cs_guess_seconds(const struct cs_guesser *guesser, struct cs_guess *guess);

/* The guess as a candidate that takes this long. Its shapes are not known: 0. */
struct cs_candidate cs_guess_candidate(const struct cs_guesser *guesser,
                                       const struct cs_guess *guess, double seconds);

/* Learns workspace and time from a candidate that the vendor confirmed. */
void cs_guess_learn(struct cs_guesser *guesser, const struct cs_candidate *candidate);

/* Learns the bytes that one lane needs for a guess, copies included, from the vendor's answer. */
void cs_guess_learn_tile(struct cs_guesser *guesser, const struct cs_guess *guess, double bytes);

#endif
