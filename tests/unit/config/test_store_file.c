/* A store's file under faults of the file system: held locks, partial writes, files that are moved
 * while they are opened. The test provides the results of the system calls. */
#include "config/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "config_fixture.h"

#ifdef CS_DEBUG
#define PATIENCE INT64_C(10100000000) /* nanoseconds; a sanitizer is slow */
#else
#define PATIENCE INT64_C(1100000000)
#endif

/* The behaviour of the next calls. */
static struct {
    int lock_error, lock_failures;   /* error, and number of calls that fail with it */
    int locks, sleeps, writes;       /* calls counted */
    int write_error, write_failures; /* error, and number of calls that fail with it */
    ssize_t shorter;                 /* bytes that every write leaves out */
    void (*on_lock)(int operation);
    int64_t now; /* nanoseconds */
} told;

WRAPPED(int, flock, int fd, int operation)
{
    told.locks++;
    if (told.on_lock)
        told.on_lock(operation);
    if (told.lock_failures-- > 0) {
        errno = told.lock_error;
        return -1;
    }
    return __real_flock(fd, operation);
}

WRAPPED(ssize_t, write, int fd, const void *text, size_t length)
{
    told.writes++;
    if (told.write_failures-- > 0) {
        errno = told.write_error;
        return -1;
    }
    return __real_write(fd, text, length - (size_t)told.shorter);
}

WRAPPED(int, nanosleep, const struct timespec *time, struct timespec *left)
{
    (void)left;
    told.sleeps++;
    told.now += time->tv_nsec;
    return 0;
}

WRAPPED(int, clock_gettime, clockid_t clock, struct timespec *time)
{
    CHECK_INT(clock, CLOCK_MONOTONIC);
    time->tv_sec = told.now / 1000000000;
    time->tv_nsec = told.now % 1000000000;
    return 0;
}

static void use_default_system(void)
{
    memset(&told, 0, sizeof told);
    CHECK(remove_folder() && mkdir(folder, 0755) == 0);
}

static void check_text(const char *name, const char *want)
{
    char text[256] = "";
    FILE *file = fopen(path_of(name), "r");
    CHECK(file != NULL);
    if (file) {
        CHECK(fread(text, 1, sizeof text - 1, file) == strlen(want));
        fclose(file);
    }
    CHECK_STR(text, want);
}

static bool is_there(const char *name)
{
    struct stat info;
    return lstat(path_of(name), &info) == 0;
}

static mode_t mode_of(const char *name)
{
    struct stat info = {0};
    CHECK(stat(path_of(name), &info) == 0);
    return info.st_mode & 07777;
}

#define HEAD "convshim plans 1\n"

static void a_file_and_two_folders_are_made(void)
{
    use_default_system();
    mode_t before = umask(0);
    CHECK_INT(cs_store_append(path_of("file"), "a\n", 2), (int64_t)strlen(HEAD) + 2);
    CHECK_INT(cs_store_append(path_of("file"), "bc\n", 3), (int64_t)strlen(HEAD) + 5);
    check_text("file", HEAD "a\nbc\n");
    CHECK_INT(mode_of("file"), 0600);
    CHECK(cs_store_append(path_of("one/file"), "a\n", 2) > 0 && mode_of("one") == 0700);
    CHECK(cs_store_append(path_of("two/three/file"), "a\n", 2) > 0);
    CHECK(mode_of("two") == 0700 && mode_of("two/three") == 0700);
    CHECK_INT(cs_store_append(path_of("x/y/z/file"), "a\n", 2), -1);
    CHECK_INT(errno, ENOENT);
    CHECK(!is_there("x"));
    CHECK_INT(cs_store_lock(path_of("x/file")), -1); /* a missing folder is not created */
    CHECK(errno == ENOENT && !is_there("x"));
    umask(before);
}

static void paths_without_folders(void)
{
    char before[4096];
    use_default_system();
    CHECK(getcwd(before, sizeof before) != NULL && chdir(folder) == 0);
    CHECK(cs_store_append("file", "a\n", 2) > 0);
    CHECK(cs_store_append("one/file", "a\n", 2) > 0);
    CHECK(cs_store_append("two/three/file", "a\n", 2) > 0);
    CHECK(is_there("file") && is_there("one/file") && is_there("two/three/file"));
    CHECK(chdir(before) == 0);
}

/* Started programs do not inherit the descriptors, and opening never waits. */
static void descriptors_are_our_own(void)
{
    use_default_system();
    CHECK(cs_store_append(path_of("file"), "a\n", 2) > 0);
    int made[] = {cs_store_lock(path_of("file")), cs_store_begin_new(path_of("file"))};
    for (size_t i = 0; i < 2; i++) {
        CHECK(made[i] >= 0);
        CHECK(fcntl(made[i], F_GETFD) & FD_CLOEXEC);
        CHECK(fcntl(made[i], F_GETFL) & O_NONBLOCK);
    }
    close(made[0]);
    CHECK(cs_store_end_new(path_of("file"), made[1], true));
    CHECK(!is_there("file.new"));
    check_text("file", HEAD);
}

