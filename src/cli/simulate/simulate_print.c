/* Prints the results of a simulation: a table of figures, the outcome of each run, and notes that
 * qualify the figures. */
#include "cli/simulate/simulate.h"

#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct cs_figure_kind cs_figures[CS_FIGURES] = {
#define CS_FIGURE(name, title, column, tables, cell, value) {#name, title, cell},
#include "cli/simulate/figures.def"
#undef CS_FIGURE
};

enum {
    MOST_TEXT = 768
};

void cs_simulate_figures(const struct cs_simulated_pair *pair, bool spare,
                         int64_t value[CS_FIGURES][CS_SIDES])
{
    for (int side = 0; side < CS_SIDES; side++) {
        const struct cs_simulated_result *r =
            spare ? cs_simulated_pair_base(pair, (enum cs_side)side) : &pair->run[side].result;
        const int64_t of_side[CS_FIGURES] = {
#define CS_FIGURE(name, title, column, tables, cell, value) value,
#include "cli/simulate/figures.def"
#undef CS_FIGURE
        };
        for (int i = 0; i < CS_FIGURES; i++)
            value[i][side] = pair->chosen[side] && r->used ? of_side[i] : -1;
    }
}

static const char *cell_text(enum cs_cell cell, int64_t value, char text[CS_CELL_TEXT_BYTES])
{
    return cs_table_text(&(struct cs_column){.cell = cell}, &(struct cs_value){.number = value},
                         true, text);
}

/* Writes "-37.0 %", or "-3.1 to +1.2 %" for a time, whose upper ends are in `most`. Writes nothing
 * if a value is not known. */
static void set_change(const int64_t value[CS_SIDES], const int64_t most[CS_SIDES],
                       char text[CS_BYTES_TEXT])
{
    if (value[CS_WITHOUT] <= 0 || value[CS_WITH] < 0)
        return;
    const int64_t *end = most[CS_WITHOUT] > 0 && most[CS_WITH] > 0 ? most : value;
    const double a = (double)value[CS_WITH] / (double)value[CS_WITHOUT],
                 b = (double)end[CS_WITH] / (double)end[CS_WITHOUT];
    cs_table_change_text(text, a < b ? a : b, a < b ? b : a);
}

/* Leaves only the bytes that tiles read again at their edges, in the value with the library. */
static void make_difference(int64_t value[CS_SIDES], bool both)
{
    bool known = both && value[CS_WITHOUT] >= 0 && value[CS_WITH] >= value[CS_WITHOUT];
    value[CS_WITH] = known ? value[CS_WITH] - value[CS_WITHOUT] : -1;
    value[CS_WITHOUT] = -1;
}

/* A figure is shown only if a chosen run has a value for it. Retries and failed allocations must
 * also not be 0. */
static bool is_shown(enum cs_figure figure, const struct cs_simulated_pair *pair,
                     const int64_t value[CS_SIDES])
{
    bool any = false;
    for (int side = 0; side < CS_SIDES; side++)
        any = any || (pair->chosen[side] && value[side] >= 0);
    if (figure == CS_FIGURE_allocation_retries || figure == CS_FIGURE_failed_allocations)
        return value[CS_WITHOUT] > 0 || value[CS_WITH] > 0;
    return any;
}

/* The result without the library, or with it if only that run used the device. */
static const struct cs_simulated_result *any_result(const struct cs_simulated_pair *pair)
{
    int side = pair->chosen[CS_WITHOUT] && pair->run[CS_WITHOUT].result.used ? CS_WITHOUT : CS_WITH;
    return &pair->run[side].result;
}

static bool was_short(const struct cs_simulated_result *result)
{
    return result->refused > 0 || result->retries > 0;
}

