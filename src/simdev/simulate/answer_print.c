/* Prints one answer as text, and answers as a table with a row for each device or value. */
#include "simdev/simulate/simulate.h"

#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct cs_figure_kind cs_figures[CS_FIGURES] = {
#define CS_FIGURE(name, title, column, tables, cell, value) {#name, title, cell},
#include "simdev/simulate/figures.def"
#undef CS_FIGURE
};

enum {
    FIGURE = 22, /* characters of the title of a figure, and of its value */
    CELL = 14
};

/* --- figures --- */

static void read_figure(const cJSON *answer, enum cs_figure figure, int64_t value[CS_SIDES])
{
    for (int side = 0; side < CS_SIDES; side++)
        value[side] = cs_sim_answer_number(answer, (enum cs_side)side, cs_figures[figure].name);
}

static bool was_short(const cJSON *answer)
{
    int64_t retries[CS_SIDES], failures[CS_SIDES];
    read_figure(answer, CS_FIGURE_allocation_retries, retries);
    read_figure(answer, CS_FIGURE_failed_allocations, failures);
    return retries[CS_WITHOUT] > 0 || retries[CS_WITH] > 0 || failures[CS_WITHOUT] > 0 ||
           failures[CS_WITH] > 0;
}

/* Writes "-37.0 %". */
static void write_change(const int64_t value[CS_SIDES], char text[CS_BYTES_TEXT])
{
    if (value[CS_WITHOUT] <= 0 || value[CS_WITH] < 0)
        return;
    const double change = (double)value[CS_WITH] / (double)value[CS_WITHOUT];
    cs_table_change_text(text, change, change);
}

/* A figure of both runs for people. */
struct figure_text {
    char side[CS_SIDES][CS_CELL_TEXT_BYTES]; /* "-": not known */
    char change[CS_BYTES_TEXT];              /* "-37.0 %"; "": not compared */
};

/* Fills `text` with a figure of both sides. False if no run has the figure. */
static bool write_figure(const cJSON *answer, enum cs_figure figure, struct figure_text *text)
{
    const struct cs_column column = {.cell = cs_figures[figure].cell};
    int64_t value[CS_SIDES];
    read_figure(answer, figure, value);
    *text = (struct figure_text){.change = ""};
    for (int side = 0; side < CS_SIDES; side++)
        (void)cs_table_text(&column, &(struct cs_value){.number = value[side]}, true,
                            text->side[side]);
    /* If memory is short, the peaks depend on the capacity: a higher one is no loss. */
    if (column.cell != CS_CELL_COUNT && !((int)figure < CS_PEAKS && was_short(answer)) &&
        !cs_json_at(answer, "work"))
        write_change(value, text->change);
    return value[CS_WITHOUT] >= 0 || value[CS_WITH] >= 0;
}

/* Prints the cells of the sides that were run. */
static void print_cells(const cJSON *answer, const char *without, const char *with)
{
    if (cs_json_at(answer, "without"))
        printf("%*s", CELL, without);
    if (cs_json_at(answer, "with"))
        printf("%*s", CELL, with);
}

/* Prints the known figures of both sides below a title. */
static void print_figures(const cJSON *answer, const char *title)
{
    const bool is_short = was_short(answer);
    struct figure_text text;
    if (!write_figure(answer, CS_FIGURE_device_peak, &text))
        return;
    printf("\n%-*s", FIGURE + 2, title);
    print_cells(answer, "without", "with convshim");
    putchar('\n');
    for (int i = 0; i < CS_FIGURES; i++) {
        const bool of_shortage =
            i == CS_FIGURE_allocation_retries || i == CS_FIGURE_failed_allocations;
        if (!cs_figures[i].title || (of_shortage && !is_short) ||
            !write_figure(answer, (enum cs_figure)i, &text))
            continue;
        printf("  %-*s", FIGURE, cs_figures[i].title);
        print_cells(answer, text.side[CS_WITHOUT], text.side[CS_WITH]);
        printf(*text.change ? "  %8s\n" : "\n", text.change);
    }
}

/* --- processes and GPUs --- */

