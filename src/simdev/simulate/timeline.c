/* The memory of a run over time: its timeline from the events of the framework's allocator, or of
 * the device's, and from the device's record of convolutions (cudart_record.c describes its lines),
 * whose workspaces are found by address. */
#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "simdev/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the timeline --- */

enum {
    ROUND = 512 /* bytes, of PyTorch's allocator */
};

/* A timeline while its records are read. */
struct builder {
    struct cs_timeline *timeline;
    const cJSON *sites, *next,
        *launches;   /* of the summary; the site and launches of the next call */
    bool ordered;    /* the summary has the sites of calls in their order */
    int64_t missing; /* launches of the last call that are still to come */
    long *held;      /* indices of the blocks that are held, in the order of their begin */
    size_t held_blocks;
    bool broken; /* memory is short */
};

static void add_moment(struct builder *builder, int64_t live)
{
    struct cs_timeline *to = builder->timeline;
    int64_t *moment = cs_array_add(&to->live, &to->moments, sizeof *moment);
    builder->broken = builder->broken || !moment;
    if (moment)
        *moment = live;
}

/* Adds a block that is held from the last moment on. */
static void add_block(struct builder *builder, uint64_t address, int64_t bytes, int stack)
{
    struct cs_timeline *to = builder->timeline;
    if (to->moments == 0)
        return;
    struct cs_timeline_block *block = cs_array_add(&to->block, &to->blocks, sizeof *block);
    long *held = block ? cs_array_add(&builder->held, &builder->held_blocks, sizeof *held) : NULL;
    builder->broken = builder->broken || !held;
    if (held)
        *held = (long)to->blocks - 1;
    if (block)
        *block = (struct cs_timeline_block){.address = address,
                                            .bytes = bytes,
                                            .from = to->moments - 1,
                                            .until = SIZE_MAX,
                                            .stack = stack,
                                            .call = CS_TIMELINE_NONE};
}

static bool is_around(const struct cs_timeline_block *block, uint64_t address)
{
    return address >= block->address && address < block->address + (uint64_t)block->bytes;
}

/* Returns the index of the block around an address that is held, or CS_TIMELINE_NONE. */
static long find_held(const struct builder *builder, uint64_t address)
{
    for (size_t i = builder->held_blocks; i-- > 0;)
        if (is_around(&builder->timeline->block[builder->held[i]], address))
            return builder->held[i];
    return CS_TIMELINE_NONE;
}

/* Ends the block at an address, which is no longer held from `moment` on. Returns its bytes; 0:
 * there is no such block. Programs usually free young blocks first, so the search begins at these.
 */
static int64_t end_block(struct builder *builder, uint64_t address, size_t moment)
{
    for (size_t i = builder->held_blocks; i-- > 0;) {
        struct cs_timeline_block *block = &builder->timeline->block[builder->held[i]];
        if (block->address != address)
            continue;
        block->until = moment;
        memmove(&builder->held[i], &builder->held[i + 1],
                (--builder->held_blocks - i) * sizeof *builder->held);
        return block->bytes;
    }
    return 0;
}

/* --- calls, from the launches of the record --- */

/* A convolution as it was launched: one tile, or all of it. */
struct launch {
    uint64_t workspace; /* its address */
    int64_t workspace_bytes, tensor_bytes;
    char plan[40];
};

/* Returns the index in an item that another program wrote; `none` if it is not a whole number or
 * exceeds an int. */
static int index_of(const cJSON *item, int none)
{
    int64_t index = cs_json_whole(item, none);
    return index <= INT_MAX ? (int)index : none;
}

/* Returns the site of an earlier call with the same single launch. It is used for calls after the
 * last one that the summary lists. */
static int find_similar(const struct cs_timeline *timeline, const struct launch *launch)
{
    for (size_t i = 0; i < timeline->calls; i++) {
        const struct cs_timeline_call *call = &timeline->call[i];
        if (call->launches == 1 && call->workspace == launch->workspace_bytes &&
            call->tensor_bytes == launch->tensor_bytes && strcmp(call->plan, launch->plan) == 0)
            return call->site;
    }
    return CS_TIMELINE_NONE;
}