bool cs_simulate_figure(const struct cs_simulated_pair *pair, enum cs_figure figure,
                        struct cs_figure_text *text)
{
    int64_t all[CS_FIGURES][CS_SIDES], *value = all[figure];
    const enum cs_cell cell = cs_figures[figure].cell;
    const bool both = pair->chosen[CS_WITHOUT] && pair->chosen[CS_WITH],
               is_short = was_short(&pair->run[CS_WITHOUT].result) ||
                          was_short(&pair->run[CS_WITH].result);
    cs_simulate_figures(pair, false, all);
    *text = (struct cs_figure_text){.title = cs_figures[figure].title};
    /* If memory is short, the peaks depend on the capacity: a higher one is no loss. */
    if (both && cell != CS_CELL_COUNT && !(is_short && (int)figure < CS_PEAKS))
        set_change(value,
                   figure == CS_FIGURE_predicted_ns ? all[CS_FIGURE_predicted_most_ns] : value,
                   text->change);
    if (figure == CS_FIGURE_tensor_bytes)
        make_difference(value, both);
    for (int side = 0; side < CS_SIDES; side++)
        (void)cell_text(cell, value[side], text->side[side]);
    return is_shown(figure, pair, value);
}

/* The cells of the chosen sides. */
static void print_cells(const struct cs_simulated_pair *pair, int width, const char *without,
                        const char *with)
{
    if (pair->chosen[CS_WITHOUT])
        printf("%*s", width, without);
    if (pair->chosen[CS_WITH])
        printf("%*s", width, with);
}

static void print_figures(const struct cs_simulated_pair *pair)
{
    struct cs_figure_text text;
    if (!any_result(pair)->used)
        return;
    printf("%-24s", "");
    print_cells(pair, 14, "without", "with convshim");
    putchar('\n');
    for (int i = 0; i < CS_FIGURES; i++) {
        if (!cs_figures[i].title || !cs_simulate_figure(pair, (enum cs_figure)i, &text))
            continue;
        printf("  %-22s", text.title);
        print_cells(pair, 14, text.side[CS_WITHOUT], text.side[CS_WITH]);
        printf(*text.change ? "  %8s\n" : "\n", text.change);
    }
}

int64_t cs_simulate_memory(const struct cs_simulated_pair *pair)
{
    return pair->capacity > 0 ? pair->capacity : pair->device->memory;
}

/* Peaks on each GPU, if there are several. */
static void print_gpus(const struct cs_simulated_pair *pair)
{
    char text[CS_SIDES][CS_CELL_TEXT_BYTES];
    if (pair->gpus < 2 || !any_result(pair)->used)
        return;
    printf("\n%-24s", "");
    for (int gpu = 0; gpu < pair->gpus; gpu++) {
        snprintf(text[0], sizeof text[0], "GPU %d", gpu);
        print_cells(pair, 12, text[0], pair->chosen[CS_WITHOUT] ? "with" : text[0]);
    }
    putchar('\n');
    for (int peak = 0; peak < CS_PEAKS; peak++) {
        printf("  %-22s", cs_figures[peak].title);
        for (int gpu = 0; gpu < pair->gpus; gpu++) {
            const int64_t *without = pair->run[CS_WITHOUT].result.gpu[gpu],
                          *with = pair->run[CS_WITH].result.gpu[gpu];
            print_cells(pair, 12, cell_text(CS_CELL_BYTES, without[peak], text[CS_WITHOUT]),
                        cell_text(CS_CELL_BYTES, with[peak], text[CS_WITH]));
        }
        putchar('\n');
    }
}

/* --- how it ran --- */

static void write_failure(const struct cs_simulated_result *result, char *text, size_t size)
{
    char bytes[CS_BYTES_TEXT];
    if (result->limited)
        snprintf(text, size,
                 "Out of memory, because the program limits its own memory below the GPU's: %s",
                 result->refusal);
    else if (cs_simulated_result_out_of_memory(result))
        snprintf(
            text, size,
            "Out of memory: the last failed allocation was short by %s. The figures end there.",
            cs_table_bytes_text(bytes, result->missing_bytes));
    else if (*result->linked_runtime)
        snprintf(text, size,
                 "Cannot be simulated: %s contains its own CUDA runtime, and is stripped or uses a "
                 "function of it that is not simulated.",
                 cs_path_file(result->linked_runtime));
    else if (result->missing_gpu > 0)
        snprintf(text, size,
                 "Failed: the program selects GPU %" PRId64 ", which is missing here. Add "
                 "--gpus %" PRId64 ".",
                 result->missing_gpu, result->missing_gpu + 1);
    else if (result->status > 128)
        snprintf(text, size, "Failed: signal %d ended the program.", result->status - 128);
    else
        snprintf(text, size, "Failed with status %d, but not for lack of memory.", result->status);
}

