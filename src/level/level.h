/* The level of device memory: the bytes that a program holds of PyTorch's caching allocator now,
 * and the most that it has held. The allocator reports each block that it hands out or takes back.
 * From the reports this part computes the room that a call may use without raising the program's
 * peak.
 *
 * "The program's" excludes scratch that the library itself has taken from the allocator
 * (cs_level_begin). All sizes are bytes.
 *
 * A level belongs to one device. All functions are thread-safe, and take one lock, which is a leaf:
 * the allocator reports while it holds its own lock. So nothing here allocates from it, calls CUDA
 * or logs. Levels take memory from the system, about 300 KiB for each device that reports. */
#ifndef CS_LEVEL_LEVEL_H
#define CS_LEVEL_LEVEL_H

#include "base/checked.h"
#include "base/lock.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CS_LEVEL_DEVICES = 16,   /* later devices have no level */
    CS_LEVEL_ROUNDING = 512, /* the allocator rounds blocks up to a multiple of this */
    CS_LEVEL_PAGE = 20 << 20 /* bytes by which it grows at least for a large block */
};

/* Returns the bytes of the allocator's block for `bytes` >= 0. */
static inline int64_t cs_level_rounded(int64_t bytes)
{
    return cs_round_up(bytes, CS_LEVEL_ROUNDING);
}

/* Why a call runs as planned. */
enum cs_refusal {
    CS_REFUSAL_NONE,
#define CS_REFUSAL(id, text) CS_REFUSAL_##id,
#include "level/refusals.def"
#undef CS_REFUSAL
    CS_REFUSALS
};

/* The ways to run a convolution for which the application's plan requires more scratch than was
 * reported. */
enum cs_level_way {
    CS_WAY_UNTILED, /* the application's own plan */
    CS_WAY_FEWER,   /* fewer tiles than planned */
    CS_WAY_PLANNED, /* the reported size */
    CS_WAYS
};

/* Exact figures about one device. A peak is the largest value so far. */
struct cs_level_facts {
    int64_t allocated; /* peak of the allocated bytes, with convshim */
    int64_t without;   /* peak that the allocated bytes would have had without convshim */
    int64_t reserved;  /* peak of the bytes that the allocator holds of the device */
    int64_t events;    /* reports */
    int64_t calls[CS_WAYS], launches[CS_WAYS];
    int64_t refused[CS_REFUSALS]; /* calls that ran as planned, by reason */
    bool pool;                    /* the peaks are those of a pool of the driver (cs_level_raise) */
    int64_t grown; /* times that the library's own scratch made the allocator grow unexpectedly */
};

struct cs_device_level;

/* The levels of a process. Zeros: no device has reported. */
struct cs_levels {
    _Atomic(struct cs_device_level *) device[CS_LEVEL_DEVICES];
    _Atomic int64_t calls[CS_WAYS], launches[CS_WAYS]; /* of calls without a level */
    _Atomic int64_t refused[CS_REFUSALS];
};

/* The levels of this process. */
extern struct cs_levels cs_levels;

/* Records a report: a block of `bytes` at `address` was handed out, or taken back if bytes < 0.
 * Then the program had `allocated` bytes, and the allocator `reserved` of the device. Reports of
 * one device must arrive in their order, as they do under the allocator's lock. Unknown devices and
 * impossible numbers are ignored. False if the block is scratch of the library, which is not part
 * of the program's own profile. */
bool cs_level_note(struct cs_levels *levels, int device, const void *address, int64_t bytes,
                   int64_t allocated, int64_t reserved);

/* A call that may need scratch. */
struct cs_level_call {
    const void *workspace; /* or NULL */
    const void *output;    /* by which the level is found if the workspace is small, or NULL */
    int64_t provided;      /* bytes at `workspace`, as they were reported */
    int64_t required;      /* bytes that it would have allocated instead without convshim */
    const void *stream;
};

struct cs_level_pool;

