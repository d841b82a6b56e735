/* Collects the convolutions to verify: of a list, of a summary, of a program, or the default ones.
 */
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/simulate/child_variables.h"
#include "cli/verify/verify.h"
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void note(void *ctx, const char *line)
{
    (void)ctx;
    cs_cli_complain("%s", line);
}

static struct cs_layer_rules rules_of(const struct cs_verify_options *options)
{
    return (struct cs_layer_rules){.layout = options->layout,
                                   .dtype = options->dtype_given ? &options->dtype : NULL};
}

/* --- lists --- */

/* True if the name of `length` bytes means the layer. */
static bool is_named(const struct cs_layer *layer, const char *name, size_t length)
{
    size_t model = strlen(layer->model);
    if (length < model || strncmp(name, layer->model, model) != 0)
        return false;
    return length == model || (name[model] == '/' && length == model + 1 + strlen(layer->name) &&
                               strncmp(name + model + 1, layer->name, length - model - 1) == 0);
}

/* Marks the layers that are named; false, with a line, if a name means none. */
static bool mark(const char *names, const struct cs_layers *layers, bool *chosen)
{
    for (const char *name = names; name;) {
        size_t length = strcspn(name, ",");
        bool found = false;
        for (size_t i = 0; i < layers->count; i++)
            if (is_named(&layers->layer[i], name, length))
                found = chosen[i] = true;
        if (!found) {
            cs_cli_complain("verify: --layers: the list has no layer '%.*s'", (int)length, name);
            return false;
        }
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    return true;
}

static bool keep_named(const char *names, struct cs_layers *layers)
{
    bool *chosen = calloc(layers->count, sizeof *chosen);
    bool good = chosen && mark(names, layers, chosen);
    if (!chosen)
        cs_cli_complain("verify: out of memory");
    size_t kept = 0;
    for (size_t i = 0; good && i < layers->count; i++) {
        if (chosen[i]) {
            layers->layer[kept++] = layers->layer[i];
            continue;
        }
        free(layers->layer[i].model);
        free(layers->layer[i].name);
    }
    if (good)
        layers->count = kept;
    free(chosen);
    return good;
}

static bool add_default(const struct cs_verify_options *options, const char *name, const char *text,
                        struct cs_layers *layers)
{
    char error[256] = "out of memory";
    struct cs_shape shape = {.layout = CS_CHANNELS_FIRST};
    struct cs_problem problem;
    if (cs_shape_text(text, &shape, error, sizeof error)) {
        if (options->dtype_given)
            shape.dtype = options->dtype;
        if (cs_shape_problem(&shape, &problem, error, sizeof error) &&
            cs_layers_add(layers, "", name, 0, &problem))
            return true;
    }
    cs_cli_complain("verify: %s: %s", name, error);
    return false;
}

static bool add_defaults(const struct cs_verify_options *options, struct cs_layers *layers)
{
#define CS_LAYER(name, text)                                                                       \
    if (!add_default(options, name, text, layers))                                                 \
        return false;
#include "cli/verify/default_layers.def"
#undef CS_LAYER
    return true;
}

bool cs_verify_list(const struct cs_verify_options *options, struct cs_layers *layers)
{
    const struct cs_layer_rules rules = rules_of(options);
    if (!options->csv && !options->summary)
        return add_defaults(options, layers);
    return (options->csv ? cs_layers_csv(layers, options->csv, &rules, note, NULL)
                         : cs_layers_summary(layers, options->summary, &rules, note, NULL)) &&
           (!options->layers || keep_named(options->layers, layers));
}

/* --- a program --- */

/* In the child: convshim run, with a summary for each process. */
static void become(const struct cs_verify_options *options, const char *folder)
{
    size_t words = 0;
    while (options->command[words])
        words++;
    char **argv = calloc(words + 6, sizeof *argv);
    struct cs_child_variables variables = {.items = 0};
    cs_child_variables_set(&variables, "CONVSHIM_SUMMARY", "json:%s/%%p.json", folder);
    cs_child_variables_remove(&variables, "CONVSHIM");
    if (argv && cs_verify_environment(options) && cs_child_variables_apply(&variables)) {
        argv[0] = (char *)"convshim";
        argv[1] = (char *)"run";
        argv[2] = (char *)"--library";
        argv[3] = (char *)options->library;
        argv[4] = (char *)"--";
        memcpy(argv + 5, options->command, words * sizeof *argv);
        execv("/proc/self/exe", argv);
    }
    cs_cli_complain("verify: cannot start convshim run: %s", strerror(errno));
    _exit(CS_CLI_NO);
}

/* A program that fails may have run convolutions before. */
static void run_program(const struct cs_verify_options *options, const char *folder)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(options, folder);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    cs_cli_complain("verify: %s ended with %s %d", options->command[0],
                    WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static bool read_summaries(const struct cs_verify_options *options, const char *folder,
                           struct cs_layers *layers)
{
    const struct cs_layer_rules rules = rules_of(options);
    char pattern[PATH_MAX + 16];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.json", folder);
    if (glob(pattern, 0, NULL, &found) != 0) {
        cs_cli_complain(
            "verify: %s ran no convolution with convshim. To find out why: convshim doctor -- %s",
            options->command[0], options->command[0]);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        good = good && cs_layers_summary(layers, found.gl_pathv[i], &rules, note, NULL);
        (void)unlink(found.gl_pathv[i]);
    }
    globfree(&found);
    return good;
}

bool cs_verify_program(const struct cs_verify_options *options, struct cs_layers *layers)
{
    char folder[PATH_MAX];
    const char *temporary = cs_cli_variable("TMPDIR");
    snprintf(folder, sizeof folder, "%s/convshim-verify-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) {
        cs_cli_complain("verify: %s: %s", folder, strerror(errno));
        return false;
    }
    run_program(options, folder);
    bool good = read_summaries(options, folder, layers);
    (void)rmdir(folder);
    return good;
}