/* Appends "3 retries" to a list, unless there are none. */
static void add_count(char *text, size_t size, int64_t count, const char *one, const char *several)
{
    const size_t length = strlen(text);
    if (count > 0)
        snprintf(text + length, size - length, "%s%" PRId64 " %s", length > 0 ? ", " : "", count,
                 count == 1 ? one : several);
}

/* Writes how short of memory a run was that ended well or was stopped. */
static void write_pressure(const struct cs_simulated_pair *pair, enum cs_side side, char *text,
                           size_t size)
{
    const struct cs_simulated_result *result = &pair->run[side].result;
    if (!result->used) {
        snprintf(text, size, "Ended without a call of CUDA, so there are no figures.");
        return;
    }
    if (result->device_peak <= 0 && result->kernels <= 0 && result->launches <= 0) {
        snprintf(text, size, "Found the GPU, but ran on the CPU. Is the model moved to cuda?");
        return;
    }
    const struct cs_other_plans others = cs_simulated_pair_others(pair, side);
    char signs[256] = "", other[128] = "";
    add_count(signs, sizeof signs, result->retries, "allocation retry", "allocation retries");
    add_count(signs, sizeof signs, cs_simulated_result_failures(result), "failed allocation",
              "failed allocations");
    add_count(signs, sizeof signs, others.engines, "convolution on another engine",
              "convolutions on other engines");
    if (others.work > 0)
        snprintf(other, sizeof other,
                 " With enough memory the program does other work: %" PRId64
                 " of its convolutions have other sizes.",
                 others.work);
    if (*signs)
        snprintf(text, size, "Runs under memory pressure: %s.%s", signs, other);
    else
        snprintf(text, size, "Runs without memory pressure.");
}

void cs_simulate_verdict(const struct cs_simulated_pair *pair, enum cs_side side, char *text,
                         size_t size)
{
    const struct cs_simulated_result *result = &pair->run[side].result;
    size_t length = 0;
    if (cs_simulated_result_stopped(result))
        length = (size_t)snprintf(text, size,
                                  "Stopped by signal %d. Until then: ", result->status - 128);
    if (!cs_simulated_result_ran(result))
        write_failure(result, text, size);
    else
        write_pressure(pair, side, text + length, size - length);
    length = strlen(text);
    if (result->cut_short)
        snprintf(text + length, size - length,
                 " The process was killed or called _exit, so it wrote no report. The figures are "
                 "the last that the device stored.");
}

/* --- notes on the figures --- */

