/* Reads and writes the constants that were measured on a GPU. */
#include "config/ladder.h"

#include "base/json.h"
#include "base/log.h"
#include "config/variables.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FORMAT = 1,
    NOTE = CS_LADDER_PATH + 256
};

/* The bounds of kernel_us, as in decide/cost.def. */
static const double LEAST_KERNEL = 0.1, MOST_KERNEL = 50;

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool cs_ladder_path(const char *gpu, char path[CS_LADDER_PATH])
{
    char name[CS_PROFILE_NAME];
    size_t length = 0;
    for (; gpu[length] && length < sizeof name - 1; length++)
        name[length] = is_plain(gpu[length]) ? gpu[length] : '-';
    name[length] = '\0';
    const char *base = cs_variable("XDG_CACHE_HOME"), *below = "";
    if (!base || base[0] != '/') {
        base = cs_variable("HOME");
        below = "/.cache";
    }
    return length > 0 && base && base[0] == '/' &&
           snprintf(path, CS_LADDER_PATH, "%s%s/convshim/%s.json", base, below, name) <
               CS_LADDER_PATH;
}

/* Prints whole numbers, because printf's point follows the program's locale. */
size_t cs_ladder_write(const struct cs_ladder *ladder, const char *gpu, char text[CS_LADDER_TEXT])
{
    enum {
        PARTS = 1000
    };
    char name[2 * CS_PROFILE_NAME];
    int64_t kernel = (int64_t)(ladder->kernel_us * PARTS + 0.5);
    int64_t gain = (int64_t)(ladder->lane_gain * PARTS + 0.5);
    cs_json_quote(name, sizeof name, gpu);
    return (size_t)snprintf(text, CS_LADDER_TEXT,
                            "{\"convshim_ladder\": %d, \"gpu\": %s, \"kernel_us\": %lld.%03d, "
                            "\"lane_gain\": %lld.%03d}\n",
                            FORMAT, name, (long long)(kernel / PARTS), (int)(kernel % PARTS),
                            (long long)(gain / PARTS), (int)(gain % PARTS));
}

/* --- parsing: one object of texts and plain decimal numbers ------------------------------------
 */

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static bool take_character(const char **at, char c)
{
    skip_blanks(at);
    bool found = **at == c;
    *at += found;
    return found;
}

