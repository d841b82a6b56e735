/* The pages of all commands: one template, which shows a command's JSON by a script. One thread. */
#ifndef CS_CLI_COMMON_PAGE_H
#define CS_CLI_COMMON_PAGE_H

#include <stdbool.h>

struct cJSON;

/* The first characters of every page. */
#define CS_PAGE_BEGINS "<!DOCTYPE html>"

/* Writes the page that shows `root`, the JSON of `command`, to the file at `path` as
 * cs_output_write does, and deletes `root`. `view` is the script of the command, which defines
 * TITLE and view() with the functions of page.html. cs_json_begin was called before `root` was
 * made. Prints a line with the path, unless it is "-", or with the reason: then returns false. */
bool cs_page_write(const char *command, const char *view, const char *path, struct cJSON *root);

#endif
