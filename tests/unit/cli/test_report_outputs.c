/* `convshim report`: tables of given summaries in each format, pages,
 * refusals, wrong values of each member, and that all memory is freed. */
#include "cli/common/read_file.h"
#include "golden.h"
#include "page_data.h"
#include <cjson/cJSON.h>

static char folder[] = "/tmp/convshim-outputs-XXXXXX", root[PATH_MAX];

#define REPORT_OF(line) golden_line(cs_cli_report, "report " line)

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

/* run.json has all members of a summary. other.json is another rank with other figures. */
static void make_summaries(void)
{
    cJSON *run = read_json("summary_training.json");
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
    write_json("other.json", run);
    set(run, "process", "rank", "null");
    set(run, "", "bypass", "\"CONVSHIM=0\"");
    set(run, "", "sites", "[]");
    set(run, "totals", "calls", "0");
    write_json("empty.json", run);
    cJSON_Delete(run);
}

static void every_format(void)
{
    REPORT_OF("run.json");
    REPORT_OF("run.json other.json run.json");
    REPORT_OF("--format csv run.json other.json");
    golden_check(root, "report.txt");
}

/* A known reason is shown as its text, an unknown one as its id. */
static void reasons(void)
{
    static const char *const reason[][2] = {
#define CS_REASON(id, text) {"\"" #id "\"", text},
#include "convshim/reasons.def"
#undef CS_REASON
        {"\"OF_THE_FUTURE\"", "OF_THE_FUTURE"}};
    cJSON *run = read_json("summary_training.json");
    for (size_t i = 1; i < sizeof reason / sizeof *reason; i++) {
        int status;
        set(run, "sites.0", "reason", reason[i][0]);
        write_json("reasons.json", run);
        char *text = golden_output(cs_cli_report, "report reasons.json", &status);
        CHECK_INT(status, 0);
        if (!strstr(text, reason[i][1]))
            CHECK_STR(text, reason[i][1]);
        free(text);
    }
    cJSON_Delete(run);
}

static void refusals(void)
{
    static const struct golden_answer rows[] = {
        {"report --help", 0, "--format"},
        {"report empty.json", 0, "CONVSHIM=0"},
        {"report --format text", 2, "no summary given"},
        {"report --format txt run.json", 2, "allowed: text, json, csv"},
        {"report run.json nowhere.json", 2, "nowhere.json"},
        {"report none.json", 2, "none.json"},
        {"report half.json", 2, "half.json"},
        {"report other_schema.json", 2, "other_schema.json"},
        {"report --html no/such/page.html empty.json", 2, "no/such/page.html"},
        {"report --html /dev/full run.json", 3, "/dev/full"}};
    write_file("none.json", "");
    write_file("half.json", "{\"schema\":\"convshim summary\"");
    write_file("other_schema.json", "{\"schema\":\"another\"}");
    golden_answers(cs_cli_report, rows, sizeof rows / sizeof *rows);
}

/* --- pages --- */

/* A page contains the JSON of the report. */
static void pages_have_the_data(void)
{
    static const char *const files[] = {"run.json", "run.json other.json", "empty.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char html[64], json[64];
        int status;
        snprintf(html, sizeof html, "report --html - %s", files[i]);
        snprintf(json, sizeof json, "report --format json %s", files[i]);
        char *page = golden_output(cs_cli_report, html, &status);
        CHECK_INT(status, 0);
        char *text = golden_output(cs_cli_report, json, &status);
        cJSON *shown = page_data(page), *wanted = cJSON_Parse(text);
        CHECK(cJSON_Compare(shown, wanted, true));
        cJSON_Delete(shown);
        cJSON_Delete(wanted);
        free(page);
        free(text);
    }
}

/* --- many runs --- */

