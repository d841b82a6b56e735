/* src/base/json.c, src/account/summary_json.c: the output is valid JSON for all names, and contains
 * the counts. It is read back with an independent parser. */
#include "account/summary_json.h"

#include "account_fixture.h"
#include "check.h"
#include "cli/common/json_tree.h"
#include "cli/layers/layers.h"
#include "cli/layers/summary.h"
#include "golden_file.h"
#include <cjson/cJSON.h>
#include <math.h>

static char text[8 << 20];
static size_t length;

static void take(void *ctx, const char *bytes, size_t size)
{
    (void)ctx;
    if (length + size >= sizeof text)
        size = sizeof text - 1 - length;
    memcpy(text + length, bytes, size);
    length += size;
    text[length] = '\0';
}

static struct cs_json new_json(void)
{
    length = 0;
    text[0] = '\0';
    return (struct cs_json){.write = take};
}

static const char *option(void *ctx, int index, char *out, size_t size)
{
    static const char *const names[] = {"workspace", "log_file"};
    (void)ctx;
    snprintf(out, size, "%s", index ? "a \"quoted\" path" : "64MiB");
    return names[index];
}

static const char *const rules[] = {"first", "second", NULL};

static const struct cs_summary_gpu gpus[] = {
    {.number = 1,
     .without = 30LL << 30,
     .with = 20LL << 30,
     .reserved = 21LL << 30,
     .way = {{"untiled", 40, 40}, {"fewer", 2, 4}, {"planned", 5, 60}},
     .reasons = 1,
     .as_planned = {{"PEAK", "at the peak", 5}}}};

static struct cs_summary_head head = {.version = "0.1.0",
                                      .vendor = "cuDNN 9.19.0",
                                      .policy = "fit",
                                      .config = "/etc/convshim.ini",
                                      .bypass = "",
                                      .peak_without = 3 << 20,
                                      .peak_with = 2 << 20,
                                      .workspace = 64 << 20,
                                      .rules = rules,
                                      .gpus = 1,
                                      .gpu = gpus,
                                      .own = {1, 2, 3, 4, 5, 6, 7}};

static struct cs_summary_process process = {.program = "decoder",
                                            .pid = 4711,
                                            .rank = 3,
                                            .start_ms = 1700000000000,
                                            .end_ms = 1700000060000,
                                            .device = "NVIDIA H200",
                                            .options = 2,
                                            .option = option};

/* Writes and reads it back; the caller deletes it. NULL, and a failed check, if it is no JSON. */
static cJSON *summary_of(const struct cs_account *account)
{
    struct cs_json json = new_json();
    cs_summary_json(&json, account, &head, &process);
    cs_json_end(&json);
    CHECK(length > 0 && text[length - 1] == '\n');
    const char *end = NULL;
    cJSON *read = cJSON_ParseWithOpts(text, &end, false);
    CHECK(read != NULL);
    CHECK(!read || strcmp(end, "\n") == 0);
    return read;
}

static const cJSON *member(const cJSON *object, const char *path)
{
    char name[64];
    while (object && *path) {
        size_t size = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)size, path);
        object = cJSON_GetObjectItemCaseSensitive(object, name);
        path += size + (path[size] == '.');
    }
    return object;
}

static int64_t number(const cJSON *object, const char *path)
{
    const cJSON *item = member(object, path);
    CHECK(cJSON_IsNumber(item));
    return item ? (int64_t)item->valuedouble : -1;
}

static const char *string(const cJSON *object, const char *path)
{
    const cJSON *item = member(object, path);
    CHECK(cJSON_IsString(item));
    return cJSON_IsString(item) ? item->valuestring : "";
}

static int64_t sum_of(const cJSON *array, const char *name)
{
    int64_t sum = 0;
    const cJSON *element;
    cJSON_ArrayForEach(element, array) sum += number(element, name);
    return sum;
}