static void put_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put_note(const char *format, ...)
{
    char text[2 * MOST_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fputs("  * ", stdout);
    cs_cli_put(text, stdout);
    putchar('\n');
}

/* Notes on parts of the program that are not computed, not simulated or only estimated. */
static void note_left_out(const struct cs_simulated_result *result)
{
    char names[MOST_TEXT], bytes[CS_BYTES_TEXT], calls[64] = "";
    add_count(calls, sizeof calls, result->kernels, "kernel", "kernels");
    add_count(calls, sizeof calls, result->library_calls, "call of another library",
              "calls of other libraries");
    if (*calls)
        put_note(
            "Large operations were counted, not computed: %s. Files that the program saves contain "
            "no results.",
            calls);
    if (result->reads > 0) {
        (void)cs_simulated_result_names(result, "reads_of_nothing_written.by", names, sizeof names);
        put_note("The program read %" PRId64
                 " result%s that were not computed (%s), and got zeros. "
                 "So it may decide otherwise on a GPU. Calls: %s.",
                 result->reads, result->reads == 1 ? "" : "s",
                 cs_table_bytes_text(bytes, result->read_bytes), names);
    }
    if (cs_simulated_result_unknown(result, names, sizeof names) > 0)
        put_note("These lines of the program use values that were not computed, so they may decide "
                 "otherwise on a GPU: %s.",
                 names);
    if (cs_simulated_result_names(result, "estimated", names, sizeof names) > 0)
        put_note("These sizes are estimates, because only a GPU reports them: %s.", names);
    if (cs_simulated_result_names(result, "missing", names, sizeof names) > 0)
        put_note("The program called functions that are not simulated. They did nothing: %s.",
                 names);
    /* Libraries look up whole lists of functions. Only a failed program may have needed one. */
    if (!cs_simulated_result_ran(result) && !*result->linked_runtime &&
        cs_simulated_result_names(result, "looked_up", names, sizeof names) > 0)
        put_note(
            "The program looked for driver functions that are not simulated, and may need them: "
            "%s.",
            names);
    if (result->times_asked > 0)
        put_note("The program measured the time of GPU work %" PRId64
                 " times, for example to find the fastest algorithm. The simulated GPU has no real "
                 "times, so the program may choose otherwise on a GPU.",
                 result->times_asked);
}

/* True if the program ran and used the device. */
static bool is_usable(const struct cs_simulated_result *result)
{
    return result->used && cs_simulated_result_ran(result);
}

/* Two runs at the same time may disturb each other. */
static void note_parallel(const struct cs_simulation *simulation,
                          const struct cs_simulated_pair *pair)
{
    bool both = pair->chosen[CS_WITHOUT] && pair->chosen[CS_WITH];
    if (both && simulation->jobs > 1 &&
        is_usable(&pair->run[CS_WITHOUT].result) != is_usable(&pair->run[CS_WITH].result) &&
        !cs_simulated_result_out_of_memory(&pair->run[CS_WITHOUT].result) &&
        !cs_simulated_result_out_of_memory(&pair->run[CS_WITH].result))
        put_note(
            "The two runs were parallel. If the program cannot run twice at the same time, for "
            "example because of a fixed port: --jobs 1");
}

static void print_notes(const struct cs_simulation *simulation,
                        const struct cs_simulated_pair *pair)
{
    const struct cs_simulated_result *result = any_result(pair);
    char bytes[CS_BYTES_TEXT];
    puts("\nnotes");
    put_note(
        "CUDA's context takes %s of the GPU's memory for each process. To set it: --context SIZE",
        cs_table_bytes_text(bytes, pair->context));
    note_parallel(simulation, pair);
    if (!result->used)
        return;
    note_left_out(result);
    if (was_short(&pair->run[CS_WITHOUT].result) || was_short(&pair->run[CS_WITH].result))
        put_note("Memory was short, so the peaks depend on the memory of the GPU. Compare retries, "
                 "failed allocations and other engines instead.");
    if (strncmp(result->framework, "PyTorch ", strlen("PyTorch ")) == 0 && !cs_pytorch_settings())
        put_note(
            "All runs used PyTorch's expandable segments, which convshim run switches on. They "
            "usually save memory. To simulate without them: "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False");
    if (strncmp(result->framework, "JAX ", strlen("JAX ")) == 0 &&
        !cs_cli_variable("XLA_PYTHON_CLIENT_PREALLOCATE"))
        put_note(
            "JAX takes three quarters of the GPU's memory when it starts, so the reserved and the "
            "device peak are not the memory that the program needs. To switch that off: "
            "XLA_PYTHON_CLIENT_PREALLOCATE=false");
    if (!*result->framework)
        put_note("Allocated and reserved peaks are unknown, because no framework reported them.");
}

/* --- the whole --- */

static void print_command(const struct cs_simulated_program *program)
{
    fputs("program    ", stdout);
    for (char **word = program->command; *word; word++) {
        putchar(' ');
        cs_cli_put(*word, stdout);
    }
    putchar('\n');
}

static void print_head(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair)
{
    const struct cs_simulated_result *result = any_result(pair);
    const struct cs_simulated_program *program = &simulation->program;
    char bytes[CS_BYTES_TEXT], gpus[32] = "";
    if (pair->gpus > 1)
        snprintf(gpus, sizeof gpus, "%d times ", pair->gpus);
    print_command(program);
    printf("device      %s%s with %s, simulated\n", gpus, pair->device->title,
           cs_table_bytes_text(bytes, cs_simulate_memory(pair)));
    const char *framework = *result->framework ? result->framework : program->framework;
    const char *version = cs_planning_version(result->planning);
    if (result->used && version)
        printf("sizes       by cuDNN %s%s%s, in %s\n", version, *framework ? " of " : "", framework,
               program->folder);
    putchar('\n');
}

static void print_unplanned(const struct cs_simulation *simulation,
                            const struct cs_simulated_pair *pair)
{
    const char *foreign = simulation->program.foreign;
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side] && !pair->run[side].result.planned) {
            printf("NO REAL cuDNN WAS USED: the sizes are from %s, and the figures may be far "
                   "off.\n%s\n\n",
                   *pair->run[side].result.planning ? pair->run[side].result.planning : "nothing",
                   *foreign ? foreign
                            : "Name a cuDNN that plans without a GPU, 9.8 or newer: --cudnn PATH");
            return;
        }
}

