/* Composes notes about invalid options. */
#include "config/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_NOTES = 16, /* most notes about one source, so that they do not bury the program's output */
    NOTE_BYTES = 768,
    SOURCE_BYTES = 240 /* most bytes of a file's name in a note */
};

const char *cs_diagnostics_show(char shown[CS_SHOWN_BYTES], const char *text)
{
    size_t length = 0;
    for (; text[length] && length < CS_SHOWN_BYTES - 1; length++)
        shown[length] = (char)(text[length] < ' ' || text[length] > '~' ? '?' : text[length]);
    shown[length] = '\0';
    if (text[length])
        memcpy(shown + CS_SHOWN_BYTES - 4, "...", 4);
    return shown;
}

static int place_text(const struct cs_load *load, char *note, size_t size)
{
    /* The end of a long path is the informative part. */
    size_t length = strlen(load->source);
    const char *dots = length > SOURCE_BYTES ? "..." : "";
    const char *end = load->source + (length > SOURCE_BYTES ? length - SOURCE_BYTES : 0);
    return load->line ? snprintf(note, size, "%s%s:%d: ", dots, end, load->line)
                      : snprintf(note, size, "%s%s: ", dots, end);
}

void cs_diagnostics_note(struct cs_load *load, const char *format, ...)
{
    char note[NOTE_BYTES];
    if (!load->note || load->notes > MAX_NOTES)
        return;
    int used = place_text(load, note, sizeof note);
    if (load->notes++ == MAX_NOTES) {
        snprintf(note + used, sizeof note - (size_t)used, "further mistakes are not listed");
    } else {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(note + used, sizeof note - (size_t)used, format, arguments);
        va_end(arguments);
    }
    load->note(load->ctx, note);
}

const char *cs_diagnostics_comma(const struct cs_load *load, const char *value)
{
    const char *comma = strchr(value, ',');
    if (!comma || !strchr(comma, '=') || load->line == 0)
        return "";
    return load->file ? "; write one option per line" : "; separate options with ;";
}

const char *cs_diagnostics_doubt(const char *allowed, const char *value)
{
    enum {
        KIBIBYTE_DIGITS = 4
    };
    /* The first number other than 0, also of a range: 512, ..512, 0..512. */
    const char *number = value + strspn(value, ".0");
    size_t digits = strspn(number, "0123456789");
    bool ends = !number[digits] || strncmp(number + digits, "..", 2) == 0;
    bool bare = ends && digits > 0 && digits < KIBIBYTE_DIGITS;
    if (bare && strstr(allowed, "iB"))
        return "a number without a unit is bytes; units: KiB, MiB, GiB, TiB";
    if (bare && strstr(allowed, "extents"))
        return "one number is an extent of W; for 3x3 filters write 3x3";
    return NULL;
}

const char *cs_diagnostics_line_word(const struct cs_load *load)
{
    return load->file ? "line" : "item";
}
