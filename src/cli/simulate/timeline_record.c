/* Reads the device's record (cudart_record.c describes its lines). */
#include "cli/simulate/timeline_record.h"

#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- blocks --- */

struct held {
    uint64_t begin, end;
    size_t index;
};

/* Blocks that share an address are equal, so that an address finds the block around it. */
static int compare(const void *left, const void *right)
{
    const struct held *a = left, *b = right;
    if (a->end <= b->begin)
        return -1;
    return b->end <= a->begin;
}

static struct held **find(void *const *held, uint64_t address)
{
    const struct held key = {.begin = address, .end = address + 1};
    return (struct held **)tfind(&key, held, compare);
}

bool cs_held_add(void **held, uint64_t address, int64_t bytes, size_t index)
{
    struct held *one = malloc(sizeof *one);
    if (!one)
        return false;
    *one = (struct held){address, address + (uint64_t)(bytes > 0 ? bytes : 1), index};
    struct held **node = (struct held **)tsearch(one, held, compare);
    if (!node || *node != one)
        free(one); /* there is one already: its end was not recorded */
    return node != NULL;
}

long cs_held_take(void **held, uint64_t address)
{
    struct held **node = find(held, address), *one = node ? *node : NULL;
    if (!one || one->begin != address)
        return -1;
    long index = (long)one->index;
    tdelete(one, held, compare);
    free(one);
    return index;
}

long cs_held_find(void *held, uint64_t address)
{
    struct held **node = address > 0 ? find(&held, address) : NULL;
    return node ? (long)(*node)->index : -1;
}

void cs_held_free(void *held)
{
    while (held) {
        struct held *one = *(struct held **)held;
        tdelete(one, &held, compare);
        free(one);
    }
}

/* --- lines --- */

int64_t cs_timeline_number(const struct cJSON *object, const char *name)
{
    return cs_json_whole(cJSON_GetObjectItemCaseSensitive(object, name), 0);
}

struct reader {
    struct cs_launches *to;
    size_t launch_room, event_room;
};

static bool make_room(void **items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room > 0 ? 2 * *room : 1024;
    void *grown = reallocarray(*items, more, size);
    if (grown) {
        *items = grown;
        *room = more;
    }
    return grown != NULL;
}

static bool take_launch(struct reader *reader, const char *line, struct cs_record_event *event)
{
    struct cs_launches *to = reader->to;
    struct cs_launch launch = {.block = -1};
    if (sscanf(line, "c %" SCNx64 " %" SCNd64 " %" SCNd64 " %*d %*d %39s", &launch.workspace,
               &launch.workspace_bytes, &launch.tensor_bytes, launch.plan) < 3)
        return false;
    event->bytes = (int64_t)to->count;
    if (!make_room((void **)&to->item, to->count, &reader->launch_room, sizeof *to->item))
        return false;
    to->item[to->count++] = launch;
    return true;
}

static bool take_line(struct reader *reader, const char *line)
{
    struct cs_launches *to = reader->to;
    struct cs_record_event event = {.what = *line};
    bool good = true;
    if (event.what == 'm')
        good = sscanf(line, "m %" SCNd64, &event.bytes) == 1;
    else if (event.what == 'a')
        good = sscanf(line, "a %" SCNx64 " %" SCNd64, &event.address, &event.bytes) == 2;
    else if (event.what == 'f')
        good = sscanf(line, "f %" SCNx64, &event.address) == 1;
    else
        good = take_launch(reader, line, &event);
    good =
        good && make_room((void **)&to->event, to->events, &reader->event_room, sizeof *to->event);
    if (good)
        to->event[to->events++] = event;
    return good;
}

bool cs_launches_read(const struct cs_simulated_run *run, pid_t pid, struct cs_launches *launches)
{
    char path[PATH_MAX + 64], line[256];
    struct reader reader = {.to = launches};
    *launches = (struct cs_launches){.count = 0};
    snprintf(path, sizeof path, "%s/record.%ld", run->folder, (long)pid);
    FILE *file = fopen(path, "re");
    if (!file) {
        cs_cli_complain("%s: %s", path, strerror(errno));
        return false;
    }
    bool good = true;
    while (good && fgets(line, sizeof line, file))
        good = take_line(&reader, line);
    fclose(file);
    if (!good) {
        cs_cli_complain("%s: damaged, or out of memory", path);
        cs_launches_fini(launches);
    }
    return good;
}

void cs_launches_fini(struct cs_launches *launches)
{
    free(launches->item);
    free(launches->event);
    *launches = (struct cs_launches){.count = 0};
}
