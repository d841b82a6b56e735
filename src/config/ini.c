/* Reads ini files and lists of "name = value" items line by line through inih. */
#include "config/ini.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_FILE = 1 << 20,
    MAX_LINE = CS_CONFIG_TEXT + 64 /* bytes: a name and the longest value */
};

/* The lines of a source, as they are passed to inih. Leading blanks are removed, because inih takes
 * such lines for a continuation of the option above. Lines that fit inih's buffer of 200 bytes are
 * passed, and longer ones are read here. Lines that inih skips silently make a note here. */
struct lines {
    struct cs_load *load;
    int fd;           /* -1: the items are read, not a file */
    const char *rest; /* the items that are not read yet */
    size_t at, filled, total;
    bool ended;
    bool unknown_section;         /* the current section is unknown, so its options are ignored */
    int rule;                     /* index of the rule of the current section, or -1 */
    char section[CS_CONFIG_NAME]; /* "" before the first one */
    bool unanswered; /* the last line should be an option that inih has not reported yet */
    char shown[CS_SHOWN_BYTES]; /* the line that inih has not reported */
    char line[MAX_LINE + 1];
    char block[4096];
};

void cs_ini_begin(struct cs_load *load, const char *source)
{
    load->source = source;
    load->file = false;
    load->line = 0;
    load->notes = 0;
    memset(load->set_at, 0, sizeof load->set_at);
    cs_rules_begin(load);
}

static void note_unknown(struct cs_load *load, const char *name)
{
    char shown[CS_SHOWN_BYTES];
    const char *nearest = cs_option_nearest(name);
    cs_diagnostics_show(shown, name);
    if (*name == '\0')
        cs_diagnostics_note(load, "a value without a name, ignored; allowed: NAME = VALUE");
    else if (nearest)
        cs_diagnostics_note(load, "%s: no such option, ignored; did you mean %s?", shown, nearest);
    else
        cs_diagnostics_note(load, "%s: no such option, ignored; allowed: %s", shown,
                            cs_option_names());
}

void cs_ini_set(struct cs_load *load, const char *name, const char *value)
{
    char shown[CS_SHOWN_BYTES];
    char allowed[CS_OPTION_TEXT];
    int index = cs_option_find(name);
    if (cs_rules_take(load, name, value))
        return;
    if (index < 0) {
        note_unknown(load, name);
        return;
    }
    if (!cs_option_set(load->config, index, value, load->policies)) {
        cs_diagnostics_note(load, "%s: \"%s\" is not allowed, ignored; allowed: %s%s", name,
                            cs_diagnostics_show(shown, value),
                            cs_option_allowed(&cs_options[index], load->policies, allowed),
                            cs_diagnostics_comma(load, value));
        return;
    }
    const char *doubt = cs_diagnostics_doubt(cs_options[index].allowed, value);
    if (doubt)
        cs_diagnostics_note(load, "%s: \"%s\": %s", name, value, doubt);
    if (load->set_at[index])
        cs_diagnostics_note(load, "%s: set twice; this value replaces the one in %s %d", name,
                            cs_diagnostics_line_word(load), load->set_at[index]);
    load->set_at[index] = load->line;
    load->config->origin[index] = (struct cs_origin){load->file ? NULL : load->source, load->line};
}

/* Drops the rule that an unreadable line belongs to. Returns the consequence for a note. */
static const char *drop_line(struct lines *lines)
{
    return cs_rules_spoil(lines->load, lines->rule, lines->shown) ? "the rule is dropped"
                                                                  : "ignored";
}

/* Returns the next byte of the source, EOF at its end, at a read error or after 1 MiB. Makes a note
 * of the last two. */
static int next_byte(struct lines *lines)
{
    if (lines->fd < 0)
        return *lines->rest ? (unsigned char)*lines->rest++ : EOF;
    if (lines->at == lines->filled) {
        ssize_t filled;
        do
            filled = read(lines->fd, lines->block, sizeof lines->block);
        while (filled < 0 && errno == EINTR);
        if (filled < 0)
            cs_diagnostics_note(
                lines->load, "could be read only in part (errno %d), the rest is ignored", errno);
        if (filled < 0)
            drop_line(lines);
        lines->at = 0;
        lines->filled = filled > 0 ? (size_t)filled : 0;
    }
    if (lines->filled == 0)
        return EOF;
    if (lines->total++ == MAX_FILE) {
        cs_diagnostics_note(lines->load, "larger than 1 MiB, the rest is ignored");
        drop_line(lines);
        lines->filled = 0;
        return EOF;
    }
    return (unsigned char)lines->block[lines->at++];
}

