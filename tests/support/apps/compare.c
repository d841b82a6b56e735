/* Compares two files of convolution outputs, element by element. */
#include "client.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 10

enum rule {
    RULE_EXACT,
    RULE_BOUNDS,
    RULE_ULPS,
    RULE_REFERENCE
};

struct options {
    enum rule rule;
    bool rule_given;
    double relative, absolute;
    int64_t ulps;
    bool raw; /* whole files are float32 */
    const char *json;
    const char *paths[3]; /* A, B and, for RULE_REFERENCE, the reference */
};

/* Squared errors against the reference, in units of each record's largest magnitude. */
struct errors {
    double squares[2]; /* of A and of B, over all elements of a type */
    uint64_t elements;
};

struct tally {
    uint64_t records, elements, differ;
    double worst_absolute, worst_relative, largest;
    int lines;
    bool faulty;             /* headers, counts or file ends */
    struct errors errors[3]; /* f32, f16, bf16 */
};

struct record {
    char *header; /* the line without its line feed */
    size_t room;
    void *data;
    size_t bytes;
    cudnnDataType_t type;
    bool reference; /* the data are doubles, independent of the type in the header */
};

static const char USAGE[] =
    "usage: compare [--exact | --rel X --abs Y | --ulps N | --reference R] [--float32]\n"
    "               [--json PATH] A B\n"
    "Compares two dumps of conv_random, or with --float32 two files of raw float32 numbers.\n"
    "--exact (the default) asks for equal values (+0 and -0 are equal, so are two NaN), "
    "--rel and\n"
    "--abs for |a - b| <= Y + X max(|a|, |b|), --ulps for at most N representable numbers of "
    "the\n"
    "type between a and b, --reference for B to be no further from the doubles of R, which "
    "conv_random\n"
    "wrote, than A is: the root of the mean square at most 1.1 times as large, the largest error "
    "twice.\n"
    "Status: 0 equal, 1 different or not readable, 2 on usage.\n";

/* Numbers the values of a type in their order; both zeros get 0. */
static int64_t rank_of(cudnnDataType_t type, const void *base, size_t index)
{
    int64_t bits;
    int64_t sign;
    if (type == CUDNN_DATA_FLOAT) {
        bits = ((const uint32_t *)base)[index];
        sign = INT64_C(1) << 31;
    } else {
        bits = ((const uint16_t *)base)[index];
        sign = INT64_C(1) << 15;
    }
    return (bits & sign) != 0 ? -(bits - sign) : bits;
}

static bool element_within(const struct options *options, const struct record *a,
                           const struct record *b, size_t index)
{
    double x = (double)dtype_load(a->type, a->data, index);
    double y = (double)dtype_load(b->type, b->data, index);
    if (x == y || (isnan(x) && isnan(y)))
        return true;
    if (options->rule == RULE_EXACT || !isfinite(x) || !isfinite(y))
        return false;
    if (options->rule == RULE_BOUNDS)
        return fabs(x - y) <= options->absolute + options->relative * fmax(fabs(x), fabs(y));
    return llabs(rank_of(a->type, a->data, index) - rank_of(b->type, b->data, index)) <=
           options->ulps;
}

static double element_distance(const struct record *a, const struct record *b, size_t index)
{
    double x = (double)dtype_load(a->type, a->data, index);
    double y = (double)dtype_load(b->type, b->data, index);
    if (x == y || (isnan(x) && isnan(y)))
        return 0.0;
    return isfinite(x) && isfinite(y) ? fabs(x - y) : (double)INFINITY;
}

static double magnitude(const struct record *record, size_t index)
{
    double value = fabs((double)dtype_load(record->type, record->data, index));
    return isfinite(value) ? value : 0.0;
}

static void report_worst(const struct record *a, const struct record *b, size_t index,
                         struct tally *tally)
{
    if (tally->lines++ >= MAX_LINES)
        return;
    printf("%s: element %zu: %.9g and %.9g\n", a->header, index,
           (double)dtype_load(a->type, a->data, index),
           (double)dtype_load(b->type, b->data, index));
}