/* Reads a text without escapes, which names of GPUs do not need. */
static bool take_text(const char **at, char *text, size_t size)
{
    if (!take_character(at, '"'))
        return false;
    size_t length = strcspn(*at, "\"\\");
    if ((*at)[length] != '"' || length >= size)
        return false;
    memcpy(text, *at, length);
    text[length] = '\0';
    *at += length + 1;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a decimal number in any locale, unlike strtod. */
static bool take_number(const char **at, double *number_p)
{
    double number = 0, unit = 1;
    skip_blanks(at);
    if (!is_digit(**at))
        return false;
    for (; is_digit(**at); (*at)++)
        number = 10 * number + (**at - '0');
    bool has_decimals = **at == '.' && is_digit((*at)[1]);
    *at += has_decimals;
    for (; has_decimals && is_digit(**at); (*at)++) {
        number = 10 * number + (**at - '0');
        unit *= 10;
    }
    *number_p = number / unit;
    return true;
}

/* The members, each at most once. */
enum {
    VERSION,
    GPU,
    KERNEL,
    GAIN,
    MEMBERS
};

static int member_of(const char *name)
{
    static const char *const names[MEMBERS] = {"convshim_ladder", "gpu", "kernel_us", "lane_gain"};
    int member = 0;
    while (member < MEMBERS && strcmp(names[member], name) != 0)
        member++;
    return member;
}

/* Reads the object. False unless it has every member once and ends the text. */
static bool take_members(const char **at, char name[CS_PROFILE_NAME], double value[MEMBERS])
{
    unsigned seen = 0;
    if (!take_character(at, '{'))
        return false;
    do {
        char key[CS_PROFILE_NAME];
        if (!take_text(at, key, sizeof key) || !take_character(at, ':'))
            return false;
        int member = member_of(key);
        if (member == MEMBERS || seen >> member & 1 ||
            !(member == GPU ? take_text(at, name, CS_PROFILE_NAME)
                            : take_number(at, &value[member])))
            return false;
        seen |= 1u << member;
    } while (take_character(at, ','));
    bool closed = take_character(at, '}');
    skip_blanks(at);
    return closed && !**at && seen == (1u << MEMBERS) - 1;
}

static bool is_within(double value, double least, double most)
{
    return value >= least && value <= most;
}

const char *cs_ladder_parse(const char *text, const char *gpu, struct cs_ladder *ladder)
{
    char name[CS_PROFILE_NAME] = "";
    double value[MEMBERS] = {0};
    *ladder = (struct cs_ladder){.known = false};
    if (!take_members(&text, name, value))
        return "it is damaged";
    if (!is_within(value[VERSION], FORMAT, FORMAT))
        return "it has the format of another version of convshim";
    if (strcmp(name, gpu) != 0)
        return "it was measured on another GPU";
    if (!is_within(value[KERNEL], LEAST_KERNEL, MOST_KERNEL))
        return "kernel_us is not from 0.1 to 50";
    if (!is_within(value[GAIN], 0, 1))
        return "lane_gain is not from 0 to 1";
    *ladder = (struct cs_ladder){true, value[KERNEL], value[GAIN]};
    return NULL;
}

/* --- the file ----------------------------------------------------------------------------------
 */

static const char *check_owner(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return "it is not a plain file";
    if (info.st_uid != geteuid())
        return "it belongs to another user";
    return info.st_mode & S_IWOTH ? "every user may write it" : NULL;
}

/* Reads the text of a file. Returns NULL, or the reason why it is ignored. */
static const char *read_text(int fd, char text[CS_LADDER_TEXT])
{
    size_t length = 0;
    while (length < CS_LADDER_TEXT) {
        ssize_t got = read(fd, text + length, CS_LADDER_TEXT - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return "it cannot be read";
        if (got == 0)
            break;
        length += (size_t)got;
    }
    if (length == CS_LADDER_TEXT || memchr(text, '\0', length))
        return "it is damaged";
    text[length] = '\0';
    return NULL;
}

/* Returns the reason why a file is ignored. NULL if *ladder was read, or if no file exists. */
static const char *read_file(const char *path, const char *gpu, struct cs_ladder *ladder)
{
    char text[CS_LADDER_TEXT];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? NULL : "it cannot be opened";
    const char *fault = check_owner(fd);
    if (!fault)
        fault = read_text(fd, text);
    if (!fault)
        fault = cs_ladder_parse(text, gpu, ladder);
    close(fd);
    return fault;
}

static void write_note(cs_config_note_fn *note, void *ctx, const char *where, const char *fault)
{
    char line[NOTE];
    snprintf(line, sizeof line,
             "%s: %s, so the built-in constants apply. Run convshim verify to measure them.", where,
             fault);
    if (note)
        note(ctx, line);
}

bool cs_ladder_read(const char *gpu, struct cs_ladder *ladder, cs_config_note_fn *note, void *ctx)
{
    char path[CS_LADDER_PATH];
    int error = errno;
    *ladder = (struct cs_ladder){.known = false};
    if (getauxval(AT_SECURE)) {
        write_note(note, ctx, gpu, "a set-user-id process reads no measured constants");
    } else if (cs_ladder_path(gpu, path)) {
        const char *fault = read_file(path, gpu, ladder);
        if (fault)
            write_note(note, ctx, path, fault);
    }
    errno = error;
    return ladder->known;
}

const char *cs_ladder_name(const struct cs_ladder *ladder, const char *gpu,
                           char text[CS_LADDER_NAMED])
{
    char path[CS_LADDER_PATH] = "";
    int64_t tenths = (int64_t)(ladder->kernel_us * 10 + 0.5);
    (void)cs_ladder_path(gpu, path);
    snprintf(text, CS_LADDER_NAMED,
             "Measured on %s: starting a kernel takes %lld.%d us, and lanes reach %d %% of their "
             "ideal gain "
             "(%s).",
             gpu, (long long)(tenths / 10), (int)(tenths % 10),
             (int)(ladder->lane_gain * 100 + 0.5), path);
    return text;
}

/* --- once in a process --------------------------------------------------------------------------
 */

enum {
    MODELS = 8, /* GPU models; further ones count as not measured */
    EMPTY = 0,
    TAKEN, /* a thread is reading the file */
    READY
};

static struct {
    _Atomic int state;
    char gpu[CS_PROFILE_NAME];
    struct cs_ladder ladder;
} slots[MODELS];

static void log_note(void *ctx, const char *line)
{
    (void)ctx;
    cs_log(CS_LOG_WARN, "%s", line);
}

static struct cs_ladder read_logged(const char *gpu)
{
    struct cs_ladder ladder;
    char text[CS_LADDER_NAMED];
    if (cs_ladder_read(gpu, &ladder, log_note, NULL))
        cs_log(CS_LOG_INFO, "%s", cs_ladder_name(&ladder, gpu, text));
    return ladder;
}

/* Threads that read the same file at once fill two slots with the same values. */
struct cs_ladder cs_ladder_of(const char *gpu)
{
    for (int i = 0; i < MODELS; i++) {
        int state = EMPTY;
        if (atomic_compare_exchange_strong(&slots[i].state, &state, TAKEN)) {
            snprintf(slots[i].gpu, sizeof slots[i].gpu, "%s", gpu);
            slots[i].ladder = read_logged(gpu);
            atomic_store(&slots[i].state, READY);
            return slots[i].ladder;
        }
        if (state == READY && strcmp(slots[i].gpu, gpu) == 0)
            return slots[i].ladder;
    }
    return (struct cs_ladder){.known = false};
}
