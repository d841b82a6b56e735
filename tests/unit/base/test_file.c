/* Files of the library appear whole or not at all. They are private to their user, and are never
 * written through a link made by another user. */
#include "base/file.h"

#include "check.h"
#include "descriptors.h"
#include "file_contents.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LONG = 255, /* bytes of a name that file systems take */
    NOBODY = 65534
};

static char folder[] = "/tmp/convshim-file-XXXXXX";

static long size_of(const char *path)
{
    struct stat there;
    return lstat(path, &there) == 0 ? (long)there.st_size : -1;
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return fd >= 0 && cs_file_write_all(fd, text, strlen(text)) && close(fd) == 0;
}

/* The linker puts it in write's place: as on a pipe, no more than `most` bytes at a time. */
static size_t most_written = SIZE_MAX;
WRAPPED(ssize_t, write, int fd, const void *bytes, size_t size)
{
    return __real_write(fd, bytes, size < most_written ? size : most_written);
}

/* Whether the file is there under the name that it is written to before. */
static bool part_is_left(const char *path)
{
    char part[256];
    snprintf(part, sizeof part, "%s.%lld.part", path, (long long)getpid());
    return size_of(part) >= 0;
}

static void partial_writes_are_completed(void)
{
    for (most_written = 1; most_written < 6; most_written++) {
        CHECK(put("parts", "0123456789"));
        CHECK_STR(contents("parts"), "0123456789");
    }
    most_written = SIZE_MAX;
    unlink("parts");
}

static void each_p_is_replaced_by_the_process_id(void)
{
    static struct cs_place place;
    static char path[PATH_MAX], name[PATH_MAX];
    char pid[24], wanted[64];
    size_t digits = (size_t)snprintf(pid, sizeof pid, "%lld", (long long)getpid());
    snprintf(wanted, sizeof wanted, "/a%s.%s%%q%%", pid, pid);
    cs_file_place_set(&place, "/a%p.%p%q%");
    CHECK(cs_file_place_path(&place, path));
    CHECK_STR(path, wanted);

    /* The longest path, and one byte more. */
    for (size_t more = 0; more < 2; more++) {
        size_t length = PATH_MAX - 1 - digits + more;
        memset(name, '/', length);
        memcpy(name + length, "%p", 3);
        cs_file_place_set(&place, name);
        errno = 0;
        CHECK_INT(cs_file_place_path(&place, path), more == 0);
        CHECK_INT(errno, more == 0 ? 0 : ENAMETOOLONG);
    }
}

static void relative_place_keeps_its_folder(void)
{
    static struct cs_place place;
    char path[PATH_MAX], wanted[PATH_MAX], name[PATH_MAX + 8];
    errno = ERANGE;
    cs_file_place_set(&place, "x.txt");
    CHECK_INT(errno, ERANGE);
    CHECK(chdir("/") == 0);
    CHECK(cs_file_place_path(&place, path));
    snprintf(wanted, sizeof wanted, "%s/x.txt", folder);
    CHECK_STR(path, wanted);
    CHECK(chdir(folder) == 0);
    cs_file_place_set(&place, "/dev/null");
    CHECK(cs_file_place_path(&place, path));
    CHECK_STR(path, "/dev/null");
    cs_file_place_set(&place, NULL);
    CHECK(cs_file_place_path(&place, path));
    CHECK_STR(path, "");
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    cs_file_place_set(&place, name);
    CHECK(!cs_file_place_path(&place, path));
    CHECK_INT(errno, ENAMETOOLONG);
    /* The name fits as written, but not with the process id instead of %p. */
    name[PATH_MAX - strlen(folder) - 2] = '\0';
    memcpy(name + strlen(name) - 2, "%p", 2);
    cs_file_place_set(&place, name);
    CHECK(place.fits);
    CHECK(!cs_file_place_path(&place, path));
}

