/* Formats log lines into a fixed buffer and writes each with one write(2). */
#include "base/log.h"

#include "base/file.h"
#include "base/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 1000,
    TEXT_BUFFER = TEXT_BYTES + 2, /* one byte more than fits, to detect a text that must be cut */
    PREFIX_BYTES = 32,
    CAP_LINES = 8
};

static const char cut_mark[] = "...";
static const char last_mark[] = " (further messages of this kind are not shown)";

static _Atomic(enum cs_level) log_level = CS_LOG_WARN;
static atomic_bool failure_reported;

/* The log file; "" for standard error. */
static struct cs_place log_place;

struct target {
    int fd;
    bool owned;
};

/* Writes a line with its prefix. Cuts long text, and replaces control characters by '?'. False with
 * errno. */
static bool write_line(int fd, const char *text, size_t length)
{
    char line[PREFIX_BYTES + TEXT_BYTES + 1];
    size_t at = (size_t)snprintf(line, PREFIX_BYTES, "convshim[%lld]: ", (long long)getpid());
    bool cut = length > TEXT_BYTES;
    if (cut)
        length = TEXT_BYTES - strlen(cut_mark);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        line[at++] = (char)(byte < ' ' || byte == 0x7f ? '?' : byte);
    }
    if (cut) {
        memcpy(line + at, cut_mark, strlen(cut_mark));
        at += strlen(cut_mark);
    }
    line[at++] = '\n';
    return cs_file_write_all(fd, line, at);
}

/* Reports once on standard error that messages cannot be written to the log file. */
static void report_failure(const char *action, int error)
{
    char text[TEXT_BYTES], why[128];
    if (atomic_exchange(&failure_reported, true))
        return;
    int length = snprintf(text, sizeof text,
                          "cannot %s the log file, so messages go to standard error: %s: %s",
                          action, strerror_r(error, why, sizeof why), log_place.path);
    (void)write_line(STDERR_FILENO, text,
                     (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* Opens the log file. Standard error if none is set or it cannot be opened. */
static struct target open_target(void)
{
    char path[PATH_MAX];
    int fd = -1;
    if (!log_place.path[0])
        return (struct target){STDERR_FILENO, false};
    if (cs_file_place_path(&log_place, path))
        fd = cs_file_open_append(path, O_WRONLY);
    if (fd >= 0)
        return (struct target){fd, true};
    report_failure("open", errno);
    return (struct target){STDERR_FILENO, false};
}

/* Writes a line to the target, or to standard error if the log file takes none, for example because
 * its disk is full. */
static void put_line(const struct target *target, const char *text, size_t length)
{
    if (write_line(target->fd, text, length) || !target->owned)
        return;
    report_failure("write to", errno);
    (void)write_line(STDERR_FILENO, text, length);
}

/* Writes the text as one line, or each of its lines (`every_line`). */
static void emit_text(const char *text, bool every_line)
{
    int error = errno;
    struct cs_signals guard;
    cs_signals_hold(&guard);
    struct target target = open_target();
    if (!every_line)
        put_line(&target, text, strlen(text));
    while (every_line && *text) {
        size_t length = strcspn(text, "\n");
        put_line(&target, text, length);
        text += length + (text[length] == '\n');
    }
    if (target.owned)
        close(target.fd);
    cs_signals_release(&guard);
    errno = error;
}

static bool is_logged(enum cs_level level)
{
    return level > CS_LOG_OFF && level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

void cs_log_open(enum cs_level level, const char *path)
{
    cs_file_place_set(&log_place, path);
    atomic_store(&failure_reported, false);
    atomic_store(&log_level, level);
}

static void format_text(char text[TEXT_BUFFER], const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void format_text(char text[TEXT_BUFFER], const char *format, va_list arguments)
{
    if (vsnprintf(text, TEXT_BUFFER, format, arguments) < 0)
        snprintf(text, TEXT_BUFFER, "%s", format);
}

void cs_log(enum cs_level level, const char *format, ...)
{
    if (!is_logged(level))
        return;
    char text[TEXT_BUFFER];
    va_list arguments;
    va_start(arguments, format);
    format_text(text, format, arguments);
    va_end(arguments);
    emit_text(text, false);
}

static void append_last_mark(char text[TEXT_BUFFER])
{
    size_t end = strlen(text), most = TEXT_BYTES - strlen(last_mark);
    if (end > most) {
        end = most;
        memcpy(text + end - strlen(cut_mark), cut_mark, strlen(cut_mark));
    }
    memcpy(text + end, last_mark, sizeof last_mark);
}

void cs_log_capped(struct cs_log_cap *cap, enum cs_level level, const char *format, ...)
{
    /* The counter is read before it is raised, because it could wrap otherwise. */
    if (!is_logged(level) || atomic_load_explicit(&cap->lines, memory_order_relaxed) >= CAP_LINES)
        return;
    int line = atomic_fetch_add_explicit(&cap->lines, 1, memory_order_relaxed) + 1;
    if (line > CAP_LINES)
        return;
    char text[TEXT_BUFFER];
    va_list arguments;
    va_start(arguments, format);
    format_text(text, format, arguments);
    va_end(arguments);
    if (line == CAP_LINES)
        append_last_mark(text);
    emit_text(text, false);
}

void cs_log_text(const char *text)
{
    emit_text(text, true);
}

int cs_log_level(const char *name)
{
    static const char *const names[CS_LEVELS] = {"off", "error", "warn", "info", "debug"};
    for (int level = 0; level < CS_LEVELS; level++) {
        if (strcmp(name, names[level]) == 0)
            return level;
    }
    return -1;
}

/* Returns size / 2^shift in parts of a unit, rounded. Integers, because printf's decimal point
 * follows the locale. */
static unsigned long long parts_of(unsigned long long size, int shift, unsigned parts)
{
    const unsigned long long rest = size & ((1ULL << shift) - 1), half = 1ULL << (shift - 1);
    return (size >> shift) * parts + ((rest * parts + half) >> shift);
}

char *cs_log_size_text(char text[CS_SIZE_TEXT], long long bytes)
{
    static const struct {
        const char *name;
        int shift, digits;
        unsigned parts, limit; /* of a unit; sizes of `limit` units have the next unit */
    } units[] = {{"KiB", 10, 1, 10, 1024}, {"MiB", 20, 1, 10, 10240}, {"GiB", 30, 2, 100, 0}};
    const char *sign = bytes < 0 ? "-" : "";
    const unsigned long long size =
        bytes < 0 ? 0 - (unsigned long long)bytes : (unsigned long long)bytes;
    if (size < 1024) {
        snprintf(text, CS_SIZE_TEXT, "%s%llu B", sign, size);
        return text;
    }
    unsigned long long parts = parts_of(size, units[0].shift, units[0].parts);
    int unit = 0;
    while (units[unit].limit > 0 &&
           parts >= (unsigned long long)units[unit].limit * units[unit].parts) {
        unit++;
        parts = parts_of(size, units[unit].shift, units[unit].parts);
    }
    if (parts % units[unit].parts == 0)
        snprintf(text, CS_SIZE_TEXT, "%s%llu %s", sign, parts / units[unit].parts,
                 units[unit].name);
    else
        snprintf(text, CS_SIZE_TEXT, "%s%llu.%0*llu %s", sign, parts / units[unit].parts,
                 units[unit].digits, parts % units[unit].parts, units[unit].name);
    return text;
}
