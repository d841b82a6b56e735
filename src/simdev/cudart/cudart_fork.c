/* A fork server: runs a program many times from its first use of the device, and loads it once. */
#include "cudart_fork.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MESSAGE = 128 << 10,
    LOOK_EVERY = 10, /* milliseconds */
    MOST_FILES = 256,
    MOST_FRAMES = 256
};

static const char setting[] = "SIMDEV_FORK";
static atomic_bool passed; /* the fork point needs no more work in this process */
static bool forking;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool simdev_fork_running(void)
{
    return forking;
}

/* The descriptor of SIMDEV_FORK. -1: the setting is that of another process, or the program has
 * closed the descriptor. */
static int connection_of_setting(void)
{
    const char *text = getenv(setting);
    unsigned long long inode;
    struct stat facts;
    long pid;
    int file;
    if (!text || sscanf(text, "%ld:%d:%llu", &pid, &file, &inode) != 3 || pid != (long)getpid())
        return -1;
    const bool is_open = fstat(file, &facts) == 0 && S_ISSOCK(facts.st_mode);
    return is_open && facts.st_ino == inode ? file : -1;
}

static void send_message(int connection, const char *what, pid_t pid, int status)
{
    char message[64];
    const int length = snprintf(message, sizeof(message), "%s %ld %d", what, (long)pid, status);
    (void)send(connection, message, (size_t)length + 1, MSG_NOSIGNAL);
}

/* --- obstacles to a fork --- */

static int count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

/* Each run opens a file again at the same position. Runs share a file that cannot be opened again.
 */
static bool can_be_opened(int file, int connection)
{
    struct stat status;
    if (file <= STDERR_FILENO || file == connection || fstat(file, &status) != 0)
        return true;
    return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISCHR(status.st_mode);
}

/* True in a library's constructor: the loader waits for it and holds its lock, which a child could
 * not release. */
static bool is_in_loader(void)
{
    void *frame[MOST_FRAMES];
    Dl_info object;
    const int frames = backtrace(frame, MOST_FRAMES);
    for (int i = 0; i < frames; i++)
        if (dladdr(frame[i], &object) && object.dli_fbase == (void *)getauxval(AT_BASE))
            return true;
    return false;
}

/* True if a file other than the connection is a pipe, a socket or the like. */
static bool has_shared_files(int connection)
{
    DIR *dir = opendir("/proc/self/fd");
    bool has = false;
    for (const struct dirent *entry; !has && dir && (entry = readdir(dir));) {
        const int file = atoi(entry->d_name);
        has = entry->d_name[0] != '.' && file != dirfd(dir) && !can_be_opened(file, connection);
    }
    if (dir)
        closedir(dir);
    return has;
}

static bool has_children(void)
{
    siginfo_t child;
    return waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static bool can_be_forked(int connection)
{
    return count_entries("/proc/self/task") == 1 && !is_in_loader() &&
           !has_shared_files(connection) && !has_children();
}

/* --- a run --- */

/* A separate file description, so that its position changes for this run only. */
static void open_again(int file)
{
    char path[64];
    const int flags = fcntl(file, F_GETFL), descriptor = fcntl(file, F_GETFD);
    const off_t place = lseek(file, 0, SEEK_CUR);
    struct stat status;
    if (flags < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    const int fresh = open(path, (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_CLOEXEC);
    if (fresh < 0)
        return;
    (void)lseek(fresh, place, SEEK_SET);
    (void)dup3(fresh, file, descriptor & FD_CLOEXEC ? O_CLOEXEC : 0);
    close(fresh);
}

static void open_files_again(void)
{
    int files[MOST_FILES], count = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *entry; dir && count < MOST_FILES && (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) > STDERR_FILENO &&
            atoi(entry->d_name) != dirfd(dir))
            files[count++] = atoi(entry->d_name);
    if (dir)
        closedir(dir);
    for (int i = 0; i < count; i++)
        open_again(files[i]);
}

/* Applies the output file and the settings of a request. */
static void apply_request(char *message, size_t bytes, void (*reload)(void))
{
    const int output = open(message, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (output >= 0) {
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        close(output);
    }
    for (char *item = message + strlen(message) + 1; item < message + bytes;
         item += strlen(item) + 1) {
        char *equals = strchr(item, '=');
        if (!equals) {
            unsetenv(item);
            continue;
        }
        *equals = '\0';
        setenv(item, equals + 1, 1);
        *equals = '=';
    }
    reload();
}

/* Does not run the fork handlers of libraries, because the child must look like the parent. For
 * example, PyTorch's handler reports in a child that CUDA cannot be used. With one thread, the
 * handlers have no locks to release. */
static pid_t fork_quietly(void)
{
    /* glibc has it since 2.34, but older versions also load the device. */
    pid_t (*quiet)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
    if (quiet)
        return quiet();
    forking = true;
    const pid_t pid = fork();
    forking = false;
    return pid;
}

/* True in the run. */
static bool start_run(int connection, char *message, size_t bytes, void (*reload)(void))
{
    const pid_t parent = getpid();
    const pid_t pid = fork_quietly();
    if (pid == 0) {
        setpgid(0, 0); /* a run gets only its own signals */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        open_files_again();
        apply_request(message, bytes, reload);
        return true;
    }
    send_message(connection, "started", pid, 0);
    return false;
}

static void report_ended(int connection)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        send_message(connection, "ended", pid, status);
}

/* Returns in each run, and if the other end of the connection is closed. */
static void serve_runs(int connection, char *message, void (*reload)(void))
{
    struct pollfd wait = {.fd = connection, .events = POLLIN};
    send_message(connection, "ready", getpid(), 0);
    for (;;) {
        report_ended(connection);
        if (poll(&wait, 1, LOOK_EVERY) <= 0)
            continue;
        const ssize_t bytes = recv(connection, message, MESSAGE - 1, 0);
        if (bytes <= 0)
            return;
        message[bytes] = '\0';
        if (start_run(connection, message, (size_t)bytes, reload))
            return;
    }
}

static void pass_control(void (*reload)(void))
{
    const int connection = connection_of_setting();
    char *message = connection >= 0 ? malloc(MESSAGE) : NULL;
    if (message && can_be_forked(connection))
        serve_runs(connection, message, reload);
    if (connection >= 0)
        close(connection);
    free(message);
}

void simdev_fork_point(void (*reload)(void))
{
    if (atomic_load(&passed))
        return;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&passed))
        pass_control(reload);
    atomic_store(&passed, true);
    pthread_mutex_unlock(&lock);
}
