/* All that `convshim report`, `convshim tune --summary` and `convshim config` print of given files,
 * and that they give back what they take: every table in every form, one run, several, two
 * compared; and what is said of a summary in which one value is not what it should be. */
#include "cli/common/read_file.h"
#include "golden.h"
#include <cjson/cJSON.h>

static char folder[] = "/tmp/convshim-outputs-XXXXXX", root[PATH_MAX];

#define REPORT_OF(...)                                                                             \
    golden_line(cs_cli_report, (const char *const[]){"report", __VA_ARGS__, NULL})
#define TUNE(...) golden_line(cs_cli_tune, (const char *const[]){"tune", __VA_ARGS__, NULL})
#define CONFIG(...) golden_line(cs_cli_config, (const char *const[]){"config", __VA_ARGS__, NULL})

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void write_json(const char *path, const cJSON *json)
{
    char *text = cJSON_PrintUnformatted(json);
    write_file(path, text);
    cJSON_free(text);
}

static cJSON *read_json(const char *path)
{
    char error[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, error);
    cJSON *json = cJSON_Parse(text);
    free(text);
    CHECK(json);
    return json;
}

/* A member by its way, as "sites.0.problem". */
static cJSON *at(cJSON *json, const char *way)
{
    char name[64];
    while (json && *way) {
        size_t length = strcspn(way, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, way);
        json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, atoi(name))
                                   : cJSON_GetObjectItemCaseSensitive(json, name);
        way += length + (way[length] == '.');
    }
    return json;
}

static void set(cJSON *json, const char *way, const char *name, const char *value)
{
    cJSON *parent = at(json, way);
    cJSON_DeleteItemFromObjectCaseSensitive(parent, name);
    cJSON_AddItemToObject(parent, name, cJSON_Parse(value));
}

/* run.json has all that a summary may have; other.json is another rank, and of other figures. */
static void make_summaries(void)
{
    cJSON *run = read_json("summary_training.json");
    set(run, "sites.0", "candidates",
        "[{\"axis\":\"H\",\"step\":[3,1],\"tiles\":4,\"lanes\":2,\"relaxation\":\"knobs\","
        "\"staged\":false,\"workspace\":2048,\"score\":1.5,\"picked\":true},"
        "{\"axis\":\"-\",\"step\":[1,1],\"tiles\":1,\"lanes\":1,\"relaxation\":\"alike\","
        "\"staged\":true,\"workspace\":4096,\"score\":null,\"picked\":false}]");
    set(run, "process", "command", "[\"a\\u007fb\",\"c\\u0001\",7,\"--d\"]");
    set(run, "process", "script", "\"s.py\"");
    set(run, "config", "source", "\"/etc/<convshim>.ini\"");
    set(run, "sites.1", "reason", "\"NO_TILING\"");
    write_json("run.json", run);
    set(run, "process", "rank", "1");
    set(run, "process", "pid", "4712");
    set(run, "sites.0", "calls", "3");
    set(run, "sites.0", "required", "204857600");
    set(run, "sites.1", "name", "\"another\"");
    set(run, "totals", "calls", "17");
    set(run, "totals", "failed", "2");
    set(run, "totals", "not_tiled",
        "[{\"id\":\"NO_GAIN\",\"text\":\"nothing gained\",\"calls\":1}]");
    set(run, "own", "peak", "123456");
    set(run, "folded", "calls", "5");
    set(run, "config", "options", "{\"workspace\":\"8MiB\",\"lanes\":\"2\"}");
    cJSON_DeleteItemFromArray(at(run, "sites"), cJSON_GetArraySize(at(run, "sites")) - 1);
    set(run, "", "order", "[0,1,2,3,-1,2,1,0]");
    write_json("other.json", run);
    set(run, "process", "rank", "null");
    set(run, "", "bypass", "\"CONVSHIM=0\"");
    set(run, "", "sites", "[]");
    set(run, "", "order", "[]");
    set(run, "totals", "calls", "0");
    write_json("empty.json", run);
    cJSON_Delete(run);
}

