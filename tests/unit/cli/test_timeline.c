/* Timelines are made from the records of the device and of PyTorch's allocator, here written by
 * hand: addresses are reused, and sizes are rounded as by the allocator. */
#include "check.h"
#include "cli/simulate/simulation.h"
#include "cli/tune/tune.h"
#include "heap.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cs_simulated_run run;

static long long taken; /* blocks of memory, before a run is read */

static void write_record(const char *text)
{
    char path[sizeof run.folder + 32];
    snprintf(run.folder, sizeof run.folder, "/tmp/test_timeline.XXXXXX");
    CHECK(mkdtemp(run.folder));
    snprintf(path, sizeof path, "%s/record.7", run.folder);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    taken = atomic_load(&heap_taken);
}

/* All memory of the record is freed, too. */
static void remove_record(void)
{
    char path[sizeof run.folder + 32];
    CHECK_INT(atomic_load(&heap_taken), taken);
    snprintf(path, sizeof path, "%s/record.7", run.folder);
    CHECK(unlink(path) == 0 && rmdir(run.folder) == 0);
}

#define PROBLEM(c, h)                                                                              \
    "{\"text\":\"c" #c "\",\"direction\":\"forward\",\"dtype\":\"f16\",\"layout\":\"nchw\","       \
    "\"spatial\":2,\"groups\":1,\"x\":{\"dims\":[1," #c ",1," #h "," #h "]},"                      \
    "\"w\":{\"dims\":[8," #c ",1,3,3]},\"y\":{\"dims\":[1,8,1," #h "," #h "]}}"

/* Two convolutions; the second is called twice. */
static const char untiled[] =
    "{\"order\":[0,1,1],\"sites\":["
    "{\"problem\":" PROBLEM(4, 32) ",\"calls\":1,\"tiled\":0,\"required\":4096},"
                                   "{\"problem\":" PROBLEM(
                                       16, 32) ",\"calls\":2,\"tiled\":0,\"required\":9000,"
                                               "\"name\":\"\"}]}";

/* The held memory: a tensor of 10 KiB, at the same time workspaces of 4 KiB and 9,000 bytes, at its
 * end a tensor of 20 KiB alone, and a workspace of 9,000 bytes next to 2 KiB. */
static const char history[] =
    "{\"framework\":\"PyTorch\",\"history\":{\"stacks\":[[\"/x/site-packages/torch/nn/conv.py:5 "
    "f\","
    "\"/x/site-packages/models/vae.py:312 forward\",\"/x/app.py:6 main\"],[\"/x/app.py:9 "
    "main\"]],\"events\":["
    "[\"a\",1048576,10000,1],[\"a\",2097152,4096,0],[\"f\",2097152,4096,0],"
    "[\"a\",2097152,9000,0],[\"f\",2097152,9000,0],[\"f\",1048576,10000,1],"
    "[\"a\",1048576,20480,1],[\"f\",1048576,20480,1],"
    "[\"a\",2097152,2048,1],[\"a\",1048576,9000,0],[\"f\",1048576,9000,0]]}}";

static const char record[] = "m 4194304\n"
                             "c 200000 4096 100 10 4194304 first\n"
                             "c 200000 9000 200 20 4194304 second\n"
                             "c 100000 9000 200 20 4194304 second\n";

static struct cs_simulated_result result_of(const char *summary, const char *framework)
{
    struct cs_simulated_result result = {.pid = 7};
    result.summary = cJSON_Parse(summary);
    result.framework_peaks = framework ? cJSON_Parse(framework) : NULL;
    CHECK(result.summary && (!framework || result.framework_peaks));
    return result;
}