/* Adds a call, which begins with this launch. Its site is the next one in the summary's order. */
static void begin_call(struct builder *builder, const struct launch *first)
{
    struct cs_timeline *to = builder->timeline;
    const int site = builder->next      ? index_of(builder->next, CS_TIMELINE_NONE)
                     : builder->ordered ? find_similar(to, first)
                                        : CS_TIMELINE_NONE;
    const int64_t launches = cs_json_whole(builder->launches, 1);
    struct cs_timeline_call *call = cs_array_add(&to->call, &to->calls, sizeof *call);
    builder->broken = builder->broken || !call;
    if (!call)
        return;
    *call = (struct cs_timeline_call){.site = site,
                                      .moment = to->moments > 0 ? to->moments - 1 : 0,
                                      .block = CS_TIMELINE_NONE,
                                      .address = first->workspace};
    snprintf(call->plan, sizeof call->plan, "%s", first->plan);
    to->matched = to->matched && site >= 0 && launches > 0;
    builder->missing = launches > 0 ? launches : 1;
    builder->next = builder->next ? builder->next->next : NULL;
    builder->launches = builder->launches ? builder->launches->next : NULL;
}

/* Adds a launch to the last call, or begins a call if the last one has all its launches. */
static void add_launch(struct builder *builder, const struct launch *launch)
{
    if (builder->missing == 0)
        begin_call(builder, launch);
    if (builder->broken)
        return;
    struct cs_timeline_call *call = &builder->timeline->call[builder->timeline->calls - 1];
    builder->missing--;
    call->launches++;
    call->tensor_bytes += launch->tensor_bytes;
    if (launch->workspace_bytes > call->workspace)
        call->workspace = launch->workspace_bytes;
    if (call->block == CS_TIMELINE_NONE)
        call->block = find_held(builder, launch->workspace);
}

/* --- the device's record --- */

/* Reads a line of the record: a launch, and with `memory` also moments and blocks. False: it is not
 * a line of a record. */
static bool take_line(struct builder *builder, const char *line, bool memory)
{
    struct launch launch = {.workspace = 0};
    uint64_t address = 0;
    int64_t bytes = 0;
    switch (*line) {
    case 'm':
        if (memory && sscanf(line, "m %" SCNd64, &bytes) == 1)
            add_moment(builder, bytes);
        return true;
    case 'a':
        if (memory && sscanf(line, "a %" SCNx64 " %" SCNd64, &address, &bytes) == 2)
            add_block(builder, address, bytes, CS_TIMELINE_NONE);
        return true;
    case 'f':
        if (memory && builder->timeline->moments > 0 && sscanf(line, "f %" SCNx64, &address) == 1)
            (void)end_block(builder, address, builder->timeline->moments - 1);
        return true;
    default:
        if (sscanf(line, "c %" SCNx64 " %" SCNd64 " %" SCNd64 " %*d %*d %39s", &launch.workspace,
                   &launch.workspace_bytes, &launch.tensor_bytes, launch.plan) < 3)
            return false;
        add_launch(builder, &launch);
        return true;
    }
}

/* Reads the record of a process of that run; `memory` as in take_line. False after a line: there is
 * none, or it is damaged. */
static bool read_record(const struct cs_sim_run *run, pid_t pid, bool memory,
                        struct builder *builder)
{
    char path[PATH_MAX + 64], line[256];
    snprintf(path, sizeof path, "%s/record.%ld", run->folder, (long)pid);
    FILE *file = fopen(path, "re");
    if (!file) {
        cs_cli_complain("%s: %s", path, strerror(errno));
        return false;
    }
    bool good = true;
    while (good && !builder->broken && fgets(line, sizeof line, file))
        good = take_line(builder, line, memory);
    fclose(file);
    if (!good)
        cs_cli_complain("%s: damaged", path);
    builder->timeline->matched =
        builder->timeline->matched && builder->missing == 0 && !builder->next;
    return good;
}

/* --- PyTorch's record --- */

