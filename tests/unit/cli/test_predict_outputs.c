/* `convshim predict`: refused arguments and files. They are refused before cuDNN is opened, so none
 * is needed. The predictions themselves are compared with cuDNN's plans by
 * tests/system/predict*.bats. */
#include "golden.h"

static char folder[] = "/tmp/convshim-outputs-XXXXXX", root[PATH_MAX];

#define PREDICT "predict --devices conf --device h100 "
#define ANSWERS(rows) golden_answers(cs_cli_predict, rows, sizeof rows / sizeof *rows)

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void refused_options(void)
{
    static const struct golden_answer rows[] = {
        {"predict 1x8x8x8", 2, "->"},
        {"predict --layers none.csv", 2, "none.csv"},
        {"predict --summary none.json", 2, "none.json"},
        {"predict --layers list.csv --devices conf --device h1000", 2, "'h100'"},
        {"predict --layers list.csv --devices nowhere", 2, "nowhere"},
        {"predict --layers list.csv --devices conf --device none.json", 2, "none.json"},
        {PREDICT "--layers list.csv --format xml", 2, "--format"},
        {"predict '1x8x8x8 -> 8 k3x3' --cudnn x", 3, "no usable cuDNN: x"},
        {PREDICT, 2, "no convolution given. Write one, such as '1x512x64x64 -> 512 k3x3 s1 p1"},
        {PREDICT "--layers a '1x8x8x8 -> 8 k3x3'", 2,
         "a convolution, --layers and --summary exclude"},
        {PREDICT "--layers a --summary b", 2, "a convolution, --layers and --summary exclude"},
        {PREDICT "'1x8x8x8 -> 8 k3x3' more", 2, "'more': only one convolution is allowed"},
        {PREDICT "--layers list.csv --policy fit2", 2, "policy 'fit2'; did you mean 'fit'?"},
        {PREDICT "--layers list.csv --policy elephants", 2, "unknown policy 'elephants'"},
        {PREDICT "--layers ''", 2, "option '--layers' needs a value"},
        {PREDICT "--layers list.csv --workspace 12", 2, "auto, or 1KiB to 1TiB"},
        {PREDICT "--layers list.csv --max-slowdown 0.5", 2, "off, or 1 to 1000"},
        {PREDICT "--layers list.csv --dtype f64", 2, "f32, f16 or bf16"},
        {PREDICT "--layers list.csv --dir down", 2, "fwd, dgrad or wgrad"},
        {PREDICT "--layers list.csv --layout chwn", 2, "nchw or nhwc"},
        {PREDICT "--layers list.csv --program p", 2, "--program needs --config"},
        {PREDICT "--layers list.csv --script s", 2, "--script needs --config"},
        {PREDICT "--layers list.csv --config none.ini", 2, "none.ini: cannot be read: "},
        {PREDICT "--layers list.csv --devise h200", 2, "'--device'"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 gx'", 2, "gx"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 g2x2'", 2, "g2x2"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 g0'", 2, "groups"},
        {PREDICT "'0x8x8x8 -> 8 k3x3'", 2, "n is 0"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 s0'", 2, "s along H is 0"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 s1x2x3'", 2, "s1x2x3"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 dx'", 2, "dx"},
        {PREDICT "'1x8x8 -> 8 k3x3'", 2, "x has 1 spatial extent. Write one number for all"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 f16 f32'", 2, "\"f32\": an earlier word sets the same"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 channels_last'", 2, "allowed: k3x3, s1, p1, d1, g1, f16"},
        {PREDICT "list.csv", 2, "list.csv: a file, not a convolution"},
        {PREDICT "--layers list.csv --csv", 2, "--csv"},
        {PREDICT "--layers", 2, "--layers"}};
    ANSWERS(rows);
}

static void refused_shapes(void)
{
    static const struct golden_answer rows[] = {
        {PREDICT "'1x3x8x8 -> 4 k3x3 p9223372036854775807'", 2, "beyond 64 bits"},
        {PREDICT "'4294967296x4294967296x1x1 -> 1 k1x1'", 2, "beyond 64 bits"},
        {PREDICT "'1x8x8x8 ->'", 2, "1x8x8x8 ->"},
        {PREDICT "'1x8x8x8 -> 8 k3x3x3'", 2, "k3x3x3"},
        {PREDICT "'1x8x8x8 -> 8 k9x3'", 2, "along H"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 s0'", 2, "s along H is 0"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 g3'", 2, "3 groups"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 z9'", 2, "z9"},
        {PREDICT "'1x8x8x8 -> x k3x3'", 2, "-> x"},
        {PREDICT "'0x8x8x8 -> 8 k3x3'", 2, "n is 0"},
        {PREDICT "'1x8 -> 8 k3x3'", 2, "1x8 ->"},
        {PREDICT "'1x2x3x4x5x6 -> 8 k3x3'", 2, "1x2x3x4x5x6"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 p1x2x3'", 2, "p1x2x3"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 p-1'", 2, "-1"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 pone'", 2, "pone"},
        {PREDICT "'1x8x8x8 -> 8 k9x9 p0'", 2, "along H"},
        {PREDICT "'x -> 8 k3x3'", 2, "x -> 8"},
        {PREDICT "'1x8x8x8 -> 8 k3x3x'", 2, "k3x3x"},
        {PREDICT "'1x8x8x0 -> 8 k3x3'", 2, "w is 0"},
        {PREDICT "'1x8x8x99999999999999999999 -> 8 k3x3'", 2, "9999 -> 8"}};
    ANSWERS(rows);
}

struct file_answer {
    const char *text;
    int status;
    const char *phrase;
};

/* A refusal names the file. */
static void check_files(const char *path, const char *option, const struct file_answer *row,
                        size_t rows)
{
    char line[256];
    snprintf(line, sizeof line, PREDICT "%s %s", option, path);
    for (size_t i = 0; i < rows; i++) {
        int status;
        write_file(path, row[i].text);
        char *text = golden_output(cs_cli_predict, line, &status);
        bool good = status == row[i].status && strstr(text, row[i].phrase) &&
                    (status == 0 || strstr(text, path));
        if (!good && check_fails(__LINE__))
            printf("# %s:\n# status %d, without \"%s\":\n# %s", row[i].text, status, row[i].phrase,
                   text);
        free(text);
    }
}

static void lists(void)
{
    static const struct file_answer rows[] = {
        {"", 2, "no layer"},
        {"# a remark\n\n \n", 2, "no layer"},
        {"model,layer\n", 2, ":1: \"model\" does not begin in the form of 1x512x64x64 -> 512"},
        {"1x8x8x8 -> 8 k3x3, a, b, c\n", 2, ":1: more than 3 columns"},
        {"1x8x8x8 -> 8 k3x3\r\n\n# a remark\n1x8x8x8 -> 8 k9x3, wide\n", 2, ":4: along H"},
        {"1x8x8x8 -> 8 k3x3 p-1, wide\n", 2, ":1: p along H is -1"},
        {"4194304x4194304x4194304x4194304 -> 8 k3x3\n", 2, ":1: "}};
    check_files("wrong.csv", "--layers", rows, sizeof rows / sizeof *rows);
}

#define SUMMARY "{\"schema\":\"convshim summary\",\"version\":1,"

static void summaries(void)
{
    static const struct file_answer rows[] = {
        {"", 2, "not valid JSON"},
        {"{}", 2, "not a summary of convshim"},
        {"7", 2, "not a summary of convshim"},
        {"{\"schema\":\"convshim summary\",\"version\":2,\"sites\":[]}", 2, "another version"},
        {SUMMARY "\"sites\":7}", 2, "'sites'"},
        {SUMMARY "\"sites\":[]}", 2, "no layer"},
        {SUMMARY "\"sites\":[{\"calls\":1,\"problem\":{}}]}", 2, "element 1 of sites: "},
        {SUMMARY "\"sites\":[{\"calls\":0},{\"calls\":1,\"problem\":{\"spatial\":9}}]}", 2,
         "element 2 of sites: "}};
    check_files("made.json", "--summary", rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    char remove[64], conf[PATH_MAX + 32];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root))
        return 1;
    snprintf(conf, sizeof conf, "%s/conf/devices", root);
    if (chdir(folder) != 0 || symlink(conf, "conf") != 0)
        return 1;
    write_file("list.csv", "1x8x8x8 -> 8 k3x3\n");
    TEST(refused_options);
    TEST(refused_shapes);
    TEST(lists);
    TEST(summaries);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