static void any_string_is_valid_json(void)
{
    static const struct {
        const char *given, *written;
    } cases[] = {
        {"", "\"\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff\xc3", "\"\\u00ff\\u00c3\""},            /* no UTF-8 */
        {"\xc0\xaf", "\"\\u00c0\\u00af\""},            /* longer than needed */
        {"\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\""}, /* half of a pair */
        {"\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\""},
        {"\xe0\x80\xaf", "\"\\u00e0\\u0080\\u00af\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char quoted[64];
        struct cs_json json = new_json();
        cs_json_string(&json, NULL, cases[i].given);
        cs_json_end(&json);
        CHECK_STR(text, cases[i].written);
        CHECK_INT(cs_json_quote(quoted, sizeof quoted, cases[i].given), strlen(cases[i].written));
        CHECK_STR(quoted, cases[i].written);
    }
}

static void a_quoted_text_is_cut_at_a_character(void)
{
    char out[16];
    for (size_t size = 3; size <= sizeof out; size++) {
        char written[32];
        size_t used = cs_json_quote(out, size, "a\n\xe2\x82\xac\"z");
        CHECK(used < size && strlen(out) == used);
        snprintf(written, sizeof written, "[%s]", out);
        cJSON *read = cJSON_Parse(written);
        CHECK(read != NULL);
        cJSON_Delete(read);
    }
}

/* The decoder, with two lanes, runs, a rule, beta and fused tensors on one more site. */
static struct cs_account *rich(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    struct cs_problem problem = problem_of(3, 128, 256, 64, CS_F16);
    problem.direction = CS_BACKWARD_FILTER;
    problem.beta = 1;
    problem.tensors = CS_OPERANDS + 2;
    problem.tensor[CS_OPERANDS] = problem.tensor[CS_OPERANDS + 1] = problem.tensor[CS_Y];
    problem.tensor[CS_OPERANDS + 1].is_virtual = true;
    problem.steps = 1;
    struct cs_site_facts facts = facts_of(&problem, 300 * mib, 60 * mib, 11);
    facts.tiling.lanes = 2;
    facts.free = 50 * mib;
    facts.raised = true;
    facts.tiling.runs = 1;
    facts.tiling.run[0] = (struct cs_run){.step = 9, .tiles = 2, .relaxation = CS_SIMILAR_ENGINE};
    facts.rule = 2;
    facts.queries = 14;
    struct cs_site_ref site = cs_account_site(account, &facts, "decoder \"up\"");
    cs_account_prepared(account, &site, 1234);
    cs_account_tiled(account, &site, 11, 2);
    cs_account_fallback(account, &site);
    cs_account_failed(account, &site);
    return account;
}

static void every_relaxation_has_a_name(void)
{
    static const char *const names[CS_RELAXATIONS] = {"knobs", "defaults", "alike"};
    for (int relaxation = 0; relaxation < CS_RELAXATIONS; relaxation++) {
        struct cs_account *account = calloc(1, sizeof *account);
        cs_account_init(account);
        struct cs_problem problem = problem_of(3, 128, 256, 64, CS_F16);
        struct cs_site_facts facts = facts_of(&problem, 0, 60 * mib, 11);
        facts.tiling.relaxation = (enum cs_relaxation)relaxation;
        struct cs_site_ref site = cs_account_site(account, &facts, "");
        cs_account_tiled(account, &site, 11, 1);
        cJSON *json = summary_of(account);
        const cJSON *written = cJSON_GetArrayItem(member(json, "sites"), 0);
        CHECK_STR(string(written, "decision.relaxation"), names[relaxation]);
        cJSON_Delete(json);
        free(account);
    }
}

/* Words that each end with a zero byte; one may be empty. */
static void a_command_has_its_words(void)
{
    static const char arguments[] = "python\0\0app.py --fast";
    static const char *const words[] = {"python", "", "app.py --fast"};
    struct cs_summary_process kept = process;
    process.arguments = arguments;
    process.arguments_bytes = sizeof arguments;
    struct cs_account *account = new_account();
    cJSON *json = summary_of(account);
    const cJSON *command = member(json, "process.command");
    CHECK_INT(cJSON_GetArraySize(command), 3);
    for (int i = 0; i < 3; i++)
        CHECK_STR(cJSON_GetArrayItem(command, i)->valuestring, words[i]);
    cJSON_Delete(json);
    process = kept;
    json = summary_of(account);
    CHECK_INT(cJSON_GetArraySize(member(json, "process.command")), 0);
    cJSON_Delete(json);
    free(account);
}

/* The texts of reasons are those of the text summary. */
static const char *without_reason_texts(void)
{
    for (int i = CS_REASON_NONE + 1; i < CS_REASONS; i++) {
        const char *reason = cs_account_reason_text((enum cs_reason)i);
        for (char *at; (at = strstr(text, reason)) != NULL;)
            memmove(at, at + strlen(reason), strlen(at + strlen(reason)) + 1);
    }
    return text;
}

static void the_summary_of_a_decoder(void)
{
    struct cs_account *account = rich();
    cJSON *json = summary_of(account);
    golden_file(".", "summary_decoder.json", without_reason_texts());
    CHECK_STR(string(json, "schema"), "convshim summary");
    CHECK_INT(number(json, "version"), CS_SUMMARY_VERSION);
    CHECK_INT(number(json, "process.rank"), 3);
    CHECK_STR(string(json, "config.options.log_file"), "a \"quoted\" path");
    const cJSON *sites = member(json, "sites"), *totals = member(json, "totals");
    CHECK_INT(number(totals, "calls"), account->calls);
    CHECK_INT(number(totals, "calls"), sum_of(sites, "calls") + 5);
    CHECK_INT(number(totals, "calls"), number(totals, "tiled") + number(totals, "fallback") +
                                           number(totals, "failed") +
                                           sum_of(member(totals, "not_tiled"), "calls"));
    CHECK_INT(number(totals, "tiled"), sum_of(sites, "tiled"));
    CHECK_INT(number(totals, "launches"), sum_of(sites, "launches"));
    CHECK_INT(number(totals, "required_sum"), sum_of(sites, "required"));
    CHECK_INT(number(totals, "reported_sum"), sum_of(sites, "reported"));
    CHECK_INT(number(totals, "host_ns"), 1234);
    CHECK_INT(cJSON_GetArraySize(member(json, "order")), account->calls);
    CHECK_INT(cJSON_GetArrayItem(member(json, "order"), 0)->valueint, 0);
    const cJSON *last = cJSON_GetArrayItem(sites, cJSON_GetArraySize(sites) - 1);
    CHECK_STR(string(last, "name"), "decoder \"up\"");
    CHECK_STR(string(last, "rule"), "second");
    CHECK_INT(number(last, "problem.extra_bytes"), number(last, "problem.y.bytes"));
    CHECK_INT(number(last, "last_call"), account->calls);
    cJSON_Delete(json);
    free(account);
}

/* predict, verify and report find the members of the library under the same names. */
static void the_commands_read_the_written_summary(void)
{
    char path[] = "/tmp/convshim-summary-XXXXXX", error[CS_SUMMARY_ERROR] = "";
    struct cs_account *account = calloc(1, sizeof *account);
    cs_account_init(account);
    struct cs_problem problem = problem_of(3, 128, 256, 64, CS_F16);
    problem.direction = CS_BACKWARD_FILTER;
    problem.beta = 1;
    problem.flipped = true;
    struct cs_site_facts facts = facts_of(&problem, 300 * mib, 60 * mib, 11);
    facts.possible = 50 * mib;
    facts.free = 5;
    struct cs_site_ref site = cs_account_site(account, &facts, "");
    cs_account_tiled(account, &site, 11, 2);
    cs_account_tiled(account, &site, 11, 2);
    cJSON_Delete(summary_of(account));
    int file = mkstemp(path);
    CHECK(write(file, text, length) == (ssize_t)length);
    CHECK(close(file) == 0);

    const struct cs_layer_rules plain = {.layout = CS_CHANNELS_FIRST};
    struct cs_layers layers = {.count = 0};
    CHECK(cs_layers_summary(&layers, path, &plain, error));
    CHECK_INT((int64_t)layers.count, 1);
    if (layers.count == 1) {
        const struct cs_layer *layer = layers.layer;
        CHECK_STR(layer->model, process.program);
        CHECK_STR(layers.device, process.device);
        CHECK_STR(layers.vendor, head.vendor);
        CHECK(layer->problem.beta > 0 && layer->problem.flipped);
        CHECK_INT(layer->recorded.engine, facts.engine);
        CHECK_INT(layer->recorded.required, facts.required);
    }
    cs_layers_fini(&layers);

    cJSON *run = cs_summary_read(path, error);
    CHECK_STR(error, "");
    CHECK_INT(cs_json_whole_at(run, "totals.peak_without", -1), head.peak_without);
    CHECK_INT(cs_json_whole_at(run, "totals.allocated_without", -1), gpus[0].without);
    CHECK_INT(cs_json_whole_at(run, "totals.allocated_with", -1), gpus[0].with);
    CHECK_INT(cs_json_whole_at(run, "totals.reserved", -1), gpus[0].reserved);
    CHECK_INT(cs_json_whole_at(run, "totals.possible_max", -1), facts.possible);
    CHECK_INT(cs_json_whole_at(run, "process.rank", -1), process.rank);
    CHECK_STR(cs_json_text_at(run, "config.source", ""), head.config);
    cJSON_Delete(run);
    unlink(path);
    free(account);
}

/* Additional tensors count only if they are in memory. Sums beyond 64 bits stay at the maximum. */
static void bytes_of_further_tensors(void)
{
    static const struct {
        bool is_virtual[2], by_value[2], huge[2];
        int64_t tensors;
    } rows[] = {
        {{false, false}, {false, false}, {false, false}, 2},
        {{true, false}, {false, false}, {false, false}, 1},
        {{false, false}, {false, true}, {false, false}, 1},
        {{true, false}, {false, true}, {false, false}, 0},
        {{true, true}, {true, true}, {false, false}, 0},
        {{false, false}, {false, false}, {true, false}, -1},
        {{false, false}, {false, false}, {true, true}, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_account *account = new_account();
        struct cs_problem problem = problem_of(3, 128, 256, 64, CS_F16);
        problem.tensors = CS_OPERANDS + 2;
        for (int j = 0; j < 2; j++) {
            struct cs_tensor *tensor = &problem.tensor[CS_OPERANDS + j];
            *tensor = problem.tensor[CS_Y];
            tensor->is_virtual = rows[i].is_virtual[j];
            tensor->by_value = rows[i].by_value[j];
            if (rows[i].huge[j])
                tensor->dims[0] = tensor->strides[0] = INT64_MAX;
        }
        struct cs_site_facts facts = facts_of(&problem, 300 * mib, 60 * mib, 11);
        struct cs_site_ref site = cs_account_site(account, &facts, "");
        cs_account_tiled(account, &site, 11, 2);
        cJSON *json = summary_of(account);
        const cJSON *last = cJSON_GetArrayItem(member(json, "sites"), 0);
        double own = member(last, "problem.y.bytes")->valuedouble,
               extra = member(last, "problem.extra_bytes")->valuedouble;
        CHECK(extra == (rows[i].tensors < 0 ? 0x1p63 : own * (double)rows[i].tensors));
        cJSON_Delete(json);
        free(account);
    }
}

/* Tilings of huge tensors also have it. */
static void sites_are_in_the_order_of_first_calls(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 64, 64, 32, CS_F32);
    struct cs_site_ref site[9];
    for (int i = 0; i < 9; i++) {
        struct cs_site_facts facts = facts_of(&problem, 1000 + i, 50, 3);
        site[i] = cs_account_site(account, &facts, "");
    }
    for (int i = 8; i >= 2; i--) /* two are never called */
        cs_account_tiled(account, &site[i], 3, 1);
    cs_account_tiled(account, &site[8], 3, 1);
    cJSON *json = summary_of(account);
    const cJSON *sites = member(json, "sites");
    for (int i = 0; i < 9; i++) {
        const cJSON *one = cJSON_GetArrayItem(sites, i);
        CHECK_INT(number(one, "required"), i < 7 ? 1008 - i : 1000 + i - 7);
        CHECK_INT(number(one, "first_call"), i < 7 ? i + 1 : 0);
        CHECK_INT(number(one, "last_call"), i == 0 ? 8 : i < 7 ? i + 1 : 0);
    }
    for (int i = 0; i < 8; i++)
        CHECK_INT(cJSON_GetArrayItem(member(json, "order"), i)->valueint, i % 7);
    cJSON_Delete(json);
    free(account);
}

/* Entries after the last site are not read. */
static void sums_are_those_of_the_sites(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 64, 64, 32, CS_F32);
    struct cs_site_facts facts = facts_of(&problem, 1000, 50, 3);
    run(account, &facts, 1);
    int64_t host = account->site[0].host;
    account->site[1] = account->site[0];
    account->facts[1] = account->facts[0];
    account->site[1].host = 77;
    cJSON *json = summary_of(account);
    CHECK_INT(number(json, "totals.required_sum"), 1000);
    CHECK_INT(number(json, "totals.reported_sum"), 50);
    CHECK_INT(number(json, "totals.host_ns"), host);
    cJSON_Delete(json);
    free(account);
}