static void a_new_file_appears_when_it_is_whole(void)
{
    static struct cs_place place;
    static struct cs_new_file file;
    struct stat there;
    CHECK(put("whole.txt", "before"));
    cs_file_place_set(&place, "whole.txt");
    CHECK(cs_file_new_begin(&file, &place));
    cs_file_new_write(&file, "first, ", 7);
    cs_file_new_write(&file, "second", 6);
    CHECK_STR(contents("whole.txt"), "before");
    CHECK(part_is_left(file.path));
    CHECK(cs_file_new_end(&file));
    CHECK_STR(contents("whole.txt"), "first, second");
    CHECK(stat("whole.txt", &there) == 0 && (there.st_mode & 07777) == 0600);
    CHECK(!part_is_left(file.path));
}

/* A file left by an earlier process with the same id is replaced. */
static void stale_part_is_replaced(void)
{
    static struct cs_place place;
    static struct cs_new_file file;
    char part[128];
    snprintf(part, sizeof part, "again.txt.%lld.part", (long long)getpid());
    CHECK(put(part, "of one that was killed"));
    cs_file_place_set(&place, "again.txt");
    CHECK(cs_file_new_begin(&file, &place));
    cs_file_new_write(&file, "new", 3);
    CHECK(cs_file_new_end(&file));
    CHECK_STR(contents("again.txt"), "new");
}

static void unplaceable_file_leaves_no_part(void)
{
    static struct cs_place place;
    static struct cs_new_file file;
    cs_file_place_set(&place, "folder.txt");
    CHECK(cs_file_new_begin(&file, &place));
    cs_file_new_write(&file, "lost", 4);
    CHECK(mkdir("folder.txt", 0700) == 0); /* a file must not replace a folder */
    errno = 0;
    CHECK(!cs_file_new_end(&file));
    CHECK_INT(errno, EISDIR);
    CHECK(!part_is_left(file.path));
    CHECK(rmdir("folder.txt") == 0);
}

static void unwritable_file_leaves_no_part(void)
{
    static struct cs_place place;
    static struct cs_new_file file;
    struct rlimit was, none = {0, 0};
    CHECK(put("kept.txt", "as it was"));
    cs_file_place_set(&place, "kept.txt");
    CHECK(cs_file_new_begin(&file, &place));
    CHECK(getrlimit(RLIMIT_FSIZE, &was) == 0);
    none.rlim_max = was.rlim_max;
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    cs_file_new_write(&file, "no room", 7); /* without the signal that ends the process */
    CHECK_INT(errno, EFBIG);
    CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
    cs_file_new_write(&file, "there would be room again", 25);
    errno = EFBIG;
    CHECK(!cs_file_new_end(&file));
    CHECK_INT(errno, EFBIG);
    CHECK_STR(contents("kept.txt"), "as it was");
    CHECK(!part_is_left(file.path));
}

static void a_name_without_room_for_the_part_is_refused(void)
{
    static struct cs_place place;
    static struct cs_new_file file;
    char name[PATH_MAX];
    cs_file_place_set(&place, "no such folder/x.txt");
    CHECK(!cs_file_new_begin(&file, &place));
    CHECK_INT(errno, ENOENT);
    memset(name, 'n', sizeof name);
    name[0] = '/';
    name[PATH_MAX - 10] = '\0';
    cs_file_place_set(&place, name);
    CHECK(!cs_file_new_begin(&file, &place));
    CHECK_INT(errno, ENAMETOOLONG);
    name[PATH_MAX - 1] = '\0';
    memset(name, 'n', sizeof name - 1);
    cs_file_place_set(&place, name); /* with the folder before it, it is too long for a path */
    CHECK(!cs_file_new_begin(&file, &place));
    CHECK_INT(errno, ENAMETOOLONG);
}

