/* Chooses the one line of advice at the end of a summary, most important first. */
#include "account/advice.h"

#include "base/log.h"
#include <stdio.h>
#include <string.h>

enum {
    /* Tiles of a call from which their launches matter: about 0.1 ms at the cost model's kernel_us
     * (src/decide/cost.def), in which a fast GPU moves some 300 MB. */
    MANY = 32
};

static int64_t most_tiles(const struct cs_account *account)
{
    int64_t most = 0;
    for (int i = 0; i < account->sites; i++)
        if (cs_account_site_count(&account->site[i], CS_COUNT_TILED) > 0 &&
            account->facts[i].tiles > most)
            most = account->facts[i].tiles;
    return most;
}

/* True if all that was described and called has its channels last. */
static bool all_channels_last(const struct cs_account *account)
{
    int called = 0;
    for (int i = 0; i < account->sites; i++) {
        if (cs_account_site_count(&account->site[i], CS_COUNT_CALLS) == 0)
            continue;
        const char *layout = cs_problem_layout(&account->facts[i].problem);
        if (layout[0] != 'n' || layout[strlen(layout) - 1] != 'c')
            return false;
        called++;
    }
    return called > 0;
}

static enum cs_reason main_reason(const struct cs_account *account)
{
    int most = CS_REASON_NONE;
    for (int i = CS_REASON_NONE + 1; i < CS_REASONS; i++)
        if (account->passed[i] > account->passed[most])
            most = i;
    return (enum cs_reason)most;
}

static int on_small(const struct cs_account *account, char *text, size_t size)
{
    char required[CS_SIZE_TEXT];
    if (account->required_max > 0)
        return snprintf(text, size,
                        "no convolution requires more than the limit; the largest requires %s",
                        cs_log_size_text(required, account->required_max));
    if (account->folds == 0 && all_channels_last(account))
        return snprintf(text, size,
                        "channels last: cuDNN requires no workspace, there is nothing to save");
    return snprintf(text, size, "nothing to save: all convolutions are within the limit");
}

/* Why nothing was tiled, of the reasons that users can do something about. */
static int on_nothing(const struct cs_account *account, const struct cs_summary_head *head,
                      char *text, size_t size)
{
    char limit[CS_SIZE_TEXT];
    enum cs_reason reason = main_reason(account);
    snprintf(limit, sizeof limit, "the limit");
    if (head->workspace >= 0)
        cs_log_size_text(limit, head->workspace);
    if (account->passed[CS_REASON_REPORT_ONLY] > 0)
        return snprintf(text, size, "policy %s only reports: use policy = fit to apply it",
                        head->policy);
    if (account->passed[CS_REASON_NO_TILING] > 0)
        return snprintf(text, size, "no tiling fits %s: try a larger workspace", limit);
    if (account->passed[CS_REASON_DEAR] > 0)
        return snprintf(text, size,
                        "tiles would cost more than they save: raise price, or write how much "
                        "workspace may be used");
    if (account->passed[CS_REASON_PROVIDED] > 0)
        return snprintf(text, size,
                        "the application ignores the reported size and allocates its own");
    if (reason == CS_REASON_SMALL)
        return on_small(account, text, size);
    return snprintf(text, size, "nothing was tiled; mostly: %s", cs_account_reason_text(reason));
}

int cs_advice_text(const struct cs_account *account, const struct cs_summary_head *head, char *text,
                   size_t size)
{
    char more[CS_SIZE_TEXT];
    int64_t tiles = most_tiles(account);
    text[0] = '\0';
    if (*head->bypass)
        return snprintf(text, size,
                        "convshim doctor says what can be done about calls that bypass convshim");
    if (account->tiled_calls + account->fallbacks + account->failed == 0)
        return on_nothing(account, head, text, size);
    /* Workspace grows about as the tile does. */
    if (tiles >= MANY && head->workspace >= 0 && head->workspace < INT64_MAX / 4)
        return snprintf(text, size,
                        "%lld tiles per call cost time: workspace = %s needs about %lld",
                        (long long)tiles, cs_log_size_text(more, head->workspace * 4),
                        (long long)(tiles + 3) / 4);
    return 0;
}