static void compare_elements(const struct options *options, const struct record *a,
                             const struct record *b, struct tally *tally)
{
    size_t count = a->bytes / dtype_size(a->type);
    size_t worst = 0;
    double worst_distance = 0.0;
    uint64_t differ = 0;
    for (size_t i = 0; i < count; i++) {
        double distance = element_distance(a, b, i);
        double scale = fmax(magnitude(a, i), magnitude(b, i));
        bool within = element_within(options, a, b, i);
        tally->largest = fmax(tally->largest, scale);
        differ += !within;
        if (distance > 0.0)
            tally->worst_relative = fmax(tally->worst_relative, distance / scale);
        if (!within && distance > worst_distance) {
            worst_distance = distance;
            worst = i;
        }
        tally->worst_absolute = fmax(tally->worst_absolute, distance);
    }
    tally->elements += count;
    tally->differ += differ;
    if (differ > 0)
        report_worst(a, b, worst, tally);
}

/* Half the distance of the numbers of a type at one. */
static double half_unit(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT ? 0x1p-24 : type == CUDNN_DATA_HALF ? 0x1p-11 : 0x1p-8;
}

static struct errors *errors_of(struct tally *tally, cudnnDataType_t type)
{
    return &tally->errors[type == CUDNN_DATA_FLOAT ? 0 : type == CUDNN_DATA_HALF ? 1 : 2];
}

/* Other orders of summation round differently, sometimes better and sometimes worse. The error over
 * all elements must not grow. A record may have few elements, whose mean depends on chance, so one
 * rounding of its largest number is allowed in addition. Over all records of a type (finish_errors)
 * the influence of chance is small, and nothing is allowed in addition. */
static void compare_errors(const struct record *const *records, struct tally *tally)
{
    const double *exact = records[2]->data;
    cudnnDataType_t type = records[0]->type;
    size_t count = records[0]->bytes / dtype_size(type);
    double squares[2] = {0.0, 0.0};
    double worst[2] = {0.0, 0.0};
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(exact[i]));
        for (int side = 0; side < 2; side++) {
            double error = fabs((double)dtype_load(type, records[side]->data, i) - exact[i]);
            squares[side] += error * error;
            /* Not fmax, which would lose a NaN. */
            worst[side] = error <= worst[side] ? worst[side] : error;
        }
    }
    double slack = half_unit(type) * largest;
    double mean = sqrt(squares[0] / (double)count);
    bool good = sqrt(squares[1] / (double)count) <= 1.1 * mean + slack &&
                worst[1] <= 2.0 * worst[0] + slack;
    tally->elements += count;
    if (count > 0 && !good) {
        tally->differ += count;
        if (tally->lines++ < MAX_LINES)
            printf("%s: worst errors %.6g and %.6g, squares %.6g and %.6g\n", records[0]->header,
                   worst[0], worst[1], squares[0], squares[1]);
    }
    if (count > 0 && largest > 0.0) {
        struct errors *errors = errors_of(tally, type);
        errors->elements += count;
        for (int side = 0; side < 2; side++)
            errors->squares[side] += squares[side] / (largest * largest);
    }
}

/* The whole of every type. */
static void finish_errors(struct tally *tally)
{
    static const char *const names[] = {"f32", "f16", "bf16"};
    for (int i = 0; i < 3; i++) {
        const struct errors *errors = &tally->errors[i];
        if (errors->elements == 0)
            continue;
        double mean[2];
        for (int side = 0; side < 2; side++)
            mean[side] = sqrt(errors->squares[side] / (double)errors->elements);
        printf("%s: %" PRIu64 " elements, mean errors %.6g and %.6g of the largest number\n",
               names[i], errors->elements, mean[0], mean[1]);
        if (!(mean[1] <= 1.1 * mean[0]))
            tally->differ += errors->elements;
    }
}

static void fault(struct tally *tally, const char *path, const char *text)
{
    tally->faulty = true;
    fprintf(stderr, "compare: %s: %s\n", path, text);
}

/* The word after " NAME=" in the header, or NULL. */
static const char *find_field(const char *header, const char *name)
{
    const char *at = strstr(header, name);
    return at != NULL ? at + strlen(name) : NULL;
}