static void heads(void)
{
    static const struct {
        const char *text;
        enum cs_store_head head;
    } rows[] = {{"", CS_HEAD_ABSENT},
                {HEAD, CS_HEAD_GOOD},
                {HEAD "more\n", CS_HEAD_GOOD},
                {"convshim plans 1", CS_HEAD_BAD},
                {"convshim plans 1 ", CS_HEAD_BAD},
                {"convshim plans 2\n", CS_HEAD_BAD},
                {"x", CS_HEAD_BAD}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        use_default_system();
        write_file("file", rows[i].text, strlen(rows[i].text));
        int fd = open(path_of("file"), O_RDONLY);
        CHECK_INT(cs_store_head_of(fd, (int64_t)strlen(rows[i].text)), rows[i].head);
        close(fd);
        CHECK(cs_store_set_aside(path_of("file")));
        CHECK_INT(is_there("file"), rows[i].head != CS_HEAD_BAD);
        CHECK_INT(is_there("file.corrupt-1"), rows[i].head == CS_HEAD_BAD);
    }
    CHECK_INT(cs_store_head_length(), (int64_t)strlen(HEAD));
}

static void writes_that_end_early(void)
{
    use_default_system();
    write_file("file", HEAD, strlen(HEAD));
    told.write_error = EINTR;
    told.write_failures = 3;
    CHECK_INT(cs_store_append(path_of("file"), "a\n", 2), (int64_t)strlen(HEAD) + 2);
    CHECK_INT(told.writes, 4);
    told.write_error = EIO;
    told.write_failures = 1;
    CHECK_INT(cs_store_append(path_of("file"), "a\n", 2), -1);
    CHECK(errno == EIO && told.writes == 5);
    told.shorter = 1;
    CHECK_INT(cs_store_append(path_of("file"), "a\n", 2), -1);
    CHECK_INT(errno, ENOSPC);
    told.shorter = 2; /* of two bytes none */
    CHECK(!cs_store_write(STDOUT_FILENO, "a\n", 2));
    CHECK_INT(errno, ENOSPC);
}

/* The next one finds an empty file and writes its head. */
static void partial_head_is_removed(void)
{
    use_default_system();
    told.shorter = 1;
    CHECK_INT(cs_store_append(path_of("file"), "a\n", 2), -1);
    CHECK_INT(errno, ENOSPC);
    check_text("file", "");
    CHECK_INT(cs_store_begin_new(path_of("file")), -1);
    CHECK(errno == ENOSPC && !is_there("file.new"));
    told.shorter = 0;
    CHECK(cs_store_append(path_of("file"), "a\n", 2) > 0);
    check_text("file", HEAD "a\n");
}

static void a_lock_is_waited_for(void)
{
    static const int errors[] = {EWOULDBLOCK, EINTR};
    for (size_t i = 0; i < 2; i++) {
        use_default_system();
        write_file("file", HEAD, strlen(HEAD));
        told.lock_error = errors[i];
        told.lock_failures = 5;
        CHECK(cs_store_append(path_of("file"), "a\n", 2) > 0);
        CHECK(told.locks == 6 && told.sleeps == 5);
        told.lock_failures = 1 << 30;
        CHECK_INT(cs_store_append(path_of("file"), "a\n", 2), -1);
        CHECK_INT(errno, ETIMEDOUT);
        CHECK(told.now > 500000000 && told.now <= PATIENCE);
    }
}

/* On file systems without locks a record is still appended, but nothing is moved. */
static void without_file_locks_records_are_appended(void)
{
    use_default_system();
    write_file("file", HEAD, strlen(HEAD));
    write_file("bad", "x", 1);
    told.lock_error = ENOLCK;
    told.lock_failures = 1 << 30;
    CHECK(cs_store_append(path_of("file"), "a\n", 2) > 0);
    CHECK_INT(cs_store_lock(path_of("file")), -1);
    CHECK_INT(errno, ENOLCK);
    CHECK(!cs_store_set_aside(path_of("bad")) && is_there("bad"));
    CHECK(cs_store_set_aside(path_of("missing")));
    CHECK_INT(cs_store_append(path_of("empty"), "a\n", 2), -1);
    CHECK(errno == ENOLCK && told.sleeps == 0);
}

static int moves;