/* The state of a device, or of a pool, for one call. */
struct cs_level_room {
    int device;                 /* -1: no level, or unknown */
    struct cs_level_pool *pool; /* NULL: PyTorch's caching allocator */
    int64_t allocated;          /* now, with the call's workspace */
    int64_t high;               /* the most that the program has had */
    int64_t reserved;           /* now */
    int64_t block;              /* the largest free block */
    int64_t page;               /* the allocator may grow by so much more than a request */
    bool first_stream; /* the call's stream is not the one that convolutions have used so far */
};

/* Peaks that the level of a device cannot compute from reports: those of a pool of the driver. */
struct cs_level_peaks {
    int64_t allocated, without, reserved; /* as in struct cs_level_facts */
};

/* Records the peaks of a pool of the driver. The facts of a device are those of its only pool:
 * ignored if an allocator reports to the device. If convolutions have memory of several pools, or
 * of other memory (`pool` NULL), its facts are unknown (cs_level_facts). */
void cs_level_raise(struct cs_levels *levels, int device, const struct cs_level_pool *pool,
                    const struct cs_level_peaks *peaks);

/* Finds the level whose allocator holds the call's memory, and reads its room. Records the
 * size that the call would have allocated without convshim. CS_REFUSAL_NONE, or the reason why
 * nothing may be taken. With any result but CS_REFUSAL_UNKNOWN *room_p is complete. */
enum cs_refusal cs_level_ask(struct cs_levels *levels, const struct cs_level_call *call,
                             struct cs_level_room *room_p);

/* Free memory that directly follows a call's workspace. */
struct cs_level_extension {
    int64_t block; /* bytes of the workspace's block */
    int64_t after; /* free bytes behind it */
    int64_t least; /* a request of at least this size is expected to get them */
};

/* Finds the free memory behind the workspace of a call. False: none, or the workspace is not a
 * whole block of the allocator, so that the program may use the rest of the block. */
bool cs_level_extend(struct cs_levels *levels, int device, const struct cs_level_call *call,
                     struct cs_level_extension *extension_p);

/* Records a stream that runs convolutions of the device, outside of captures. False if there was
 * another one before: free memory may then belong to either. */
bool cs_level_stream(struct cs_levels *levels, int device, const void *stream);

/* Begins and ends the calling thread's use of the allocator for scratch of the library: the reports
 * in between are not the program's. One thread at a time may hold scratch of a device: if another
 * one does, cs_level_begin returns false. It is not followed by cs_level_end then.
 *
 *     begin, the allocator hands out scratch, cs_level_taken,
 *     resume, the allocator takes it back, cs_level_end
 *
 * cs_level_taken returns false if the scratch must be returned unused: the allocator has reported
 * no block at `memory` for this device, or it has grown although `may_grow` is false, so that the
 * table of free memory is wrong. Nothing is taken from the device then until its reserved memory
 * shrinks. */
bool cs_level_begin(struct cs_levels *levels, int device);
bool cs_level_taken(struct cs_levels *levels, int device, const void *memory, bool may_grow);
void cs_level_resume(void);
void cs_level_end(struct cs_levels *levels, int device);

/* Counts a call that could have run in other ways. `launches`: of its tiles, 1 if untiled. `device`
 * < 0: its device is not known. */
void cs_level_count(struct cs_levels *levels, int device, enum cs_level_way way, int64_t launches,
                    enum cs_refusal why);

/* Copies the figures of a device. False if they are unknown. May be called in a signal's handler
 * in a thread that holds no lock. */
bool cs_level_facts(struct cs_levels *levels, int device, struct cs_level_facts *facts_p);

/* Return the text of a refusal, and its id ("PEAK"). "" outside the list and for CS_REFUSAL_NONE.
 */
const char *cs_level_refusal_text(enum cs_refusal refusal);
const char *cs_level_refusal_id(enum cs_refusal refusal);

/* Takes the locks before a fork, and releases them after it. */
void cs_level_fork(struct cs_levels *levels, bool before);

#endif