/* The text of a capacity for people: in MiB, or "-" if it was not found. */
static const char *capacity_text(int64_t bytes, char text[CS_BYTES_TEXT])
{
    if (bytes <= 0)
        return "-";
    snprintf(text, CS_BYTES_TEXT, "%" PRId64 " MiB", (bytes + (1 << 20) - 1) >> 20);
    return text;
}

static void print_smallest(const struct cs_simulated_pair *pair)
{
    const struct cs_smallest *a = &pair->smallest[CS_WITHOUT], *b = &pair->smallest[CS_WITH];
    char text[CS_SIDES][CS_BYTES_TEXT];
    if (a->runs <= 0 && b->runs <= 0)
        return;
    puts("\nsmallest capacity on which it");
    printf("  %-22s", "runs");
    print_cells(pair, 14, capacity_text(a->runs, text[0]), capacity_text(b->runs, text[1]));
    printf("\n  %-22s", "keeps its engines");
    print_cells(pair, 14, capacity_text(a->engines, text[0]), capacity_text(b->engines, text[1]));
    putchar('\n');
}

/* The processes of a side, where there are several. */
static void print_processes(const struct cs_simulated_pair *pair)
{
    char bytes[CS_BYTES_TEXT];
    for (int side = 0; side < CS_SIDES; side++) {
        const struct cs_simulated_result *result = &pair->run[side].result;
        if (!pair->chosen[side] || result->processes < 2)
            continue;
        printf("\nprocesses   %d used the device %s convshim. All figures except the device peak "
               "are from process %ld.\n",
               result->processes, cs_side_names[side], (long)result->pid);
        int64_t sum = 0;
        for (int i = 0; i < result->processes && i < CS_MOST_PROCESSES; i++) {
            sum += result->process[i].device_peak;
            printf("  %-22ld%14s, %" PRId64 " convolutions launched%s\n",
                   (long)result->process[i].pid,
                   cs_table_bytes_text(bytes, result->process[i].device_peak),
                   result->process[i].launches,
                   result->process[i].reported ? "" : ", killed or ended by _exit");
        }
        printf(
            "  The device peak is the most that they held at the same time. The sum of their peaks "
            "is %s.\n",
            cs_table_bytes_text(bytes, sum));
    }
}

static void print_verdicts(const struct cs_simulation *simulation,
                           const struct cs_simulated_pair *pair)
{
    char text[MOST_TEXT];
    if (any_result(pair)->used)
        putchar('\n');
    for (int side = 0; side < CS_SIDES; side++) {
        if (!pair->chosen[side])
            continue;
        cs_simulate_verdict(pair, (enum cs_side)side, text, sizeof text);
        printf("%-10s  %s\n", cs_side_names[side], text);
    }
    const char *advice = cs_simulate_advice(&simulation->program, pair);
    char why[2 * MOST_TEXT];
    if (cs_simulate_why(pair, why, sizeof why)) {
        fputs("\nno gain     ", stdout);
        cs_cli_put(why, stdout);
        putchar('\n');
    }
    if (advice)
        printf("\nadvice      %s\n", advice);
}

static void print_fits(const struct cs_simulated_pair *pair)
{
    char bytes[CS_BYTES_TEXT], text[MOST_TEXT];
    printf("\ndoes it fit in %s?\n", cs_table_bytes_text(bytes, cs_simulate_memory(pair)));
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side]) {
            (void)cs_simulate_fits(pair, (enum cs_side)side, text, sizeof text);
            printf("%-10s  %s\n", cs_side_names[side], text);
        }
}

void cs_simulate_print(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair,
                       bool checks)
{
    print_head(simulation, pair);
    print_unplanned(simulation, pair);
    print_figures(pair);
    print_smallest(pair);
    print_processes(pair);
    print_verdicts(simulation, pair);
    print_gpus(pair);
    if (checks)
        print_fits(pair);
    print_notes(simulation, pair);
    cs_written_print(&simulation->layers, stdout);
}
