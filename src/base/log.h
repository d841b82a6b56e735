/* Log lines for somebody else's process: each is one write(2) that begins with "convshim[pid]: ",
 * without heap, stdio streams or locale. Thread-safe; errno is kept; a closed pipe or a file size
 * limit raises no signal. Control characters in a line become '?'. Lines of one cause are capped.
 * No file stays open: each line opens the log file again, so that programs that close or reuse
 * descriptors are safe and a forked child writes to the file of its own process id. */
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

/* Sends lines up to `level` to `path` (opened for appending; %p becomes the process id) or, if that
 * is NULL or empty, to standard error. A relative path stays relative to the folder of now. If the
 * file cannot be opened at the time of a line, it goes to standard error and one line says so.
 * Until the first call: warnings, to standard error. May be called again, but not while another
 * thread logs. */
void cs_log_open(enum cs_level level, const char *path);

/* One line. Text beyond 1,000 bytes is cut there and ends with "...". */
void cs_log(enum cs_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for causes that may repeat: of one cap at most 8 lines are written, the last of them
 * says that it is the last. */
struct cs_log_cap {
    atomic_int lines;
};
void cs_log_capped(struct cs_log_cap *cap, enum cs_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a prepared text of several lines (the summary), each line with the prefix, whatever the
 * level. */
void cs_log_text(const char *text);

/* "off" .. "debug" to a level; -1 for anything else. */
int cs_log_level(const char *name);

/* Size in binary units for people, rounded to a tenth: "516.5 MiB", "64 MiB", "1023 B"; returns
 * text. */
enum {
    CS_SIZE_TEXT = 24
};
char *cs_log_size_text(char text[CS_SIZE_TEXT], long long bytes);

#endif
