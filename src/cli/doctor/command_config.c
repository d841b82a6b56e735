/* Loads the options that a command would have: by the names of its program and script. */
#include "cli/doctor/command_config.h"

#include "cli/doctor/wrapper.h"
#include "config/program.h"
#include "convshim/policy.h"
#include <string.h>

enum {
    COMMAND_BYTES = 4096 /* of the words: as many as the library reads of /proc/self/cmdline */
};

/* The words as /proc/self/cmdline has them, as many as are whole. */
static int64_t join(char **command, char *words, size_t size)
{
    size_t length = 0;
    for (; *command; command++) {
        size_t bytes = strlen(*command) + 1;
        if (bytes > size - length)
            break;
        memcpy(words + length, *command, bytes);
        length += bytes;
    }
    return (int64_t)length;
}

void cs_command_config(struct cs_config *config, char **command, cs_config_note_fn *note, void *ctx)
{
    char words[COMMAND_BYTES], script[CS_PROGRAM_SCRIPT] = "";
    const char *program = NULL;
    if (command && *command) {
        command = cs_wrapper_unwrap(command);
        const char *slash = strrchr(*command, '/');
        program = slash ? slash + 1 : *command;
        cs_program_script_of(words, join(command, words, sizeof words), script);
    }
    cs_config_load_script(config, program, *script ? script : NULL, cs_policy_names, note, ctx);
}
