/* `convshim status` where there are more processes than it shows, which are the test's own. */
#include "account/live.h"

#include "capture.h"

enum {
    SHOWN = 1024
};

static int there, reads;

static int list(const char *folder, int64_t *pids, int room)
{
    (void)folder;
    CHECK_INT(room, SHOWN);
    for (int i = 0; i < there && i < room; i++)
        pids[i] = i + 1;
    return there;
}

static bool read_page(const char *folder, int64_t pid, struct cs_live_page *page)
{
    (void)folder;
    *page = (struct cs_live_page){.pid = pid, .calls = 7};
    reads++;
    return pid >= 1 && pid <= SHOWN;
}

#define cs_live_list list
#define cs_live_read read_page
#include "cli/status/status.c" /* NOLINT(bugprone-suspicious-include) */
#undef cs_live_list
#undef cs_live_read

static int lines_of(int processes)
{
    int lines = 0;
    there = processes;
    reads = 0;
    output_of(cs_cli_status, (const char *const[]){"status", "--format", "csv", NULL});
    for (const char *at = captured; (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

static void each_process_has_a_line(void)
{
    CHECK_INT(lines_of(3), 1 + 3);
    CHECK_INT(captured_status, CS_CLI_OK);
    check_says((const char *const[]){"pid,program,", "\n1,", "\n2,", "\n3,", NULL});
    CHECK_INT(lines_of(0), 1);
}

static void no_more_than_there_is_room_for(void)
{
    static const int counts[] = {SHOWN - 1, SHOWN, SHOWN + 1, 5 * SHOWN};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int shown = counts[i] < SHOWN ? counts[i] : SHOWN;
        (void)lines_of(counts[i]);
        CHECK_INT(reads, shown);
    }
}

int main(void)
{
    TEST(each_process_has_a_line);
    TEST(no_more_than_there_is_room_for);
    return REPORT();
}
