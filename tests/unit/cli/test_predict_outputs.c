/* All that `convshim predict` prints by the rule of thumb, and that it gives back what it takes:
 * every form of a single convolution, of lists, of a sweep, what is refused. Where a decision or a
 * price changes, so do the files. */
#include "convshim/policy.h"
#include "golden.h"
#include <limits.h>

static char folder[] = "/tmp/convshim-outputs-XXXXXX", root[PATH_MAX];

#define PREDICT "predict", "--estimate", "--devices", "conf", "--device", "h100", "--threads", "1"
#define RUN(...) golden_line(cs_cli_predict, (const char *const[]){PREDICT, __VA_ARGS__, NULL})
#define PLAIN(...) golden_line(cs_cli_predict, (const char *const[]){"predict", __VA_ARGS__, NULL})

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

#define FORMS(...)                                                                                 \
    do {                                                                                           \
        RUN(__VA_ARGS__);                                                                          \
        RUN(__VA_ARGS__, "--format", "csv");                                                       \
        RUN(__VA_ARGS__, "--format", "json");                                                      \
    } while (0)

#define LAYER(...) "--input", "4x64x96x128", "--filter", "96x64x3x5", "--pad", "1x2", __VA_ARGS__

static void one_convolution(void)
{
    FORMS(LAYER("--workspace", "4MiB"));
    RUN(LAYER("--workspace", "4MiB", "--dir", "wgrad", "--dtype", "bf16"));
    RUN(LAYER("--layout", "nhwc"));
    RUN("--input", "2x32x40x48x56", "--filter", "64x8x3x3x3", "--groups", "4", "--pad", "1",
        "--stride", "2x1x1", "--dilation", "1x2x3", "--workspace", "2MiB", "--dir", "dgrad");
    FORMS("1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw", "--fits", "512MiB");
    RUN("1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw", "--fits", "8GiB");
    golden_check(root, "outputs_predict_one.txt");
}

static void options_of_the_library(void)
{
    static const char *const more[][5] = {
        {"--policy", "off"},        {"--policy", "fixed"},
        {"--policy", "peak"},       {"--policy", "fixed"},
        {"--tiles", "7"},           {"--lanes", "2"},
        {"--threshold", "1GiB"},    {"--min-saving", "1GiB"},
        {"--staged", "never"},      {"--staged", "always"},
        {"--backing", "own"},       {"--max-slowdown", "off"},
        {"--max-slowdown", "1.01"}, {"--max-slowdown", "1.5"},
        {"--arena", "1MiB"},        {"--huge", "2"},
        {"--config", "one.ini"},    {"--mode", "b"},
    };
    write_file("one.ini", "workspace = 8MiB\n[rule first]\nkernel = 5x5\nskip = yes\n"
                          "[rule wide]\nkernel = 3x5\nworkspace = 2MiB\n[rule named]\n"
                          "program = prog\nskip = yes\n");
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        RUN(LAYER("--workspace", "1MiB", "--format", "csv", more[i][0], more[i][1]));
    }
    RUN(LAYER("--threads", "8"));
    RUN(LAYER("--config", "one.ini", "--workspace", "3MiB"));
    RUN(LAYER("--config", "one.ini", "--program", "prog"));
    for (const char *const *policy = cs_policy_names; *policy; policy++)
        RUN(LAYER("--workspace", "2MiB", "--policy", *policy, "--format", "csv"));
    write_file("first.ini", "[rule first]\nkernel = 3x5\nworkspace = 2MiB\n");
    FORMS(LAYER("--config", "first.ini"));
    golden_check(root, "outputs_predict_options.txt");
}

static void write_list(void)
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
}

/* How much of a name a picture has room for: each kind of letter, and bytes that are none. */
static void names_of_all_letters(void)
{
    static const char *const letters[] = {"M",        "i",
                                          "A",        "Z",
                                          "a",        "~",
                                          "\"",       "\xc4\x80",
                                          "\xc3\xbf", "\xe2\x82\xac",
                                          "\x80",     "\xef\xbf\xbf",
                                          "\x7f",     "@"};
    FILE *file = fopen("letters.csv", "w");
    CHECK(file);
    fputs("layer,dtype,n,c,h,w,k,kh,kw\n", file);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        bool quote = *letters[i] == '"';
        fputc('"', file);
        for (int j = 0; j < 60; j++)
            fprintf(file, "%s%s", letters[i], quote ? "\"" : "");
        fputs("\",f16,1,8,64,64,8,3,3\n", file);
    }
    CHECK(fclose(file) == 0);
    RUN("--csv", "letters.csv", "--svg", "-");
}

