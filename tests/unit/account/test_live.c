/* src/account/live.c: other processes of the same user can read the counters of a process; other
 * users cannot. */
#include "account/live.h"

#include "account_fixture.h"
#include "check.h"
#include "descriptors.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROOM = 16
};

static char base[] = "/tmp/test_live.XXXXXX";
static char folder[64], path[96];

static const struct cs_live_facts facts = {.run = 7,
                                           .start_ms = 1000,
                                           .workspace = 64 << 20,
                                           .program = "python3",
                                           .script = "main.py",
                                           .vendor = "cuDNN 9.1.0",
                                           .policy = "fit",
                                           .release = "0.1.0"};

static const char *file_of(const char *suffix)
{
    snprintf(path, sizeof path, "%s/%lld%s", folder, (long long)getpid(), suffix);
    return path;
}

static void new_folder(const char *name)
{
    snprintf(folder, sizeof folder, "%s/%s", base, name);
}

static void counts_are_read(void)
{
    struct cs_account *account = new_account();
    struct cs_live live = {.page = NULL};
    struct cs_live_page page;
    bool look;
    new_folder("counts");
    CHECK(cs_live_missing(&live));
    cs_live_open(&live, folder, &facts);
    CHECK(!cs_live_missing(&live));
    CHECK(!cs_live_count(&live, account, &look));
    for (int i = 0; i < 5; i++)
        cs_account_passed(account, NULL, CS_REASON_SMALL);
    CHECK(cs_live_count(&live, account, &look) && look);
    CHECK(!cs_live_count(&live, account, &look));
    cs_live_scratch(&live, 10, 20);
    CHECK(cs_live_read(folder, getpid(), &page));
    CHECK_INT(page.calls, 5);
    CHECK_INT(page.own_held, 10);
    CHECK_INT(page.own_peak, 20);
    CHECK_INT(page.run, 7);
    CHECK_INT(page.workspace, 64 << 20);
    CHECK_STR(page.program, "python3");
    CHECK_STR(page.script, "main.py");
    CHECK(page.changed_ms > 0);
    cs_live_close(&live, folder);
    CHECK(!cs_live_read(folder, getpid(), &page) && errno == ENOENT);
    cs_account_passed(account, NULL, CS_REASON_SMALL);
    CHECK(cs_live_count(&live, account, &look)); /* into memory that is no file's any more */
    free(account);
}

static void it_is_the_users_alone(void)
{
    struct cs_live live = {.page = NULL};
    struct stat there;
    new_folder("mode");
    cs_live_open(&live, folder, &facts);
    CHECK(stat(folder, &there) == 0 && (there.st_mode & 0777) == 0700);
    CHECK(lstat(file_of(""), &there) == 0 && (there.st_mode & 0777) == 0600);
}

static void foreign_folder_is_not_used(void)
{
    struct cs_live live = {.page = NULL};
    struct stat there;
    new_folder("open");
    CHECK(mkdir(folder, 0700) == 0 && chmod(folder, 0777) == 0);
    cs_live_open(&live, folder, &facts);
    CHECK(!live.page && lstat(file_of(""), &there) != 0);
}

static void a_link_is_not_followed(void)
{
    struct cs_live live = {.page = NULL}, other = {.page = NULL};
    struct stat there;
    char victim[80];
    new_folder("real");
    CHECK(mkdir(folder, 0700) == 0);
    snprintf(victim, sizeof victim, "%s/victim", base);
    CHECK(symlink(victim, file_of("")) == 0);
    cs_live_open(&live, folder, &facts);
    CHECK(live.page && lstat(file_of(""), &there) == 0 && S_ISREG(there.st_mode));
    CHECK(lstat(victim, &there) != 0);
    char target[64];
    memcpy(target, folder, sizeof target);
    new_folder("link");
    CHECK(symlink(target, folder) == 0);
    cs_live_open(&other, folder, &facts);
    CHECK(!other.page);
}

/* A child counts into its own file; the parent's file stays. */
/* If the file cannot get its size, it is removed and counts are dropped. A fork resets this, so the
 * child may try again. */