static bool ends_line(const struct lines *lines, int byte)
{
    return byte == EOF || byte == '\n' || (byte == ';' && lines->fd < 0);
}

static bool is_blank(int byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\v' || byte == '\f';
}

enum fault {
    NO_FAULT,
    TOO_LONG,
    HAS_NUL
};

/* Reads a line into `text`, without its end and surrounding blanks. Of a faulty line, `text` holds
 * the part before the fault. */
static enum fault read_text(struct lines *lines, char *text, size_t room)
{
    enum fault fault = NO_FAULT;
    size_t length = 0, kept = 0;
    int byte;
    while (byte = next_byte(lines), !ends_line(lines, byte)) {
        if (byte == '\0')
            fault = HAS_NUL;
        if (fault != NO_FAULT || (length == 0 && is_blank(byte)))
            continue;
        if (length < room)
            text[length++] = (char)byte;
        else if (!is_blank(byte))
            fault = TOO_LONG;
        if (!is_blank(byte))
            kept = length;
    }
    lines->ended = byte == EOF;
    text[kept] = '\0';
    return fault;
}

static void note_unanswered(struct lines *lines)
{
    if (lines->unanswered)
        cs_diagnostics_note(lines->load, "\"%s\" is not an option, %s; allowed: NAME = VALUE",
                            lines->shown, drop_line(lines));
    lines->unanswered = false;
}

static void note_unknown_section(struct lines *lines)
{
    char first[CS_CONFIG_NAME], shown[CS_SHOWN_BYTES];
    const char *rest = lines->section + strcspn(lines->section, " \t");
    snprintf(first, sizeof first, "%.*s", (int)(rest - lines->section), lines->section);
    if (cs_option_name_distance(first, "rule") < 2)
        cs_diagnostics_note(lines->load,
                            "%s: no such section, it is ignored; did you mean [rule%s]?",
                            lines->shown, *rest ? cs_diagnostics_show(shown, rest) : " NAME");
    else
        cs_diagnostics_note(lines->load,
                            "%s: no such section, its options are ignored; allowed: [rule NAME]; "
                            "options come first",
                            lines->shown);
}

/* Makes a note of text after the name of a section, which inih ignores. Comments are allowed there.
 */
static void note_trailing(struct lines *lines, const char *rest)
{
    char shown[CS_SHOWN_BYTES];
    while (is_blank(*rest))
        rest++;
    if (*rest && *rest != ';' && *rest != '#')
        cs_diagnostics_note(lines->load,
                            "\"%s\" follows a section's name, %s; allowed: a separate line",
                            cs_diagnostics_show(shown, rest), drop_line(lines));
}

/* Enters the section of a line that begins with '['. A line that is not a valid section counts as
 * an unknown section. */
static void enter_section(struct lines *lines, const char *text)
{
    static const char prefix[] = "rule";
    size_t length = strcspn(text + 1, "]"), room = sizeof lines->section - 1;
    bool whole = text[1 + length] == ']' && length <= room;
    snprintf(lines->section, sizeof lines->section, "%.*s", (int)(length < room ? length : room),
             text + 1);
    lines->rule = -1;
    if (whole && strncmp(lines->section, prefix, strlen(prefix)) == 0 &&
        (is_blank(lines->section[strlen(prefix)]) || !lines->section[strlen(prefix)])) {
        lines->rule = cs_rules_open(lines->load, lines->section + strlen(prefix));
        lines->unknown_section = lines->rule < 0;
    } else {
        lines->unknown_section = true;
        note_unknown_section(lines);
    }
    if (!lines->unknown_section)
        note_trailing(lines, text + length + strlen("[]"));
}

/* Makes notes about lines that inih does not report: faulty lines, sections, lines that are not
 * options. */
