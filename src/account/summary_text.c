/* The summary that people read on standard error: the peak, the result in one line, settings,
 * reasons, the largest workspaces that remain, the convolutions that save most, own scratch,
 * advice. */
#include "account/account.h"

#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    LINE = 1024, /* bytes that hold every line */
    LABEL = 18,
    REMAINING = 5,
    SAVINGS = 10,
    ROWS = REMAINING + SAVINGS,
    CELL_BYTES = 352, /* more than the text of a convolution has that any memory holds */
    REASONS = 12      /* lines of them */
};

static void append_format(struct cs_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends one line. */
static void append_format(struct cs_text *text, const char *format, ...)
{
    char line[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    cs_text_put(text, "%s\n", line);
}

static int count_digits(int64_t number)
{
    return snprintf(NULL, 0, "%lld", (long long)number);
}

static int larger_of(int a, int b)
{
    return a > b ? a : b;
}

static int count_columns(const char *text)
{
    return (int)strlen(text);
}

static const char *plural_of(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Returns the option that changes an outcome, "" if no option does. */
static const char *option_of(const struct cs_site_facts *facts, const struct cs_summary_head *head)
{
    switch (facts->reason) {
    case CS_REASON_NONE:
        if (head->counts)
            return "tiles";
        return head->workspace < 0 ? "price" : "workspace";
    case CS_REASON_SMALL:
        return "threshold";
    case CS_REASON_RULE:
        return "skip";
    case CS_REASON_REPORT_ONLY:
        return "policy";
    case CS_REASON_SLOW:
        return "price, max_slowdown";
    case CS_REASON_NO_TILING:
    case CS_REASON_NO_FALLBACK:
        return head->workspace < 0 ? "" : "workspace";
    case CS_REASON_NO_GAIN:
        return "policy";
    default:
        return "";
    }
}

/* Writes the option of option_of, or the rule that may set it. */
static void option_text(char *text, const struct cs_site_facts *facts,
                        const struct cs_summary_head *head)
{
    const char *option = option_of(facts, head);
    if (facts->rule > 0 && head->rules && *option)
        snprintf(text, CELL_BYTES, "rule %s", head->rules[facts->rule - 1]);
    else
        snprintf(text, CELL_BYTES, "%s", option);
}

/* --- the tables of convolutions ----------------------------------------------------------------
 */

enum cell {
    SHAPE,
    ENGINE,
    REQUIRED,
    REPORTED,
    OUTCOME,
    OPTION,
    CALLS,
    CELLS
};

struct row {
    int site;
    char cell[CELLS][CELL_BYTES];
};

/* Rows of both tables, which share their columns. */
struct tables {
    int remaining, savings;
    struct row row[ROWS];
    int width[CELLS];
};

static int64_t saved_bytes(const struct cs_site_facts *facts)
{
    return facts->required - cs_site_reported(facts);
}

static int64_t savable_bytes(const struct cs_site_facts *facts)
{
    return facts->required - facts->possible;
}

/* True if the policy only reports, and no rule tiles. */
static bool only_reports(const struct cs_account *account)
{
    return account->passed[CS_REASON_REPORT_ONLY] > 0 && account->tiled_calls == 0;
}

static bool is_larger(const struct cs_site_facts *a, const struct cs_site_facts *b,
                      int64_t (*size)(const struct cs_site_facts *facts))
{
    return size(a) != size(b) ? size(a) > size(b) : a->required > b->required;
}

/* Adds to `row` the executed sites with the largest positive sizes, largest first, `most` at most.
 * Returns their number. */
static int collect_rows(const struct cs_account *account, struct row *row, int most,
                        int64_t (*size)(const struct cs_site_facts *facts))
{
    int rows = 0;
    for (int i = 0; i < account->sites; i++) {
        const struct cs_site_facts *facts = &account->facts[i];
        if (cs_account_site_count(&account->site[i], CS_COUNT_CALLS) == 0 || size(facts) <= 0)
            continue;
        int at = rows;
        while (at > 0 && is_larger(facts, &account->facts[row[at - 1].site], size))
            at--;
        if (at == most)
            continue;
        if (rows < most)
            rows++;
        for (int j = rows - 1; j > at; j--)
            row[j].site = row[j - 1].site;
        row[at].site = i;
    }
    return rows;
}

/* Writes the cells of a site's row. */
static void fill_row(struct row *row, const struct cs_account *account,
                     const struct cs_summary_head *head)
{
    const struct cs_site_facts *facts = &account->facts[row->site];
    struct cs_site_outcome_text outcome;
    char size[CS_SIZE_TEXT];
    cs_site_outcome_text(facts, &outcome);
    cs_site_problem_text(&facts->problem, row->cell[SHAPE], sizeof row->cell[SHAPE]);
    snprintf(row->cell[ENGINE], CELL_BYTES, "%lld", (long long)facts->engine);
    snprintf(row->cell[REQUIRED], CELL_BYTES, "%s", cs_log_size_text(size, facts->required));
    snprintf(row->cell[REPORTED], CELL_BYTES, "%s",
             cs_log_size_text(size, cs_site_reported(facts)));
    snprintf(row->cell[OUTCOME], CELL_BYTES, "%s", outcome.tiles);
    option_text(row->cell[OPTION], facts, head);
    snprintf(row->cell[CALLS], CELL_BYTES, "%lld",
             (long long)cs_account_site_count(&account->site[row->site], CS_COUNT_CALLS));
}

static void append_cells(struct cs_text *text, const int width[CELLS], const char *shape,
                         const char *const cell[CELLS])
{
    append_format(text, "%-*s  %*s  %*s  %*s  %-*s  %-*s  %*s", width[SHAPE] + 2, shape,
                  width[ENGINE], cell[ENGINE], width[REQUIRED], cell[REQUIRED], width[REPORTED],
                  cell[REPORTED], width[OUTCOME], cell[OUTCOME], width[OPTION], cell[OPTION],
                  width[CALLS], cell[CALLS]);
}

static const char *const title[CELLS] = {
    "", "engine", "required", "reported", "tiles or reason", "option", "calls"};

static void append_table(struct cs_text *text, const char *name, const struct row *row, int rows,
                         const int width[CELLS])
{
    if (rows == 0)
        return;
    append_cells(text, width, name, title);
    for (int i = 0; i < rows; i++) {
        char shape[CELL_BYTES + 2];
        const char *cell[CELLS];
        for (int c = 0; c < CELLS; c++)
            cell[c] = row[i].cell[c];
        snprintf(shape, sizeof shape, "  %s", row[i].cell[SHAPE]);
        append_cells(text, width, shape, cell);
    }
}

/* Appends the tables of the largest workspaces and of the largest savings. */
static void append_tables(struct cs_text *text, const struct cs_account *account,
                          const struct cs_summary_head *head)
{
    struct tables tables;
    long long others = account->folded[CS_COUNT_CALLS];
    const bool possible = only_reports(account);
    tables.remaining = collect_rows(account, tables.row, REMAINING, cs_site_reported);
    tables.savings = collect_rows(account, tables.row + tables.remaining, SAVINGS,
                                  possible ? savable_bytes : saved_bytes);
    for (int c = 0; c < CELLS; c++)
        tables.width[c] = count_columns(title[c]);
    tables.width[SHAPE] = count_columns("largest workspaces now");
    for (int i = 0; i < tables.remaining + tables.savings; i++) {
        fill_row(&tables.row[i], account, head);
        for (int c = 0; c < CELLS; c++)
            tables.width[c] = larger_of(tables.width[c], count_columns(tables.row[i].cell[c]));
    }
    append_table(text, "largest workspaces now", tables.row, tables.remaining, tables.width);
    append_table(text, possible ? "possible savings" : "largest savings",
                 tables.row + tables.remaining, tables.savings, tables.width);
    if (others > 0)
        append_format(text, "  %lld calls of other convolutions are not listed", others);
}

/* --- the lines above and below -----------------------------------------------------------------
 */

const struct cs_summary_gpu *cs_summary_main_gpu(const struct cs_summary_head *head)
{
    const struct cs_summary_gpu *most = NULL;
    for (int i = 0; i < head->gpus; i++)
        if (!most || head->gpu[i].with > most->with)
            most = &head->gpu[i];
    return most;
}

/* Appends the peaks of a GPU, from the program's allocator. `name`: its number if there are
 * several, and the kind of the allocator if it is a pool. */
static void append_gpu(struct cs_text *text, const struct cs_summary_gpu *gpu, const char *name)
{
    char without[CS_SIZE_TEXT], with[CS_SIZE_TEXT], reserved[CS_SIZE_TEXT];
    append_format(text, "%sallocated peak %s without convshim, %s with; reserved peak %s", name,
                  cs_log_size_text(without, gpu->without), cs_log_size_text(with, gpu->with),
                  cs_log_size_text(reserved, gpu->reserved));
}

static void append_gpus(struct cs_text *text, const struct cs_summary_head *head)
{
    for (int i = 0; i < head->gpus; i++) {
        const char *pool = head->gpu[i].pool ? "memory pool: " : "";
        char name[48];
        if (head->gpus > 1)
            snprintf(name, sizeof name, "GPU %d: %s", head->gpu[i].number, pool);
        else
            snprintf(name, sizeof name, "%s", pool);
        append_gpu(text, &head->gpu[i], name);
    }
}

/* Appends the peak that calls of convolutions show. Other operations may hold more. */
static void append_convolution_peak(struct cs_text *text, const struct cs_account *account,
                                    const struct cs_summary_head *head)
{
    char without[CS_SIZE_TEXT], with[CS_SIZE_TEXT];
    if (head->peak_without > 0)
        append_format(
            text, "peak of convolutions %s without convshim, %s %s; other operations may hold more",
            cs_log_size_text(without, head->peak_without), cs_log_size_text(with, head->peak_with),
            only_reports(account) ? "if policy fit is used" : "with");
}

/* Writes a time in milliseconds with one digit. In whole numbers: printf's point follows the
 * program's locale. */
static const char *milliseconds_text(char text[CS_SIZE_TEXT], int64_t ns)
{
    const int64_t tenths = (ns > 0 ? ns + 50000 : 0) / 100000;
    snprintf(text, CS_SIZE_TEXT, "%lld.%lld", (long long)(tenths / 10), (long long)(tenths % 10));
    return text;
}

/* Writes what tiles cost: kernels, and the predicted time of the GPU. "" if they add none. */
static void cost_text(char text[128], const struct cs_account *account)
{
    char least[CS_SIZE_TEXT], most[CS_SIZE_TEXT];
    const int64_t extra = account->launches - account->tiled_calls;
    text[0] = '\0';
    if (extra <= 0)
        return;
    int length = snprintf(text, 128, "; %lld launch%s", (long long)extra, extra == 1 ? "" : "es");
    if (account->added_most_ns > 0)
        length += snprintf(text + length, 128 - (size_t)length, " and %s to %s ms (predicted)",
                           milliseconds_text(least, account->added_ns),
                           milliseconds_text(most, account->added_most_ns));
    snprintf(text + length, 128 - (size_t)length, " added");
}

/* Appends the result in one line. */
static void append_result(struct cs_text *text, const struct cs_account *account)
{
    char required[CS_SIZE_TEXT], reported[CS_SIZE_TEXT], cost[128];
    long long calls = account->calls, tiled = account->tiled_calls;
    cost_text(cost, account);
    cs_log_size_text(required, account->required_max);
    cs_log_size_text(reported,
                     only_reports(account) ? account->possible_max : account->reported_max);
    if (account->required_max == 0 && account->reported_max == 0)
        append_format(text, "no workspace required; %lld of %lld call%s tiled%s", tiled, calls,
                      plural_of(calls), cost);
    else if (only_reports(account))
        append_format(
            text,
            "largest workspace %s, %s if policy fit is used; %lld of %lld call%s would be tiled",
            required, reported, (long long)account->passed[CS_REASON_REPORT_ONLY], calls,
            plural_of(calls));
    else
        append_format(text,
                      "largest workspace %s without convshim, %s with; %lld of %lld call%s tiled%s",
                      required, reported, tiled, calls, plural_of(calls), cost);
}

static void append_head(struct cs_text *text, const struct cs_summary_head *head)
{
    append_format(text, "convshim %s%s%s, policy %s, %s", head->version, *head->vendor ? ", " : "",
                  head->vendor, head->policy, *head->config ? head->config : "built-in defaults");
}

/* Returns the most frequent of the remaining reasons, or CS_REASON_NONE. *calls_p and *reasons_p
 * are sums over all of them. */
static int most_frequent(const int64_t left[CS_REASONS], int64_t *calls_p, int *reasons_p)
{
    int most = CS_REASON_NONE;
    *calls_p = *reasons_p = 0;
    for (int i = CS_REASON_NONE + 1; i < CS_REASONS; i++) {
        *calls_p += left[i];
        *reasons_p += left[i] > 0;
        if (left[i] > (most ? left[most] : 0))
            most = i;
    }
    return most;
}

/* Appends the reasons why calls were not tiled, most frequent first. */
static void append_passed(struct cs_text *text, const struct cs_account *account,
                          const struct cs_summary_head *head)
{
    char size[CS_SIZE_TEXT], threshold[48] = "";
    const int width = count_digits(account->calls);
    if (head->threshold > 0)
        snprintf(threshold, sizeof threshold, " (threshold %s)",
                 cs_log_size_text(size, head->threshold));
    int64_t left[CS_REASONS], calls;
    for (int i = 0; i < CS_REASONS; i++)
        left[i] = account->passed[i];
    for (int row = 1, reasons; row <= REASONS; row++) {
        int most = most_frequent(left, &calls, &reasons);
        const char *label = row == 1 ? "not tiled" : "";
        if (!most)
            break;
        if (row == REASONS && reasons > 1)
            append_format(text, "%-*s%*lld for %d other reasons", LABEL, label, width,
                          (long long)calls, reasons);
        else
            append_format(text, "%-*s%*lld %s%s", LABEL, label, width, (long long)left[most],
                          cs_account_reason_text((enum cs_reason)most),
                          most == CS_REASON_SMALL ? threshold : "");
        left[most] = 0;
    }
}

/* Appends the calls that followed each rule, without the calls of folded convolutions. */
static void append_rules(struct cs_text *text, const struct cs_account *account,
                         const char *const *rules)
{
    char line[LINE - LABEL] = "";
    size_t length = 0;
    if (!rules || !*rules)
        return;
    for (int i = 0; rules[i] && length < sizeof line; i++)
        length +=
            (size_t)snprintf(line + length, sizeof line - length, "%s%lld %s", i > 0 ? ", " : "",
                             (long long)cs_account_rule(account, i + 1), rules[i]);
    append_format(text, "%-*s%s", LABEL, "followed rules", line);
}

static void append_bypass(struct cs_text *text, const char *objects)
{
    if (!*objects)
        return;
    append_format(text, "%-*s%s", LABEL, "bypassed by", objects);
    append_format(
        text,
        "%-*stheir convolutions are not intercepted (cuDNN 8, RTLD_DEEPBIND, or cuDNN linked in)",
        LABEL, "");
}

/* Appends the number of convolutions whose limit was raised, of those that were called. */
static void append_raised(struct cs_text *text, const struct cs_account *account,
                          const struct cs_summary_head *head)
{
    char size[CS_SIZE_TEXT], limit[CS_SIZE_TEXT] = "the limit";
    if (head->workspace >= 0)
        cs_log_size_text(limit, head->workspace);
    int64_t most = 0, raised = 0;
    for (int i = 0; i < account->sites; i++) {
        const struct cs_site_facts *facts = &account->facts[i];
        if (!facts->raised || facts->reason != CS_REASON_NONE ||
            cs_account_site_count(&account->site[i], CS_COUNT_CALLS) == 0)
            continue;
        raised++;
        most = cs_site_reported(facts) > most ? cs_site_reported(facts) : most;
    }
    if (raised > 0)
        append_format(text,
                      "%-*s%lld convolution%s more than %s (up to %s): smaller tiles would be too "
                      "slow (see max_slowdown), or are impossible",
                      LABEL, "limit", (long long)raised, raised == 1 ? " uses" : "s use", limit,
                      cs_log_size_text(size, most));
}

static void append_refused(struct cs_text *text, int64_t refused)
{
    if (refused > 0)
        append_format(
            text,
            "%-*s%lld refused, so that the program takes an engine that fits the limit (option "
            "untileable)",
            LABEL, "plans", (long long)refused);
}

static void append_failures(struct cs_text *text, const struct cs_account *account)
{
    long long fallbacks = account->fallbacks, failed = account->failed;
    if (fallbacks > 0)
        append_format(text, "%-*s%lld call%s ran on the slow fallback plan", LABEL, "fallback plan",
                      fallbacks, plural_of(fallbacks));
    if (failed > 0)
        append_format(text, "%-*s%lld call%s ended with an error of cuDNN", LABEL, "failed", failed,
                      plural_of(failed));
}

/* Appends a line of own scratch, under the first one's label. */
static void append_bytes(struct cs_text *text, int64_t bytes, const char *what)
{
    char size[CS_SIZE_TEXT];
    cs_log_size_text(size, bytes);
    if (bytes > 0)
        append_format(text, "%-*s%s %s", LABEL, "", size, what);
}

static void append_own(struct cs_text *text, const struct cs_summary_own *own)
{
    char peak[CS_SIZE_TEXT], limit[CS_SIZE_TEXT], allocations[40] = "";
    cs_log_size_text(peak, own->peak);
    cs_log_size_text(limit, own->limit);
    if (own->peak == 0 && own->refused == 0)
        return;
    if (own->allocations > 0)
        snprintf(allocations, sizeof allocations, ", %lld allocation%s",
                 (long long)own->allocations, own->allocations == 1 ? "" : "s");
    append_format(text, "%-*s%s held at most (limit %s)%s", LABEL, "own scratch", peak, limit,
                  allocations);
    append_bytes(text, own->captured, "in CUDA graphs at the end");
    append_bytes(text, own->lost, "cannot be reused: its last use could not be tracked");
    if (own->handed_over > 0)
        append_format(text, "%-*spassed between streams %lld %s", LABEL, "",
                      (long long)own->handed_over, own->handed_over == 1 ? "time" : "times");
    if (own->refused > 0)
        append_format(text, "%-*s%lld %s had no scratch available: raise arena", LABEL, "",
                      (long long)own->refused, own->refused == 1 ? "call" : "calls");
}

static void append_advice(struct cs_text *text, const struct cs_account *account,
                          const struct cs_summary_head *head)
{
    char advice[CS_ADVICE_TEXT];
    (void)cs_advice_text(account, head, advice, sizeof advice);
    append_format(text, "%-*s%s", LABEL, "advice", advice);
}

int cs_summary_text(const struct cs_account *account, const struct cs_summary_head *head,
                    char *text, size_t size)
{
    struct cs_text out = {.at = text, .size = size};
    if (size > 0)
        text[0] = '\0';
    if (account->calls == 0)
        return 0;
    if (head->gpus > 0 && !only_reports(account))
        append_gpus(&out, head);
    else
        append_convolution_peak(&out, account, head);
    append_result(&out, account);
    append_head(&out, head);
    append_passed(&out, account, head);
    append_rules(&out, account, head->rules);
    append_bypass(&out, head->bypass);
    append_raised(&out, account, head);
    append_refused(&out, account->refused);
    append_failures(&out, account);
    append_own(&out, &head->own);
    append_tables(&out, account, head);
    append_advice(&out, account, head);
    return out.length;
}
