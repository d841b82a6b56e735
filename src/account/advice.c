/* Chooses the line of advice at the end of a summary, most important first, and writes it. */
#include "account/account.h"

#include "base/log.h"
#include <stdio.h>
#include <string.h>

enum {
    /* Tiles of a call from which their launches matter: about 0.1 ms at the cost model's kernel_us
     * (src/decide/cost.def), in which a fast GPU moves some 300 MB. */
    MANY = 32,
    LARGE = 64 << 20 /* bytes of a workspace from which a change of the program is worth advice */
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

/* True if all convolutions that were described and called have channels-last tensors. */
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

/* Returns the largest workspace, with convshim, that can hold a copy of an NCHW input. 0 if some
 * convolution is 3-D: channels_last_3d slows down the normalizations of such networks. */
static int64_t largest_conversion(const struct cs_account *account)
{
    int64_t most = 0, input;
    for (int i = 0; i < account->sites; i++) {
        const struct cs_site_facts *facts = &account->facts[i];
        const struct cs_tensor *x = &facts->problem.tensor[CS_X];
        if (cs_account_site_count(&account->site[i], CS_COUNT_CALLS) == 0)
            continue;
        if (facts->problem.spatial == 3)
            return 0;
        if (facts->problem.spatial == 2 && x->dtype != CS_F32 &&
            strcmp(cs_problem_layout(&facts->problem), "nchw") == 0 &&
            cs_problem_tensor_span(x, &input) == CS_OK && facts->required >= input &&
            cs_site_reported(facts) > most)
            most = cs_site_reported(facts);
    }
    return most;
}

static enum cs_reason main_reason(const struct cs_account *account)
{
    int most = CS_REASON_NONE;
    for (int i = CS_REASON_NONE + 1; i < CS_REASONS; i++)
        if (account->passed[i] > account->passed[most])
            most = i;
    return (enum cs_reason)most;
}

/* Writes the advice for a run whose convolutions are all within the threshold. */
static int put_small(const struct cs_account *account, char *text, size_t size)
{
    static const char within[] =
        "Nothing was tiled, because no convolution requires more than the threshold.";
    char bytes[CS_SIZE_TEXT];
    if (account->required_max > 0)
        return snprintf(text, size, "%s The largest requires %s.", within,
                        cs_log_size_text(bytes, account->required_max));
    if (account->folds == 0 && all_channels_last(account))
        return snprintf(
            text, size,
            "Nothing was tiled, because cuDNN requires no workspace for channels-last tensors.");
    return snprintf(text, size, "%s", within);
}

/* Explains why nothing was tiled, first by reasons that the user can change. */
static int put_untiled(const struct cs_account *account, const struct cs_summary_head *head,
                       char *text, size_t size)
{
    char bytes[CS_SIZE_TEXT];
    const enum cs_reason reason = main_reason(account);
    if (account->passed[CS_REASON_REPORT_ONLY] > 0)
        return snprintf(text, size, "Policy %s only reports. To tile: --policy fit", head->policy);
    if (account->passed[CS_REASON_NO_TILING] > 0 && head->workspace >= 0)
        return snprintf(text, size,
                        "Nothing was tiled, because no tiling fits %s. Try a larger --workspace.",
                        cs_log_size_text(bytes, head->workspace));
    if (account->passed[CS_REASON_SLOW] > 0)
        return snprintf(text, size,
                        "Nothing was tiled because it is predicted to be too slow. To tile anyway: "
                        "--workspace 64MiB --max-slowdown off, or a higher --price.");
    if (account->passed[CS_REASON_PROVIDED] > 0)
        return snprintf(text, size,
                        "Nothing was tiled, because the program allocates its own workspaces.");
    if (reason == CS_REASON_SMALL)
        return put_small(account, text, size);
    return snprintf(text, size, "Nothing was tiled. Main reason: %s.",
                    cs_account_reason_text(reason));
}

/* Writes the advice for a run with tiles. */
static int put_tiled(const struct cs_account *account, const struct cs_summary_head *head,
                     char *text, size_t size)
{
    const int64_t tiles = most_tiles(account), conversion = largest_conversion(account);
    char bytes[CS_SIZE_TEXT];
    if (account->launches > account->tiled_calls && account->required_max > 0 &&
        account->reported_max >= account->required_max)
        return snprintf(text, size,
                        "The added launches do not lower the largest workspace, %s. Its row shows "
                        "the reason, and the option that changes it.",
                        cs_log_size_text(bytes, account->reported_max));
    /* Workspace grows about as the tile does. */
    if (tiles >= MANY && head->workspace >= 0 && head->workspace < INT64_MAX / 4)
        return snprintf(text, size,
                        "One call runs as %lld tiles, which takes time. With workspace = %s it "
                        "would run as about %lld.",
                        (long long)tiles, cs_log_size_text(bytes, head->workspace * 4),
                        (long long)(tiles + 3) / 4);
    if (conversion >= LARGE)
        return snprintf(text, size,
                        "cuDNN uses up to %s to convert tensors to channels last. In PyTorch, "
                        "compare with memory_format=torch.channels_last.",
                        cs_log_size_text(bytes, conversion));
    return snprintf(
        text, size,
        "To compare results and times with and without tiles on this GPU: convshim verify");
}

int cs_advice_text(const struct cs_account *account, const struct cs_summary_head *head, char *text,
                   size_t size)
{
    if (*head->bypass)
        return snprintf(text, size,
                        "Some calls bypass convshim. To find out why: convshim doctor -- COMMAND");
    if (account->tiled_calls + account->fallbacks + account->failed == 0)
        return put_untiled(account, head, text, size);
    return put_tiled(account, head, text, size);
}
