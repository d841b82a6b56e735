/* What tiles of a problem would need and cost, guessed from what is known of the whole and of a few
 * tiles that the vendor was asked about. A guess takes less than a microsecond and asks nobody.
 * Pure.
 *
 * A tile's workspace is taken to be so much for each byte of its images (x and y), so much for each
 * of its filter, and something that all tiles need: at first the same for every byte, as the whole
 * requires it; the answer about a tile that has the whole filter tells them apart. A tile's time is
 * that of one from the middle; how far the last guess was off corrects the next. */
#ifndef CS_DECIDE_GUESS_H
#define CS_DECIDE_GUESS_H

#include "decide/search.h"

struct cs_guesser {
    const struct cs_question *question;
    const struct cs_profile *profile;
    double images, filter;        /* bytes of the whole's */
    double per_image, per_filter; /* bytes of workspace for each of them */
    double fixed;                 /* and for every tile */
    double scale;                 /* times as much, as the last answer was */
    double excess;                /* times as much beyond the untiled call's time, likewise */
    double late;                  /* seconds, where a guess was no longer than that */
    double seconds;               /* of the untiled call */
    struct cs_problem tile;       /* the one under examination */
};

struct cs_guess {
    struct cs_tiling tiling;
    int64_t tiles;
    bool uneven;           /* phases that are not all as long: engines refuse more of these */
    double images, filter; /* bytes of one tile's */
    double staged;         /* bytes of copies of it, on each lane */
    double each;           /* bytes of workspace on one lane, copies included */
    double workspace;      /* the same on all lanes */
    double seconds;
};

/* The question's profile is that of a typical device if the real one is not known. */
void cs_guess_start(struct cs_guesser *guesser, const struct cs_question *question);

/* False if there is no such cut. Runs are not looked at. */
bool cs_guess_tiles(struct cs_guesser *guesser, const struct cs_tiling *tiling,
                    struct cs_guess *guess);

/* The same in two steps: all but the seconds, then the seconds of the guess of the last
 * cs_guess_size, which take most of the time. */
bool cs_guess_size(struct cs_guesser *guesser, const struct cs_tiling *tiling,
                   struct cs_guess *guess);
void cs_guess_seconds(const struct cs_guesser *guesser, struct cs_guess *guess);

/* What the vendor said of a tiling that is listed. */
void cs_guess_learn(struct cs_guesser *guesser, const struct cs_candidate *candidate);

/* What one lane needs for a guess, copies included, as the vendor said. */
void cs_guess_learn_tile(struct cs_guesser *guesser, const struct cs_guess *guess, double bytes);

#endif
