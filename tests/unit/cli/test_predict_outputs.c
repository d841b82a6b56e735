/* `convshim predict` by the rule of thumb: each format for one convolution and a list, the accepted
 * and refused arguments, and that all memory is freed. */
#include "account/account.h"
#include "cli/common/read_file.h"
#include "golden.h"
#include <cjson/cJSON.h>

static char folder[] = "/tmp/convshim-outputs-XXXXXX", root[PATH_MAX];

#define PREDICT "predict --estimate --devices conf --device h100 "
#define RUN(line) golden_line(cs_cli_predict, PREDICT line)
#define ANSWERS(rows) golden_answers(cs_cli_predict, rows, sizeof rows / sizeof *rows)
#define LAYER "'4x64x96x128 -> 96 k3x5 p1x2' "

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void write_files(void)
{
    write_file("list.csv", "model,layer,dir,n,c,d,h,w,k,kd,kh,kw,sd,sh,sw,pd,ph,pw,groups,dtype,"
                           "layout,dd,dh,dw\n"
                           "b,wide,fwd,4,64,,256,256,64,,3,3,,,,,1,1,,f16,nchw,,,\n"
                           "b,wide,dgrad,4,64,,256,256,64,,3,3,,,,,1,1,,f16,nchw,,,\n"
                           "b,wide,wgrad,4,64,,256,256,64,,3,3,,,,,1,1,,f16,nchw,,,\n"
                           "a,\"quoted, \"\"so\"\"\",fwd,1,8,,16,16,8,,3,3,,,,,1,1,,f16,nhwc,,,\n"
                           "c,deep,fwd,1,32,24,32,40,32,3,3,3,1,2,1,1,1,1,2,f32,nchw,1,1,2\n"
                           "b,odd,fwd,8,3,,512,512,64,,3,3,,2,2,,1,1,1,bf16,nchw,,2,2\n"
                           "a,last,fwd,64,256,,7,7,256,,1,1,,,,,,,,f16,nchw,,,\n");
    write_file("one.ini", "workspace = 8MiB\n[rule first]\nkernel = 5x5\nskip = yes\n"
                          "[rule wide]\nkernel = 3x5\nworkspace = 2MiB\n[rule named]\n"
                          "program = prog\nskip = yes\n");
    write_file("large.ini", "threshold = 1GiB\n");
    write_file("tiles.ini", "tiles = 7\n");
    write_file("named.ini", "[rule named]\nprogram = prog\nskip = yes\n");
}

static void every_format(void)
{
    RUN(LAYER "--workspace 4MiB");
    RUN(LAYER "--workspace 4MiB --dir wgrad --format json");
    RUN("--csv list.csv --workspace 4MiB");
    RUN("--csv list.csv --workspace 4MiB --format csv");
    golden_check(root, "predict.txt");
}

/* CSV and JSON have the same values; text has a line for each layer. */
static void formats_agree(void)
{
    int status;
    char *csv = golden_output(cs_cli_predict, PREDICT "--csv list.csv --format csv", &status);
    char *json = golden_output(cs_cli_predict, PREDICT "--csv list.csv --format json", &status);
    cJSON *parsed = cJSON_Parse(json), *layer;
    CHECK_INT(status, 0);
    CHECK_INT(cJSON_GetArraySize(cJSON_GetObjectItem(parsed, "layers")), 7);
    cJSON_ArrayForEach(layer, cJSON_GetObjectItem(parsed, "layers"))
    {
        char cells[128];
        snprintf(cells, sizeof cells, ",%.0f,%.0f,",
                 cJSON_GetNumberValue(cJSON_GetObjectItem(layer, "workspace_bytes")),
                 cJSON_GetNumberValue(cJSON_GetObjectItem(layer, "peak_bytes")));
        CHECK(strstr(csv, cells));
    }
    cJSON_Delete(parsed);
    free(csv);
    free(json);
}

/* --- options --- */