static void lists(void)
{
    write_list();
    FORMS("--csv", "list.csv", "--workspace", "4MiB");
    RUN("--csv", "list.csv", "--fits", "64MiB");
    RUN("--csv", "list.csv", "--fits", "300MiB", "--workspace", "64MiB");
    RUN("--csv", "list.csv", "--dir", "dgrad", "--dtype", "f32", "--layout", "nhwc");
    RUN("--csv", "list.csv", "--config", "one.ini");
    RUN("--summary", "summary.json");
    names_of_all_letters();
    golden_check(root, "outputs_predict_lists.txt");
}

static void sweeps(void)
{
    FORMS("--csv", "list.csv", "--sweep");
    RUN(LAYER("--sweep", "--dir", "wgrad", "--max-slowdown", "1.1"));
    RUN("1x8x8x8 -> 8 k3x3 s1 p1 f16 nchw", "--sweep");
    golden_check(root, "outputs_predict_sweeps.txt");
}

#define NUMBERS "layer,dtype,n,c,h,w,k,kh,kw"

/* A list with one mistake each, or none. */
static void wrong_lists(void)
{
    static const char *const lists[] = {
        "",
        "\n",
        "layer\n",
        "layer,n,c,h,w,k,kh,kw\nl,1,8,8,8,8,3,3\n",
        "layer,dtype,n,c,h,w,k,kh\nl,f16,1,8,8,8,8,3\n",
        NUMBERS ",colour\nl,f16,1,8,8,8,8,3,3,red\n",
        NUMBERS ",n\nl,f16,1,8,8,8,8,3,3,1\n",
        NUMBERS "\n",
        NUMBERS "\nl,f16,1,8,8,8,8,3,3\n",
        NUMBERS "\r\n l , f16 ,1, 8,8,8,8,3,3\r\n\r\n",
        NUMBERS "\nl,f16,1,8,8,8,8,3\n",
        NUMBERS "\nl,f16,1,8,8,8,8,3,3,3\n",
        NUMBERS "\nl,f16,1,8,8,8,8,3,3\n\nl,f16,1,8,8,x,8,3,3\n",
        NUMBERS "\nl,f16,1,8,8,,8,3,3\n",
        NUMBERS "\nl,f16,1,8,8,8.5,8,3,3\n",
        NUMBERS "\nl,f16,0,8,8,8,8,3,3\n",
        NUMBERS "\nl,f16,1,8,8,8,8,-3,3\n",
        NUMBERS "\nl,f16,1,8,8,8,8,9,3\n",
        NUMBERS "\nl,f16,1,8,8,8,8,8,8\n",
        NUMBERS "\nl,f16,1,8,8,8,99999999999999999999,3,3\n",
        NUMBERS ",groups\nl,f16,1,8,8,8,8,3,3,3\n",
        NUMBERS ",groups\nl,f16,1,8,8,8,9,3,3,2\n",
        NUMBERS "\nl,f64,1,8,8,8,8,3,3\n",
        NUMBERS "\nl,,1,8,8,8,8,3,3\n",
        NUMBERS ",dir\nl,f16,1,8,8,8,8,3,3,up\n",
        NUMBERS ",dir\nl,f16,1,8,8,8,8,3,3,\n",
        NUMBERS ",layout\nl,f16,1,8,8,8,8,3,3,chwn\n",
        NUMBERS ",layout\nl,f16,1,8,8,8,8,3,3,nhwc\n",
        NUMBERS ",sh\nl,f16,1,8,8,8,8,3,3,0\n",
        NUMBERS ",sh,sw\nl,f16,1,8,8,8,8,3,3,2,1\n",
        NUMBERS ",ph\nl,f16,1,8,8,8,8,3,3,-1\n",
        NUMBERS ",dw\nl,f16,1,8,8,8,8,3,3,4\n",
        NUMBERS ",d\nl,f16,1,8,8,8,8,3,3,4\n",
        NUMBERS ",d,kd\nl,f16,1,8,8,8,8,3,3,4,2\n",
        NUMBERS ",kd\nl,f16,1,8,8,8,8,3,3,2\n",
        NUMBERS ",model\nl,f16,1,8,8,8,8,3,3,\"open\n",
        NUMBERS ",model\nl,f16,1,8,8,8,8,3,3,\"a\"b\n",
        NUMBERS ",model\nl,f16,1,8,8,8,8,3,3,\"a,\"\"b\"\"\"\n",
        NUMBERS "\nl,f16,4194304,4194304,4194304,4194304,8,3,3\n",
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        write_file("wrong.csv", lists[i]);
        golden_puts("--- ");
        golden_puts(lists[i]);
        golden_puts("\n");
        RUN("--csv", "wrong.csv", "--format", "csv");
    }
    golden_check(root, "outputs_predict_wrong_lists.txt");
}