static void forms_and_tables(void)
{
    static const char *const tables[] = {"conclusion", "figures", "sites", "candidates"};
    REPORT_OF("run.json");
    REPORT_OF("empty.json");
    REPORT_OF("--format", "markdown", "run.json", "other.json", "run.json");
    REPORT_OF("--diff", "run.json", "other.json");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        REPORT_OF("--format", "csv", "--table", tables[i], "run.json", "other.json");
    golden_check(root, "report.txt");
}

/* Each reason is shown as its text, and one that is not known as its id. */
static void reasons(void)
{
    static const char *const reason[][2] = {
#define CS_REASON(id, text) {"\"" #id "\"", text},
#include "convshim/reasons.def"
#undef CS_REASON
        {"\"OF_THE_FUTURE\"", "OF_THE_FUTURE"}};
    cJSON *run = read_json("summary_training.json");
    for (size_t i = 1; i < sizeof reason / sizeof *reason; i++) {
        set(run, "sites.0", "reason", reason[i][0]);
        write_json("reasons.json", run);
        int status;
        struct golden_command call = {cs_cli_report,
                                      (const char *const[]){"report", "reasons.json", NULL}};
        char *text = golden_read(golden_run(reason[i][0], golden_call, &call, &status));
        CHECK_INT(status, 0);
        if (!strstr(text, reason[i][1]))
            CHECK_STR(text, reason[i][1]);
        free(text);
    }
    cJSON_Delete(run);
}

static void what_is_refused(void)
{
    write_file("trace.json", "[{\"ph\":\"X\"},");
    write_file("none.json", "");
    write_file("half.json", "{\"schema\":\"convshim summary\"");
    write_file("other_schema.json", "{\"schema\":\"another\"}");
    REPORT_OF("--help");
    REPORT_OF("--format", "text");
    REPORT_OF("--diff", "run.json");
    REPORT_OF("--diff", "run.json", "run.json", "run.json");
    REPORT_OF("--format", "txt", "run.json");
    REPORT_OF("--table", "site", "run.json");
    REPORT_OF("--table", "elephants", "run.json");
    REPORT_OF("--optimizer", "adamw", "run.json");
    REPORT_OF("run.json", "nowhere.json");
    REPORT_OF("trace.json");
    REPORT_OF("none.json");
    REPORT_OF("half.json");
    REPORT_OF("other_schema.json");
    golden_check(root, "outputs_report_refused.txt");
}

/* --- one value that is not what it should be --- */

static int refused; /* values */

/* A refusal names the file, the site and the member. */
static void try_with(cJSON *whole, const char *way, const char *as)
{
    const char *member = strrchr(way, '.') + 1;
    int status;
    struct golden_command call = {
        cs_cli_report, (const char *const[]){"report", "--format", "csv", "wrong.json", NULL}};
    write_json("wrong.json", whole);
    char *text = golden_read(golden_run(way, golden_call, &call, &status));
    char title[256];
    snprintf(title, sizeof title, "%s %s: status %d, %s", way, as, status, text);
    bool named =
        strstr(text, "wrong.json: ") &&
        (strncmp(way, ".sites.", 7) != 0 || strstr(text, "sites[0]: ")) &&
        (*member == '0' || strcmp(member, "schema") == 0 || *as == '{' || strstr(text, member));
    if (status == 2 ? !named : status != 0)
        CHECK_STR(title, "a refusal that names its place");
    refused += status == 2;
    free(text);
}

/* Each member in turn has another value, and then its own again. Of arrays the first element. */
static void spoil(cJSON *whole, cJSON *json, const char *way)
{
    static const char *const values[] = {"-2", "1.5", "9007199254740994", "\"text\"", "null", "{}",
                                         "[]", "[0]"};
    for (cJSON *member = json->child; member; member = member->next) {
        char longer[200];
        cJSON own = *member;
        snprintf(longer, sizeof longer, "%s.%s", way, member->string ? member->string : "0");
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            cJSON *value = cJSON_Parse(values[i]);
            if (value->type != (own.type & 0xff) || cJSON_IsNumber(value)) {
                member->type = value->type;
                member->valuestring = value->valuestring;
                member->valuedouble = value->valuedouble;
                member->child = value->child;
                try_with(whole, longer, values[i]);
            }
            *member = own;
            cJSON_Delete(value);
        }
        spoil(whole, member, longer);
        if (cJSON_IsArray(json))
            break;
    }
}

