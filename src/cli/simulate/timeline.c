/* The memory of a run over time: its timeline from the events of the framework's allocator, or of
 * the device's, and from the device's record of convolutions (cudart_record.c describes its lines),
 * whose workspaces are found by address. */
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the record --- */

/* A convolution as it was called: one tile, or all of it. */
struct launch {
    uint64_t workspace; /* its address */
    int64_t workspace_bytes, tensor_bytes;
    char plan[40];
    long block;    /* found later; else -1 */
    size_t moment; /* likewise */
};

struct event {
    char what;        /* m, a, f, c */
    uint64_t address; /* a, f */
    int64_t bytes;    /* m: held; a: of it; c: the index of its launch */
};

struct launches {
    struct launch *item;
    struct event *event;
    size_t count, events;
};

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

/* Blocks of a set do not overlap. False: memory is short. */
static bool add_held(void **held, uint64_t address, int64_t bytes, size_t index)
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

/* The index of the block that begins there, which is taken out, or -1. */
static long take_held(void **held, uint64_t address)
{
    struct held **node = find(held, address), *one = node ? *node : NULL;
    if (!one || one->begin != address)
        return -1;
    long index = (long)one->index;
    tdelete(one, held, compare);
    free(one);
    return index;
}

/* The index of the block around an address, or -1. */
static long find_held(void *held, uint64_t address)
{
    struct held **node = address > 0 ? find(&held, address) : NULL;
    return node ? (long)(*node)->index : -1;
}

static void free_held(void *held)
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
    struct launches *to;
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

static bool take_launch(struct reader *reader, const char *line, struct event *event)
{
    struct launches *to = reader->to;
    struct launch launch = {.block = -1};
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
    struct launches *to = reader->to;
    struct event event = {.what = *line};
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

static void free_launches(struct launches *launches)
{
    free(launches->item);
    free(launches->event);
    *launches = (struct launches){.count = 0};
}

/* The record of a process of that run. False after a line: there is none, or memory is short. */
static bool read_launches(const struct cs_simulated_run *run, pid_t pid, struct launches *launches)
{
    char path[PATH_MAX + 64], line[256];
    struct reader reader = {.to = launches};
    *launches = (struct launches){.count = 0};
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
        free_launches(launches);
    }
    return good;
}

/* --- the timeline --- */

enum {
    ROUND = 512 /* bytes, of PyTorch's allocator */
};

struct builder {
    struct cs_timeline *timeline;
    const struct cJSON *summary;
    size_t block_room, moment_room, call_room;
    void *held; /* a tree of blocks that are held, by address */
    bool broken;
};

/* Room for one more; NULL: there is none. */
static void *grow(struct builder *builder, void *items, size_t count, size_t *room, size_t size)
{
    if (builder->broken)
        return NULL;
    if (count < *room)
        return items;
    size_t more = *room > 0 ? 2 * *room : 1024;
    void *grown = reallocarray(items, more, size);
    builder->broken = !grown;
    if (grown)
        *room = more;
    return grown;
}

static void add_moment(struct builder *builder, int64_t live)
{
    struct cs_timeline *to = builder->timeline;
    int64_t *grown = grow(builder, to->live, to->moments, &builder->moment_room, sizeof *grown);
    if (!grown)
        return;
    to->live = grown;
    to->live[to->moments++] = live;
}

/* A block that is held from the last moment on. */
static void add_block(struct builder *builder, uint64_t address, int64_t bytes, int stack)
{
    struct cs_timeline *to = builder->timeline;
    struct cs_timeline_block *grown =
        grow(builder, to->block, to->blocks, &builder->block_room, sizeof *grown);
    if (!grown)
        return;
    to->block = grown;
    to->block[to->blocks] = (struct cs_timeline_block){.address = address,
                                                       .bytes = bytes,
                                                       .from = to->moments - 1,
                                                       .until = SIZE_MAX,
                                                       .stack = stack,
                                                       .site = CS_NO_SITE};
    builder->broken = builder->broken || !add_held(&builder->held, address, bytes, to->blocks);
    to->blocks++;
}

/* It is not held any more from the last moment on; the bytes that it had. */
static int64_t end_block(struct builder *builder, uint64_t address, size_t moment)
{
    long index = take_held(&builder->held, address);
    if (index < 0)
        return 0;
    builder->timeline->block[index].until = moment;
    return builder->timeline->block[index].bytes;
}

/* --- calls, from the launches of the record --- */

/* How many launches a call of a site is; 0: they differ. */
static int64_t launches_of(const cJSON *site)
{
    int64_t tiled = cs_timeline_number(site, "tiled"), calls = cs_timeline_number(site, "calls");
    if (tiled == 0)
        return 1;
    return tiled == calls ? cs_timeline_number(site, "launches") / tiled : 0;
}