static void move_file(int operation)
{
    char to[600];
    (void)operation;
    if (moves-- > 0) {
        snprintf(to, sizeof to, "%s.old", path_of("file"));
        CHECK(rename(path_of("file"), to) == 0);
    }
}

/* If the file is moved before it is locked, it is not written to. */
static void moved_file_is_opened_again(void)
{
    for (int times = 1; times <= 1000; times *= 1000) {
        use_default_system();
        write_file("file", "", 0);
        moves = times;
        told.on_lock = move_file;
        int64_t size = cs_store_append(path_of("file"), "a\n", 2);
        CHECK_INT(size, times == 1 ? (int64_t)strlen(HEAD) + 2 : -1);
        CHECK(size > 0 || errno == EAGAIN);
        if (size > 0)
            check_text("file", HEAD "a\n");
        check_text("file.old", "");
    }
}

static void write_head(int operation)
{
    if ((operation & ~LOCK_NB) == LOCK_EX)
        write_file("file", HEAD "b\n", strlen(HEAD) + 2);
}

static void another_may_write_the_head(void)
{
    use_default_system();
    told.on_lock = write_head;
    CHECK_INT(cs_store_append(path_of("file"), "a\n", 2), (int64_t)strlen(HEAD) + 4);
    check_text("file", HEAD "b\na\n");
}

static void special_files_are_refused(void)
{
    use_default_system();
    CHECK(mkdir(path_of("folder"), 0755) == 0);
    CHECK(mkfifo(path_of("fifo"), 0600) == 0);
    CHECK_INT(cs_store_append(path_of("fifo"), "a\n", 2), -1);
    CHECK_INT(errno, EINVAL);
    CHECK_INT(cs_store_append(path_of("folder"), "a\n", 2), -1);
    CHECK_INT(errno, EISDIR);
    CHECK(!cs_store_set_aside(path_of("folder")) && !cs_store_set_aside(path_of("fifo")));
    CHECK(told.locks == 0 && told.writes == 0);
    CHECK(symlink("elsewhere", path_of("link")) == 0);
    CHECK_INT(cs_store_append(path_of("link"), "a\n", 2), -1);
    CHECK_INT(errno, ELOOP);
    CHECK(symlink("elsewhere", path_of("file.new")) == 0);
    CHECK_INT(cs_store_begin_new(path_of("file")), -1);
    CHECK(!is_there("elsewhere"));
}

/* Nine names, of which the last is taken again. */
static void names_of_files_that_are_set_aside(void)
{
    char name[64], text[8];
    use_default_system();
    for (int i = 1; i <= 9 + 2; i++) {
        int n = i < 9 ? i : 9;
        snprintf(text, sizeof text, "bad %d", i);
        write_file("file", text, strlen(text));
        CHECK(cs_store_set_aside(path_of("file")) && !is_there("file"));
        snprintf(name, sizeof name, "file.corrupt-%d", n);
        check_text(name, text);
    }
    check_text("file.corrupt-1", "bad 1");
    CHECK(!is_there("file.corrupt-10"));
}

static void new_file_replaces_the_old_one_or_is_removed(void)
{
    use_default_system();
    write_file("file", "old", 3);
    int fd = cs_store_begin_new(path_of("file"));
    CHECK(fd >= 0 && cs_store_write(fd, "a\n", 2));
    check_text("file", "old");
    CHECK(!cs_store_end_new(path_of("file"), fd, false));
    CHECK(!is_there("file.new"));
    check_text("file", "old");
    CHECK(fcntl(fd, F_GETFD) < 0);
    write_file("file.new", "text of an earlier user..", 24);
    fd = cs_store_begin_new(path_of("file"));
    CHECK(cs_store_end_new(path_of("file"), fd, true));
    check_text("file", HEAD);
    CHECK(unlink(path_of("file")) == 0 && mkdir(path_of("file"), 0755) == 0);
    fd = cs_store_begin_new(path_of("file"));
    CHECK(fd >= 0 && !cs_store_end_new(path_of("file"), fd, true) && !is_there("file.new"));
}

int main(void)
{
    if (!make_folder())
        return 1;
    cs_log_open(CS_LOG_OFF, "");
    TEST(a_file_and_two_folders_are_made);
    TEST(paths_without_folders);
    TEST(descriptors_are_our_own);
    TEST(heads);
    TEST(writes_that_end_early);
    TEST(partial_head_is_removed);
    TEST(a_lock_is_waited_for);
    TEST(without_file_locks_records_are_appended);
    TEST(moved_file_is_opened_again);
    TEST(another_may_write_the_head);
    TEST(special_files_are_refused);
    TEST(names_of_files_that_are_set_aside);
    TEST(new_file_replaces_the_old_one_or_is_removed);
    return !remove_folder() || REPORT();
}