static void announce_fault(struct lines *lines, enum fault fault, const char *text, int room)
{
    cs_diagnostics_show(lines->shown, text);
    if (fault == HAS_NUL)
        cs_diagnostics_note(lines->load, "\"%s\" is followed by a NUL byte, %s; allowed: text",
                            lines->shown, drop_line(lines));
    else if (*text == '\0' || *text == ';' || *text == '#')
        return;
    else if (fault == TOO_LONG)
        cs_diagnostics_note(lines->load, "\"%s\" is too long, %s; allowed: %d bytes a line",
                            lines->shown, drop_line(lines), room);
    else if (*text == '[')
        enter_section(lines, text);
    else
        lines->unanswered = true;
}

static int handle_setting(void *user, const char *section, const char *name, const char *value);

/* Cuts the blanks at the end of the first `length` bytes of `text`. */
static void trim_end(char *text, size_t length)
{
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    text[length] = '\0';
}

/* Reads an option whose line does not fit inih's buffer by the rules of inih. */
static void handle_long(struct lines *lines, char *text)
{
    for (char *mark = text; (mark = strchr(mark, ';')); mark++)
        if (is_blank(mark[-1]))
            trim_end(text, (size_t)(mark - text));
    size_t length = strcspn(text, "=:");
    if (!text[length])
        return;
    char *value = text + length + 1;
    while (is_blank(*value))
        value++;
    trim_end(text, length);
    handle_setting(lines, "", text, value);
}

/* Removes a byte order mark, and blanks after it. */
static void remove_bom(char *line)
{
    static const char bom[] = "\xEF\xBB\xBF";
    if (strncmp(line, bom, strlen(bom)) != 0)
        return;
    const char *start = line + strlen(bom);
    while (is_blank(*start))
        start++;
    memmove(line, start, strlen(start) + 1);
}

/* Reads a line for inih, in the form of fgets. A line that inih's buffer cannot hold is read here,
 * and inih gets an empty one. */
static char *read_line(char *text, int size, void *stream)
{
    struct lines *lines = stream;
    char *line = lines->line;
    note_unanswered(lines);
    if (lines->ended)
        return NULL;
    lines->load->line++;
    enum fault fault = read_text(lines, line, MAX_LINE);
    if (lines->load->line == 1)
        remove_bom(line);
    announce_fault(lines, fault, line, MAX_LINE);
    bool fits = fault == NO_FAULT && strlen(line) < (size_t)size - 2;
    snprintf(text, (size_t)size, "%s", fits ? line : "");
    if (!fits && lines->unanswered)
        handle_long(lines, line);
    return text;
}

/* Receives one option from inih. */
static int handle_setting(void *user, const char *section, const char *name, const char *value)
{
    struct lines *lines = user;
    (void)section;
    lines->unanswered = false;
    if (lines->unknown_section)
        return 1;
    if (lines->rule >= 0) {
        cs_rules_set(lines->load, lines->rule, name, value ? value : "");
        return 1;
    }
    cs_ini_set(lines->load, name, value ? value : "");
    return 1;
}

/* Parses all lines. It continues after an error, because a build of inih may stop at its first one.
 */
static void parse_lines(struct lines *lines)
{
    while (!lines->ended && ini_parse_stream(read_line, lines, handle_setting, lines) >= 0)
        continue;
    cs_rules_end(lines->load);
}

int cs_ini_file(struct cs_load *load, const char *path)
{
    struct lines lines = {.load = load, .rule = -1};
    ssize_t filled = -1;
    /* O_NONBLOCK: a pipe without a writer must not hold the program. */
    lines.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (lines.fd < 0)
        return errno;
    do
        filled = read(lines.fd, lines.block, sizeof lines.block);
    while (filled < 0 && errno == EINTR);
    int error = filled < 0 ? errno : 0;
    if (!error) {
        cs_ini_begin(load, path);
        load->file = true;
        lines.filled = (size_t)filled;
        parse_lines(&lines);
    }
    close(lines.fd);
    return error;
}

void cs_ini_items(struct cs_load *load, const char *source, const char *items)
{
    struct lines lines = {.load = load, .rule = -1, .fd = -1, .rest = items};
    cs_ini_begin(load, source);
    parse_lines(&lines);
}