/* Two runs of a job that differ in each kind of member. */
static void differences_of_runs(void)
{
    static const struct golden_answer rows[] = {
        {"report a.json b.json", 0, "(various)"}, /* the programs */
        {"report a.json b.json", 0, "1970-01-01 00:00:01 UTC"},
        {"report a.json b.json", 0, "lanes = (various), colour = red\n"},
        {"report a.json b.json", 0, " 7.0 s\n"},
        {"report --format csv a.json b.json", 0, "forward,tiled,4,"},
        {"report --format csv a.json b.json", 0, "forward,UNHEARD_OF,"},
        {"report a.json", 0, "extra launches. Try a larger"}, /* the advice is that of one run */
        {"report a.json b.json", 0, "extra launches.\n"},
    };
    cJSON *run = read_json("run.json");
    set(run, "process", "start_ms", "2000");
    set(run, "process", "end_ms", "3000");
    set(run, "config", "options", "{\"policy\":\"fit\",\"lanes\":\"3\",\"colour\":\"red\"}");
    set(run, "sites.0", "reason", "\"NO_TILING\"");
    write_json("a.json", run);
    set(run, "process", "program", "\"another\"");
    set(run, "process", "start_ms", "1000");
    set(run, "process", "end_ms", "8000");
    set(run, "config", "options", "{\"policy\":\"fit\",\"lanes\":\"2\",\"colour\":\"red\"}");
    set(run, "sites.0", "reason", "null");
    set(run, "sites.2", "id", "\"second\"");
    set(run, "sites.2", "reason", "\"UNHEARD_OF\"");
    write_json("b.json", run);
    cJSON_Delete(run);
    golden_answers(cs_cli_report, rows, sizeof rows / sizeof *rows);
}

/* If the policy only reports, a row has the size that is possible. */
static void sizes_that_are_possible(void)
{
    cJSON *run = read_json("run.json");
    set(run, "totals", "not_tiled", "[{\"id\":\"REPORT_ONLY\",\"text\":\"it\",\"calls\":6}]");
    for (int tiled = 0; tiled < 2; tiled++) {
        int status;
        set(run, "totals", "tiled", tiled ? "10" : "0");
        write_json("possible.json", run);
        char *text = golden_output(cs_cli_report, "report possible.json", &status);
        CHECK_INT(status, 0);
        CHECK_INT(!!strstr(text, "largest workspace if policy = fit"), !tiled);
        free(text);
    }
    cJSON_Delete(run);
}

/* --- wrong values --- */

/* Each member in turn has another value, and then its own again. Of arrays the first element. The
 * value is shown or left out, or the file is refused by its name. */
static void spoil(cJSON *whole, cJSON *json)
{
    static const char *const values[] = {"-2",   "1.5", "1e300", "\"text\"",
                                         "null", "{}",  "[]",    "[0]"};
    for (cJSON *member = json->child; member; member = member->next) {
        cJSON own = *member;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            cJSON *value = cJSON_Parse(values[i]);
            int status;
            member->type = value->type;
            member->valuestring = value->valuestring;
            member->valuedouble = value->valuedouble;
            member->child = value->child;
            write_json("wrong.json", whole);
            char *text = golden_output(cs_cli_report, "report wrong.json wrong.json", &status);
            CHECK(status == 0 || (status == 2 && strstr(text, "wrong.json: ")));
            free(text);
            *member = own;
            cJSON_Delete(value);
        }
        spoil(whole, member);
        if (cJSON_IsArray(json))
            break;
    }
}

static void wrong_values(void)
{
    cJSON *run = read_json("run.json");
    while (cJSON_GetArraySize(at(run, "sites")) > 1)
        cJSON_DeleteItemFromArray(at(run, "sites"), 1);
    spoil(run, run);
    cJSON_Delete(run);
}

static void memory_that_runs_short(void)
{
    cJSON *run = read_json("run.json");
    while (cJSON_GetArraySize(at(run, "sites")) > 2)
        cJSON_DeleteItemFromArray(at(run, "sites"), 2);
    write_json("small.json", run);
    cJSON_Delete(run);
    golden_short(cs_cli_report, "report small.json");
    golden_short(cs_cli_report, "report --format csv small.json small.json");
    golden_short(cs_cli_report, "report --format json small.json");
    golden_short(cs_cli_report, "report --html - small.json");
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
    make_summaries();
    TEST(every_format);
    TEST(reasons);
    TEST(refusals);
    TEST(pages_have_the_data);
    TEST(differences_of_runs);
    TEST(sizes_that_are_possible);
    TEST(wrong_values);
    TEST(memory_that_runs_short);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
