/* Timelines are made from the records of the device and of PyTorch's allocator, here written by
 * hand: addresses are reused, and sizes are rounded as by the allocator. */
#include "check.h"
#include "cli/common/rule_text.h"
#include "heap.h"
#include "simdev/simulate/timeline.h"
#include <cjson/cJSON.h>
#include <sys/stat.h>

static struct cs_sim_run run;
static struct cs_timeline timeline;
static long long taken; /* blocks of memory, before a run is read */

/* Reads a run: the device's record, the summary, PyTorch's events (NULL: no framework). end_run
 * frees it. */
static void read_run(const char *record, const char *summary, const char *events)
{
    static char text[2048];
    char path[sizeof run.folder + 32];
    run = (struct cs_sim_run){.folder = "/tmp/test_timeline.XXXXXX", .outcome = {.pid = 7}};
    CHECK(mkdtemp(run.folder));
    snprintf(path, sizeof path, "%s/record.7", run.folder);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(record, file) >= 0 && fclose(file) == 0);
    taken = atomic_load(&heap_taken);
    snprintf(text, sizeof text, "{\"history\":%s}", events ? events : "null");
    run.outcome.summary = cJSON_Parse(summary);
    run.outcome.framework_peaks = events ? cJSON_Parse(text) : NULL;
    CHECK(run.outcome.summary && (!events || run.outcome.framework_peaks));
    CHECK(cs_timeline_read(&run, &timeline));
    CHECK_INT(timeline.of_framework, events != NULL);
}

/* All memory of the run is freed. */
static void end_run(void)
{
    char path[sizeof run.folder + 32];
    cs_timeline_fini(&timeline);
    cs_sim_outcome_free(&run.outcome);
    CHECK_INT(atomic_load(&heap_taken), taken);
    snprintf(path, sizeof path, "%s/record.7", run.folder);
    CHECK(unlink(path) == 0 && rmdir(run.folder) == 0);
}

/* Two convolutions; the second is called twice. */
static const char untiled[] = "{\"order\":[0,1,1],\"sites\":["
                              "{\"calls\":1,\"tiled\":0,\"required\":4096},"
                              "{\"calls\":2,\"tiled\":0,\"required\":9000,\"name\":\"\"}]}",
                  one[] = "{\"order\":[0],\"sites\":[{\"calls\":1,\"tiled\":0}]}",
                  two[] = "{\"order\":[0,1],\"sites\":[{\"calls\":1,\"tiled\":0},"
                          "{\"calls\":1,\"tiled\":0}]}";

/* The held memory: a tensor of 10 KiB, at the same time workspaces of 4 KiB and 9,000 bytes, at its
 * end a tensor of 20 KiB alone, and a workspace of 9,000 bytes next to 2 KiB. */
static const char history[] =
    "{\"stacks\":[[\"/x/site-packages/torch/nn/conv.py:5 f\","
    "\"/x/site-packages/models/vae.py:312 forward\",\"/x/app.py:6 main\"],[\"/x/app.py:9 "
    "main\"]],\"events\":["
    "[\"a\",1048576,10000,1],[\"a\",2097152,4096,0],[\"f\",2097152,4096,0],"
    "[\"a\",2097152,9000,0],[\"f\",2097152,9000,0],[\"f\",1048576,10000,1],"
    "[\"a\",1048576,20480,1],[\"f\",1048576,20480,1],"
    "[\"a\",2097152,2048,1],[\"a\",1048576,9000,0],[\"f\",1048576,9000,0]]}";

static const char record[] = "m 4194304\n"
                             "c 200000 4096 100 10 4194304 first\n"
                             "c 200000 9000 200 20 4194304 second\n"
                             "c 100000 9000 200 20 4194304 second\n";