static bool parse_header(struct record *record)
{
    const char *type = find_field(record->header, " dtype=");
    const char *bytes = find_field(record->header, " bytes=");
    char name[8];
    if (type == NULL || bytes == NULL || sscanf(type, "%7[a-z0-9]", name) != 1)
        return false;
    char *end;
    errno = 0;
    record->bytes = strtoull(bytes, &end, 10);
    if (*end != '\0' || end == bytes || errno != 0 || record->bytes > UINT32_MAX ||
        !dtype_parse(name, &record->type))
        return false;
    size_t element = record->reference ? sizeof(double) : dtype_size(record->type);
    return record->bytes % element == 0;
}

static bool read_data(FILE *file, struct record *record)
{
    void *grown = realloc(record->data, record->bytes > 0 ? record->bytes : 1);
    if (grown == NULL)
        return false;
    record->data = grown;
    return record->bytes == 0 || fread(record->data, record->bytes, 1, file) == 1;
}

enum reading {
    READ_RECORD,
    READ_END,
    READ_BROKEN
};

/* At the end, record->bytes is the number of records that the file claims. */
static enum reading read_record(FILE *file, struct record *record)
{
    ssize_t length = getline(&record->header, &record->room, file);
    if (length <= 0 || record->header[length - 1] != '\n')
        return READ_BROKEN;
    record->header[length - 1] = '\0';
    if (sscanf(record->header, "end records=%zu", &record->bytes) == 1)
        return fgetc(file) == EOF ? READ_END : READ_BROKEN;
    bool good = strncmp(record->header, "record=", 7) == 0 && parse_header(record) &&
                read_data(file, record);
    return good ? READ_RECORD : READ_BROKEN;
}

/* True if each file has another record. Prints faults. */
static bool read_records(const struct options *options, FILE *const *files, int count,
                         struct record *records, struct tally *tally)
{
    enum reading reading[3];
    bool more = true;
    for (int i = 0; i < count; i++) {
        reading[i] = read_record(files[i], &records[i]);
        more = more && reading[i] == READ_RECORD;
        if (reading[i] == READ_BROKEN)
            fault(tally, options->paths[i], "truncated or not a dump");
        if (reading[i] == READ_END && records[i].bytes != tally->records)
            fault(tally, options->paths[i],
                  "the count at its end is not the number of its records");
    }
    for (int i = 1; i < count; i++)
        if (reading[i] != reading[0] && !tally->faulty)
            fault(tally, options->paths[reading[0] == READ_END ? 0 : i], "has fewer records");
    return more;
}

/* The problem and how it went; the number of bytes must fit the number of elements. */
static bool same_problem(const struct record *a, const struct record *reference)
{
    size_t length = (size_t)(find_field(a->header, " bytes=") - a->header);
    return strncmp(a->header, reference->header, length) == 0 &&
           a->bytes / dtype_size(a->type) == reference->bytes / sizeof(double);
}

/* True if there may be more. */
static bool compare_record(const struct options *options, FILE *const *files,
                           struct record *records, struct tally *tally)
{
    const struct record *const all[] = {&records[0], &records[1], &records[2]};
    bool wide = options->rule == RULE_REFERENCE;
    if (!read_records(options, files, wide ? 3 : 2, records, tally))
        return false;
    tally->records++;
    const struct record *other = &records[1];
    bool same = strcmp(records[0].header, other->header) == 0;
    if (same && wide) {
        other = &records[2];
        same = same_problem(&records[0], other);
    }
    if (!same) {
        tally->faulty = true;
        if (tally->lines++ < MAX_LINES)
            printf("headers differ:\n  %s\n  %s\n", records[0].header, other->header);
        return true;
    }
    if (wide)
        compare_errors(all, tally);
    else
        compare_elements(options, &records[0], &records[1], tally);
    return true;
}

static bool read_raw(FILE *file, const char *path, struct record *record, struct tally *tally)
{
    record->type = CUDNN_DATA_FLOAT;
    record->header = strdup(path);
    long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    rewind(file);
    record->bytes = bytes > 0 ? (size_t)bytes : 0;
    if (record->header == NULL || record->bytes == 0 || record->bytes % sizeof(float) != 0 ||
        !read_data(file, record)) {
        fault(tally, path, "cannot be read as float32 numbers");
        return false;
    }
    return true;
}