static void workspaces_are_found_among_pytorch_allocations(void)
{
    struct cs_timeline timeline;
    write_record(record);
    struct cs_simulated_result result = result_of(untiled, history);
    CHECK(cs_timeline_read(&run, &result, &timeline));
    CHECK(timeline.of_framework && timeline.matched);
    CHECK_INT(timeline.moments, 11);
    CHECK_INT(timeline.live[1], 10240 + 4096);
    CHECK_INT(timeline.live[3], 10240 + 9216);
    CHECK_INT(cs_timeline_peak(&timeline), 6);
    CHECK_INT(timeline.calls, 3);
    CHECK_INT(timeline.call[0].block, 1);
    CHECK_INT(timeline.call[1].block, 2);
    CHECK_INT(timeline.call[2].block, 5);
    CHECK_INT(timeline.call[2].site, 1);
    CHECK_INT(timeline.block[5].workspace, 9000);
    CHECK_INT(timeline.block[0].workspace, 0);
    int64_t *rest = cs_timeline_rest(&timeline);
    CHECK_INT(rest[3], 10240);
    CHECK_INT(rest[9], 2048);
    free(rest);
    char line[64];
    CHECK(cs_timeline_line(&timeline, timeline.block[1].stack, line, sizeof line));
    CHECK_STR(line, "vae.py:312 forward");
    CHECK(!cs_timeline_line(&timeline, CS_NO_STACK, line, sizeof line));
    cs_timeline_fini(&timeline);
    cs_simulated_result_free(&result);
    remove_record();
}

/* Tiles have parts of one workspace, which is as large as was reported. */
static void tiles_share_a_workspace(void)
{
    static const char tiled[] = "{\"order\":[0],\"sites\":[{\"problem\":" PROBLEM(
        4, 32) ",\"calls\":1,\"tiled\":1,\"launches\":2,\"reported\":9000}]}";
    static const char events[] =
        "{\"history\":{\"stacks\":[],\"events\":[[\"a\",2097152,2048,0],[\"f\",2097152,2048,0],"
        "[\"a\",2097152,9000,0],[\"f\",2097152,9000,0]]}}";
    struct cs_timeline timeline;
    write_record("m 4194304\nc 200000 4000 100 10 4194304 first\n"
                 "c 201000 2000 100 10 4194304 first\n");
    struct cs_simulated_result result = result_of(tiled, events);
    CHECK(cs_timeline_read(&run, &result, &timeline));
    CHECK(timeline.matched);
    CHECK_INT(timeline.calls, 1);
    CHECK_INT(timeline.call[0].launches, 2);
    CHECK_INT(timeline.call[0].block, 1);
    CHECK_INT(timeline.call[0].moment, 2);
    cs_timeline_fini(&timeline);
    cs_simulated_result_free(&result);
    remove_record();
}

/* The memory held around the calls of the last listed convolution, and the peak of a call with
 * 1,000 bytes. */
