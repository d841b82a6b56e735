/* Writes log lines inside the application's process. Each line is one write(2) that begins with
 * "convshim[pid]: ", without heap, stdio streams or locale. Thread-safe. errno is kept. A closed
 * pipe or a file size limit raises no signal. Control characters in a line become '?'. Repeated
 * lines of one cause are capped. No file stays open: each line opens the log file again. So
 * programs may close or reuse descriptors, and a forked child writes to the file of its own process
 * id. */
#ifndef CS_BASE_LOG_H
#define CS_BASE_LOG_H

#include <stdatomic.h>
#include <stddef.h>

enum cs_level {
    CS_LOG_OFF,
    CS_LOG_ERROR,
    CS_LOG_WARN,
    CS_LOG_INFO,
    CS_LOG_DEBUG,
    CS_LEVELS
};

/* Sends lines up to `level` to `path`, opened for appending, with %p replaced by the process id.
 * NULL or empty: standard error. A relative path stays relative to the current directory of this
 * call. If a line cannot be written to the file, it is written to standard error, and one more line
 * reports the reason. Until the first call, warnings are written to standard error. May be called
 * again, but not while another thread logs. */
void cs_log_open(enum cs_level level, const char *path);

/* Writes one line. Text beyond 1,000 bytes is cut there and ends with "...". */
void cs_log(enum cs_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counts the lines of a cause that may repeat. */
struct cs_log_cap {
    atomic_int lines;
};

/* Like cs_log, but writes at most 8 lines for one cap. The last one reports that it is the last. */
void cs_log_capped(struct cs_log_cap *cap, enum cs_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a prepared text of several lines (the summary), each with the prefix, at every level. */
void cs_log_text(const char *text);

/* Converts "off" .. "debug" to a level. Returns -1 for any other text. */
int cs_log_level(const char *name);

/* Writes a size for people, rounded, in binary units without zeros behind the point: "1023 B",
 * "64 KiB", MiB with one digit up to 10 GiB ("1297.1 MiB"), then GiB with two ("12.70 GiB").
 * Returns `text`. */
enum {
    CS_SIZE_TEXT = 24
};
char *cs_log_size_text(char text[CS_SIZE_TEXT], long long bytes);

#endif