/* Adds the moments and blocks that PyTorch's allocator recorded. */
static void add_framework(struct builder *builder, const cJSON *history)
{
    const cJSON *event;
    int64_t live = 0;
    cJSON_ArrayForEach(event, cs_json_at(history, "events"))
    {
        const cJSON *what = event->child, *address = what ? what->next : NULL,
                    *bytes = address ? address->next : NULL, *stack = bytes ? bytes->next : NULL;
        if (!stack || !cJSON_IsString(what))
            continue;
        const uint64_t at = (uint64_t)cs_json_whole(address, 0);
        const int64_t size = (cs_json_whole(bytes, 0) + ROUND - 1) / ROUND * ROUND;
        if (*what->valuestring == 'a') {
            add_moment(builder, live += size);
            add_block(builder, at, size, index_of(stack, CS_TIMELINE_NONE));
        } else if (*what->valuestring == 'f') {
            live -= end_block(builder, at, builder->timeline->moments);
            add_moment(builder, live);
        }
    }
}

/* Returns the size that was allocated for the call's workspace. All tiles of a call share the
 * reported workspace. */
static int64_t allocated_for(const struct cs_timeline_call *call, const cJSON *sites)
{
    const cJSON *site = call->site >= 0 ? cJSON_GetArrayItem(sites, call->site) : NULL;
    int64_t bytes =
        cs_json_whole_at(site, "tiled", 0) > 0 ? cs_json_whole_at(site, "reported", 0) : 0;
    if (bytes < call->workspace)
        bytes = call->workspace;
    return (bytes + ROUND - 1) / ROUND * ROUND;
}

/* Finds the block of a call's workspace: the next block of that size at that address after the
 * previous workspace. If there is none, it is the previous workspace's block. */
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

/* Finds the blocks of the calls' workspaces in the framework's record, and the moments of the
 * calls. A call without a workspace is not in that record, so it gets the moment of the call before
 * it. */
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
static void mark_workspaces(struct cs_timeline *timeline)
{
    for (size_t i = 0; i < timeline->blocks; i++)
        if (timeline->block[i].until > timeline->moments)
            timeline->block[i].until = timeline->moments;
    for (size_t i = 0; i < timeline->calls; i++) {
        const struct cs_timeline_call *call = &timeline->call[i];
        struct cs_timeline_block *block = call->block >= 0 ? &timeline->block[call->block] : NULL;
        if (block && call->workspace > block->workspace) {
            block->workspace = call->workspace;
            block->call = (long)i;
        }
    }
}

bool cs_timeline_read(const struct cs_sim_run *run, struct cs_timeline *timeline_p)
{
    const struct cs_sim_outcome *outcome = &run->outcome;
    const cJSON *history = cs_json_at(outcome->framework_peaks, "history"),
                *order = cs_json_at(outcome->summary, "order"),
                *launches = cs_json_at(outcome->summary, "order_launches");
    struct cs_timeline timeline = {.of_framework = history != NULL,
                                   .stacks = cs_json_at(history, "stacks"),
                                   .matched = order != NULL};
    struct builder builder = {.timeline = &timeline,
                              .sites = cs_json_at(outcome->summary, "sites"),
                              .next = order ? order->child : NULL,
                              .launches = launches ? launches->child : NULL,
                              .ordered = order != NULL};
    bool good = read_record(run, outcome->pid, !history, &builder);
    if (good && history)
        add_framework(&builder, history);
    free(builder.held);
    if (builder.broken)
        cs_cli_complain("out of memory");
    if (!good || builder.broken) {
        cs_timeline_fini(&timeline);
        return false;
    }
    if (history)
        find_workspaces(&timeline, builder.sites);
    mark_workspaces(&timeline);
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

enum {
    TEXT = 256
};

/* Blocks that one line of the program allocated. */
struct group {
    char line[TEXT];
    bool workspace;
    int64_t bytes, blocks;
};

/* Returns the text of the convolution of that call; "": not known. The run with the library wrote
 * the summary, and the calls of the other run are the same. */
static const char *text_of_call(const struct cs_timelines *timelines, long call)
{
    const struct cs_timeline *with = &timelines->side[CS_WITH];
    const bool known = timelines->same_calls && call >= 0 && (size_t)call < with->calls;
    const int site = known ? with->call[call].site : CS_TIMELINE_NONE;
    const cJSON *sites = cs_json_at(timelines->summary, "sites");
    const char *text =
        site >= 0 ? cs_json_text(cJSON_GetArrayItem(sites, site), "problem.text") : NULL;
    return text ? text : "";
}

/* Returns a group of this block alone, which `timeline` contains. */
static struct group group_of(const struct cs_timelines *timelines,
                             const struct cs_timeline *timeline,
                             const struct cs_timeline_block *block)
{
    struct group group = {.workspace = block->workspace > 0, .bytes = block->bytes, .blocks = 1};
    const char *text = text_of_call(timelines, block->call);
    char line[TEXT / 2] = "";
    (void)cs_timeline_line(timeline, block->stack, line, sizeof line);
    snprintf(group.line, sizeof group.line, "%.120s%s%s", text, *text && *line ? ", " : "", line);
    return group;
}

static int larger_first(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->line, b->line);
}