/* Beyond the calls whose sites the summary has: those of a launch like this one. */
static int site_like(const struct cs_timeline *timeline, const struct launch *launch)
{
    for (size_t i = 0; i < timeline->calls; i++) {
        const struct cs_timeline_call *call = &timeline->call[i];
        if (call->launches == 1 && call->workspace == launch->workspace_bytes &&
            call->tensor_bytes == launch->tensor_bytes && strcmp(call->plan, launch->plan) == 0)
            return call->site;
    }
    return CS_NO_SITE;
}

static void add_launch(struct cs_timeline_call *call, const struct launch *launch)
{
    call->launches++;
    call->tensor_bytes += launch->tensor_bytes;
    if (launch->workspace_bytes > call->workspace)
        call->workspace = launch->workspace_bytes;
    if (call->block == CS_NO_BLOCK)
        call->block = launch->block;
}

static struct cs_timeline_call *add_call(struct builder *builder, int site,
                                         const struct launch *first)
{
    struct cs_timeline *to = builder->timeline;
    struct cs_timeline_call *grown =
        grow(builder, to->call, to->calls, &builder->call_room, sizeof *grown);
    if (!grown)
        return NULL;
    to->call = grown;
    struct cs_timeline_call *call = &to->call[to->calls++];
    *call = (struct cs_timeline_call){
        .site = site, .moment = first->moment, .block = CS_NO_BLOCK, .address = first->workspace};
    snprintf(call->plan, sizeof call->plan, "%s", first->plan);
    return call;
}

/* An index as another program wrote it; `none` if it is none. */
static int index_of(const cJSON *item, int none)
{
    int64_t index = cs_json_whole(item, none);
    return index <= INT_MAX ? (int)index : none;
}

static void add_calls(struct builder *builder, const struct launches *launches)
{
    const cJSON *order = cJSON_GetObjectItemCaseSensitive(builder->summary, "order"),
                *sites = cJSON_GetObjectItemCaseSensitive(builder->summary, "sites");
    const cJSON *next = order ? order->child : NULL;
    size_t at = 0;
    builder->timeline->matched = order != NULL;
    while (at < launches->count && !builder->broken) {
        int site = next    ? index_of(next, CS_NO_SITE)
                   : order ? site_like(builder->timeline, &launches->item[at])
                           : CS_NO_SITE;
        const cJSON *of = site >= 0 ? cJSON_GetArrayItem(sites, site) : NULL;
        int64_t parts = of && next ? launches_of(of) : 1;
        builder->timeline->matched =
            builder->timeline->matched && of && parts > 0 && launches->count - at >= (size_t)parts;
        struct cs_timeline_call *call = add_call(builder, site, &launches->item[at]);
        for (int64_t i = 0; call && i < (parts > 0 ? parts : 1) && at < launches->count; i++)
            add_launch(call, &launches->item[at++]);
        next = next ? next->next : NULL;
    }
    builder->timeline->matched = builder->timeline->matched && !next;
}

/* --- the device's record --- */

static void add_device(struct builder *builder, struct launches *launches)
{
    for (size_t i = 0; i < launches->events; i++) {
        const struct event *event = &launches->event[i];
        if (event->what == 'm')
            add_moment(builder, event->bytes);
        else if (event->what == 'a' && builder->timeline->moments > 0)
            add_block(builder, event->address, event->bytes, CS_NO_STACK);
        else if (event->what == 'f' && builder->timeline->moments > 0)
            (void)end_block(builder, event->address, builder->timeline->moments - 1);
        else if (event->what == 'c' && builder->timeline->moments > 0) {
            struct launch *launch = &launches->item[event->bytes];
            launch->moment = builder->timeline->moments - 1;
            launch->block = find_held(builder->held, launch->workspace);
        }
    }
}

/* --- PyTorch's record --- */

static void add_framework(struct builder *builder, const cJSON *history)
{
    const cJSON *event;
    int64_t live = 0;
    cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(history, "events"))
    {
        const cJSON *what = event->child, *address = what ? what->next : NULL,
                    *bytes = address ? address->next : NULL, *stack = bytes ? bytes->next : NULL;
        if (!stack || !cJSON_IsString(what))
            continue;
        const uint64_t at = (uint64_t)cs_json_whole(address, 0);
        const int64_t size = (cs_json_whole(bytes, 0) + ROUND - 1) / ROUND * ROUND;
        if (*what->valuestring == 'a') {
            add_moment(builder, live += size);
            add_block(builder, at, size, index_of(stack, CS_NO_STACK));
        } else if (*what->valuestring == 'f') {
            live -= end_block(builder, at, builder->timeline->moments);
            add_moment(builder, live);
        }
    }
}

/* The size that was allocated for the call's workspace. All tiles of a call share the reported
 * workspace. */