/* Such a file is appended to and is not replaced. */
static void a_pipe_is_appended_to(void)
{
    static struct cs_place place;
    static struct cs_new_file file;
    char got[8] = "";
    CHECK(mkfifo("pipe", 0600) == 0);
    CHECK(!cs_file_path_replaceable("pipe"));
    cs_file_place_set(&place, "pipe");
    CHECK(!cs_file_new_begin(&file, &place)); /* the pipe has no reader: waiting would never end */
    CHECK_INT(errno, ENXIO);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    CHECK(cs_file_new_begin(&file, &place));
    CHECK_STR(file.part, "");
    cs_file_new_write(&file, "words", 5);
    CHECK(cs_file_new_end(&file));
    CHECK_INT(read(reader, got, sizeof got - 1), 5);
    CHECK_STR(got, "words");
    CHECK(cs_file_new_begin(&file, &place));
    close(reader);
    cs_file_new_write(&file, "no reader", 9); /* and no SIGPIPE */
    CHECK(!cs_file_new_end(&file));
    CHECK_INT(errno, EPIPE);
    CHECK(!cs_file_path_replaceable("pipe"));
    CHECK(cs_file_path_replaceable("whole.txt") && cs_file_path_replaceable("nothing"));
    CHECK(!cs_file_path_replaceable(folder));
}

static void appended_file_keeps_its_contents(void)
{
    struct stat there;
    CHECK(put("log.txt", "one"));
    int fd = cs_file_open_append("log.txt", O_WRONLY);
    CHECK(cs_file_write_all(fd, " two", 4) && close(fd) == 0);
    CHECK_STR(contents("log.txt"), "one two");
    fd = cs_file_open_append("log.txt", O_RDWR | O_TRUNC);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK_INT(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
    CHECK(cs_file_write_all(fd, "three", 5) && close(fd) == 0);
    CHECK_STR(contents("log.txt"), "three");
    umask(0);
    fd = cs_file_open_append("made.txt", O_WRONLY);
    CHECK(fstat(fd, &there) == 0 && (there.st_mode & 07777) == 0600 && close(fd) == 0);
    CHECK_INT(cs_file_open_append("no such folder/log.txt", O_WRONLY), -1);
    CHECK_INT(errno, ENOENT);
    CHECK(!cs_file_write_all(-1, "x", 1));
    CHECK(cs_file_write_all(-1, "", 0));
}

static void a_link_is_followed_only_if_it_is_the_users_own(void)
{
    CHECK(put("target.txt", "log"));
    CHECK(symlink("target.txt", "own") == 0 && symlink("nothing.txt", "dangling") == 0);
    int fd = cs_file_open_append("own", O_WRONLY | O_TRUNC);
    CHECK(fd >= 0 && cs_file_write_all(fd, "+", 1) && close(fd) == 0);
    CHECK_STR(contents("target.txt"), "log+"); /* not emptied */
    CHECK_INT(cs_file_open_append("dangling", O_WRONLY), -1);
    CHECK_INT(size_of("nothing.txt"), -1);
    CHECK(!cs_file_path_replaceable("own"));
    if (geteuid() != 0)
        return; /* only root can make links for other users */
    CHECK(lchown("own", NOBODY, NOBODY) == 0);
    CHECK_INT(cs_file_open_append("own", O_WRONLY), -1);
    CHECK_INT(errno, ELOOP);
    CHECK(chmod(".", 0777) == 0 && chown("target.txt", NOBODY, NOBODY) == 0);
    CHECK(symlink("target.txt", "roots") == 0 && seteuid(NOBODY) == 0);
    fd = cs_file_open_append("roots", O_WRONLY);
    CHECK(fd >= 0 && close(fd) == 0);
    fd = cs_file_open_append("own", O_WRONLY);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK(seteuid(0) == 0 && lchown("own", NOBODY - 1, NOBODY) == 0 && seteuid(NOBODY) == 0);
    CHECK_INT(cs_file_open_append("own", O_WRONLY), -1);
    CHECK(seteuid(0) == 0);
}

int main(void)
{
    char command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    descriptors_begin();
    TEST(each_p_is_replaced_by_the_process_id);
    TEST(partial_writes_are_completed);
    TEST(relative_place_keeps_its_folder);
    TEST(a_new_file_appears_when_it_is_whole);
    TEST(stale_part_is_replaced);
    TEST(unplaceable_file_leaves_no_part);
    TEST(unwritable_file_leaves_no_part);
    TEST(a_name_without_room_for_the_part_is_refused);
    TEST(a_pipe_is_appended_to);
    TEST(appended_file_keeps_its_contents);
    TEST(a_link_is_followed_only_if_it_is_the_users_own);
    TEST(no_descriptor_is_left_open);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(command) != 0;
}