static void without_room_there_is_no_file(void)
{
    struct cs_account *account = new_account();
    struct cs_live live = {.page = NULL};
    struct cs_live_page page;
    struct rlimit usual;
    int64_t pids[ROOM];
    bool look = false;
    new_folder("full");
    getrlimit(RLIMIT_FSIZE, &usual);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){sizeof page - 1, usual.rlim_max});
    errno = 77;
    cs_live_open(&live, folder, &facts);
    setrlimit(RLIMIT_FSIZE, &usual);
    CHECK_INT(errno, 77);
    CHECK(!cs_live_missing(&live) && !live.page);
    CHECK(access(file_of(""), F_OK) != 0);
    cs_account_passed(account, NULL, CS_REASON_SMALL);
    CHECK(!cs_live_count(&live, account, &look) && !look);
    cs_live_scratch(&live, 1, 2);
    cs_live_open(&live, folder, &facts); /* not tried again */
    CHECK_INT(cs_live_list(folder, pids, ROOM), 0);
    cs_live_fork(&live);
    CHECK(cs_live_missing(&live));
    cs_live_open(&live, folder, &facts);
    CHECK(cs_live_count(&live, account, &look) && look);
    const void *memory = live.page;
    cs_live_fork(&live);
    CHECK(cs_live_missing(&live) && !live.page);
    CHECK(msync((void *)memory, 1, MS_ASYNC) != 0); /* it is mapped no more */
    CHECK(!cs_live_count(&live, account, &look));
    free(account);
}

