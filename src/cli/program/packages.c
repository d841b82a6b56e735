/* Queries a Python interpreter for the modules and packages that it would import, without importing
 * them. */
#include "cli/program/command_facts.h"

#include "cli/common/array.h"
#include "cli/program/child.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_MODULES = 60
};

/* find_spec of a name without a dot reads folders; it imports nothing. The current directory, which
 * -c puts first, is removed before the first import that could find a file there. */
static const char script[] =
    "import sys\n"
    "sys.path = [place for place in sys.path if place]\n"
    "import importlib.util, importlib.metadata\n"
    "print('python', sys.executable, '.'.join(map(str, sys.version_info[:3])), sep='\\t')\n"
    "for name in sys.argv[1:]:\n"
    "    try:\n"
    "        spec = importlib.util.find_spec(name)\n"
    "    except (ImportError, ValueError, AttributeError):\n"
    "        continue\n"
    "    for folder in spec and spec.submodule_search_locations or []:\n"
    "        print('module', name, folder, sep='\\t')\n"
    "for found in importlib.metadata.distributions():\n"
    "    print('package', found.metadata['Name'], found.version, found.locate_file(''), "
    "sep='\\t')\n"
    "print('end')\n";

/* Cuts the next field off a line. Returns "" if there is none. */
static const char *cut_field(char **line_p)
{
    char *start = *line_p, *end = strchrnul(start, '\t');
    *line_p = *end ? end + 1 : end;
    *end = '\0';
    return start;
}

static bool add_module(struct cs_packages *p, char *line)
{
    struct cs_module *module = cs_array_add(&p->module, &p->modules, sizeof *module);
    if (module)
        *module = (struct cs_module){.name = cut_field(&line), .folder = line};
    return module != NULL;
}

static bool add_package(struct cs_packages *p, char *line)
{
    struct cs_package *package = cs_array_add(&p->package, &p->packages, sizeof *package);
    if (package) {
        package->name = cut_field(&line);
        package->version = cut_field(&line);
        package->folder = line;
    }
    return package != NULL;
}

/* Reads the lines of our script, and skips other output of the Python between them. True if the
 * last line was read. */
static bool read_lines(struct cs_packages *p, char *text, char *why, size_t size)
{
    bool ended = false, fits = true;
    for (char *line; fits && (line = cs_child_line(&text));) {
        const char *kind = cut_field(&line);
        if (strcmp(kind, "python") == 0) {
            p->python = cut_field(&line);
            p->version = line;
        } else if (strcmp(kind, "module") == 0) {
            fits = add_module(p, line);
        } else if (strcmp(kind, "package") == 0) {
            fits = add_package(p, line);
        } else if (strcmp(kind, "end") == 0) {
            ended = true;
        } else if (*kind) {
            snprintf(why, size, "%s", kind); /* the last line of a traceback names the error */
        }
    }
    return ended && fits && p->python;
}

bool cs_packages_read(struct cs_packages *packages, const char *python, const char *const *modules,
                      char *why, size_t size)
{
    const char *argv[MAX_MODULES + 4] = {python, "-c", script};
    *packages = (struct cs_packages){.text = NULL};
    for (int i = 0; i < MAX_MODULES && modules[i]; i++)
        argv[3 + i] = modules[i];
    snprintf(why, size, "it cannot be run");
    if (cs_child_output(argv, NULL, &packages->text) < 0)
        return false;
    if (read_lines(packages, packages->text, why, size))
        return true;
    cs_packages_free(packages);
    return false;
}

void cs_packages_free(struct cs_packages *packages)
{
    free(packages->module);
    free(packages->package);
    free(packages->text);
    *packages = (struct cs_packages){.text = NULL};
}

static char plain_letter(char c)
{
    if (c == '_' || c == '.')
        return '-';
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool same_name(const char *name, const char *other, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!name[i] || plain_letter(name[i]) != plain_letter(other[i]))
            return false;
    return name[length] == '\0';
}

const struct cs_package *cs_packages_find(const struct cs_packages *packages, const char *names)
{
    for (size_t length; *names; names += length + (names[length] == ' ')) {
        length = strcspn(names, " ");
        for (size_t i = 0; i < packages->packages; i++)
            if (same_name(packages->package[i].name, names, length))
                return &packages->package[i];
    }
    return NULL;
}