static void wrong_values(void)
{
    cJSON *run = read_json("run.json");
    while (cJSON_GetArraySize(at(run, "sites")) > 1)
        cJSON_DeleteItemFromArray(at(run, "sites"), 1);
    set(run, "", "order", "[0,0]");
    spoil(run, run, "");
    CHECK(refused > 600);
    set(run, "", "order", "[0,1]");
    try_with(run, ".order", "[0,1]");
    cJSON_Delete(run);
}

/* --- other commands of files --- */

static int without_date(void *words)
{
    struct golden_command call = {cs_cli_tune, words};
    FILE *kept = stdout;
    char *text = NULL;
    size_t size = 0;
    stdout = open_memstream(&text, &size);
    int status = golden_call(&call);
    fclose(stdout);
    stdout = kept;
    char *on = strstr(text, " on 20");
    if (on)
        memcpy(on + 4, "YYYY-MM-DD", 10);
    fputs(text, stdout);
    free(text);
    return status;
}

#define TUNE_OF(...)                                                                               \
    golden_add("tune " #__VA_ARGS__, without_date,                                                 \
               (const char *[]){"tune", "--summary", __VA_ARGS__, NULL})

static void rules_of_a_summary(void)
{
    TUNE_OF("run.json", "--fits", "121MiB");
    TUNE_OF("run.json", "--fits", "1GiB");
    TUNE_OF("other.json", "--within", "0.1");
    TUNE_OF("empty.json");
    TUNE_OF("nowhere.json");
    TUNE_OF("half.json");
    TUNE("--summary", "run.json", "true");
    TUNE("--help");
    TUNE("--within", "0.05", "true");
    TUNE("--within", "100.5", "true");
    TUNE("--within", "x", "true");
    TUNE("--runs", "3", "true");
    TUNE("--runs", "1001", "true");
    TUNE("--jobs", "0", "true");
    TUNE("--jobs", "9", "true");
    TUNE("--cuda", "11", "true");
    TUNE("--cuda", "14", "true");
    TUNE("--fits", "0", "true");
    TUNE("--device", "h1000", "true");
    TUNE("--lowest");
    golden_check(root, "outputs_tune.txt");
}

static void write_options(void)
{
    write_file("rules.ini",
               "workspace = 32MiB\n[rule last]\nlayout = nhwc\nskip = yes\n[rule strided]\n"
               "kernel = 3x3\nh = 64\ndirection = dgrad\nprogram = train*\nlanes = 2\n"
               "[rule large]\nrequired = 100MiB..\nworkspace = 16MiB\n[rule engine]\nengine = 57\n"
               "tiles = 3\n[rule deep]\nd = 5..\npolicy = measure\n[rule w]\ndirection = wgrad\n"
               "n = 1..4\nc = 16\nthreshold = 0\n");
    write_file("wrong.ini",
               "workspace = lots\nlanes\ncolour = red\nworkspace = 1MiB\nworkspace = 2MiB\n"
               "[program x]\n[rule a]\nskip = perhaps\n[rule b]\nh = 5..4\n[rule c]\n"
               "tiles = 2\n[rule c]\nskip = yes\nkernel = 3by3\nengine = -1\npolicy = none\n");
}