static void options_of_the_library(void)
{
    const struct golden_answer rows[] = {
        {PREDICT LAYER "--workspace 1MiB --policy off", 0,
         cs_account_reason_text(CS_REASON_REPORT_ONLY)},
        {PREDICT LAYER "--workspace 1MiB --config large.ini", 0,
         cs_account_reason_text(CS_REASON_SMALL)},
        {PREDICT LAYER "--config tiles.ini", 0, "is used only with policy = "},
        {PREDICT LAYER "--workspace 1TiB", 0, cs_account_reason_text(CS_REASON_SMALL)},
        {PREDICT LAYER "--config one.ini --format csv", 0, ",2097152,"},
        {PREDICT LAYER "--config one.ini --workspace 3MiB --format csv", 0, ",2097152,"},
        {PREDICT LAYER "--config named.ini --program prog", 0,
         cs_account_reason_text(CS_REASON_RULE)},
        {PREDICT LAYER "--config named.ini --workspace 3MiB --format csv", 0, ",3145728,"},
        {PREDICT "--csv list.csv --layout nhwc", 0, "rule of thumb"},
        {PREDICT "--csv list.csv --dir dgrad --dtype f32 --format csv", 0, "b,odd,dgrad,"},
        {PREDICT "--summary summary.json", 0, "stage <0>"},
        {PREDICT "--cs=list.csv --format csv", 0, "a,last,fwd"},
        {PREDICT "--max-slowdown=1.5 --csv=list.csv --format csv", 0, "a,last,fwd"},
        {"predict --help", 0, "--estimate"}};
    ANSWERS(rows);
}

static void refused_options(void)
{
    static const struct golden_answer rows[] = {
        {"predict 1x8x8x8", 2, "->"},
        {"predict --csv none.csv --estimate", 2, "none.csv"},
        {"predict --summary none.json --estimate", 2, "none.json"},
        {"predict --csv list.csv --estimate --devices conf --device h1000", 2, "'h100'"},
        {"predict --csv list.csv --estimate --devices nowhere", 2, "nowhere"},
        {"predict --csv list.csv --estimate --devices conf --device none.json", 2, "none.json"},
        {PREDICT "--csv list.csv --format xml", 2, "--format"},
        {"predict '1x8x8x8 -> 8 k3x3' --cudnn x --estimate", 2, "--cudnn and --estimate exclude"},
        {PREDICT, 2, "no convolution given. Write one, such as '1x512x64x64 -> 512 k3x3 s1 p1"},
        {PREDICT "--csv a '1x8x8x8 -> 8 k3x3'", 2, "a convolution, --csv and --summary exclude"},
        {PREDICT "--csv a --summary b", 2, "a convolution, --csv and --summary exclude"},
        {PREDICT "'1x8x8x8 -> 8 k3x3' more", 2, "'more': only one convolution is allowed"},
        {PREDICT "--csv list.csv --policy fit2", 2, "policy 'fit2'; did you mean 'fit'?"},
        {PREDICT "--csv list.csv --policy elephants", 2, "unknown policy 'elephants'"},
        {PREDICT "--csv ''", 2, "option '--csv' needs a value"},
        {PREDICT "--csv list.csv --workspace 12", 2, "auto, or 1KiB to 1TiB"},
        {PREDICT "--csv list.csv --max-slowdown 0.5", 2, "off, or 1 to 1000"},
        {PREDICT "--csv list.csv --dtype f64", 2, "f32, f16 or bf16"},
        {PREDICT "--csv list.csv --dir down", 2, "fwd, dgrad or wgrad"},
        {PREDICT "--csv list.csv --layout chwn", 2, "nchw or nhwc"},
        {PREDICT "--csv list.csv --program p", 2, "--program needs --config"},
        {PREDICT "--csv list.csv --script s", 2, "--script needs --config"},
        {PREDICT "--csv list.csv --config none.ini", 2, "none.ini: cannot be read: "},
        {PREDICT "--csv list.csv --devise h200", 2, "'--device'"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 gx'", 2, "gx"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 g2x2'", 2, "g2x2"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 g0'", 2, "groups"},
        {PREDICT "'0x8x8x8 -> 8 k3x3'", 2, "n is 0"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 s0'", 2, "sh is 0"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 s1x2x3'", 2, "s1x2x3"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 dx'", 2, "dx"},
        {PREDICT "--csv list.csv --layers", 2, "--layers"},
        {PREDICT "--csv", 2, "--csv"}};
    ANSWERS(rows);
}