/* Prints the processes of a side, if there are several. */
static void print_processes(const struct cs_sim_outcome *outcome, const char *side)
{
    char bytes[CS_BYTES_TEXT];
    if (outcome->processes < 2)
        return;
    printf("\nprocesses   %d used the device %s convshim. All figures except the device peak are "
           "from process %ld.\n",
           outcome->processes, side, (long)outcome->pid);
    for (int i = 0; i < outcome->processes && i < SIMDEV_MOST_PROCESSES; i++) {
        const struct cs_sim_process *process = &outcome->process[i];
        printf("  %-*ld%*s, %" PRId64 " convolution%s launched%s\n", FIGURE, (long)process->pid,
               CELL, cs_table_bytes_text(bytes, process->device_peak), process->launches,
               process->launches == 1 ? "" : "s",
               process->reported ? "" : ", killed or ended by _exit");
    }
}

/* Prints the peaks on each GPU, if there are several. */
static void print_gpus(const cJSON *answer)
{
    char title[16];
    bool more = true;
    for (int gpu = 0; more; gpu++) {
        cJSON *peaks = cJSON_CreateObject();
        for (int side = 0; side < CS_SIDES; side++) {
            const cJSON *run = cs_json_at(answer, cs_side_names[side]);
            cJSON *of_gpu = cJSON_GetArrayItem(cs_json_at(run, "gpus"), gpu);
            if (of_gpu)
                cJSON_AddItemReferenceToObject(peaks, cs_side_names[side], of_gpu);
        }
        snprintf(title, sizeof title, "GPU %d", gpu);
        print_figures(peaks, title);
        more = peaks && peaks->child;
        cJSON_Delete(peaks);
    }
}

/* --- sentences --- */

/* Prints a text of the answer behind a label. Prints nothing if the answer lacks it. */
static void print_line(const char *label, const cJSON *answer, const char *member)
{
    const char *text = cs_json_text(answer, member);
    if (!text)
        return;
    printf("%-10s  ", label);
    cs_cli_put(text, stdout);
    putchar('\n');
}

/* Prints the program, the device, and the cuDNN from which the sizes are. */
static void print_head(const struct cs_simulation *simulation, const struct cs_sim_pair *pair,
                       const cJSON *answer)
{
    const struct cs_sim_program *program = &simulation->program;
    const char *version = cs_planning_version(cs_json_text(answer, "planning"));
    char bytes[CS_BYTES_TEXT], gpus[32] = "";
    if (pair->gpus > 1)
        snprintf(gpus, sizeof gpus, "%d times ", pair->gpus);
    fputs("program    ", stdout);
    for (char **word = program->command; *word; word++) {
        putchar(' ');
        cs_cli_put(*word, stdout);
    }
    printf("\ndevice      %s%s with %s, simulated\n", gpus, pair->device->title,
           cs_table_bytes_text(bytes, cs_json_whole_at(answer, "memory", 0)));
    const char *framework = pair->run[cs_sim_pair_judged(pair)].outcome.framework;
    framework = *framework ? framework : program->framework;
    if (version)
        printf("sizes       by cuDNN %s%s%s, in %s\n", version, *framework ? " of " : "", framework,
               program->folder);
}

/* Prints the options of the library in force, except defaults. */
static void print_options(const cJSON *options)
{
    const char *between = "options     ";
    const cJSON *option;
    cJSON_ArrayForEach(option, options)
    {
        printf("%s%s = ", between, option->string);
        cs_cli_put(option->valuestring, stdout);
        between = ", ";
    }
    if (options)
        putchar('\n');
}

static void print_notes(const cJSON *answer)
{
    const cJSON *note;
    puts("\nnotes");
    cJSON_ArrayForEach(note, cs_json_at(answer, "notes"))
    {
        fputs("  * ", stdout);
        cs_cli_put(note->valuestring, stdout);
        putchar('\n');
    }
}

void cs_sim_answer_print(const struct cs_simulation *simulation, const struct cs_sim_pair *pair,
                         const struct cJSON *answer, bool checks)
{
    char bytes[CS_BYTES_TEXT];
    print_head(simulation, pair, answer);
    print_options(cs_json_at(answer, "options"));
    print_figures(answer, "");
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            print_processes(&pair->run[side].outcome, cs_side_names[side]);
    putchar('\n');
    print_line("without", answer, "without.verdict");
    print_line("with", answer, "with.verdict");
    print_line("\nwork      ", answer, "work");
    print_line("\nno gain   ", answer, "no_gain");
    print_line("\nadvice    ", answer, "advice");
    print_gpus(answer);
    if (checks) {
        printf("\ndoes it fit in %s?\n",
               cs_table_bytes_text(bytes, cs_json_whole_at(answer, "memory", 0)));
        print_line("without", answer, "without.fits_why");
        print_line("with", answer, "with.fits_why");
    }
    print_notes(answer);
    cs_private_layers_print(&simulation->layers, stdout);
}