#define F16 ",\"dtype\":\"f16\""
#define OBJECT(more)                                                                               \
    "[{\"layer\":\"l\",\"n\":1,\"c\":8,\"h\":8,\"w\":8,\"k\":8,\"kh\":3,\"kw\":3,\"ph\":1,\"pw\":" \
    "1" more "}]"

/* A summary or an array of objects, good or with one mistake each. */
static void objects(void)
{
    static const char *const texts[] = {
        OBJECT(""),
        OBJECT(F16),
        OBJECT(F16 ",\"model\":\"m\",\"dir\":\"wgrad\""),
        OBJECT(",\"model\":\"m\",\"dir\":\"dgrad\",\"dtype\":\"bf16\""),
        OBJECT(F16 ",\"d\":4,\"kd\":3,\"pd\":1,\"sd\":2,\"dd\":1,\"groups\":2,\"layout\":"
                   "\"nhwc\""),
        OBJECT(F16 ",\"kh\":9"),
        OBJECT(F16 ",\"groups\":3"),
        OBJECT(F16 ",\"sh\":0"),
        OBJECT(F16 ",\"sh\":2"),
        OBJECT(F16 ",\"sh\":1.5"),
        OBJECT(F16 ",\"sh\":\"2\""),
        OBJECT(F16 ",\"sh\":\"two\""),
        OBJECT(F16 ",\"ph\":-1"),
        OBJECT(",\"dtype\":7"),
        OBJECT(",\"dtype\":\"f64\""),
        OBJECT(F16 ",\"dir\":null"),
        OBJECT(F16 ",\"dir\":\"up\""),
        OBJECT(F16 ",\"extra\":1"),
        "{\"layers\":" OBJECT(F16) "}",
        "{\"layers\":{}}",
        "[{\"layer\":\"l\",\"dtype\":\"f16\",\"n\":1,\"c\":8,\"h\":8}]",
        "[]",
        "{}",
        "[1]",
        "[{}]",
        "7",
        "{\"sites\":[]}",
        "{\"sites\":[{}]}",
        "{\"sites\":[{\"problem\":{}}]}",
        "{\"sites\":7}",
        "{\"schema\":\"convshim summary\",\"version\":2,\"sites\":[]}",
        "[{]",
        "[\n{\"ph\":\"X\"},",
        "{\"traceEvents\":[]}",
        "[{\"pH\":\"X\"}]",
        "[\n{},\n{]",
        "",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file("objects.json", texts[i]);
        golden_puts("--- ");
        golden_puts(texts[i]);
        golden_puts("\n");
        RUN("--summary", "objects.json", "--format", "csv");
    }
    golden_check(root, "outputs_predict_objects.txt");
}

