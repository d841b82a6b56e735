/* Checks options by loading them separately, then passes them to src/config. */
#include "flow/configure.h"

#include "flow/instance.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    TOO_LATE = -2
};

/* The first fault that was found, and the place for its text. */
struct fault {
    char *text;
    size_t size;
    bool found;
};

static void store_note(void *ctx, const char *line)
{
    struct fault *fault = ctx;
    if (!fault->found && fault->size > 0)
        snprintf(fault->text, fault->size, "%s", line);
    fault->found = true;
}

int cs_configure_check(const char *options, char *error, size_t size)
{
    struct fault fault = {.text = error, .size = size};
    struct cs_config *config = calloc(1, sizeof *config);
    if (size > 0)
        error[0] = '\0';
    if (config)
        cs_config_load_items(config, options, cs_policy_names, store_note, &fault);
    else
        store_note(&fault, "out of memory");
    free(config);
    return fault.found ? -1 : 0;
}

int cs_configure(const char *options, char *error, size_t size)
{
    if (cs_configure_check(options, error, size) != 0)
        return -1;
    struct fault fault = {.text = error, .size = size};
    if (cs_instance_made() || cs_instance_off()) {
        store_note(&fault, "too late: cuDNN was already called, so the options cannot change");
        return TOO_LATE;
    }
    if (cs_config_override(options))
        return 0;
    store_note(&fault, "the options of all calls are too long together: shorten them");
    return -1;
}