/* Adds `one` to the group of the same line, or as a new group. Returns the number of groups. */
static size_t add_to_group(struct group *group, size_t groups, const struct group *one)
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

static cJSON *groups_json(const struct group *group, size_t groups)
{
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < groups; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "what", group[i].workspace ? "workspace" : "tensors");
        cJSON_AddStringToObject(row, "of", *group[i].line ? group[i].line : "-");
        cJSON_AddNumberToObject(row, "bytes", (double)group[i].bytes);
        cJSON_AddNumberToObject(row, "blocks", (double)group[i].blocks);
        cs_json_add(rows, NULL, row);
    }
    return rows;
}

struct cJSON *cs_timelines_peak(const struct cs_timelines *timelines, enum cs_side side)
{
    const struct cs_timeline *timeline = &timelines->side[side];
    const size_t peak = cs_timeline_peak(timeline);
    struct group *group = calloc(timeline->blocks + 1, sizeof *group);
    size_t groups = 0;
    int64_t rest = timeline->moments > 0 ? timeline->live[peak] : 0;
    for (size_t i = 0; group && i < timeline->blocks; i++) {
        const struct cs_timeline_block *block = &timeline->block[i];
        if (block->from > peak || block->until <= peak)
            continue;
        const struct group one = group_of(timelines, timeline, block);
        groups = add_to_group(group, groups, &one);
        rest -= block->bytes;
    }
    if (group && rest > 0)
        group[groups++] = (struct group){.line = "mapped memory or memory pools", .bytes = rest};
    if (group)
        qsort(group, groups, sizeof *group, larger_first);
    cJSON *rows = group ? groups_json(group, groups) : NULL;
    free(group);
    return rows;
}

/* --- pairs --- */

bool cs_timelines_read(const struct cs_sim_pair *pair, struct cs_timelines *timelines_p)
{
    const struct cs_sim_run *run[CS_SIDES] = {
        &pair->run[CS_WITHOUT], pair->recorded.name ? &pair->recorded : &pair->run[CS_WITH]};
    struct cs_timelines read = {.summary = run[CS_WITH]->outcome.summary, .same_calls = true};
    for (int side = 0; side < CS_SIDES; side++) {
        const struct cs_sim_outcome *outcome = &run[side]->outcome;
        if (!pair->chosen[side] || !run[side]->history || !outcome->used)
            continue;
        read.has[side] = cs_timeline_read(run[side], &read.side[side]);
        if (!read.has[side] && outcome->report) {
            cs_timelines_fini(&read);
            return false;
        }
    }
    if (read.has[CS_WITHOUT] && read.has[CS_WITH])
        read.same_calls = read.side[CS_WITHOUT].calls == read.side[CS_WITH].calls;
    *timelines_p = read;
    return true;
}

void cs_timelines_fini(struct cs_timelines *timelines)
{
    for (int side = 0; side < CS_SIDES; side++)
        cs_timeline_fini(&timelines->side[side]);
}