static void single_shapes(void)
{
    static const char *const texts[] = {
        "1x8x8x8 -> 8 k3x3",
        "1x8x8x8 -> 8 k3x3 s1 p1 f16 nchw",
        "1x8x8x8 -> 8 k3x3 s2 p1 d2 g2 bf16 nhwc dgrad",
        "1x8x8x8 -> 8 k3x3 s2x1 p1x0 f32 nchw wgrad",
        "1x8x8x8x8 -> 8 k3x3x3 s1 p1 f16 ndhwc",
        "1x8x8 -> 8 k3 s1 p1",
        "1x8x8x8 -> 8",
        "1x8x8x8 ->",
        "1x8x8x8 -> 8 k3",
        "1x8x8x8 -> 8 k3x3x3",
        "1x8x8x8 -> 8 k9x3",
        "1x8x8x8 -> 8 k3x3 s0",
        "1x8x8x8 -> 8 k3x3 g3",
        "1x8x8x8 -> 8 k3x3 z9",
        "1x8x8x8 -> x k3x3",
        "1x8x8 8 -> 8 k3x3",
        "0x8x8x8 -> 8 k3x3",
        "1x8 -> 8 k3x3",
        "1x2x3x4x5x6 -> 8 k3x3",
    };
    static const char *const pairs[][3] = {
        {"1x8x8x8", "8x8x3x3", "1"},    {"1x8x8x8", "8x8x3", "1"},
        {"1x8x8x8", "8x4x3x3", "1"},    {"1x8x8", "8x8x3", "0"},
        {"1x8x8x8", "8x8x3x3", "1x2"},  {"1x8x8x8", "8x8x3x3", "1x2x3"},
        {"1x8x8x8", "8x8x3x3", "-1"},   {"1x8x8x8", "8x8x3x3", "one"},
        {"1x8x8x8", "8x8x9x9", "0"},    {"1x8x8x8", "8x8x9x9", "1"},
        {"1x8x8x8x8", "8x8x3x3x3", ""}, {"x", "8x8x3x3", "0"},
        {"1x8x8x8", "8x8x3x3x", "0"},   {"1x8x8x8", "8x8x3x3 ", "0"},
        {"1x8x8x0", "8x8x3x3", "0"},    {"1x8x8x99999999999999999999", "8x8x3x3", "0"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        RUN(texts[i], "--format", "csv");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        RUN("--input", pairs[i][0], "--filter", pairs[i][1], "--pad", pairs[i][2], "--format",
            "csv");
    golden_check(root, "outputs_predict_shapes.txt");
}

static void what_is_refused(void)
{
    PLAIN("--help");
    PLAIN("--input", "1x8x8x8");
    PLAIN("--csv", "none.csv", "--estimate");
    PLAIN("--summary", "none.json", "--estimate");
    PLAIN("--csv", "list.csv", "--estimate", "--devices", "conf", "--device", "h1000");
    PLAIN("--csv", "list.csv", "--estimate", "--devices", "nowhere");
    PLAIN("--csv", "list.csv", "--estimate", "--devices", "conf", "--device", "none.json");
    RUN("--csv", "list.csv", "--svg", "no/such/folder.svg");
    RUN("--csv", "list.csv", "--svg", "/dev/full");
    RUN("--csv", "list.csv", "--format", "xml");
    RUN("--csv", "list.csv", "--threads", "0");
    RUN("--csv", "list.csv", "--threads", "9");
    RUN("--csv", "list.csv", "--fits", "0");
    RUN("--csv", "list.csv", "--fits", "1", "--format", "csv");
    RUN("--csv", "list.csv", "--fits", "1", "--sweep");
    PLAIN("1x8x8x8 -> 8 k3x3", "--fits", "1", "--engines");
    PLAIN("1x8x8x8 -> 8 k3x3", "--fits", "1", "--engines", "--estimate");
    PLAIN("1x8x8x8 -> 8 k3x3", "--sweep", "--engines");
    PLAIN("1x8x8x8 -> 8 k3x3", "--sweep", "--svg", "x", "--estimate");
    PLAIN("1x8x8x8 -> 8 k3x3", "--cudnn", "x", "--estimate");
    RUN("--input", "1x8x8x8", "--filter", "8x0x3x3");
    RUN("--input", "1x8x8x8", "--filter", "8x4x3x3", "--groups", "x");
    RUN("--input", "1x8x8x8", "--filter", "8x4x3x3", "--groups", "2x2");
    RUN("--input", "1x8x8x8", "--filter", "8x4x3x3", "--groups", "0");
    RUN("--input", "0x8x8x8", "--filter", "8x4x3x3");
    RUN("--input", "1x8x8x8", "--filter", "8x8x3x3", "--stride", "0");
    RUN("--input", "1x8x8x8", "--filter", "8x8x3x3", "--stride", "1x2x3");
    RUN("--input", "1x8x8x8", "--filter", "8x8x3x3", "--dilation", "x");
    RUN("--csv", "list.csv", "--layers");
    RUN("--csv");
    RUN("--cs=list.csv", "--format", "csv");
    RUN("--max_slowdown=1.5", "--csv=list.csv", "--format", "csv");
    golden_check(root, "outputs_predict_refused.txt");
}

#define SHORT_OF(...)                                                                              \
    golden_short_of_memory(#__VA_ARGS__, golden_call,                                              \
                           &(struct golden_command){                                               \
                               cs_cli_predict, (const char *const[]){PREDICT, __VA_ARGS__, NULL}})

static void memory_that_runs_short(void)
{
    write_file("short.csv", NUMBERS ",model\nl,f16,1,8,32,32,8,3,3,m\nl,f16,2,8,8,8,8,3,3,\n");
    write_file("short.json", OBJECT(F16));
    SHORT_OF("--csv", "short.csv", "--workspace", "1MiB");
    SHORT_OF("--csv", "short.csv", "--format", "csv", "--fits", "50KiB");
    SHORT_OF("--csv", "short.csv", "--svg", "-");
    SHORT_OF("--summary", "short.json", "--config", "one.ini");
    SHORT_OF("1x8x64x64 -> 8 k3x3 s1 p1 f16 nchw", "--sweep");
    SHORT_OF("1x8x64x64 -> 8 k3x3 s1 p1 f16 nchw", "--sweep", "--format", "json");
    SHORT_OF("1x8x64x64 -> 8 k3x3 s1 p1 f16 nchw", "--format", "json");
    SHORT_OF("1x8x64x64 -> 8 k3x3 s1 p1 f16 nchw", "--fits", "1MiB");
    SHORT_OF("--device", "list");
    SHORT_OF("--csv", "short.csv", "--format", "json", "--fits", "50KiB");
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
    TEST(one_convolution);
    TEST(options_of_the_library);
    TEST(lists);
    TEST(sweeps);
    TEST(wrong_lists);
    TEST(objects);
    TEST(single_shapes);
    TEST(what_is_refused);
    TEST(memory_that_runs_short);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    free(golden_text);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
