/* Ranks as processes of one host: each has a slot in a piece of shared memory. */
#include "nccl_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME = 96,
    JOIN_SECONDS = 600,
    WAIT_NANOSECONDS = 200000
};

struct slot {
    _Atomic uint64_t process;     /* 0: it has not joined */
    _Atomic uint64_t given, read; /* numbers of the last exchange */
    unsigned char values[NCCL_MOST_BYTES];
};

struct nccl_ranks {
    char name[NAME];
    int ranks, rank;
    uint64_t exchange;
    struct slot *slot; /* of each rank */
};

static size_t bytes_of(int ranks)
{
    return (size_t)ranks * sizeof(struct slot);
}

static struct slot *map_slots(const char *name, int ranks)
{
    const int file = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *made = MAP_FAILED;
    if (file >= 0 && ftruncate(file, (off_t)bytes_of(ranks)) == 0)
        made = mmap(NULL, bytes_of(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    return made == MAP_FAILED ? NULL : made;
}

static bool has_ended(const struct slot *slot)
{
    const uint64_t process = atomic_load(&slot->process);
    return process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

/* Waits until all ranks have reached a number. */
static bool wait_for(const struct nccl_ranks *ranks, size_t member, uint64_t number)
{
    const struct timespec pause = {0, WAIT_NANOSECONDS};
    const time_t last = time(NULL) + JOIN_SECONDS;
    for (int i = 0; i < ranks->ranks; i++) {
        const _Atomic uint64_t *at = (const void *)((const char *)&ranks->slot[i] + member);
        while (atomic_load(at) < number) {
            if (has_ended(&ranks->slot[i]) || time(NULL) > last)
                return false;
            nanosleep(&pause, NULL);
        }
    }
    return true;
}

struct nccl_ranks *nccl_ranks_join(const char *name, int ranks, int rank)
{
    if (ranks < 1 || ranks > NCCL_MOST_RANKS || rank < 0 || rank >= ranks)
        return NULL;
    struct nccl_ranks *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    snprintf(made->name, sizeof made->name, "%s", name);
    made->ranks = ranks;
    made->rank = rank;
    made->slot = map_slots(made->name, ranks);
    if (made->slot)
        atomic_store(&made->slot[rank].process, (uint64_t)getpid());
    const bool joined = made->slot && wait_for(made, offsetof(struct slot, process), 1);
    if (!made->slot || rank == 0)
        shm_unlink(made->name);
    if (joined)
        return made;
    nccl_ranks_leave(made);
    return NULL;
}

void nccl_ranks_leave(struct nccl_ranks *ranks)
{
    if (ranks && ranks->slot)
        munmap(ranks->slot, bytes_of(ranks->ranks));
    free(ranks);
}

const char *nccl_ranks_name(const struct nccl_ranks *ranks)
{
    return ranks->name;
}

bool nccl_ranks_give(struct nccl_ranks *ranks, const void *values, size_t bytes)
{
    struct slot *own = &ranks->slot[ranks->rank];
    if (!wait_for(ranks, offsetof(struct slot, read), ranks->exchange))
        return false;
    ranks->exchange++;
    memcpy(own->values, values, bytes);
    atomic_store(&own->given, ranks->exchange);
    return wait_for(ranks, offsetof(struct slot, given), ranks->exchange);
}

const void *nccl_ranks_given(const struct nccl_ranks *ranks, int rank)
{
    return ranks->slot[rank].values;
}

void nccl_ranks_take_no_more(struct nccl_ranks *ranks)
{
    atomic_store(&ranks->slot[ranks->rank].read, ranks->exchange);
}