/* --- tables with a row for each answer --- */

enum {
    DEVICES = 1,
    VALUES = 2,
    OF_RUNS = 2 /* the first column of the runs, which have two for each member */
};

#define RUNS(name, title, cell, tables)                                                            \
    {{name "_without", title, cell}, "without." name, tables},                                     \
    {                                                                                              \
        {name "_with", "with", cell}, "with." name, tables                                         \
    }

/* The columns, the members of an answer that they show, and the tables in which people see them. */
static const struct {
    struct cs_column column;
    const char *member;
    int tables;
} columns[] = {
    {{"name", "", CS_CELL_TEXT}, "name", DEVICES | VALUES},
    {{"memory", "memory", CS_CELL_BYTES}, "memory", DEVICES},
#define CS_FIGURE(name, title, column, tables, cell, value) RUNS(#name, column, cell, tables),
#include "simdev/simulate/figures.def"
#undef CS_FIGURE
    RUNS("answer", "fits", CS_CELL_TEXT, DEVICES | VALUES),
    RUNS("status", NULL, CS_CELL_COUNT, 0),
    RUNS("verdict", NULL, CS_CELL_TEXT, 0),
};

enum {
    COLUMNS = sizeof columns / sizeof *columns
};

static void add_row(struct cs_table *table, const cJSON *answer)
{
    struct cs_value value[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        value[i] = (struct cs_value){.text = cs_json_text(answer, columns[i].member),
                                     .number = cs_json_whole_at(answer, columns[i].member, -1)};
    cs_table_add(table, value);
}

static bool has_value(const cJSON *answers, const char *member)
{
    const cJSON *answer;
    cJSON_ArrayForEach(answer, answers)
    {
        if (cs_json_at(answer, member))
            return true;
    }
    return false;
}

/* Orders values that are numbers. */
static int by_number(const void *left, const void *right)
{
    const struct cs_value *a = left, *b = right;
    const double x = strtod(a->text, NULL), y = strtod(b->text, NULL);
    return (x > y) - (x < y);
}

/* Makes the table; the caller frees it. People see the columns of this kind of rows that have a
 * value. A column "with" that follows no column of the other run has the figure's title. */
static void make_table(const cJSON *answers, const char *title, struct cs_table *table)
{
    static struct cs_column shown[COLUMNS];
    const int kind = strcmp(title, CS_ROWS_DEVICES) == 0 ? DEVICES : VALUES;
    const cJSON *answer;
    for (int i = 0; i < COLUMNS; i++) {
        shown[i] = columns[i].column;
        if (!(columns[i].tables & kind) || !has_value(answers, columns[i].member))
            shown[i].title = NULL;
        else if (i >= OF_RUNS && i % CS_SIDES == CS_WITH && !shown[i - 1].title)
            shown[i].title = columns[i - 1].column.title;
    }
    shown[0].title = title;
    cs_table_init(table, shown, COLUMNS);
    cJSON_ArrayForEach(answer, answers)
    {
        add_row(table, answer);
    }
    if (kind == VALUES && !table->broken)
        qsort(table->value, table->rows, COLUMNS * sizeof *table->value, by_number);
}

bool cs_sim_rows_print(const struct cJSON *answers, const char *title, enum cs_format format)
{
    struct cs_table table;
    make_table(answers, title, &table);
    const bool printed = cs_table_print(&table, format, stdout);
    cs_table_fini(&table);
    return printed;
}

void cs_sim_rows_add(struct cJSON *root, const struct cs_sim_program *program,
                     const struct cJSON *answers, const char *title)
{
    struct cs_table table;
    make_table(answers, title, &table);
    cJSON_AddNumberToObject(root, "version", CS_SIMULATE_JSON_VERSION);
    cs_json_add(root, "command", cs_sim_program_command(program));
    cJSON_AddStringToObject(root, "rows_of", title);
    cs_json_add(root, "rows", cs_table_json(&table));
    cs_table_fini(&table);
}