static void the_predicted_time_contains_what_the_tiles_that_ran_add(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 64, 64, 32, CS_F32);
    struct cs_site_facts facts = facts_of(&problem, 1000, 50, 3);
    facts.untiled_ns = 100;
    facts.predicted_ns = 115;
    struct cs_site_ref site = cs_account_site(account, &facts, "");
    cs_account_tiled(account, &site, 3, 1);
    cs_account_added(account, 15, 20);
    cs_account_tiled(account, &site, 2, 1);
    cs_account_added(account, 5, 8);
    cs_account_fallback(account, &site);
    cJSON *json = summary_of(account);
    CHECK_INT(number(json, "totals.untiled_ns"), 300);
    CHECK_INT(number(json, "totals.predicted_ns"), 320);
    CHECK_INT(number(json, "totals.added_most_ns"), 28);
    CHECK_INT(number(cJSON_GetArrayItem(member(json, "sites"), 0), "predicted_ns"), 115);
    cJSON_Delete(json);
    free(account);
}

static void more_sites_than_places_still_add_up(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 64, 64, 32, CS_F32);
    struct cs_site_facts facts = facts_of(&problem, 0, 0, 2);
    for (int64_t i = 0; i < CS_ORDER + CS_MAX_SITES; i++) {
        facts.required = 1000 + i * 1009 % 7919;
        run(account, &facts, 1);
    }
    cJSON *json = summary_of(account);
    CHECK_INT(cJSON_GetArraySize(member(json, "sites")), CS_MAX_SITES);
    CHECK_INT(cJSON_GetArraySize(member(json, "order")), CS_ORDER);
    CHECK_INT(sum_of(member(json, "sites"), "calls") + number(json, "folded.calls"),
              number(json, "totals.calls"));
    CHECK_INT(number(json, "folded.sites"), CS_ORDER);
    int64_t nowhere = 0;
    const cJSON *place;
    cJSON_ArrayForEach(place, member(json, "order")) nowhere += place->valueint < 0;
    CHECK(nowhere > 0 && nowhere < CS_ORDER);
    cJSON_Delete(json);
    free(account);
}