static void workspaces_are_found_among_pytorch_allocations(void)
{
    static const int64_t blocks[] = {1, 2, 5};
    char line[64];
    read_run(record, untiled, history);
    CHECK(timeline.matched);
    CHECK_INT(timeline.moments, 11);
    CHECK_INT(timeline.live[1], 10240 + 4096);
    CHECK_INT(timeline.live[3], 10240 + 9216);
    CHECK_INT(cs_timeline_peak(&timeline), 6);
    CHECK_INT(timeline.calls, 3);
    for (size_t i = 0; i < timeline.calls; i++)
        CHECK_INT(timeline.call[i].block, blocks[i]);
    CHECK_INT(timeline.call[2].site, 1);
    CHECK_INT(timeline.block[5].workspace, 9000);
    CHECK_INT(timeline.block[0].workspace, 0);
    CHECK(cs_timeline_line(&timeline, timeline.block[1].stack, line, sizeof line));
    CHECK_STR(line, "vae.py:312 forward");
    CHECK(!cs_timeline_line(&timeline, CS_TIMELINE_NONE, line, sizeof line));
    end_run();
}

/* Tiles have parts of one workspace, which is as large as was reported. */
static void tiles_share_a_workspace(void)
{
    read_run("m 4194304\nc 200000 4000 100 10 4194304 first\nc 201000 2000 100 10 4194304 first\n",
             "{\"order\":[0],\"order_launches\":[2],"
             "\"sites\":[{\"calls\":1,\"tiled\":1,\"launches\":2,\"reported\":9000}]}",
             "{\"events\":[[\"a\",2097152,2048,0],[\"f\",2097152,2048,0],[\"a\",2097152,9000,0],"
             "[\"f\",2097152,9000,0]]}");
    CHECK(timeline.matched);
    CHECK_INT(timeline.calls, 1);
    CHECK_INT(timeline.call[0].launches, 2);
    CHECK_INT(timeline.call[0].block, 1);
    CHECK_INT(timeline.call[0].moment, 2);
    end_run();
}

