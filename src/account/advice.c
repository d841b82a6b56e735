/* Chooses the one line of advice at the end of a summary, most important first, and writes it. */
#include "account/advice.h"

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

static struct cs_advice advice_if_small(const struct cs_account *account)
{
    if (account->required_max > 0)
        return (struct cs_advice){.kind = CS_ADVICE_LARGEST_WITHIN, .bytes = account->required_max};
    if (account->folds == 0 && all_channels_last(account))
        return (struct cs_advice){.kind = CS_ADVICE_CHANNELS_LAST};
    return (struct cs_advice){.kind = CS_ADVICE_WITHIN};
}

/* Explains why nothing was tiled, first by reasons that the user can change. */
static struct cs_advice advice_if_untiled(const struct cs_account *account,
                                          const struct cs_summary_head *head)
{
    enum cs_reason reason = main_reason(account);
    if (account->passed[CS_REASON_REPORT_ONLY] > 0)
        return (struct cs_advice){.kind = CS_ADVICE_REPORT_ONLY};
    if (account->passed[CS_REASON_NO_TILING] > 0 && head->workspace >= 0)
        return (struct cs_advice){.kind = CS_ADVICE_NO_TILING, .bytes = head->workspace};
    if (account->passed[CS_REASON_SLOW] > 0)
        return (struct cs_advice){.kind = CS_ADVICE_SLOW};
    if (account->passed[CS_REASON_PROVIDED] > 0)
        return (struct cs_advice){.kind = CS_ADVICE_PROVIDED};
    if (reason == CS_REASON_SMALL)
        return advice_if_small(account);
    return (struct cs_advice){.kind = CS_ADVICE_REASON, .reason = reason};
}

struct cs_advice cs_advice_of(const struct cs_account *account, const struct cs_summary_head *head)
{
    if (*head->bypass)
        return (struct cs_advice){.kind = CS_ADVICE_BYPASSED};
    if (account->tiled_calls + account->fallbacks + account->failed == 0)
        return advice_if_untiled(account, head);
    if (account->launches > account->tiled_calls && account->required_max > 0 &&
        account->reported_max >= account->required_max)
        return (struct cs_advice){.kind = CS_ADVICE_NO_GAIN, .bytes = account->reported_max};
    const int64_t tiles = most_tiles(account);
    /* Workspace grows about as the tile does. */
    if (tiles >= MANY && head->workspace >= 0 && head->workspace < INT64_MAX / 4)
        return (struct cs_advice){
            .kind = CS_ADVICE_MANY_TILES, .bytes = head->workspace * 4, .tiles = tiles};
    const int64_t conversion = largest_conversion(account);
    if (conversion >= LARGE)
        return (struct cs_advice){.kind = CS_ADVICE_CONVERSION, .bytes = conversion};
    return (struct cs_advice){.kind = CS_ADVICE_VERIFY};
}

int cs_advice_text(const struct cs_advice *advice, const char *policy, char *text, size_t size)
{
    char bytes[CS_SIZE_TEXT];
    cs_log_size_text(bytes, advice->bytes);
    switch (advice->kind) {
    case CS_ADVICE_BYPASSED:
        return snprintf(text, size,
                        "Some calls bypass convshim. To find out why: convshim doctor -- COMMAND");
    case CS_ADVICE_REPORT_ONLY:
        return snprintf(text, size, "Policy %s only reports. To tile: --policy fit", policy);
    case CS_ADVICE_NO_TILING:
        return snprintf(text, size,
                        "Nothing was tiled, because no tiling fits %s. Try a larger --workspace.",
                        bytes);
    case CS_ADVICE_SLOW:
        return snprintf(text, size,
                        "Nothing was tiled because it is predicted to be too slow. To tile anyway: "
                        "--workspace 64MiB --max-slowdown off, or a higher --price.");
    case CS_ADVICE_PROVIDED:
        return snprintf(text, size,
                        "Nothing was tiled, because the program allocates its own workspaces.");
    case CS_ADVICE_LARGEST_WITHIN:
        return snprintf(
            text, size,
            "Nothing was tiled, because no convolution requires more than the threshold. "
            "The largest requires %s.",
            bytes);
    case CS_ADVICE_CHANNELS_LAST:
        return snprintf(
            text, size,
            "Nothing was tiled, because cuDNN requires no workspace for channels-last tensors.");
    case CS_ADVICE_WITHIN:
        return snprintf(
            text, size,
            "Nothing was tiled, because no convolution requires more than the threshold.");
    case CS_ADVICE_REASON:
        return snprintf(text, size, "Nothing was tiled. Main reason: %s.",
                        cs_account_reason_text(advice->reason));
    case CS_ADVICE_NO_GAIN:
        return snprintf(text, size,
                        "The added launches do not lower the largest workspace, %s. Its row shows "
                        "the reason, and the option that changes it.",
                        bytes);
    case CS_ADVICE_MANY_TILES:
        return snprintf(text, size,
                        "One call runs as %lld tiles, which takes time. With workspace = %s it "
                        "would run as about %lld.",
                        (long long)advice->tiles, bytes, (long long)(advice->tiles + 3) / 4);
    case CS_ADVICE_CONVERSION:
        return snprintf(text, size,
                        "cuDNN uses up to %s to convert tensors to channels last. In PyTorch, "
                        "compare with memory_format=torch.channels_last.",
                        bytes);
    case CS_ADVICE_VERIFY:
        break;
    }
    return snprintf(
        text, size,
        "To compare results and times with and without tiles on this GPU: convshim verify");
}
