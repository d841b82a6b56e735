/* Prints the rows of options.def as the default ini file or, with --markdown, as a table. See
 * gen-conf. */
#include <stdio.h>
#include <string.h>

enum {
    COLUMNS = 80
};

struct row {
    const char *section; /* "" for none */
    const char *name, *value, *allowed, *help;
};

static const struct row rows[] = {
#define CS_OPTION(name, type, value, allowed, help) {"", #name, value, allowed, help},
#define CS_OPTION_IN(section, name, type, value, allowed, help)                                    \
    {#section, #name, value, allowed, help},
#include "convshim/options.def"
#undef CS_OPTION
};
static const size_t row_count = sizeof rows / sizeof rows[0];

/* Comment lines of at most COLUMNS, broken at blanks. */
static void print_comment(const char *text)
{
    while (*text) {
        size_t end = strlen(text), room = COLUMNS - strlen("# ");
        if (end > room) {
            for (end = room; end > 0 && text[end] != ' '; end--)
                continue;
            if (end == 0)
                end = strcspn(text, " ");
        }
        printf("# %.*s\n", (int)end, text);
        text += end + (text[end] == ' ');
    }
}

static void print_ini(void)
{
    print_comment("Options of convshim and their defaults, made by scripts/gen-conf.");
    printf("#\n");
    print_comment("To change one, remove the semicolon before it in a copy at "
                  "~/.config/convshim/convshim.ini, ~/.config/convshim/PROGRAM.ini, "
                  "/etc/convshim.ini or wherever CONVSHIM_CONFIGFILE points. Sizes: 4096, 512KiB, "
                  "64MiB, 1g.");
    for (size_t i = 0; i < row_count; i++) {
        char allowed[512];
        if (*rows[i].section && (i == 0 || strcmp(rows[i].section, rows[i - 1].section) != 0))
            printf("\n[%s]\n", rows[i].section);
        snprintf(allowed, sizeof allowed, "Allowed: %s.", rows[i].allowed);
        printf("\n");
        print_comment(rows[i].help);
        print_comment(allowed);
        printf(";%s =%s%s\n", rows[i].name, *rows[i].value ? " " : "", rows[i].value);
    }
}

static void print_markdown(void)
{
    printf("| option | default | allowed | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < row_count; i++) {
        const char *dot = *rows[i].section ? "." : "";
        if (*rows[i].value)
            printf("| `%s%s%s` | `%s` ", rows[i].section, dot, rows[i].name, rows[i].value);
        else
            printf("| `%s%s%s` | empty ", rows[i].section, dot, rows[i].name);
        printf("| %s | %s |\n", rows[i].allowed, rows[i].help);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--markdown") == 0)
        print_markdown();
    else if (argc == 1)
        print_ini();
    else {
        fprintf(stderr, "usage: scripts/gen-conf [--markdown]\n");
        return 2;
    }
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