/* Whether the launches of the record are those of the summary's calls, and the site of the last. */
static void launches_and_the_calls_of_the_summary(void)
{
#define TWO(launches) "{\"order\":[0,1],\"order_launches\":[1," launches "],\"sites\":[{},{}]}"
    static const char four[] = "m 1\nc 0 0 1 1 1 a\nc 0 0 1 1 1 b\nc 0 0 1 1 1 b\nc 0 0 1 1 1 b\n";
#define AND_ONE(launch) "m 1\nc 0 4096 100 10 1 first\n" launch "\n"
    static const struct {
        const char *record, *summary;
        size_t calls;
        bool matched;
        int site;
    } rows[] = {
        {four, TWO("3"), 2, true, 1},
        {four, TWO("1"), 4, true, 1},
        {four, TWO("2"), 3, false, CS_TIMELINE_NONE},
        {four, TWO("9"), 2, false, 1},
        {four, TWO("0"), 4, false, 1},
        {"m 1\nc 0 0 100 10 1 first\n", untiled, 1, false, 0},
        /* Beyond the order: a launch like another is of its site. */
        {AND_ONE("c 0 4096 100 10 1 first"), one, 2, true, 0},
        {AND_ONE("c 0 4096 100 10 1 second"), one, 2, false, CS_TIMELINE_NONE},
        {AND_ONE("c 0 4097 100 10 1 first"), one, 2, false, CS_TIMELINE_NONE},
        {AND_ONE("c 0 4096 101 10 1 first"), one, 2, false, CS_TIMELINE_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %zu", i);
        read_run(rows[i].record, rows[i].summary, NULL);
        CHECK_INT(timeline.matched, rows[i].matched);
        CHECK_INT(timeline.calls, rows[i].calls);
        CHECK_INT(timeline.call[timeline.calls - 1].site, rows[i].site);
        end_run();
    }
}

static void without_a_framework_blocks_are_the_devices(void)
{
    read_run("m 1000\na 10000 1000\nm 5000\na 20000 4000\n"
             "c 20000 3000 100 10 5000 first\nc 0 0 100 10 5000 first\n"
             "c 20200 2000 100 10 5000 second\nm 1000\nf 20000\n",
             "{\"order\":[0,1],\"order_launches\":[2,1],\"sites\":[{},{}]}", NULL);
    CHECK(timeline.matched);
    CHECK_INT(timeline.calls, 2);
    CHECK_INT(timeline.call[0].launches, 2);
    CHECK_INT(timeline.call[0].moment, 1);
    CHECK_INT(timeline.call[0].block, 1); /* the last tile needs no workspace */
    CHECK_INT(timeline.call[1].block, 1);
    CHECK_INT(timeline.block[1].workspace, 3000);
    CHECK_INT(timeline.block[1].until, 2);
    end_run();
}

/* Workspaces outside all blocks that PyTorch recorded; there may be no such block. */
static void workspaces_outside_all_blocks_are_separate(void)
{
    static const struct {
        const char *events;
        size_t moments;
    } rows[] = {{"{\"events\":[]}", 0},
                {"{\"events\":[[\"f\",4194304,4096,0]]}", 1},
                {"{\"events\":[[\"a\",4190208,4096,0]]}", 1},
                {"{\"events\":[[\"a\",4198400,4096,0]]}", 1},
                {"{\"events\":[[\"x\",4194304,4096,0]]}", 0},
                {"{\"events\":[[\"a\",4194304,4096],7,[7,4194304,4096,0]]}", 0},
                {"{\"events\":[[\"a\",\"here\",512,0],[\"f\",0,512,0]]}", 2}, /* an address of 0 */
                {"{\"events\":[[\"a\",4194304,8192,0]]}", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %zu", i);
        read_run("m 5000\nc 400000 4096 100 10 5000 first\nc 0 0 100 10 5000 second\n", two,
                 rows[i].events);
        CHECK(timeline.matched);
        CHECK_INT(timeline.moments, rows[i].moments);
        CHECK_INT(timeline.calls, 2);
        for (size_t c = 0; c < timeline.calls; c++) {
            CHECK_INT(timeline.call[c].block, CS_TIMELINE_NONE);
            CHECK_INT(timeline.call[c].moment, 0);
        }
        for (size_t b = 0; b < timeline.blocks; b++)
            CHECK_INT(timeline.block[b].workspace, 0);
        end_run();
    }
}

/* A workspace is the next block of its size at its address, else the one that the call before it
 * had; moments are those of the blocks. */
static void which_block_a_workspace_is(void)
{
    static const char events[] =
        "{\"events\":["
        "[\"f\",2097152,1,0],"                             /* of a block from before: moment 0 */
        "[\"a\",2097152,4096,0],[\"f\",2097152,4096,0],"   /* block 0, moments 1 and 2 */
        "[\"a\",2097152,4096,0],[\"f\",2097152,4096,0],"   /* 1, 3 and 4 */
        "[\"a\",3145728,4000,0],[\"a\",2097152,8192,0]]}"; /* 2 and 3, 5 and 6 */
    static const struct {
        struct {
            const char *launch; /* address and workspace; NULL: no more */
            long block;
            size_t moment;
        } call[8];
    } rows[] = {{{{"500000 4096", CS_TIMELINE_NONE, 0},
                  {"200000 4096", 0, 1},
                  {"200000 8192", 3, 6},
                  {"200000 4096", 3, 6},
                  {"201fff 8000", 3, 6},
                  {"202000 8192", CS_TIMELINE_NONE, 6},
                  {"300000 4096", CS_TIMELINE_NONE, 6}}},
                {{{"200000 4096", 0, 1},
                  {"200fff 3585", 1, 3},
                  {"200000 4000", 1, 3},
                  {"300000 3584", CS_TIMELINE_NONE, 3},
                  {"300000 4096", 2, 5},
                  {"300fff 9000", 2, 5},
                  {"200000 7681", 3, 6}}},
                {{{"200000 4096", 0, 1},
                  {"200000 512", 0, 1},
                  {"201000 512", CS_TIMELINE_NONE, 1},
                  {"200000 0", CS_TIMELINE_NONE, 1},
                  {"200000 1", 0, 1},
                  {"201000 1", CS_TIMELINE_NONE, 1}}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024] = "m 5000\n";
        for (int c = 0; c < 8 && rows[i].call[c].launch; c++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "c %s 100 10 5000 p\n",
                     rows[i].call[c].launch);
        read_run(text, "{}", events);
        CHECK_INT(timeline.blocks, 4);
        for (size_t c = 0; c < timeline.calls && rows[i].call[c].launch; c++) {
            CHECK_INT(timeline.call[c].block, rows[i].call[c].block);
            CHECK_INT(timeline.call[c].moment, rows[i].call[c].moment);
        }
        end_run();
    }
}

/* The workspace of calls that share a block is that of the first with the largest size. The
 * reported size of a site is its workspace only if it was tiled. */
static void shared_block_has_the_largest_workspace(void)
{
#define SHARED(tiled)                                                                              \
    "{\"order\":[0,1],\"sites\":[{\"calls\":1,\"tiled\":" tiled ",\"launches\":1,"                 \
    "\"reported\":8192},{\"calls\":1,\"tiled\":0,\"reported\":8192}]}"
    static const struct {
        const char *summary, *launches;
        long block;
        long call;
        int64_t workspace;
    } rows[] = {{SHARED("0"), "c 200000 4096 1 1 1 p\nc 200000 4096 1 1 1 p\n", 0, 0, 4096},
                {SHARED("0"), "c 200000 4000 1 1 1 p\nc 200000 4001 1 1 1 p\n", 0, 1, 4001},
                {SHARED("0"), "c 200000 4000 1 1 1 p\nc 200000 3999 1 1 1 p\n", 0, 0, 4000},
                {SHARED("1"), "c 200000 4096 1 1 1 p\nc 200000 4096 1 1 1 p\n", 1, 0, 4096},
                {SHARED("0"), "c 200000 1 1 1 1 p\nc 200000 1 1 1 1 p\n", CS_TIMELINE_NONE, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %zu", i);
        read_run(rows[i].launches, rows[i].summary,
                 "{\"events\":[[\"a\",2097152,4096,0],[\"a\",2097152,8192,0]]}");
        CHECK_INT(timeline.call[0].block, rows[i].block);
        for (long b = 0; b < 2; b++) {
            CHECK_INT(timeline.block[b].workspace, b == rows[i].block ? rows[i].workspace : 0);
            CHECK_INT(timeline.block[b].call, b == rows[i].block ? rows[i].call : CS_TIMELINE_NONE);
            CHECK_INT(timeline.block[b].until, 2); /* neither was freed */
        }
        end_run();
    }
}

/* More of everything than there is room for at first. */
static void long_run_keeps_all_moments(void)
{
    enum {
        MANY = 3000
    };
    static char text[200 * MANY];
    size_t length = 0;
    for (int i = 0; i < MANY; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "m %d\na %x 16\nc %x 16 %d 10 1 plan%d\n", i, 0x10000 + 16 * i,
                                   0x10000 + 16 * i, i, i % 7);
    read_run(text, "{}", NULL);
    CHECK_INT(timeline.moments, MANY);
    CHECK_INT(timeline.blocks, MANY);
    CHECK_INT(timeline.calls, MANY);
    CHECK(!timeline.matched);
    for (int i = 0; i < MANY; i++) {
        const struct cs_timeline_block *block = &timeline.block[i];
        CHECK_INT(timeline.live[i], i);
        CHECK(block->address == 0x10000 + 16 * (uint64_t)i && block->from == (size_t)i);
        CHECK(block->until == MANY && block->workspace == 16);
        CHECK_INT(timeline.call[i].block, i);
        CHECK_INT(timeline.call[i].tensor_bytes, i);
        CHECK_INT(timeline.call[i].site, CS_TIMELINE_NONE);
    }
    end_run();
}

int main(void)
{
    heap_watch();
    TEST(workspaces_are_found_among_pytorch_allocations);
    TEST(tiles_share_a_workspace);
    TEST(launches_and_the_calls_of_the_summary);
    TEST(without_a_framework_blocks_are_the_devices);
    TEST(workspaces_outside_all_blocks_are_separate);
    TEST(which_block_a_workspace_is);
    TEST(shared_block_has_the_largest_workspace);
    TEST(long_run_keeps_all_moments);
    return REPORT();
}