static void compare_raw(const struct options *options, FILE *const *files, struct record *records,
                        struct tally *tally)
{
    for (int i = 0; i < 2; i++)
        if (!read_raw(files[i], options->paths[i], &records[i], tally))
            return;
    if (records[0].bytes != records[1].bytes) {
        fault(tally, options->paths[1], "not as long as the other");
        return;
    }
    tally->records = 1;
    compare_elements(options, &records[0], &records[1], tally);
}

static bool write_json(const char *path, const struct tally *tally)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return false;
    }
    /* JSON has no infinity: the largest double replaces it. */
    fprintf(file,
            "{\"records\": %" PRIu64 ", \"elements\": %" PRIu64 ", \"differ\": %" PRIu64
            ", \"max_abs_diff\": %.9g, \"max_rel_diff\": %.9g, \"max_magnitude\": %.9g}\n",
            tally->records, tally->elements, tally->differ, fmin(tally->worst_absolute, 1e308),
            fmin(tally->worst_relative, 1e308), tally->largest);
    return fclose(file) == 0;
}

static bool compare_files(const struct options *options, struct tally *tally)
{
    FILE *files[3] = {NULL, NULL, NULL};
    struct record records[3] = {{.header = NULL}, {.header = NULL}, {.reference = true}};
    int count = options->rule == RULE_REFERENCE ? 3 : 2;
    bool good = true;
    for (int i = 0; i < count; i++) {
        files[i] = fopen(options->paths[i], "rb");
        if (files[i] == NULL) {
            perror(options->paths[i]);
            good = false;
        }
    }
    if (good && options->raw)
        compare_raw(options, files, records, tally);
    else if (good)
        while (compare_record(options, files, records, tally))
            continue;
    if (good && tally->records == 0 && !tally->faulty)
        fault(tally, options->paths[0], "has no records");
    if (good && options->rule == RULE_REFERENCE)
        finish_errors(tally);
    for (int i = 0; i < 3; i++) {
        if (files[i] != NULL)
            fclose(files[i]);
        free(records[i].header);
        free(records[i].data);
    }
    return good && !tally->faulty;
}

static bool pick_rule(enum rule rule, struct options *options)
{
    if (options->rule_given && options->rule != rule) {
        fputs("--exact, --rel with --abs, --ulps and --reference exclude each other\n", stderr);
        return false;
    }
    options->rule = rule;
    options->rule_given = true;
    return true;
}

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    switch (option) {
    case 'e':
        return pick_rule(RULE_EXACT, options);
    case 'r':
        return pick_rule(RULE_BOUNDS, options) && option_real("rel", value, &options->relative);
    case 'a':
        return pick_rule(RULE_BOUNDS, options) && option_real("abs", value, &options->absolute);
    case 'u':
        return pick_rule(RULE_ULPS, options) &&
               option_number("ulps", value, 0, UINT32_MAX, &options->ulps);
    case 'x':
        options->paths[2] = value;
        return pick_rule(RULE_REFERENCE, options);
    case 'f':
        options->raw = true;
        return true;
    case 'j':
        options->json = value;
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"exact", no_argument, NULL, 'e'},
                                          {"rel", required_argument, NULL, 'r'},
                                          {"abs", required_argument, NULL, 'a'},
                                          {"ulps", required_argument, NULL, 'u'},
                                          {"reference", required_argument, NULL, 'x'},
                                          {"float32", no_argument, NULL, 'f'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.rule = RULE_EXACT};
    struct tally tally = {0};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 2);
    if (status >= 0)
        return status;
    if (options.raw && options.rule == RULE_REFERENCE) {
        fputs("--reference is about dumps of conv_random\n", stderr);
        return 2;
    }
    options.paths[0] = argv[optind];
    options.paths[1] = argv[optind + 1];
    bool good = compare_files(&options, &tally);
    if (options.json != NULL && !write_json(options.json, &tally))
        good = false;
    printf("compare: %" PRIu64 " records, %" PRIu64 " elements, %" PRIu64
           " differ, worst abs %.6g, worst rel %.6g\n",
           tally.records, tally.elements, tally.differ, tally.worst_absolute, tally.worst_relative);
    return good && tally.differ == 0 ? 0 : 1;
}
