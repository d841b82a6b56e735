/* The summary that people read on standard error: headline, reasons, the convolutions that saved
 * most, own scratch, advice. */
#include "account/account.h"

#include "account/advice.h"
#include "account/outcome.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    COLUMNS = 100,
    LINES = 40,
    LABEL = 18,
    SAVINGS = 10,
    PASSED = 12, /* reasons */
    REASON = 26  /* columns that long shapes leave to a reason */
};

/* Head, calls, rules, two of what bypasses, two of workspace, plans, launches, five of own scratch,
 * turns, heading and rest of the spikes, advice. */
_Static_assert(PASSED + SAVINGS + 18 <= LINES, "the reasons no longer fit the summary");

static void append(struct cs_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One line, never longer than COLUMNS. */
static void append(struct cs_text *text, const char *format, ...)
{
    char line[COLUMNS + 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    cs_text_put(text, "%s\n", line);
}

static int digits(int64_t number)
{
    return snprintf(NULL, 0, "%lld", (long long)number);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int columns(const char *text)
{
    return (int)strlen(text);
}

/* Shortens to `width` columns, between words where that leaves some. */
static void clip(char *text, size_t width)
{
    static const char mark[] = "...";
    if (strlen(text) <= width || width < strlen(mark))
        return;
    size_t end = width - strlen(mark), blank = end;
    while (blank > 0 && text[blank] != ' ')
        blank--;
    memcpy(text + (blank ? blank : end), mark, sizeof mark);
}

/* One line of the table of spikes. */
struct row {
    int site;
    char shape[CS_PROBLEM_TEXT];
    char engine[CS_SIZE_TEXT];
    char required[CS_SIZE_TEXT];
    struct cs_site_outcome_text outcome;
    char calls[CS_SIZE_TEXT];
};

struct widths {
    int shape, engine, required, reported, tiles, outcome, calls;
};

struct savings {
    int rows;
    struct row row[SAVINGS];
    struct widths widths;
};

static void fill_row(struct row *row, const struct cs_account *account)
{
    const struct cs_site_facts *facts = &account->facts[row->site];
    cs_site_problem_text(&facts->problem, row->shape, sizeof row->shape);
    snprintf(row->engine, sizeof row->engine, "%lld", (long long)facts->engine);
    cs_log_size_text(row->required, facts->required);
    cs_site_outcome_text(facts, &row->outcome);
    snprintf(row->calls, sizeof row->calls, "%lld",
             (long long)cs_account_site_count(&account->site[row->site], CS_COUNT_CALLS));
}

static bool is_larger(const struct cs_site *a, const struct cs_site *b)
{
    return a->saved != b->saved ? a->saved > b->saved : a->required > b->required;
}

/* The largest sites that were executed, in order. */
static void collect(const struct cs_account *account, struct savings *savings)
{
    savings->rows = 0;
    for (int i = 0; i < account->sites; i++) {
        const struct cs_site *site = &account->site[i];
        if (cs_account_site_count(site, CS_COUNT_CALLS) == 0 || site->required == 0)
            continue;
        int at = savings->rows;
        while (at > 0 && is_larger(site, &account->site[savings->row[at - 1].site]))
            at--;
        if (at == SAVINGS)
            continue;
        if (savings->rows < SAVINGS)
            savings->rows++;
        for (int j = savings->rows - 1; j > at; j--)
            savings->row[j].site = savings->row[j - 1].site;
        savings->row[at].site = i;
    }
    for (int i = 0; i < savings->rows; i++)
        fill_row(&savings->row[i], account);
}

/* As wide as the cells; long reasons, then long shapes, give way if a line would be too long. */
static void measure(struct savings *savings, int64_t other_calls)
{
    struct widths widths = {.engine = columns("engine"),
                            .required = columns("required"),
                            .reported = columns("reported"),
                            .tiles = columns("tiles"),
                            .calls = larger(digits(other_calls), columns("calls"))};
    int reason = 0;
    for (int i = 0; i < savings->rows; i++) {
        const struct row *row = &savings->row[i];
        widths.shape = larger(widths.shape, columns(row->shape));
        widths.engine = larger(widths.engine, columns(row->engine));
        widths.required = larger(widths.required, columns(row->required));
        widths.reported = larger(widths.reported, columns(row->outcome.reported));
        widths.calls = larger(widths.calls, columns(row->calls));
        if (row->outcome.reported[0])
            widths.tiles = larger(widths.tiles, columns(row->outcome.tiles));
        else
            reason = larger(reason, columns(row->outcome.tiles));
    }
    int gaps = 2 + 2 + 2 + 2 + 2;
    int room = COLUMNS - gaps - widths.engine - widths.required - widths.calls;
    widths.outcome = widths.reported + 2 + widths.tiles;
    int least = larger(widths.outcome, reason < REASON ? reason : REASON);
    if (widths.shape > room - least)
        widths.shape = room - least;
    if (reason > room - widths.shape)
        reason = room - widths.shape;
    widths.outcome = larger(reason, widths.outcome);
    savings->widths = widths;
}

static void append_row(struct cs_text *text, struct row *row, const struct widths *widths)
{
    char outcome[COLUMNS + 1];
    clip(row->shape, (size_t)widths->shape);
    if (row->outcome.reported[0])
        snprintf(outcome, sizeof outcome, "%*s  %s", widths->reported, row->outcome.reported,
                 row->outcome.tiles);
    else
        snprintf(outcome, sizeof outcome, "%s", row->outcome.tiles);
    clip(outcome, (size_t)widths->outcome);
    append(text, "  %-*s  %*s  %*s  %-*s  %*s", widths->shape, row->shape, widths->engine,
           row->engine, widths->required, row->required, widths->outcome, outcome, widths->calls,
           row->calls);
}

static void append_savings(struct cs_text *text, struct savings *savings, int64_t other_calls)
{
    const struct widths *widths = &savings->widths;
    if (savings->rows == 0)
        return;
    append(text, "%-*s  %*s  %*s  %*s  %-*s  %*s", widths->shape + 2, "largest savings",
           widths->engine, "engine", widths->required, "required", widths->reported, "reported",
           widths->outcome - widths->reported - 2, "tiles", widths->calls, "calls");
    for (int i = 0; i < savings->rows; i++)
        append_row(text, &savings->row[i], widths);
    if (other_calls)
        append(text, "  %-*s%*lld",
               widths->shape + widths->engine + widths->required + widths->outcome + 8,
               "other convolutions, not listed one by one", widths->calls, (long long)other_calls);
}

static void append_head(struct cs_text *text, const struct cs_summary_head *head)
{
    char start[COLUMNS + 1], known[40] = "";
    if (head->known > 0)
        snprintf(known, sizeof known, " (%d convolutions known)", head->known);
    snprintf(start, sizeof start, "convshim %s%s%s, policy %s%s, ", head->version,
             *head->vendor ? ", " : "", head->vendor, head->policy, known);
    size_t room = COLUMNS - strlen(start), length = strlen(head->config);
    /* Of a long path the end says more. */
    if (!length)
        append(text, "%sbuilt-in defaults", start);
    else if (length <= room)
        append(text, "%s%s", start, head->config);
    else
        append(text, "%s...%s", start, head->config + (room > 3 ? length - (room - 3) : length));
}

static void append_calls(struct cs_text *text, const struct cs_account *account, int width)
{
    long long passed = 0;
    for (int i = 0; i < CS_REASONS; i++)
        passed += account->passed[i];
    append(text, "%-*s%*lld %s: %lld tiled, %lld not tiled", LABEL, "convolutions", width,
           (long long)account->calls, account->calls == 1 ? "call" : "calls",
           (long long)account->tiled_calls, passed);
}

/* Of those left the most frequent reason, CS_REASON_NONE if there is none; *calls_p and *reasons_p
 * are of all of them. */
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

/* The reasons, most frequent first. */
static void append_passed(struct cs_text *text, const struct cs_account *account, int width)
{
    int64_t left[CS_REASONS], calls;
    for (int i = 0; i < CS_REASONS; i++)
        left[i] = account->passed[i];
    for (int row = 1, reasons; row <= PASSED; row++) {
        int most = most_frequent(left, &calls, &reasons);
        const char *label = row == 1 ? "not tiled" : "";
        if (!most)
            break;
        if (row == PASSED && reasons > 1)
            append(text, "%-*s%*lld for %d further reasons", LABEL, label, width, (long long)calls,
                   reasons);
        else
            append(text, "%-*s%*lld %s", LABEL, label, width, (long long)left[most],
                   cs_account_reason_text((enum cs_reason)most));
        left[most] = 0;
    }
}

/* How many calls followed each rule; those of convolutions that are too many to tell apart aside.
 */
static void append_rules(struct cs_text *text, const struct cs_account *account,
                         const char *const *rules)
{
    char line[COLUMNS * 2] = "";
    size_t length = 0;
    if (!rules || !*rules)
        return;
    for (int i = 0; rules[i] && length < sizeof line; i++)
        length +=
            (size_t)snprintf(line + length, sizeof line - length, "%s%lld %s", i > 0 ? ", " : "",
                             (long long)cs_account_rule(account, i + 1), rules[i]);
    clip(line, COLUMNS - LABEL);
    append(text, "%-*s%s", LABEL, "followed rules", line);
}

static void append_bypass(struct cs_text *text, const char *objects)
{
    char names[COLUMNS + 1];
    if (!*objects)
        return;
    snprintf(names, sizeof names, "%s", objects);
    clip(names, COLUMNS - LABEL);
    append(text, "%-*s%s", LABEL, "bypassed by", names);
    append(text, "%-*s(cuDNN 8, RTLD_DEEPBIND or cuDNN inside: these convolutions are not seen)",
           LABEL, "");
}

/* Of what was called. */
static void append_raised(struct cs_text *text, const struct cs_account *account)
{
    char size[CS_SIZE_TEXT];
    int64_t most = 0, raised = 0;
    for (int i = 0; i < account->sites; i++) {
        const struct cs_site_facts *facts = &account->facts[i];
        if (!facts->raised || cs_account_site_count(&account->site[i], CS_COUNT_CALLS) == 0)
            continue;
        raised++;
        most = facts->reported > most ? facts->reported : most;
    }
    if (raised > 0)
        append(text,
               "%-*slimit raised for %lld of them, up to %s: tiles of less are too dear or none",
               LABEL, "", (long long)raised, cs_log_size_text(size, most));
}

static void append_workspace(struct cs_text *text, const struct cs_account *account, int64_t limit)
{
    char required[CS_SIZE_TEXT], reported[CS_SIZE_TEXT], saved[CS_SIZE_TEXT], most[CS_SIZE_TEXT];
    int64_t required_max = account->required_max, reported_max = account->reported_max;
    cs_log_size_text(required, required_max);
    cs_log_size_text(reported, reported_max);
    cs_log_size_text(saved, required_max > reported_max ? required_max - reported_max : 0);
    if (limit < 0)
        snprintf(most, sizeof most, "auto");
    else
        cs_log_size_text(most, limit);
    if (required_max == 0 && reported_max == 0)
        return;
    if (account->passed[CS_REASON_REPORT_ONLY] > 0)
        append(text, "%-*s%s largest required, %s could be saved (limit %s)", LABEL, "workspace",
               required, saved, most);
    else
        append(text, "%-*s%s largest required, %s largest reported (limit %s)", LABEL, "workspace",
               required, reported, most);
    append_raised(text, account);
}

static void append_refused(struct cs_text *text, const struct cs_account *account, int width)
{
    long long refused = account->refused;
    if (refused > 0)
        append(text, "%-*s%*lld refused: no tiling fits the limit, other engines do (untileable)",
               LABEL, "plans", width, refused);
}

static void append_launches(struct cs_text *text, const struct cs_account *account, int64_t extra,
                            int width)
{
    char lanes[40] = "";
    if (account->lanes > 1)
        snprintf(lanes, sizeof lanes, ", on up to %lld lanes", (long long)account->lanes);
    append(text, "%-*s%*lld (fallback plan %lld, failed %lld)%s", LABEL, "extra launches", width,
           (long long)extra, (long long)account->fallbacks, (long long)account->failed, lanes);
}

/* One line of own scratch, under the first one's label. */
static void append_bytes(struct cs_text *text, int64_t bytes, const char *what)
{
    char size[CS_SIZE_TEXT];
    cs_log_size_text(size, bytes);
    if (bytes > 0)
        append(text, "%-*s%s %s", LABEL, "", size, what);
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
    append(text, "%-*s%s held at most (limit %s)%s", LABEL, "own scratch", peak, limit,
           allocations);
    append_bytes(text, own->captured, "in CUDA graphs at the end");
    append_bytes(text, own->lost, "not used again: the device did not say when it was free");
    if (own->handed_over > 0)
        append(text, "%-*shanded from stream to stream %lld %s", LABEL, "",
               (long long)own->handed_over, own->handed_over == 1 ? "time" : "times");
    if (own->refused > 0)
        append(text, "%-*s%lld %s had no scratch available: raise arena or interleave.budget",
               LABEL, "", (long long)own->refused, own->refused == 1 ? "call" : "calls");
}

static void append_gate(struct cs_text *text, const struct cs_summary_gate *gate)
{
    /* In whole numbers: printf's point follows the program's locale. */
    long long tenth = 100000000, tenths = gate->nanoseconds / tenth;
    if (gate->nanoseconds % tenth >= tenth / 2)
        tenths++;
    if (gate->waits > 0)
        append(text, "%-*s%lld waits of %lld.%lld s in all, %lld timed out%s", LABEL, "gate",
               (long long)gate->waits, tenths / 10, tenths % 10, (long long)gate->timed_out,
               gate->given_up ? ", gate left open" : "");
}

static void append_advice(struct cs_text *text, const struct cs_account *account,
                          const struct cs_summary_head *head)
{
    char advice[CS_ADVICE_TEXT];
    if (cs_advice_text(account, head, advice, sizeof advice) <= 0)
        return;
    clip(advice, COLUMNS - LABEL);
    append(text, "%-*s%s", LABEL, "advice", advice);
}

int cs_summary_text(const struct cs_account *account, const struct cs_summary_head *head,
                    char *text, size_t size)
{
    struct cs_text out = {.at = text, .size = size};
    struct savings savings;
    int64_t extra = account->launches - account->tiled_calls;
    int64_t other_calls = account->folded[CS_COUNT_CALLS];
    if (size > 0)
        text[0] = '\0';
    if (account->calls == 0)
        return 0;
    int width = larger(digits(account->calls), digits(extra));
    append_head(&out, head);
    append_calls(&out, account, width);
    append_passed(&out, account, width);
    append_rules(&out, account, head->rules);
    append_bypass(&out, head->bypass);
    append_workspace(&out, account, head->workspace);
    append_refused(&out, account, width);
    append_launches(&out, account, extra, width);
    append_own(&out, &head->own);
    append_gate(&out, &head->gate);
    collect(account, &savings);
    measure(&savings, other_calls);
    append_savings(&out, &savings, other_calls);
    append_advice(&out, account, head);
    return out.length;
}