static void options_of_shapes(void)
{
    static const char *const shapes[] = {
        "1x512x64x64,512x512x3x3,f16,nchw,fwd,pad=1",
        "1x512x64x64,512x512x3x3,bf16,nhwc,dgrad,pad=1",
        "1x16x8x8,16x16x3x3,wgrad",
        "1x16x8x8,16x8x5x5,groups=2,stride=2,dilation=1",
        "1x16x8x8,16x16x3x3,required=200MiB,engine=57",
        "1x16x5x8x8,16x16x1x3x3,required=0",
        "1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw",
        "1x16x8x8",
        "1x16x8x8,16x16x3x3,colour=red",
        "1x16x8x8,16x16x3x3,required=many",
        "1x16x8x8,16x16x9x9",
        "1x16x8,16x16x3,pad=1,stride=2",
        "1x16x8x8,16x16x3x3,pad=1x2,stride=2x1,dilation=1x2",
        "1x16x5x8x8,16x16x3x3x3,pad=1x2x3,dilation=2",
        "1x16x8x8,16x16x3x3,pad=1x2x3",
        "1x16x8x8,16x16x3x3,pad=",
        "1x16x8x8,16x16x3",
        "1x16,16x16",
        "1x16x8x8x8x8,16x16x3x3x3x3",
        "1x16x8x8,16x16x3x3,groups=two",
        "1x16x8x8,16x16x3x3,groups=1x2",
        "1x16x8x8,16x16x3x3,engine=x",
        "1x16x8x8,16x16x3x3,engine=0",
        "1x16x8x8,16x8x3x3",
        "1x16x8x8,16x16x3x3,groups=2",
        "1x16x8x8,16x16x3x3,groups=9223372036854775807",
        "1x16x8x8,16x16x3x3,red",
        "1x16x8x8,16x16x3x3,",
        "1x16x8x8,16x16x3x3,,f32",
        "1x16x8x8,16x16x3x3,required=1",
        "1x16x8x8,16x16x3x3,n=1",
        "1x16x8x8 -> 16 k9x9",
        "1x16x8x8 -> 16 k3x3 z",
        "",
        ",",
        ("1x16x8x8,16x16x3x3,"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("1x16x8x8,16x16x3x3,"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("1x16x8x8,"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    setenv("CONVSHIM_CONFIGFILE", "rules.ini", 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        CONFIG("--explain", shapes[i]);
        if (i < 2) {
            CONFIG("--explain", shapes[i], "--format", "json");
            CONFIG("--explain", shapes[i], "--program", "trainer");
        }
    }
}

static void options_of_files(void)
{
    write_options();
    options_of_shapes();
    CONFIG("--check", "rules.ini");
    CONFIG("--check", "wrong.ini");
    CONFIG("--check", "nowhere.ini");
    CONFIG("--format", "xml");
    CONFIG("more");
    CONFIG("--explain", "1x16x8x8,16x16x3x3", "--script", "main.py");
    CONFIG("--explain", "1x16x8x8,16x16x3x3", "--format", "csv");
    CONFIG("--explain", "1x16x8x8,16x16x3x3", "--check", "rules.ini");
    golden_check(root, "outputs_config.txt");
}

/* Every option with where its value comes from, and rules as text. */
static void options_in_force(void)
{
    static const char *const forms[] = {"text", "csv", "json"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        setenv("CONVSHIM_CONFIGFILE", "rules.ini", 1);
        setenv("CONVSHIM_CONFIG", "lanes = 2; tiles=3", 1);
        setenv("CONVSHIM_TRACE", "trace.json", 1);
        CONFIG("--format", forms[i]);
        unsetenv("CONVSHIM_CONFIG");
        unsetenv("CONVSHIM_TRACE");
        CONFIG("--format", forms[i], "--program", "python3", "--script", "main.py");
        setenv("CONVSHIM_CONFIGFILE", "wrong.ini", 1);
        CONFIG("--format", forms[i]);
    }
    setenv("CONVSHIM", "0", 1);
    CONFIG("--format", "csv");
    CONFIG("--explain", "1x16x8x8,16x16x3x3");
    unsetenv("CONVSHIM");
    unsetenv("CONVSHIM_CONFIGFILE");
    golden_check(root, "outputs_config_options.txt");
}

/* What is understood, and cannot do what it looks like. */
static void advice_of_files(void)
{
    static const char *const files[] = {
        "trace = \"\nlog_file = '\n",
        "trace = \"\"\nlog_file = ''\n",
        "trace = \"a b\"\nlog_file = 'a'\nsummary = json:\"x\"\n",
        "trace = \"a'\nlog_file = 'a\nsummary = json:~/x\n",
        "trace = ~/t\nlog_file = ~\n",
        "tiles = 3\n",
        "tiles = 3\npolicy = fixed\n",
        "tiles = 3\n[rule a]\npolicy = fixed\n",
        "min_saving = 2MiB\npolicy = fixed\n",
        "min_saving = 2MiB\npolicy = fixed\n",
        "min_saving = 2MiB\npolicy = fixed\n[rule a]\nh = 2..\npolicy = fit\n",
        "max_slowdown = 2\npolicy = fixed\n",
        "max_slowdown = 2\npolicy = fixed\n",
        "[interleave]\nbudget = 2GiB\n",
        "policy = fixed\n[interleave]\nbudget = 2GiB\n",
        "[interleave]\ntimeout = 3\n",
        "interleave = stage\n[interleave]\ntimeout = 3\n",
        "trace_limit = 1MiB\n",
        "trace_limit = 1MiB\ntrace = t\n",
        "arena = 1MiB\n[interleave]\nbudget = 1MiB\n",
        "arena = 1MiB\n",
        "[rule a]\nskip = yes\n[rule b]\nh = 1\nlanes = 2\n",
        "[rule a]\nskip = yes\n",
        "[rule a]\nn = 1..\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nn = 2..\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nn = 1..9\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nengine = 0..\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nrequired = 0..\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nrequired = 1KiB..\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nrequired = ..1TiB\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\ndirection = fwd, dgrad, wgrad\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\ndirection = fwd, dgrad\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nlayout = nchw, nhwc\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nkernel = any\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nkernel = 3x3\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nprogram = **\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nprogram = *x*\nskip = yes\n[rule b]\nlanes = 2\n",
        "[rule a]\nskip = yes\nlanes = 2\n",
        "[rule a]\nskip = no\nlanes = 2\n",
        "[rule a]\nskip = yes\ntiles = 2\n",
        "[rule a]\ntiles = 2\n",
        "[rule a]\ntiles = 2\npolicy = fixed\n",
        "policy = fixed\n[rule a]\ntiles = 2\n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_file("advised.ini", files[i]);
        golden_puts("--- ");
        golden_puts(files[i]);
        CONFIG("--check", "advised.ini");
    }
    golden_check(root, "outputs_config_advice.txt");
}

#define SHORT_OF(command, ...)                                                                     \
    golden_short_of_memory(                                                                        \
        #command " " #__VA_ARGS__, golden_call,                                                    \
        &(struct golden_command){command, (const char *const[]){#command, __VA_ARGS__, NULL}})

static void memory_that_runs_short(void)
{
    cJSON *run = read_json("run.json");
    while (cJSON_GetArraySize(at(run, "sites")) > 2)
        cJSON_DeleteItemFromArray(at(run, "sites"), 2);
    set(run, "", "order", "[0,1,1]");
    write_json("small.json", run);
    cJSON_Delete(run);
    SHORT_OF(cs_cli_report, "small.json");
    SHORT_OF(cs_cli_report, "--format", "csv", "--table", "candidates", "small.json", "small.json");
    SHORT_OF(cs_cli_report, "--format", "markdown", "--diff", "small.json", "small.json");
    SHORT_OF(cs_cli_report, "--format", "json", "small.json");
    SHORT_OF(cs_cli_report, "--html", "-", "small.json");
    SHORT_OF(cs_cli_tune, "--summary", "small.json");
    SHORT_OF(cs_cli_config, "--format", "json");
    setenv("CONVSHIM_CONFIGFILE", "rules.ini", 1);
    SHORT_OF(cs_cli_config, "--format", "text");
    unsetenv("CONVSHIM_CONFIGFILE");
    SHORT_OF(cs_cli_config, "--check", "small.json");
    SHORT_OF(cs_cli_config, "--explain", "1x16x8x8,16x16x3x3,wgrad");
    SHORT_OF(cs_cli_config, "--explain", "1x16x8x8,16x16x3x3,wgrad", "--format", "json");
}

int main(void)
{
    char remove[64], summary[PATH_MAX + 64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root))
        return 1;
    snprintf(summary, sizeof summary, "%s/tests/data/summary_training.json", root);
    if (chdir(folder) != 0 || symlink(summary, "summary_training.json") != 0)
        return 1;
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("HOME", folder, 1);
    unsetenv("CONVSHIM_CONFIG");
    make_summaries();
    TEST(forms_and_tables);
    TEST(reasons);
    TEST(what_is_refused);
    TEST(wrong_values);
    TEST(rules_of_a_summary);
    TEST(options_of_files);
    TEST(options_in_force);
    TEST(advice_of_files);
    TEST(memory_that_runs_short);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    free(golden_text);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
