/* By which names a command's options are looked for: those of its program and its script, of a
 * command of any length. What loads them is the test's own. */
#include "check.h"
#include "config/program.h"

static char program_name[64], script_name[64];
static int loads;

#define cs_config_load_script load_script
#define cs_wrapper_unwrap unwrap
#include "cli/doctor/command_config.c" /* NOLINT(bugprone-suspicious-include) */

static void load_script_of(const char *program, const char *script)
{
    snprintf(program_name, sizeof program_name, "%s", program ? program : "(none)");
    snprintf(script_name, sizeof script_name, "%s", script ? script : "(none)");
    loads++;
}

void load_script(struct cs_config *config, const char *program, const char *script,
                 const char *const *policies, cs_config_note_fn *note, void *ctx)
{
    CHECK(!config && policies == cs_policy_names && !note && ctx == script_name);
    load_script_of(program, script);
}

/* `env` alone is a wrapper here. */
char **unwrap(char **command)
{
    return strcmp(command[0], "env") == 0 ? command + 1 : command;
}

static void look(char **command)
{
    loads = 0;
    cs_command_config(NULL, command, NULL, script_name);
    CHECK_INT(loads, 1);
}

static void names_of_a_command(void)
{
    static const struct {
        char *words[5];
        const char *program, *script;
    } rows[] = {{{NULL}, "(none)", "(none)"},
                {{"/opt/bin/train", "a.py"}, "train", "(none)"},
                {{"python3"}, "python3", "(none)"},
                {{"python3", "dir/a.py", "b.py"}, "python3", "a.py"},
                {{"bin/python3", "-u", "a.py"}, "python3", "a.py"},
                {{"env", "python3", "a.py"}, "python3", "a.py"},
                {{"env", "/bin/sleep", "1"}, "sleep", "(none)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        look((char **)rows[i].words);
        CHECK_STR(program_name, rows[i].program);
        CHECK_STR(script_name, rows[i].script);
    }
    look(NULL);
    CHECK_STR(program_name, "(none)");
    CHECK_STR(script_name, "(none)");
}

/* The library reads 4096 bytes of a process's words: of a longer command its whole words in these.
 */
static void commands_of_any_length(void)
{
    enum {
        BYTES = 4096,
        REST = sizeof "python3" + sizeof "a.py"
    };
    static char option[BYTES];
    for (int beyond = -2; beyond <= 2; beyond++) {
        char *words[] = {"python3", option, "a.py", NULL};
        memset(option, 'B', sizeof option - 1);
        option[0] = '-';
        option[BYTES - REST - 1 + beyond] = '\0';
        look(words);
        CHECK_STR(script_name, beyond <= 0 ? "a.py" : "(none)");
        words[2] = "a.py/b"; /* two more, which do not fit as soon */
        look(words);
        CHECK_STR(script_name, beyond <= -2 ? "b" : "(none)");
    }
}

int main(void)
{
    TEST(names_of_a_command);
    TEST(commands_of_any_length);
    return REPORT();
}
