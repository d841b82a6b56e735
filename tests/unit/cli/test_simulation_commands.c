/* `convshim simulate` and `convshim tune` from the command line to the status: what is asked of a
 * simulation, in which order, and what becomes of its answers. The simulation is the test's own. */
#include "golden.h"

#include "cli/simulate/simulate.h"
#include "cli/tune/tune.h"
#include <sys/stat.h>

static char folder[] = "/tmp/convshim-commands-XXXXXX", root[PATH_MAX];

/* --- the simulation --- */

static struct answers {
    bool no_program, no_begin, no_runs, no_smallest, no_print, no_page, no_search, no_summary;
    int status[CS_SIDES]; /* of the program; -1: short of memory */
    bool unplanned;
    bool tuned_ran, tuned_fits;
} answers;

const char *const cs_side_names[CS_SIDES] = {"without", "with"};

static const char *text_or(const char *text)
{
    return text ? text : "-";
}

bool cs_simulated_program_find(struct cs_simulated_program *program, char **command,
                               const char *cudnn, int cuda)
{
    printf("program %s, cuDNN %s, CUDA %d\n", command[0], text_or(cudnn), cuda);
    program->command = command;
    return !answers.no_program;
}

bool cs_simulation_begin(struct cs_simulation *simulation, const char *library, const char *keep)
{
    printf("begin %s, library %s, keep %s, preset '%s', items %s, %d jobs%s%s%s\n",
           simulation->title, text_or(library), text_or(keep), simulation->preset,
           text_or(simulation->options.items), simulation->jobs,
           simulation->told_single ? ", told single" : "", simulation->many ? ", many" : "",
           simulation->shared ? ", shared" : "");
    return !answers.no_begin;
}

void cs_simulation_end(struct cs_simulation *simulation)
{
    printf("end %s\n", simulation->title);
    free(simulation->options.items);
}

static void tell(const char *what, const struct cs_simulated_pair *pair, size_t pairs)
{
    for (size_t i = 0; i < pairs; i++)
        printf("%s %s, capacity %lld%s%s%s\n", what, pair[i].device->name,
               (long long)pair[i].capacity, pair[i].history ? ", history" : "",
               pair[i].chosen[CS_WITHOUT] ? ", without" : "",
               pair[i].chosen[CS_WITH] ? ", with" : "");
}

bool cs_simulated_pairs_run(struct cs_simulation *simulation, struct cs_simulated_pair *pair,
                            size_t pairs)
{
    (void)simulation;
    tell("run", pair, pairs);
    for (size_t i = 0; i < pairs; i++) {
        /* There is no third side. */
        ((char *)&pair[i])[offsetof(struct cs_simulated_pair, chosen) + CS_SIDES] = 1;
        for (int side = 0; side < CS_SIDES; side++) {
            bool room = answers.status[side] >= 0;
            pair[i].result[side] =
                (struct cs_simulated_result){.status = room ? answers.status[side] : 1,
                                             .used = true,
                                             .planned = !answers.unplanned,
                                             .refused = !room};
            snprintf(pair[i].run[side].folder, PATH_MAX, "%s/%d", folder, side);
        }
    }
    return !answers.no_runs;
}

bool cs_simulated_pairs_smallest(struct cs_simulation *simulation, struct cs_simulated_pair *pair,
                                 size_t pairs)
{
    (void)simulation;
    tell("smallest", pair, pairs);
    return !answers.no_smallest;
}

void cs_simulated_pair_free(struct cs_simulated_pair *pair)
{
    tell("free", pair, 1);
}

bool cs_simulate_print(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair,
                       enum cs_format format)
{
    (void)simulation;
    printf("format %d: ", (int)format);
    tell("print", pair, 1);
    return !answers.no_print;
}

bool cs_simulate_print_devices(const struct cs_simulation *simulation,
                               const struct cs_simulated_pair *pair, size_t pairs,
                               enum cs_format format)
{
    (void)simulation;
    printf("format %d: ", (int)format);
    tell("print of many", pair, pairs);
    return !answers.no_print;
}

bool cs_simulate_html(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair,
                      const char *path)
{
    (void)simulation;
    printf("page %s: ", path);
    tell("page", pair, 1);
    return !answers.no_page;
}

bool cs_tune_search(struct cs_tune *tune)
{
    printf("search on %s, fits %lld, within %.1f%s, %d runs, %d jobs\n", tune->device->name,
           (long long)tune->options->fits, tune->options->within,
           tune->options->lowest ? ", lowest" : "", tune->options->runs, tune->simulation->jobs);
    tune->tuned.ran = answers.tuned_ran;
    tune->tuned.fits = answers.tuned_fits;
    return !answers.no_search;
}

bool cs_tune_from_summary(struct cs_tune *tune)
{
    printf("summary %s\n", tune->options->summary);
    return !answers.no_summary;
}

void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out)
{
    (void)tune;
    fprintf(out, "file%s\n", head ? " with a head" : "");
}

void cs_tune_conclude(const struct cs_tune *tune, FILE *out)
{
    (void)tune;
    fprintf(out, "conclusion\n");
}

/* --- the commands --- */

#define SIMULATE(...)                                                                              \
    golden_line(cs_cli_simulate, (const char *const[]){"simulate", __VA_ARGS__, NULL})
#define TUNE(...) golden_line(cs_cli_tune, (const char *const[]){"tune", __VA_ARGS__, NULL})

