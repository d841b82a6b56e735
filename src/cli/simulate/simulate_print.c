/* Prints the results of a simulation: a table of figures, the outcome of each run, and notes that
 * qualify the figures. */
#include "cli/simulate/simulate.h"

#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct figure {
    const char *name, *title;
    enum cs_cell cell;
} figures[] = {
#define CS_FIGURE(name, title, column, cell, value) {#name, title, cell},
#include "cli/simulate/figures.def"
#undef CS_FIGURE
};

enum {
    MOST_TEXT = 768
};

void cs_simulate_values(const struct cs_simulated_result *r, int64_t value[CS_FIGURES])
{
    const int64_t all[CS_FIGURES] = {
#define CS_FIGURE(name, title, column, cell, value) value,
#include "cli/simulate/figures.def"
#undef CS_FIGURE
    };
    memcpy(value, all, sizeof all);
}

static void set_cell(enum cs_cell cell, int64_t value, char text[CS_BYTES_TEXT])
{
    if (value < 0)
        snprintf(text, CS_BYTES_TEXT, "-");
    else if (cell == CS_CELL_TEXT)
        cs_table_time_text(text, value);
    else if (cell == CS_CELL_BYTES)
        cs_table_bytes_text(text, value);
    else
        snprintf(text, CS_BYTES_TEXT, "%" PRId64, value);
}

/* "-37.0 %" */
static void set_change(enum cs_cell cell, const int64_t value[CS_SIDES], char text[CS_BYTES_TEXT])
{
    if (cell == CS_CELL_COUNT || value[CS_WITHOUT] <= 0 || value[CS_WITH] < 0)
        return;
    const double ratio = (double)value[CS_WITH] / (double)value[CS_WITHOUT];
    cs_table_change_text(text, ratio, ratio);
}

/* Tiles read the same memory as the untiled convolutions, and their edges again. */
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

void cs_simulate_figures_json(const struct cs_simulated_result *result, struct cJSON *object)
{
    int64_t value[CS_FIGURES];
    cs_simulate_values(result, value);
    for (int i = 0; i < CS_FIGURES && result->used; i++)
        if (value[i] >= 0)
            cJSON_AddNumberToObject(object, figures[i].name, (double)value[i]);
}

static void figure_values(const struct cs_simulated_pair *pair, int64_t value[CS_FIGURES][CS_SIDES])
{
    for (int side = 0; side < CS_SIDES; side++) {
        int64_t all[CS_FIGURES];
        cs_simulate_values(&pair->result[side], all);
        for (int i = 0; i < CS_FIGURES; i++)
            value[i][side] = pair->chosen[side] && pair->result[side].used ? all[i] : -1;
    }
}

static const struct cs_simulated_result *any_result(const struct cs_simulated_pair *pair)
{
    int side = pair->chosen[CS_WITHOUT] && pair->result[CS_WITHOUT].used ? CS_WITHOUT : CS_WITH;
    return &pair->result[side];
}

static bool was_short(const struct cs_simulated_result *result)
{
    return result->refused > 0 || result->retries > 0;
}

/* If memory is short, the peaks depend on the capacity: a higher one is no loss. */
static bool is_peak(enum cs_figure figure)
{
    return figure == CS_FIGURE_allocated_peak || figure == CS_FIGURE_reserved_peak ||
           figure == CS_FIGURE_device_peak || figure == CS_FIGURE_needed;
}

/* "-3.1 to +1.2 %": with both times that a kernel may take to start. */
static void set_time_change(const struct cs_simulated_pair *pair, char text[CS_BYTES_TEXT])
{
    const struct cs_simulated_result *a = &pair->result[CS_WITHOUT], *b = &pair->result[CS_WITH];
    if (a->predicted_ns <= 0 || b->predicted_ns <= 0 || a->predicted_most_ns <= 0)
        return;
    const double ratio[] = {(double)b->predicted_ns / (double)a->predicted_ns,
                            (double)b->predicted_most_ns / (double)a->predicted_most_ns};
    cs_table_change_text(text, ratio[ratio[0] > ratio[1]], ratio[ratio[0] <= ratio[1]]);
}