static int64_t allocated_for(const struct cs_timeline_call *call, const cJSON *sites)
{
    const cJSON *site = call->site >= 0 ? cJSON_GetArrayItem(sites, call->site) : NULL;
    int64_t bytes =
        cs_timeline_number(site, "tiled") > 0 ? cs_timeline_number(site, "reported") : 0;
    if (bytes < call->workspace)
        bytes = call->workspace;
    return (bytes + ROUND - 1) / ROUND * ROUND;
}

static bool is_around(const struct cs_timeline_block *block, uint64_t address)
{
    return address >= block->address && address < block->address + (uint64_t)block->bytes;
}

/* A workspace is the next block of that size at that address after the previous workspace. If there
 * is none, it is the previous workspace's block. */
static void find_workspace(const struct cs_timeline *timeline, struct cs_timeline_call *call,
                           int64_t bytes, size_t *next)
{
    for (size_t i = *next; i < timeline->blocks; i++)
        if (timeline->block[i].bytes == bytes && is_around(&timeline->block[i], call->address)) {
            call->block = (long)i;
            *next = i + 1;
            return;
        }
    if (*next > 0 && is_around(&timeline->block[*next - 1], call->address))
        call->block = (long)*next - 1;
}

/* Calls without a workspace leave no trace there: they come with the call before them. */
static void find_workspaces(struct cs_timeline *timeline, const cJSON *sites)
{
    size_t next = 0, moment = 0;
    for (size_t i = 0; i < timeline->calls; i++) {
        struct cs_timeline_call *call = &timeline->call[i];
        if (call->workspace > 0)
            find_workspace(timeline, call, allocated_for(call, sites), &next);
        if (call->block >= 0 && timeline->block[call->block].from > moment)
            moment = timeline->block[call->block].from;
        call->moment = moment;
    }
}

/* Marks the blocks that are workspace, with their convolutions. Blocks that were never freed end
 * with the run. */
static void use_blocks(struct cs_timeline *timeline)
{
    for (size_t i = 0; i < timeline->blocks; i++)
        if (timeline->block[i].until > timeline->moments)
            timeline->block[i].until = timeline->moments;
    for (size_t i = 0; i < timeline->calls; i++) {
        const struct cs_timeline_call *call = &timeline->call[i];
        bool known = call->block >= 0 && (size_t)call->block < timeline->blocks;
        struct cs_timeline_block *block = known ? &timeline->block[call->block] : NULL;
        if (block && call->workspace > block->workspace) {
            block->workspace = call->workspace;
            block->site = call->site;
        }
    }
}

bool cs_timeline_read(const struct cs_simulated_run *run, const struct cs_simulated_result *result,
                      struct cs_timeline *timeline_p)
{
    struct launches launches;
    struct cs_timeline timeline = {.of_framework = false};
    struct builder builder = {.timeline = &timeline, .summary = result->summary};
    const cJSON *history = cJSON_GetObjectItemCaseSensitive(result->framework_peaks, "history");
    if (!read_launches(run, result->pid, &launches))
        return false;
    timeline.of_framework = history != NULL;
    timeline.stacks = cJSON_GetObjectItemCaseSensitive(history, "stacks");
    if (history)
        add_framework(&builder, history);
    else
        add_device(&builder, &launches);
    add_calls(&builder, &launches);
    if (history && !builder.broken)
        find_workspaces(&timeline, cJSON_GetObjectItemCaseSensitive(result->summary, "sites"));
    if (!builder.broken)
        use_blocks(&timeline);
    free_held(builder.held);
    free_launches(&launches);
    if (builder.broken) {
        cs_cli_complain("out of memory");
        cs_timeline_fini(&timeline);
        return false;
    }
    *timeline_p = timeline;
    return true;
}

void cs_timeline_fini(struct cs_timeline *timeline)
{
    free(timeline->live);
    free(timeline->block);
    free(timeline->call);
    *timeline = (struct cs_timeline){.of_framework = false};
}

size_t cs_timeline_peak(const struct cs_timeline *timeline)
{
    size_t peak = 0;
    for (size_t i = 0; i < timeline->moments; i++)
        if (timeline->live[i] > timeline->live[peak])
            peak = i;
    return peak;
}

int64_t *cs_timeline_rest(const struct cs_timeline *timeline)
{
    int64_t *rest = calloc(timeline->moments + 1, sizeof *rest), off = 0;
    for (size_t i = 0; rest && i < timeline->blocks; i++) {
        const struct cs_timeline_block *block = &timeline->block[i];
        if (block->workspace > 0) {
            rest[block->from] -= block->bytes;
            rest[block->until] += block->bytes;
        }
    }
    for (size_t i = 0; rest && i < timeline->moments; i++) {
        off += rest[i];
        rest[i] = timeline->live[i] + off;
    }
    return rest;
}

