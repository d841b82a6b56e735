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
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MESSAGE = 128 << 10,
    LOOK_EVERY = 10, /* milliseconds */
    MOST_FILES = 256,
    MOST_FRAMES = 256
};

static const char setting[] = "SIMDEV_FORK";
static const char whose[] = "SIMDEV_FORK_PID"; /* the process that is waited for */
static atomic_bool passed; /* the fork point needs no more work in this process */
static bool forking;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool simdev_fork_running(void)
{
    return forking;
}

static int connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(name);
    if (length + 1 > sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path + 1, name, length); /* after a NUL byte: an abstract name, not a file */
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    if (made >= 0 && connect(made, (struct sockaddr *)&address, bytes) == 0)
        return made;
    if (made >= 0)
        close(made);
    return -1;
}

static void send_message(int connection, const char *what, const char *more)
{
    char message[256];
    const int length = snprintf(message, sizeof(message), "%s%c%s", what, '\0', more);
    const size_t bytes = (size_t)length < sizeof(message) ? (size_t)length + 1 : sizeof(message);
    (void)send(connection, message, bytes, MSG_NOSIGNAL);
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

/* NULL if the process can be forked now. */
static const char *obstacle(int connection, char *text, size_t size)
{
    const int threads = count_entries("/proc/self/task");
    DIR *dir = opendir("/proc/self/fd");
    const char *found = NULL;
    if (threads != 1) {
        snprintf(text, size, "it has %d threads", threads);
        found = text;
    } else if (is_in_loader()) {
        found = "a library uses the GPU while it is loaded";
    }
    for (const struct dirent *entry; !found && dir && (entry = readdir(dir));) {
        const int file = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || file == dirfd(dir) || can_be_opened(file, connection))
            continue;
        snprintf(text, size, "a pipe, a socket or a similar file is open (descriptor %d)", file);
        found = text;
    }
    if (dir)
        closedir(dir);
    const char *waited_for = getenv(whose);
    if (!found && waited_for && atol(waited_for) != (long)getpid())
        found = "another process of the program started it and continues to run";
    siginfo_t child;
    if (!found && waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0)
        found = "it has child processes";
    return found;
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
    unsetenv(setting);
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
static bool start(int connection, char *message, size_t bytes, void (*reload)(void))
{
    char text[32];
    const pid_t parent = getpid();
    const pid_t pid = fork_quietly();
    if (pid == 0) {
        close(connection);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        open_files_again();
        apply_request(message, bytes, reload);
        return true;
    }
    snprintf(text, sizeof(text), "%ld", (long)pid);
    send_message(connection, "started", text);
    return false;
}

static void tell_ended(int connection)
{
    char text[64];
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        const int length = snprintf(text, sizeof(text), "%ld", (long)pid);
        snprintf(text + length + 1, sizeof(text) - (size_t)length - 1, "%d", status);
        char message[96] = "ended";
        memcpy(message + sizeof("ended"), text, sizeof(text));
        (void)send(connection, message, sizeof(message), MSG_NOSIGNAL);
    }
}

/* Returns in a run only. */
static void serve(int connection, char *message, void (*reload)(void))
{
    struct pollfd wait = {.fd = connection, .events = POLLIN};
    for (;;) {
        tell_ended(connection);
        if (poll(&wait, 1, LOOK_EVERY) <= 0)
            continue;
        const ssize_t bytes = recv(connection, message, MESSAGE - 1, 0);
        if (bytes <= 0)
            _exit(0);
        message[bytes] = '\0';
        if (start(connection, message, (size_t)bytes, reload))
            return;
    }
}

static void pass(const char *name, void (*reload)(void))
{
    char reason[128];
    char *message = malloc(MESSAGE);
    const int connection = message ? connect_to(name) : -1;
    if (connection < 0) {
        free(message);
        return; /* the server has closed the connection: this is a process of a run */
    }
    const char *obstacle_found = obstacle(connection, reason, sizeof(reason));
    if (!obstacle_found) {
        send_message(connection, "ready", "");
        serve(connection, message, reload);
    } else {
        send_message(connection, "single", obstacle_found);
        const ssize_t bytes = recv(connection, message, MESSAGE - 1, 0);
        if (bytes > 0) {
            message[bytes] = '\0';
            apply_request(message, (size_t)bytes, reload);
        }
        close(connection);
    }
    free(message);
}

void simdev_fork_point(void (*reload)(void))
{
    if (atomic_load(&passed))
        return;
    pthread_mutex_lock(&lock);
    const char *name = atomic_load(&passed) ? NULL : getenv(setting);
    if (name && *name)
        pass(name, reload);
    atomic_store(&passed, true);
    pthread_mutex_unlock(&lock);
}