bool cs_simulate_figure(const struct cs_simulated_pair *pair, enum cs_figure figure,
                        struct cs_figure_text *text)
{
    int64_t all[CS_FIGURES][CS_SIDES], *value = all[figure];
    const enum cs_cell cell = figures[figure].cell;
    bool both = pair->chosen[CS_WITHOUT] && pair->chosen[CS_WITH],
         short_of = was_short(&pair->result[CS_WITHOUT]) || was_short(&pair->result[CS_WITH]);
    figure_values(pair, all);
    *text = (struct cs_figure_text){.title = figures[figure].title};
    if (both && !(short_of && is_peak(figure)))
        set_change(cell, value, text->change);
    if (both && figure == CS_FIGURE_predicted_ns)
        set_time_change(pair, text->change);
    if (figure == CS_FIGURE_tensor_bytes)
        make_difference(value, both);
    for (int side = 0; side < CS_SIDES; side++)
        set_cell(cell, value[side], text->side[side]);
    return is_shown(figure, pair, value);
}

static void print_figures(const struct cs_simulated_pair *pair)
{
    struct cs_figure_text text;
    if (!any_result(pair)->used)
        return;
    printf("%-24s", "");
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            printf("%14s", side == CS_WITH ? "with convshim" : "without");
    putchar('\n');
    for (int i = 0; i < CS_FIGURES; i++) {
        if (!figures[i].title || !cs_simulate_figure(pair, (enum cs_figure)i, &text))
            continue;
        printf("  %-22s", text.title);
        for (int side = 0; side < CS_SIDES; side++)
            if (pair->chosen[side])
                printf("%14s", text.side[side]);
        printf(*text.change ? "  %8s\n" : "\n", text.change);
    }
}

int64_t cs_simulate_memory(const struct cs_simulated_pair *pair)
{
    return pair->capacity > 0 ? pair->capacity : pair->device->memory;
}

/* A row of the peaks of one kind on each GPU. */
static void print_gpu_row(const struct cs_simulated_pair *pair, const char *title, size_t member)
{
    char text[CS_BYTES_TEXT];
    printf("  %-22s", title);
    for (int gpu = 0; gpu < pair->gpus; gpu++)
        for (int side = 0; side < CS_SIDES; side++) {
            const struct cs_gpu_peaks *peaks = &pair->result[side].gpu[gpu];
            const int64_t bytes = *(const int64_t *)((const char *)peaks + member);
            if (pair->chosen[side])
                printf("%12s", bytes < 0 ? "-" : cs_table_bytes_text(text, bytes));
        }
    putchar('\n');
}

/* Peaks on each GPU, if there are several. */
static void print_gpus(const struct cs_simulated_pair *pair)
{
    const struct cs_simulated_result *any = any_result(pair);
    char title[32];
    if (pair->gpus < 2 || !any->used)
        return;
    printf("\n%-24s", "");
    for (int gpu = 0; gpu < pair->gpus; gpu++)
        for (int side = 0; side < CS_SIDES; side++) {
            snprintf(title, sizeof title, "GPU %d", gpu);
            if (pair->chosen[side])
                printf("%12s", side == CS_WITH && pair->chosen[CS_WITHOUT] ? "with" : title);
        }
    putchar('\n');
    print_gpu_row(pair, "allocated peak", offsetof(struct cs_gpu_peaks, allocated));
    print_gpu_row(pair, "reserved peak", offsetof(struct cs_gpu_peaks, reserved));
    print_gpu_row(pair, "device peak", offsetof(struct cs_gpu_peaks, device_peak));
    print_gpu_row(pair, "with the context", offsetof(struct cs_gpu_peaks, needed));
}

/* --- how it ran --- */

static void say_failed(const struct cs_simulated_result *result, char *text, size_t size)
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
                 "Cannot be simulated: %s contains its own CUDA runtime, which does not run on the "
                 "simulated GPU.",
                 cs_path_file(result->linked_runtime));
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

/* How memory was, of a run that ended well or was stopped. */
static void say_pressure(const struct cs_simulated_pair *pair, enum cs_side side, char *text,
                         size_t size)
{
    const struct cs_simulated_result *result = &pair->result[side];
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
    const struct cs_simulated_result *result = &pair->result[side];
    size_t length = 0;
    if (cs_simulated_result_stopped(result))
        length = (size_t)snprintf(text, size,
                                  "Stopped by signal %d. Until then: ", result->status - 128);
    if (!cs_simulated_result_ran(result))
        say_failed(result, text, size);
    else
        say_pressure(pair, side, text + length, size - length);
    length = strlen(text);
    if (result->cut_short)
        snprintf(text + length, size - length,
                 " The process was killed or called _exit, so it wrote no report. The figures are "
                 "the last that the device stored.");
}

/* --- notes on the figures --- */

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
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

