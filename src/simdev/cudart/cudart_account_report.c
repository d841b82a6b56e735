/* The part of the report that lists work that was not executed. */
#include "cudart_account.h"
#include "cudart_bytes.h"
#include "cudart_time.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NAMES = 64 /* of each kind, the names with the highest counts */
};

struct row {
    const char *name;
    uint64_t count;
};

struct rows {
    struct row *row;
    size_t rows, room;
    uint64_t total;
};

static void collect_row(const char *name, uint64_t count, void *arg)
{
    struct rows *rows = arg;
    rows->total += count;
    if (rows->rows == rows->room) {
        const size_t room = rows->room ? 2 * rows->room : 64;
        struct row *larger = realloc(rows->row, room * sizeof(*larger));
        if (!larger)
            return;
        rows->row = larger;
        rows->room = room;
    }
    rows->row[rows->rows++] = (struct row){.name = name, .count = count};
}

/* The highest count first, equal counts by name, so that every run has the same order. */
static int compare_tallies(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* {"total": n, "names": how many different ones, "most": {name: count}} */
static void add_kind(cJSON *parent, const char *key, enum simdev_tally_kind kind)
{
    struct rows rows = {.row = NULL};
    cJSON *object = cJSON_AddObjectToObject(parent, key);
    simdev_tally_each(kind, collect_row, &rows);
    if (rows.row)
        qsort(rows.row, rows.rows, sizeof(*rows.row), compare_tallies);
    cJSON_AddNumberToObject(object, "total", (double)rows.total);
    cJSON_AddNumberToObject(object, "names", (double)rows.rows);
    cJSON *most = cJSON_AddObjectToObject(object, "most");
    const bool all = kind == SIMDEV_TALLY_PLAN || kind == SIMDEV_TALLY_PROBLEM;
    for (size_t i = 0; rows.row && i < rows.rows && (all || i < MOST_NAMES); i++)
        cJSON_AddNumberToObject(most, rows.row[i].name, (double)rows.row[i].count);
    free(rows.row);
}

void simdev_account_report(cJSON *report)
{
    const struct simdev_unwritten unwritten = simdev_bytes_unwritten();
    cJSON_AddStringToObject(report, "mode", simdev_account_on() ? "account" : "compute");
    cJSON *left_out = cJSON_AddObjectToObject(report, "not_executed");
    add_kind(left_out, "kernels", SIMDEV_TALLY_KERNEL);
    add_kind(left_out, "calls", SIMDEV_TALLY_CALL);
    add_kind(report, "missing", SIMDEV_TALLY_MISSING);
    add_kind(report, "looked_up", SIMDEV_TALLY_LOOKED_UP);
    add_kind(report, "estimated", SIMDEV_TALLY_GUESSED);
    add_kind(report, "plans", SIMDEV_TALLY_PLAN);
    add_kind(report, "problems", SIMDEV_TALLY_PROBLEM);
    cJSON *reads = cJSON_AddObjectToObject(report, "reads_of_nothing_written");
    cJSON_AddNumberToObject(reads, "reads", (double)unwritten.reads);
    cJSON_AddNumberToObject(reads, "bytes", (double)unwritten.bytes);
    add_kind(reads, "by", SIMDEV_TALLY_READER);
    cJSON *times = cJSON_AddObjectToObject(report, "times");
    cJSON_AddStringToObject(times, "from", simdev_account_on() ? "model" : "clock");
    cJSON_AddNumberToObject(times, "asked", (double)simdev_times_told());
}