static void memory_around_calls(void)
{
#define ONE                                                                                        \
    "{\"order\":[0],\"sites\":[{\"problem\":" PROBLEM(                                             \
        4, 32) ",\"calls\":1,\"tiled\":0,\"required\":4000}]}"
    static const struct {
        const char *record, *summary, *history;
        int64_t level, peak, held, with_1000;
    } rows[] = {
        /* Of two calls the one next to more memory. */
        {record, untiled, history, 20480, 20480, 10240, 10240 + 1024},
        /* Only the workspace is held, which fills a part of its block. */
        {"m 4096\na 20000 4096\nc 20000 4000 100 10 4096 first\nm 0\nf 20000\n", ONE, NULL, 0, 4096,
         0, 1024},
        /* More is allocated while the block of the workspace is held. */
        {"m 4096\na 20000 4096\nc 20000 4000 100 10 4096 first\nm 10240\na 40000 6144\nm 6144\n"
         "f 20000\n",
         ONE, NULL, 6144, 10240, 6144, 6144 + 1024},
        /* The block belongs to the program: it does not shrink with the workspace. */
        {"m 8388608\na 20000 8388608\nc 20000 4000 100 10 8388608 first\n", ONE, NULL, 8388608,
         8388608, 8388608, 8388608},
        /* The block was not recorded. */
        {"m 5000\nc 0 4000 100 10 5000 first\n", ONE, NULL, 5000, 5000, 5000, 5000},
        /* An empty run. */
        {"", ONE, NULL, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_timeline timeline;
        struct cs_called_list list;
        write_record(rows[i].record);
        struct cs_simulated_result result = result_of(rows[i].summary, rows[i].history);
        CHECK(cs_timeline_read(&run, &result, &timeline));
        CHECK(cs_called_list(&timeline, result.summary, &list));
        const struct cs_called *last = &list.item[list.items - 1];
        CHECK_INT(list.level, rows[i].level);
        CHECK_INT(list.peak, rows[i].peak);
        CHECK_INT(last->held, rows[i].held);
        CHECK_INT(cs_called_peak(&list, last, 1000), rows[i].with_1000);
        cs_called_fini(&list);
        cs_timeline_fini(&timeline);
        cs_simulated_result_free(&result);
        remove_record();
    }
}

/* Sites that a rule cannot distinguish are one shape, with the most of each. */
static void one_shape_for_what_a_rule_matches(void)
{
    static const char summary[] =
        "{\"order\":[0,1,2],\"sites\":["
        "{\"problem\":" PROBLEM(
            4, 32) ",\"calls\":1,\"tiled\":0,\"required\":4000},"
                   "{\"problem\":" PROBLEM(
                       4, 32) ",\"calls\":3,\"tiled\":0,\"required\":5000},"
                              "{\"problem\":" PROBLEM(
                                  8, 32) ",\"calls\":1,\"tiled\":0,\"required\":1}]}";
    struct cs_timeline timeline;
    struct cs_called_list list;
    write_record("m 1\n");
    struct cs_simulated_result result = result_of(summary, NULL);
    CHECK(cs_timeline_read(&run, &result, &timeline));
    CHECK(cs_called_list(&timeline, result.summary, &list));
    CHECK_INT(list.items, 3);
    CHECK_INT(list.shapes, 2);
    CHECK_INT(list.item[1].shape, 0);
    CHECK_INT(list.item[2].shape, 1);
    CHECK_INT(list.shape[0].calls, 4);
    CHECK_INT(list.shape[0].required, 5000);
    CHECK_STR(list.shape[0].keys, "direction = fwd\ndtype = f16\nlayout = nchw\nkernel = 3x3\n"
                                  "n = 1\nc = 4\nk = 8\nh = 32\nw = 32\ngroups = 1\n");
    cs_called_fini(&list);
    cs_timeline_fini(&timeline);
    cs_simulated_result_free(&result);
    remove_record();
}

/* Addresses are numbers or 0. */
static void an_address_that_is_no_number_is_0(void)
{
    static const char events[] =
        "{\"history\":{\"stacks\":[],\"events\":[[\"a\",\"here\",512,0],[\"f\",0,512,0]]}}";
    struct cs_timeline timeline;
    write_record("m 4194304\nc 200000 4096 100 10 4194304 first\n");
    struct cs_simulated_result result = result_of(untiled, events);
    CHECK(cs_timeline_read(&run, &result, &timeline));
    CHECK_INT(timeline.moments, 2);
    CHECK_INT(timeline.live[0], 512);
    CHECK_INT(timeline.live[1], 0);
    CHECK_INT(timeline.block[0].address, 0);
    cs_timeline_fini(&timeline);
    cs_simulated_result_free(&result);
    remove_record();
}

/* Of launches beyond the summary's order. */
static void a_launch_like_another_is_of_its_site(void)
{
    static const struct {
        const char *launch;
        int site;
    } rows[] = {{"c 0 4096 100 10 1 first", 0},
                {"c 0 4096 100 10 1 second", CS_NO_SITE},
                {"c 0 4097 100 10 1 first", CS_NO_SITE},
                {"c 0 4096 101 10 1 first", CS_NO_SITE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_timeline timeline;
        char text[100];
        snprintf(text, sizeof text, "m 1\nc 0 4096 100 10 1 first\n%s\n", rows[i].launch);
        write_record(text);
        struct cs_simulated_result result = result_of(
            "{\"order\":[0],\"sites\":[{\"problem\":" PROBLEM(4, 32) ",\"calls\":2,\"tiled\":0}]}",
            NULL);
        CHECK(cs_timeline_read(&run, &result, &timeline));
        CHECK_INT(timeline.calls, 2);
        CHECK_INT(timeline.call[1].site, rows[i].site);
        CHECK_INT(timeline.matched, rows[i].site == 0);
        cs_timeline_fini(&timeline);
        cs_simulated_result_free(&result);
        remove_record();
    }
}

/* Launches that a call would have and the record has not; the sites of the others are known. */
static void calls_without_all_their_launches(void)
{
    static const struct {
        const char *launches;
        bool matched;
    } rows[] = {{"3", true}, {"6", true}, {"2", true}, {"9", false}, {"7", true}, {"0", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char summary[512];
        struct cs_timeline timeline;
        snprintf(summary, sizeof summary,
                 "{\"order\":[0,1],\"sites\":[{\"calls\":1,\"tiled\":0},{\"calls\":%d,"
                 "\"tiled\":%d,\"launches\":%s}]}",
                 *rows[i].launches == '3' ? 1 : 2, *rows[i].launches == '3' ? 1 : 2,
                 rows[i].launches);
        write_record("m 1\nc 0 0 1 1 1 a\nc 0 0 1 1 1 b\nc 0 0 1 1 1 b\nc 0 0 1 1 1 b\n");
        struct cs_simulated_result result = result_of(summary, NULL);
        CHECK(cs_timeline_read(&run, &result, &timeline));
        CHECK_INT(timeline.matched, rows[i].matched);
        cs_timeline_fini(&timeline);
        cs_simulated_result_free(&result);
        remove_record();
    }
}

static void without_a_framework_blocks_are_the_devices(void)
{
    static const char tiled[] =
        "{\"order\":[0,1],\"sites\":["
        "{\"problem\":" PROBLEM(4, 32) ",\"calls\":1,\"tiled\":1,\"launches\":2},"
                                       "{\"problem\":" PROBLEM(16,
                                                               32) ",\"calls\":1,\"tiled\":0}]}";
    struct cs_timeline timeline;
    write_record("m 1000\na 10000 1000\nm 5000\na 20000 4000\n"
                 "c 20000 3000 100 10 5000 first\nc 20000 3000 100 10 5000 first\n"
                 "c 20200 2000 100 10 5000 second\nm 1000\nf 20000\n");
    struct cs_simulated_result result = result_of(tiled, NULL);
    CHECK(cs_timeline_read(&run, &result, &timeline));
    CHECK(!timeline.of_framework && timeline.matched);
    CHECK_INT(timeline.calls, 2);
    CHECK_INT(timeline.call[0].launches, 2);
    CHECK_INT(timeline.call[1].block, 1);
    CHECK_INT(timeline.block[1].workspace, 3000);
    CHECK_INT(timeline.block[1].until, 2);
    cs_timeline_fini(&timeline);
    cs_simulated_result_free(&result);
    remove_record();
}

/* Workspaces outside all blocks that PyTorch recorded; there may be no such block. */
static void workspaces_outside_all_blocks_are_separate(void)
{
    static const struct {
        const char *events;
        size_t moments;
    } rows[] = {{"", 0},
                {"[\"f\",4194304,4096,0]", 1},
                {"[\"a\",4190208,4096,0]", 1},
                {"[\"a\",4198400,4096,0]", 1},
                {"[\"x\",4194304,4096,0]", 0},
                {"[\"a\",4194304,4096],7,[7,4194304,4096,0]", 0},
                {"[\"a\",4194304,8192,0]", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char recorded[256];
        struct cs_timeline timeline;
        snprintf(recorded, sizeof recorded,
                 "{\"framework\":\"PyTorch\",\"history\":{\"stacks\":[],\"events\":[%s]}}",
                 rows[i].events);
        write_record("m 5000\nc 400000 4096 100 10 5000 first\nc 0 0 100 10 5000 second\n");
        struct cs_simulated_result result = result_of(
            "{\"order\":[0,1],\"sites\":[{\"problem\":" PROBLEM(
                4, 32) ",\"calls\":1,\"tiled\":0},{\"problem\":" PROBLEM(8, 32) ",\"calls\":1,"
                                                                                "\"tiled\":0}]}",
            recorded);
        CHECK(cs_timeline_read(&run, &result, &timeline));
        CHECK(timeline.of_framework && timeline.matched);
        CHECK_INT(timeline.moments, rows[i].moments);
        CHECK_INT(timeline.calls, 2);
        for (size_t c = 0; c < timeline.calls; c++) {
            CHECK_INT(timeline.call[c].block, CS_NO_BLOCK);
            CHECK_INT(timeline.call[c].moment, 0);
        }
        for (size_t b = 0; b < timeline.blocks; b++)
            CHECK_INT(timeline.block[b].workspace, 0);
        cs_timeline_fini(&timeline);
        cs_simulated_result_free(&result);
        remove_record();
    }
}

/* A workspace is the next block of its size at its address, else the one that the call before it
 * had; moments are those of the blocks. */
static void which_block_a_workspace_is(void)
{
    static const char events[] =
        "{\"history\":{\"stacks\":[],\"events\":["
        "[\"f\",2097152,1,0],"                              /* of a block from before: moment 0 */
        "[\"a\",2097152,4096,0],[\"f\",2097152,4096,0],"    /* block 0, moments 1 and 2 */
        "[\"a\",2097152,4096,0],[\"f\",2097152,4096,0],"    /* 1, 3 and 4 */
        "[\"a\",3145728,4000,0],[\"a\",2097152,8192,0]]}}"; /* 2 and 3, 5 and 6 */
    static const struct {
        struct {
            const char *launch; /* address and workspace; NULL: no more */
            long block;
            size_t moment;
        } call[8];
    } rows[] = {{{{"500000 4096", CS_NO_BLOCK, 0},
                  {"200000 4096", 0, 1},
                  {"200000 8192", 3, 6},
                  {"200000 4096", 3, 6},
                  {"201fff 8000", 3, 6},
                  {"202000 8192", CS_NO_BLOCK, 6},
                  {"300000 4096", CS_NO_BLOCK, 6}}},
                {{{"200000 4096", 0, 1},
                  {"200fff 3585", 1, 3},
                  {"200000 4000", 1, 3},
                  {"300000 3584", CS_NO_BLOCK, 3},
                  {"300000 4096", 2, 5},
                  {"300fff 9000", 2, 5},
                  {"200000 7681", 3, 6}}},
                {{{"200000 4096", 0, 1},
                  {"200000 512", 0, 1},
                  {"201000 512", CS_NO_BLOCK, 1},
                  {"200000 0", CS_NO_BLOCK, 1},
                  {"200000 1", 0, 1},
                  {"201000 1", CS_NO_BLOCK, 1}}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024] = "m 5000\n";
        struct cs_timeline timeline;
        for (int c = 0; c < 8 && rows[i].call[c].launch; c++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "c %s 100 10 5000 p\n",
                     rows[i].call[c].launch);
        write_record(text);
        struct cs_simulated_result result = result_of("{}", events);
        CHECK(cs_timeline_read(&run, &result, &timeline));
        CHECK_INT(timeline.blocks, 4);
        for (size_t c = 0; c < timeline.calls && rows[i].call[c].launch; c++) {
            CHECK_INT(timeline.call[c].block, rows[i].call[c].block);
            CHECK_INT(timeline.call[c].moment, rows[i].call[c].moment);
        }
        cs_timeline_fini(&timeline);
        cs_simulated_result_free(&result);
        remove_record();
    }
}

/* The workspace of calls that share a block is that of the first with the largest size. The
 * reported size of a site is its workspace only if it was tiled. */
static void shared_block_has_the_largest_workspace(void)
{
    static const char events[] =
        "{\"history\":{\"stacks\":[],\"events\":[[\"a\",2097152,4096,0],[\"a\",2097152,8192,0]]}}";
    static const struct {
        int tiled;
        const char *launches;
        long block;
        int site;
        int64_t workspace;
    } rows[] = {{0, "c 200000 4096 1 1 1 p\nc 200000 4096 1 1 1 p\n", 0, 0, 4096},
                {0, "c 200000 4000 1 1 1 p\nc 200000 4001 1 1 1 p\n", 0, 1, 4001},
                {0, "c 200000 4000 1 1 1 p\nc 200000 3999 1 1 1 p\n", 0, 0, 4000},
                {1, "c 200000 4096 1 1 1 p\nc 200000 4096 1 1 1 p\n", 1, 0, 4096},
                {0, "c 200000 1 1 1 1 p\nc 200000 1 1 1 1 p\n", CS_NO_BLOCK, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char summary[512];
        struct cs_timeline timeline;
        snprintf(summary, sizeof summary,
                 "{\"order\":[0,1],\"sites\":[{\"calls\":1,\"tiled\":%d,\"launches\":1,"
                 "\"reported\":8192},{\"calls\":1,\"tiled\":0,\"reported\":8192}]}",
                 rows[i].tiled);
        write_record(rows[i].launches);
        struct cs_simulated_result result = result_of(summary, events);
        CHECK(cs_timeline_read(&run, &result, &timeline));
        CHECK_INT(timeline.call[0].block, rows[i].block);
        for (long b = 0; b < 2; b++) {
            CHECK_INT(timeline.block[b].workspace, b == rows[i].block ? rows[i].workspace : 0);
            CHECK_INT(timeline.block[b].site, b == rows[i].block ? rows[i].site : CS_NO_SITE);
            CHECK_INT(timeline.block[b].until, 2); /* neither was freed */
        }
        cs_timeline_fini(&timeline);
        cs_simulated_result_free(&result);
        remove_record();
    }
}

/* More of everything than there is room for at first. */
static void long_run_keeps_all_moments(void)
{
    enum {
        MANY = 3000
    };
    static char text[200 * MANY];
    struct cs_timeline timeline;
    size_t length = 0;
    for (int i = 0; i < MANY; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "m %d\na %x 16\nc %x 16 %d 10 1 plan%d\n", i, 0x10000 + 16 * i,
                                   0x10000 + 16 * i, i, i % 7);
    write_record(text);
    struct cs_simulated_result result = result_of("{}", NULL);
    CHECK(cs_timeline_read(&run, &result, &timeline));
    CHECK_INT(timeline.moments, MANY);
    CHECK_INT(timeline.blocks, MANY);
    CHECK_INT(timeline.calls, MANY);
    CHECK(!timeline.matched);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(timeline.live[i], i);
        CHECK_INT(timeline.block[i].address, 0x10000 + 16 * i);
        CHECK_INT(timeline.block[i].from, i);
        CHECK_INT(timeline.block[i].until, MANY);
        CHECK_INT(timeline.block[i].workspace, 16);
        CHECK_INT(timeline.call[i].block, i);
        CHECK_INT(timeline.call[i].tensor_bytes, i);
        CHECK_INT(timeline.call[i].site, CS_NO_SITE);
    }
    cs_timeline_fini(&timeline);
    cs_simulated_result_free(&result);
    remove_record();
}

static void calls_missing_in_the_summary_are_reported(void)
{
    struct cs_timeline timeline;
    write_record("m 1\nc 0 0 100 10 1 first\n");
    struct cs_simulated_result result = result_of(untiled, NULL);
    CHECK(cs_timeline_read(&run, &result, &timeline));
    CHECK(!timeline.matched);
    cs_timeline_fini(&timeline);
    cs_simulated_result_free(&result);
    remove_record();
}

int main(void)
{
    heap_watch();
    TEST(workspaces_are_found_among_pytorch_allocations);
    TEST(tiles_share_a_workspace);
    TEST(memory_around_calls);
    TEST(one_shape_for_what_a_rule_matches);
    TEST(calls_without_all_their_launches);
    TEST(an_address_that_is_no_number_is_0);
    TEST(a_launch_like_another_is_of_its_site);
    TEST(without_a_framework_blocks_are_the_devices);
    TEST(workspaces_outside_all_blocks_are_separate);
    TEST(which_block_a_workspace_is);
    TEST(shared_block_has_the_largest_workspace);
    TEST(long_run_keeps_all_moments);
    TEST(calls_missing_in_the_summary_are_reported);
    return REPORT();
}