static void note_left_out(const struct cs_simulated_result *result)
{
    char names[MOST_TEXT], bytes[CS_BYTES_TEXT], calls[64] = "";
    add_count(calls, sizeof calls, result->kernels, "kernel", "kernels");
    add_count(calls, sizeof calls, result->library_calls, "call of another library",
              "calls of other libraries");
    if (*calls)
        note(
            "Large operations were counted, not computed: %s. Files that the program saves contain "
            "no results.",
            calls);
    if (result->reads > 0) {
        (void)cs_simulated_result_names(result, "reads_of_nothing_written.by", names, sizeof names);
        note("The program read %" PRId64 " result%s that were not computed (%s), and got zeros. "
             "So it may decide otherwise on a GPU. Calls: %s.",
             result->reads, result->reads == 1 ? "" : "s",
             cs_table_bytes_text(bytes, result->read_bytes), names);
    }
    if (cs_simulated_result_unknown(result, names, sizeof names) > 0)
        note("These lines of the program use values that were not computed, so they may decide "
             "otherwise on a GPU: %s.",
             names);
    if (cs_simulated_result_names(result, "estimated", names, sizeof names) > 0)
        note("These sizes are estimates, because only a GPU reports them: %s.", names);
    if (cs_simulated_result_names(result, "missing", names, sizeof names) > 0)
        note("The program called functions that are not simulated. They did nothing: %s.", names);
    /* Libraries look up whole lists of functions. Only a failed program may have needed one. */
    if (!cs_simulated_result_ran(result) && !*result->linked_runtime &&
        cs_simulated_result_names(result, "looked_up", names, sizeof names) > 0)
        note("The program looked for driver functions that are not simulated, and may need them: "
             "%s.",
             names);
    if (result->times_asked > 0)
        note("The program measured the time of GPU work %" PRId64
             " times, for example to find the fastest algorithm. The simulated GPU has no real "
             "times, so the program may choose otherwise on a GPU.",
             result->times_asked);
}

/* True if the program ran on the GPU on that side. */
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
        is_usable(&pair->result[CS_WITHOUT]) != is_usable(&pair->result[CS_WITH]) &&
        !cs_simulated_result_out_of_memory(&pair->result[CS_WITHOUT]) &&
        !cs_simulated_result_out_of_memory(&pair->result[CS_WITH]))
        note("The two runs were parallel. If the program cannot run twice at the same time, for "
             "example because of a fixed port: --jobs 1");
}

static void print_notes(const struct cs_simulation *simulation,
                        const struct cs_simulated_pair *pair)
{
    const struct cs_simulated_result *result = any_result(pair);
    char bytes[CS_BYTES_TEXT];
    puts("\nnotes");
    note("CUDA's context takes %s of the GPU's memory for each process. To set it: --context SIZE",
         cs_table_bytes_text(bytes, pair->context));
    note_parallel(simulation, pair);
    if (!result->used)
        return;
    note_left_out(result);
    if (was_short(&pair->result[CS_WITHOUT]) || was_short(&pair->result[CS_WITH]))
        note("Memory was short, so the peaks depend on the memory of the GPU. Compare retries, "
             "failed allocations and other engines instead.");
    if (strncmp(result->framework, "PyTorch ", strlen("PyTorch ")) == 0 &&
        !cs_cli_variable("PYTORCH_CUDA_ALLOC_CONF") && !cs_cli_variable("PYTORCH_ALLOC_CONF"))
        note("All runs used PyTorch's expandable segments, which convshim run switches on. They "
             "usually save memory. To simulate without them: "
             "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False");
    if (strncmp(result->framework, "JAX ", strlen("JAX ")) == 0 &&
        !cs_cli_variable("XLA_PYTHON_CLIENT_PREALLOCATE"))
        note("JAX takes three quarters of the GPU's memory when it starts, so the reserved and the "
             "device peak do not show what the program needs. To switch that off: "
             "XLA_PYTHON_CLIENT_PREALLOCATE=false");
    if (!*result->framework)
        note("Allocated and reserved peaks are unknown, because no framework reported them.");
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
    const char by[] = "cudnn "; /* not there where no convolution was planned */
    if (result->used && strncmp(result->planning, by, strlen(by)) == 0)
        printf("sizes       by cuDNN %s%s%s, in %s\n", result->planning + strlen(by),
               *framework ? " of " : "", framework, program->folder);
    putchar('\n');
}

