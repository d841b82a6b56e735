/* Policy `peak`: how much workspace each convolution may use without the program's peak growing, as
 * the calls of earlier runs have shown.
 *
 * Every call is noted with the addresses of its operands. A pass ends where a layer, a problem with
 * its filter's address, comes again, and at the end of the process; what it shows (pass.h) is
 * remembered under the program's name (store.h), of each convolution the least of all its calls.
 * What earlier runs have found out holds from the start and does not change while the process runs:
 * sizes that were reported are never taken back. A pass of the same problems is looked at twice,
 * for the first one meets an empty cache, and in later runs only for convolutions that are new:
 * rooms stay what they are. Thread-safe. */
#ifndef CS_FLOW_PEAK_H
#define CS_FLOW_PEAK_H

#include "base/lock.h"
#include "config/store.h"
#include "convshim/gpu.h"

struct cs_request;
struct cs_vendor;
struct cs_pass_notes;

enum {
    CS_PEAK_SITES = 2048, /* that rooms are known of, and passes */
    CS_PEAK_PASS = -1,
    CS_PEAK_NEW = -2
};

struct cs_peak {
    bool on; /* a policy of the options or of a rule wants it; else nothing here is touched */
    struct cs_lock lock;
    uint64_t program; /* a number for it and for the options that it runs under */
    bool begun;       /* what is remembered has been read */
    int sites;
    struct cs_peak_site {
        uint64_t site; /* or a pass that was looked at, whose room is CS_PEAK_PASS */
        int64_t room;  /* bytes: the least that passes have shown */
        int64_t given; /* what it was when the process began; CS_PEAK_NEW: not known */
        bool due;      /* to be remembered */
    } site[CS_PEAK_SITES];
    struct cs_pass_notes *notes; /* of the pass that is under way */
};

void cs_peak_init(struct cs_peak *peak, bool on, uint64_t program);

/* What a convolution is called here; zeros: nothing. */
struct cs_peak_name {
    uint64_t site;    /* with the engine that the application chose, on this model of device */
    uint64_t problem; /* whatever the engine */
};
struct cs_peak_name cs_peak_name(const struct cs_request *request, const struct cs_vendor *vendor);

/* The bytes of workspace that do no harm; < 0: not known. */
int64_t cs_peak_room(struct cs_peak *peak, struct cs_store *store, struct cs_peak_name name);

/* A call that is about to be made, of a convolution that was reported so many bytes. */
void cs_peak_note(struct cs_peak *peak, struct cs_store *store, struct cs_peak_name name,
                  int64_t reported, const struct cs_problem *problem,
                  const struct cs_addresses *addresses);

/* The process is about to end. */
void cs_peak_end(struct cs_peak *peak, struct cs_store *store);

/* How many convolutions earlier runs have told of. */
int cs_peak_earlier(struct cs_peak *peak);

/* Holds (before) or frees (after) the lock across a fork. The child's calls are its own. */
void cs_peak_fork(struct cs_peak *peak, bool before, bool child);

#endif