static void child_has_its_own_counters(void)
{
    struct cs_account *account = new_account();
    struct cs_live live = {.page = NULL};
    struct cs_live_page page;
    int64_t pids[ROOM];
    bool look;
    new_folder("fork");
    cs_live_open(&live, folder, &facts);
    cs_account_passed(account, NULL, CS_REASON_SMALL);
    cs_live_count(&live, account, &look);
    pid_t child = fork();
    if (child == 0) {
        cs_live_fork(&live);
        cs_account_passed(account, NULL, CS_REASON_SMALL);
        bool good = cs_live_missing(&live) && !cs_live_count(&live, account, &look);
        cs_live_open(&live, folder, &facts);
        good = good && cs_live_count(&live, account, &look) &&
               cs_live_list(folder, pids, ROOM) == 2 && cs_live_read(folder, getpid(), &page) &&
               page.calls == 2;
        _exit(good ? 0 : 1); /* as a killed one leaves it */
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_INT(cs_live_list(folder, pids, ROOM), 2);
    CHECK(!cs_live_read(folder, child, &page)); /* no process owns it: it is removed */
    CHECK_INT(cs_live_list(folder, pids, ROOM), 1);
    CHECK_INT(pids[0], getpid());
    CHECK(cs_live_read(folder, getpid(), &page));
    CHECK_INT(page.calls, 1);
    free(account);
}

/* An id that came again, a file that is torn: as if there were none. */
static void damaged_page_is_ignored(void)
{
    struct cs_live live = {.page = NULL};
    struct cs_live_page page;
    new_folder("torn");
    cs_live_open(&live, folder, &facts);
    if (!live.page)
        return CHECK(!"a page");
    live.page->birth++;
    CHECK(!cs_live_read(folder, getpid(), &page));
    FILE *file = fopen(file_of(""), "w");
    CHECK(file && fputs("text", file) >= 0 && fclose(file) == 0);
    CHECK(!cs_live_read(folder, getpid(), &page));
    new_folder("nowhere");
    CHECK(!cs_live_read(folder, getpid(), &page));
    CHECK(cs_live_list(folder, NULL, 0) == -1 && errno == ENOENT);
}

static void notes_are_taken_once(void)
{
    new_folder("notes");
    CHECK(!cs_live_noted(folder, getpid()));
    cs_live_note(folder, getpid());
    cs_live_note(folder, getpid());
    struct stat noted;
    CHECK(lstat(file_of(".ran"), &noted) == 0 && (noted.st_mode & 0777) == 0600);
    int64_t pids[ROOM];
    CHECK_INT(cs_live_list(folder, pids, ROOM), 0);
    CHECK(cs_live_noted(folder, getpid()));
    CHECK(!cs_live_noted(folder, getpid()));
    cs_live_note(folder, INT64_C(99999999999)); /* of a run that is over */
    CHECK_INT(cs_live_list(folder, pids, ROOM), 0);
    CHECK(!cs_live_noted(folder, INT64_C(99999999999)));
}

/* No process id exceeds 2^22. Files of such an id are removed when processes are listed. */
static void notes_of_ended_processes_are_removed(void)
{
    int64_t pids[ROOM];
    char gone[128], other[128];
    new_folder("gone");
    CHECK(mkdir(folder, 0700) == 0);
    snprintf(gone, sizeof gone, "%s/99999999.ran", folder);
    snprintf(other, sizeof other, "%s/99999999.other", folder);
    for (int i = 0; i < 3; i++) {
        FILE *file = fopen(i == 0 ? gone : i == 1 ? other : file_of(".ran"), "w");
        CHECK(file && fclose(file) == 0);
    }
    CHECK_INT(cs_live_list(folder, pids, ROOM), 0);
    CHECK(access(gone, F_OK) != 0);
    CHECK(access(other, F_OK) == 0);
    CHECK(access(file_of(".ran"), F_OK) == 0);
}

/* A copy that stalls: its first store after the border of two pages faults. The handler then counts
 * and copies, as another thread would. The values that the first copy had loaded are old by then.
 */
static struct {
    struct cs_live live;
    struct cs_account *account;
    char *border;
    size_t bytes;
    int stalls;
} stalled;

static void count_all(void)
{
    static const struct cs_site_ref site = {.place = 1, .required = 900, .possible = 700};
    cs_account_passed(stalled.account, NULL, CS_REASON_SMALL);
    cs_account_tiled(stalled.account, &site, 3, 2);
    cs_account_fallback(stalled.account, &site);
    cs_account_failed(stalled.account, &site);
}

static void another_counts(int signal)
{
    bool look;
    (void)signal;
    if (stalled.stalls++ > 0 ||
        mprotect(stalled.border, stalled.bytes, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
    count_all();
    if (!cs_live_count(&stalled.live, stalled.account, &look))
        _exit(1);
}

/* The page lies so that `offset` bytes of it are in front of the border. */
static void stall_at(size_t offset)
{
    bool look;
    struct cs_live_page *page = (struct cs_live_page *)(stalled.border - offset);
    stalled.account = new_account();
    stalled.stalls = 0;
    stalled.live = (struct cs_live){.page = page, .process = getpid()};
    memset(page, 0, sizeof *page);
    cs_account_passed(stalled.account, NULL, CS_REASON_SMALL);
    CHECK(mprotect(stalled.border, stalled.bytes, PROT_READ) == 0);
    CHECK(cs_live_count(&stalled.live, stalled.account, &look));
    CHECK_INT(stalled.stalls, 1);
    CHECK_INT(page->calls, 5);
    CHECK_INT(page->tiled, 1);
    CHECK_INT(page->fallback, 1);
    CHECK_INT(page->failed, 1);
    CHECK_INT(page->launches, 3);
    CHECK_INT(page->required_max, 900);
    CHECK_INT(page->reported_max, 700);
    free(stalled.account);
}

static void stalled_copy_returns_no_old_counts(void)
{
    struct sigaction usual, action = {.sa_handler = another_counts, .sa_flags = SA_NODEFER};
    stalled.bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *pages =
        mmap(NULL, 2 * stalled.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return CHECK(!"two pages");
    stalled.border = pages + stalled.bytes;
    sigaction(SIGSEGV, &action, &usual);
    for (size_t at = offsetof(struct cs_live_page, calls);
         at <= offsetof(struct cs_live_page, reported_max); at += sizeof(int64_t))
        stall_at(at);
    sigaction(SIGSEGV, &usual, NULL);
    munmap(pages, 2 * stalled.bytes);
}

int main(void)
{
    if (!mkdtemp(base))
        return 1;
    descriptors_begin();
    TEST(counts_are_read);
    TEST(it_is_the_users_alone);
    TEST(foreign_folder_is_not_used);
    TEST(a_link_is_not_followed);
    TEST(without_room_there_is_no_file);
    TEST(child_has_its_own_counters);
    TEST(damaged_page_is_ignored);
    TEST(notes_are_taken_once);
    TEST(notes_of_ended_processes_are_removed);
    TEST(stalled_copy_returns_no_old_counts);
    TEST(no_descriptor_is_left_open);
    char remove[96];
    snprintf(remove, sizeof remove, "rm -rf %s", base);
    return REPORT() || system(remove) != 0;
}