static void print_unplanned(const struct cs_simulation *simulation,
                            const struct cs_simulated_pair *pair)
{
    const char *foreign = simulation->program.foreign;
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side] && !pair->result[side].planned) {
            printf("NO REAL cuDNN WAS USED: the sizes are from %s, and the figures may be far "
                   "off.\n%s\n\n",
                   *pair->result[side].planning ? pair->result[side].planning : "nothing",
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
    static const char *const titles[] = {"runs", "keeps its engines"};
    char text[CS_BYTES_TEXT];
    if (pair->smallest[CS_WITHOUT].runs <= 0 && pair->smallest[CS_WITH].runs <= 0)
        return;
    puts("\nsmallest capacity on which it");
    for (int i = 0; i < 2; i++) {
        printf("  %-22s", titles[i]);
        for (int side = 0; side < CS_SIDES; side++) {
            const struct cs_smallest *smallest = &pair->smallest[side];
            if (pair->chosen[side])
                printf("%14s", capacity_text(i == 0 ? smallest->runs : smallest->engines, text));
        }
        putchar('\n');
    }
}

/* The processes of a side, where there are several. */
static void print_processes(const struct cs_simulated_pair *pair)
{
    char bytes[CS_BYTES_TEXT];
    for (int side = 0; side < CS_SIDES; side++) {
        const struct cs_simulated_result *result = &pair->result[side];
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
        if (result->sum_is_exact)
            printf("  The device peak is the most that they held at the same time. The sum of "
                   "their peaks is %s.\n",
                   cs_table_bytes_text(bytes, sum));
        else
            puts("  The device peak is the sum of their peaks. They may have held less at the same "
                 "time.");
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

static void add_numbers(struct cs_table *table, const char *name, int64_t without, int64_t with)
{
    const int64_t value[CS_SIDES] = {without, with};
    char text[CS_SIDES][CS_BYTES_TEXT];
    for (int side = 0; side < CS_SIDES; side++)
        snprintf(text[side], CS_BYTES_TEXT, "%" PRId64, value[side]);
    cs_table_add(table, (const struct cs_value[]){{.text = name},
                                                  {.text = without >= 0 ? text[0] : NULL},
                                                  {.text = with >= 0 ? text[1] : NULL}});
}

static void add_smallest(struct cs_table *table, const struct cs_simulated_pair *pair)
{
    const struct cs_smallest *a = &pair->smallest[CS_WITHOUT], *b = &pair->smallest[CS_WITH];
    if (a->runs <= 0 && b->runs <= 0)
        return;
    add_numbers(table, "smallest_capacity", a->runs > 0 ? a->runs : -1, b->runs > 0 ? b->runs : -1);
    add_numbers(table, "smallest_capacity_same_engines", a->runs > 0 ? a->engines : -1,
                b->runs > 0 ? b->engines : -1);
}

/* How it ended, so that figures of a run that died are not taken for more. */
static void add_ends(struct cs_table *table, const struct cs_simulated_pair *pair)
{
    char text[CS_SIDES][MOST_TEXT];
    const char *fits[CS_SIDES] = {NULL};
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            fits[side] =
                cs_answer_names[cs_simulate_fits(pair, (enum cs_side)side, text[side], MOST_TEXT)];
    cs_table_add(table, (const struct cs_value[]){
                            {.text = "fits"}, {.text = fits[CS_WITHOUT]}, {.text = fits[CS_WITH]}});
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            cs_simulate_verdict(pair, (enum cs_side)side, text[side], MOST_TEXT);
    add_numbers(table, "status", pair->chosen[CS_WITHOUT] ? pair->result[CS_WITHOUT].status : -1,
                pair->chosen[CS_WITH] ? pair->result[CS_WITH].status : -1);
    cs_table_add(table,
                 (const struct cs_value[]){{.text = "verdict"},
                                           {.text = pair->chosen[CS_WITHOUT] ? text[0] : NULL},
                                           {.text = pair->chosen[CS_WITH] ? text[1] : NULL}});
}

static bool print_csv(const struct cs_simulated_pair *pair)
{
    static const struct cs_column columns[] = {
        {"figure", "", CS_CELL_TEXT}, {"without", "", CS_CELL_TEXT}, {"with", "", CS_CELL_TEXT}};
    struct cs_table table;
    int64_t value[CS_FIGURES][CS_SIDES];
    figure_values(pair, value);
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < CS_FIGURES; i++)
        add_numbers(&table, figures[i].name, value[i][CS_WITHOUT], value[i][CS_WITH]);
    add_smallest(&table, pair);
    add_ends(&table, pair);
    bool printed = cs_table_print(&table, CS_FORMAT_CSV, stdout);
    cs_table_fini(&table);
    return printed;
}

bool cs_simulate_print(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair,
                       bool checks, enum cs_format format)
{
    if (format == CS_FORMAT_CSV)
        return print_csv(pair);
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
    return true;
}