static void hostile_names_stay_in_their_strings(void)
{
    struct cs_account *account = decoder(CS_REASON_NO_TILING);
    struct cs_summary_head kept_head = head;
    struct cs_summary_process kept = process;
    process.program = "a\"},{\"calls\":1,\n\xff";
    process.rank = -1;
    head.config = "/tmp/\\\"\x01.ini";
    head.bypass = "lib\xe2\x80\xa8.so"; /* a line separator is a character like others */
    cJSON *json = summary_of(account);
    CHECK_STR(string(json, "process.program"), "a\"},{\"calls\":1,\n\xc3\xbf");
    CHECK(cJSON_IsNull(member(json, "process.rank")));
    CHECK_STR(string(json, "config.source"), head.config);
    CHECK_STR(string(json, "bypass"), head.bypass);
    cJSON_Delete(json);
    head = kept_head;
    process = kept;
    free(account);
}

int main(void)
{
    TEST(any_string_is_valid_json);
    TEST(a_quoted_text_is_cut_at_a_character);
    TEST(a_command_has_its_words);
    TEST(the_summary_of_a_decoder);
    TEST(the_commands_read_the_written_summary);
    TEST(bytes_of_further_tensors);
    TEST(every_relaxation_has_a_name);
    TEST(sites_are_in_the_order_of_first_calls);
    TEST(sums_are_those_of_the_sites);
    TEST(the_predicted_time_contains_what_the_tiles_that_ran_add);
    TEST(more_sites_than_places_still_add_up);
    TEST(hostile_names_stay_in_their_strings);
    return REPORT();
}