static void shapes(void)
{
    static const struct golden_answer rows[] = {
        {PREDICT "'1x8x8x8 -> 8 k3x3' --format csv", 0, ",1024,1152,576,"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 s2 p1 d2 g2 bf16 nhwc dgrad' --format csv", 0, ",1024,576,"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 s2x1 p1x0 f32 nchw wgrad' --format csv", 0, ",2048,2304,768,"},
        {PREDICT "'1x8x8x8x8 -> 8 k3x3x3 s1 p1 f16 ndhwc' --format csv", 0, ",8192,3456,8192,"},
        {PREDICT "'1x8x8 -> 8 k3 s1 p1' --format csv", 0, ",128,384,128,"},
        {PREDICT "'64x8x16 -> 16 k3 g2' --format csv", 0, ",16384,384,28672,45440,90880,-,1,"},
        {PREDICT "'64x8x1x16 -> 16 k1x3 p0 nhwc' --format csv", 0, ",16384,768,28672,0,45824,"},
        {PREDICT "'1x3x8x8 -> 4 k3x3 p9223372036854775807'", 2, "beyond 64 bits"},
        {PREDICT "'4294967296x4294967296x1x1 -> 1 k1x1'", 2, "beyond 64 bits"},
        {PREDICT "'1x8x8x8 ->'", 2, "1x8x8x8 ->"},
        {PREDICT "'1x8x8x8 -> 8 k3x3x3'", 2, "k3x3x3"},
        {PREDICT "'1x8x8x8 -> 8 k9x3'", 2, "along H"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 s0'", 2, "sh is 0"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 g3'", 2, "3 groups"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 z9'", 2, "z9"},
        {PREDICT "'1x8x8x8 -> x k3x3'", 2, "-> x"},
        {PREDICT "'0x8x8x8 -> 8 k3x3'", 2, "n is 0"},
        {PREDICT "'1x8 -> 8 k3x3'", 2, "1x8 ->"},
        {PREDICT "'1x2x3x4x5x6 -> 8 k3x3'", 2, "1x2x3x4x5x6"},
        {PREDICT "'1x8x8x8 -> 8 k3x3 p1x2' --format csv", 0, ",1024,1152,1280,"},
        {PREDICT "'1x8x8x8 -> 8 k9x9 p1' --format csv", 0, ",64,"},
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

/* --- files --- */

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
    snprintf(line, sizeof line, PREDICT "%s %s --format csv", option, path);
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

#define NUMBERS "layer,dtype,n,c,h,w,k,kh,kw"

static void lists(void)
{
    static const struct file_answer rows[] = {
        {"", 2, "no layer"},
        {"layer\n", 2, ":1: no column 'n'"},
        {"layer,n,c,h,w,k,kh,kw\nl,1,8,8,8,8,3,3\n", 2, ":1: no column 'dtype'"},
        {NUMBERS ",colour\nl,f16,1,8,8,8,8,3,3,red\n", 2, ":1: unknown column 'colour'"},
        {NUMBERS ",n\nl,f16,1,8,8,8,8,3,3,1\n", 2, ":1: column 'n'"},
        {NUMBERS "\n", 2, "no layer"},
        {NUMBERS "\nl,f16,1,8,8,8,8,3,3\n", 0, ",1024,1152,576,"},
        {NUMBERS "\r\n l , f16 ,1, 8,8,8,8,3,3\r\n\r\n", 2, ":2: c "},
        {NUMBERS "\nl,f16,1,8,8,8,8,3\n", 2, ":2: 8 columns"},
        {NUMBERS "\nl,f16,1,8,8,8,8,3,3,3\n", 2, ":2: 10 columns"},
        {NUMBERS "\nl,f16,1,8,8,8,8,3,3\n\nl,f16,1,8,8,x,8,3,3\n", 2, ":4: w "},
        {NUMBERS "\nl,f16,1,8,8,,8,3,3\n", 2, ":2: w "},
        {NUMBERS "\nl,f16,1,8,8,8.5,8,3,3\n", 2, ":2: w "},
        {NUMBERS "\nl,f16,0,8,8,8,8,3,3\n", 2, "n is 0"},
        {NUMBERS "\nl,f16,1,8,8,8,8,-3,3\n", 2, "kh is -3"},
        {NUMBERS "\n\n# a remark\nl,f16,1,8,8,8,8,9,3\n", 2, ":4: along H"},
        {NUMBERS "\nl,f16,1,8,8,8,8,8,8\n", 0, ",1024,8192,16,"},
        {NUMBERS "\nl,f16,1,8,8,8,99999999999999999999,3,3\n", 2, ":2: k "},
        {NUMBERS ",groups\nl,f16,1,8,8,8,8,3,3,3\n", 2, ":2: 8 and 8 channels"},
        {NUMBERS ",groups\nl,f16,1,8,8,8,9,3,3,2\n", 2, ":2: 8 and 9 channels"},
        {NUMBERS "\nl,f64,1,8,8,8,8,3,3\n", 2, ":2: dtype "},
        {NUMBERS "\nl,,1,8,8,8,8,3,3\n", 2, ":2: dtype "},
        {NUMBERS ",dir\nl,f16,1,8,8,8,8,3,3,up\n", 2, ":2: dir "},
        {NUMBERS ",dir\nl,f16,1,8,8,8,8,3,3,\n", 0, ",l,fwd,"},
        {NUMBERS ",layout\nl,f16,1,8,8,8,8,3,3,chwn\n", 2, ":2: layout "},
        {NUMBERS ",sh\nl,f16,1,8,8,8,8,3,3,0\n", 2, "sh is 0"},
        {NUMBERS ",sh,sw\nl,f16,1,8,8,8,8,3,3,2,1\n", 0, ",1024,1152,288,"},
        {NUMBERS ",ph\nl,f16,1,8,8,8,8,3,3,-1\n", 2, "ph is -1"},
        {NUMBERS ",dw\nl,f16,1,8,8,8,8,3,3,4\n", 2, ":2: along W"},
        {NUMBERS ",d,kd\nl,f16,1,8,8,8,8,3,3,4,2\n", 0, ",4096,2304,1728,"},
        {NUMBERS ",kd\nl,f16,1,8,8,8,8,3,3,2\n", 2, ":2: along D"},
        {NUMBERS ",model\nl,f16,1,8,8,8,8,3,3,\"open\n", 2, ":2: "},
        {NUMBERS ",model\nl,f16,1,8,8,8,8,3,3,\"a,\"\"b\"\"\"\n", 0, "\"a,\"\"b\"\"\",l"},
        {NUMBERS "\nl,f16,4194304,4194304,4194304,4194304,8,3,3\n", 2, ":2: "}};
    check_files("wrong.csv", "--csv", rows, sizeof rows / sizeof *rows);
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

static void memory_that_runs_short(void)
{
    static const char *const lines[] = {
        "--csv short.csv --workspace 1MiB", "--csv short.csv --format json",
        "--summary summary.json --config one.ini", "'1x8x64x64 -> 8 k3x3 s1 p1 f16 nchw'"};
    write_file("short.csv", NUMBERS ",model\nl,f16,1,8,32,32,8,3,3,m\nl,f16,2,8,8,8,8,3,3,\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[256];
        snprintf(line, sizeof line, PREDICT "%s", lines[i]);
        golden_short(cs_cli_predict, line);
    }
}

int main(void)
{
    char remove[64], conf[PATH_MAX + 32], summary[PATH_MAX + 64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root))
        return 1;
    snprintf(conf, sizeof conf, "%s/conf/devices", root);
    snprintf(summary, sizeof summary, "%s/tests/data/summary_training.json", root);
    if (chdir(folder) != 0 || symlink(conf, "conf") != 0 || symlink(summary, "summary.json") != 0)
        return 1;
    write_files();
    TEST(every_format);
    TEST(formats_agree);
    TEST(options_of_the_library);
    TEST(refused_options);
    TEST(shapes);
    TEST(lists);
    TEST(summaries);
    TEST(memory_that_runs_short);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
