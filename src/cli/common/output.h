/* Files that commands write: complete under their name, or not at all. One thread. */
#ifndef CS_CLI_COMMON_OUTPUT_H
#define CS_CLI_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Returns false, after an error message, if a file cannot be created there, or if the path names an
 * existing file that does not begin like the command's own output. Then it is an input or another
 * file of the user, and must not be replaced. `option` is without dashes. Empty files, devices,
 * pipes and "-" are allowed. */
bool cs_output_check(const char *command, const char *option, const char *path, const char *begins);

/* Writes the content of an output. False, with errno, on failure. */
typedef bool cs_output_fn(const void *state, FILE *out);

/* Writes a file next to `path` and renames it, so that the earlier file remains if writing fails. A
 * link keeps pointing to the file. Devices and pipes are written directly, "-" is standard output.
 * False, with errno, if that fails or if `write` returns false. */
bool cs_output_write(const char *path, cs_output_fn *write, const void *state);

/* --- pages: one template shows the JSON of every command by a script --- */

struct cJSON;

/* The first characters of every page. */
#define CS_PAGE_BEGINS "<!DOCTYPE html>"

/* Writes the page that shows `root`, the JSON of `command`, to the file at `path` as
 * cs_output_write does, and deletes `root`. `view` is the script of the command, which defines
 * TITLE and view() with the functions of page.html. cs_json_begin was called before `root` was
 * made. Prints a line with the path, unless it is "-", or with the reason: then returns false. */
bool cs_page_write(const char *command, const char *view, const char *path, struct cJSON *root);

#endif