static void title(const char *text)
{
    golden_puts("--- ");
    golden_puts(text);
    golden_puts("\n");
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

#define D1 "--device", "d1.json"

static void what_is_asked_of_a_simulation(void)
{
    answers = (struct answers){.tuned_ran = true};
    SIMULATE(D1, "prog", "--x");
    SIMULATE(D1, "--only", "with", "prog");
    SIMULATE(D1, "--only", "without", "prog");
    SIMULATE(D1, "--capacity", "1", "prog");
    SIMULATE(D1, "--capacity", "8GiB", "--only", "with", "prog");
    SIMULATE(D1, "--smallest", "prog");
    SIMULATE("--devices", "d1.json,./d2.json", "prog");
    SIMULATE("--devices", "d1.json,./d2.json,", "--smallest", "--format", "csv", "prog");
    SIMULATE(D1, "--html", "page.html", "--format", "json", "prog");
    SIMULATE(D1, "--preset", "preset.ini", "--workspace", "2MiB", "prog");
    SIMULATE(D1, "--cudnn", "c", "--library", "l", "--keep", "k", "--jobs", "3", "--cuda", "12",
             "prog");
    SIMULATE(D1, "--lanes", "2", "--lanes", "3", "prog");
    TUNE(D1, "prog", "x");
    TUNE(D1, "--fits", "1", "prog");
    TUNE(D1, "--within", "2.5", "--lowest", "--runs", "4", "--jobs", "2", "prog");
    TUNE(D1, "--within", "0.1", "--cudnn", "c", "--library", "l", "--keep", "k", "--cuda", "12",
         "prog");
    TUNE("--summary", "s.json");
    golden_check(root, "outputs_simulation_asked.txt");
}

static void what_becomes_of_its_answers(void)
{
    static const struct {
        const char *title;
        struct answers answers;
    } rows[] = {
        {"no program", {.no_program = true}},
        {"it cannot begin", {.no_begin = true}},
        {"no runs", {.no_runs = true, .no_search = true, .no_summary = true}},
        {"no smallest one", {.no_smallest = true}},
        {"no memory to print", {.no_print = true}},
        {"no page", {.no_page = true}},
        {"it fails without", {.status = {3, 0}}},
        {"it fails with", {.status = {0, 4}, .tuned_ran = true, .tuned_fits = true}},
        {"it fails on both sides", {.status = {3, 4}, .tuned_fits = true}},
        {"too little memory without", {.status = {-1, 0}, .tuned_ran = true}},
        {"too little memory, and it fails with", {.status = {-1, 4}}},
        {"nothing was planned", {.unplanned = true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        title(rows[i].title);
        answers = rows[i].answers;
        SIMULATE(D1, "--html", "page.html", "prog");
        SIMULATE("--devices", "d1.json,d2.json", "--smallest", "prog");
        SIMULATE(D1, "--only", "with", "prog");
        SIMULATE(D1, "--only", "without", "prog");
        TUNE(D1, "prog");
        TUNE(D1, "--fits", "1", "prog");
        TUNE("--summary", "s.json");
    }
    golden_check(root, "outputs_simulation_answers.txt");
}

static void what_is_refused(void)
{
    char many[33 * sizeof "d1.json"] = "";
    answers = (struct answers){.tuned_ran = true};
    for (int i = 0; i < 33; i++)
        strcat(strcat(many, i ? "," : ""), "d1.json");
    SIMULATE("--devices", many, "prog");
    many[strlen(many) - strlen(",d1.json")] = '\0';
    answers.no_runs = true;
    SIMULATE("--devices", many, "prog");
    answers.no_runs = false;
    SIMULATE("--devices", "", "prog");
    SIMULATE("--devices", "d1.json,nowhere.json", "prog");
    SIMULATE("--device", "nowhere.json", "prog");
    SIMULATE(D1, "--preset", "nowhere.ini", "prog");
    SIMULATE(D1, "--summary", "text", "prog");
    SIMULATE(D1, "--only", "both", "prog");
    SIMULATE(D1, "--capacity", "0", "prog");
    SIMULATE(D1, "--jobs", "0", "prog");
    SIMULATE(D1, "--cuda", "11", "prog");
    SIMULATE(D1, "--workspace", "lots", "prog");
    SIMULATE(D1, "--lanes", "2", "--workspace", "lots", "prog");
    SIMULATE(D1, "--trace", "a;b", "prog");
    SIMULATE(D1);
    SIMULATE("--devices", "d1.json", D1, "prog");
    SIMULATE(D1, "--html", "x", "--only", "with", "prog");
    TUNE("--device", "nowhere.json", "prog");
    TUNE(D1);
    TUNE("--summary", "s.json", "prog");
    TUNE("--summary", "s.json", "--keep", "k");
    TUNE(D1, "--runs", "0", "prog");
    golden_check(root, "outputs_simulation_refused.txt");
}

int main(void)
{
    char remove[64], name[PATH_MAX + 64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root))
        return 1;
    snprintf(name, sizeof name, "%s/conf/devices/h100.json", root);
    if (chdir(folder) != 0 || symlink(name, "d1.json") != 0 || symlink(name, "d2.json") != 0 ||
        mkdir("0", 0700) != 0 || mkdir("1", 0700) != 0)
        return 1;
    golden_hide(folder, "FOLDER");
    write_text("preset.ini", "workspace = 1MiB\n");
    write_text("0/output", "without: one\nwithout: two\n");
    unsetenv("CONVSHIM_CONFIG");
    TEST(what_is_asked_of_a_simulation);
    TEST(what_becomes_of_its_answers);
    TEST(what_is_refused);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    free(golden_text);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