bool cs_timeline_line(const struct cs_timeline *timeline, int stack, char *text, size_t size)
{
    const cJSON *frames = stack >= 0 ? cJSON_GetArrayItem(timeline->stacks, stack) : NULL, *frame,
                *shown = NULL;
    cJSON_ArrayForEach(frame, frames)
    {
        if (!cJSON_IsString(frame))
            continue;
        bool framework = strstr(frame->valuestring, "-packages/torch/") != NULL;
        if (!shown || !framework)
            shown = frame;
        if (!framework)
            break;
    }
    if (!shown)
        return false;
    const char *folder = strrchr(shown->valuestring, '/');
    snprintf(text, size, "%s", folder ? folder + 1 : shown->valuestring);
    return true;
}

/* --- the peak --- */

static const struct cs_column columns[] = {{"what", "what", CS_CELL_TEXT},
                                           {"of", "of", CS_CELL_TEXT},
                                           {"bytes", "size", CS_CELL_BYTES},
                                           {"blocks", "blocks", CS_CELL_COUNT}};

enum {
    COLUMNS = sizeof columns / sizeof *columns,
    TEXT = 256
};

/* Blocks that one line of the program allocated. */
struct group {
    char line[TEXT];
    bool workspace;
    int64_t bytes, blocks;
};

/* The text of the convolution of that call; "": not known. */
static const char *text_of_call(const struct cs_timeline *names, const cJSON *summary, size_t call)
{
    int index = names && call < names->calls ? names->call[call].site : CS_NO_SITE;
    const cJSON *sites = cJSON_GetObjectItemCaseSensitive(summary, "sites"),
                *site = index >= 0 ? cJSON_GetArrayItem(sites, index) : NULL,
                *problem = cJSON_GetObjectItemCaseSensitive(site, "problem");
    const char *text = cs_json_text(problem, "text");
    return text ? text : "";
}

/* The first call, at or after this moment, whose workspace is in the block. */
static size_t call_of(const struct cs_timeline *timeline, long block, size_t moment)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < timeline->calls; i++)
        if (timeline->call[i].block == block) {
            found = i;
            if (timeline->call[i].moment >= moment)
                break;
        }
    return found;
}

static void describe(const struct cs_timeline *timeline, const struct cs_timeline *names,
                     const cJSON *summary, size_t index, size_t moment, struct group *to)
{
    const struct cs_timeline_block *block = &timeline->block[index];
    char line[TEXT / 2] = "";
    *to = (struct group){.workspace = block->workspace > 0, .bytes = block->bytes, .blocks = 1};
    (void)cs_timeline_line(timeline, block->stack, line, sizeof line);
    if (!to->workspace) {
        snprintf(to->line, sizeof to->line, "%s", line);
        return;
    }
    const char *text = text_of_call(names, summary, call_of(timeline, (long)index, moment));
    snprintf(to->line, sizeof to->line, "%.120s%s%s", text, *text && *line ? ", " : "", line);
}

static int larger_first(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->line, b->line);
}

/* Adds to the group of the same line, or a new one. */
static size_t add(struct group *group, size_t groups, const struct group *one)
{
    for (size_t i = 0; i < groups; i++)
        if (group[i].workspace == one->workspace && strcmp(group[i].line, one->line) == 0) {
            group[i].bytes += one->bytes;
            group[i].blocks += one->blocks;
            return groups;
        }
    group[groups] = *one;
    return groups + 1;
}

bool cs_peak_table(const struct cs_timeline *timeline, const struct cs_timeline *names,
                   const struct cJSON *summary, struct cs_table *table_p)
{
    const size_t peak = cs_timeline_peak(timeline);
    struct group *group = calloc(timeline->blocks + 2, sizeof *group), one;
    size_t groups = 0;
    int64_t rest = timeline->moments > 0 ? timeline->live[peak] : 0;
    if (!group)
        return false;
    for (size_t i = 0; i < timeline->blocks; i++) {
        const struct cs_timeline_block *block = &timeline->block[i];
        if (block->from > peak || block->until <= peak)
            continue;
        describe(timeline, names, summary, i, peak, &one);
        groups = add(group, groups, &one);
        rest -= block->bytes;
    }
    if (rest > 0)
        group[groups++] = (struct group){.line = "mapped memory or memory pools", .bytes = rest};
    qsort(group, groups, sizeof *group, larger_first);
    cs_table_init(table_p, columns, COLUMNS);
    for (size_t i = 0; i < groups; i++) {
        const struct cs_value row[COLUMNS] = {
            {.text = group[i].workspace ? "workspace" : "tensors"},
            {.text = *group[i].line ? group[i].line : "-"},
            {.number = group[i].bytes},
            {.number = group[i].blocks}};
        cs_table_add(table_p, row);
    }
    free(group);
    return true;
}
