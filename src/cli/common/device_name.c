/* Turns the written name of a GPU into the name of its profile, or gives the reason against it. */
#include "cli/common/data_files.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    LONGEST = 64
};

static bool is_word(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* True for words that do not identify a GPU. The H100 for PCIe is another GPU, with fewer
 * multiprocessors. */
static bool is_left_out(const char *before, const char *word)
{
    static const char *const words[] = {
        "nvidia", "geforce", "tesla", "quadro", "gpu",   "graphics", "generation", "sxm",  "sxm2",
        "sxm3",   "sxm4",    "sxm5",  "pcie",   "pcie5", "hbm2",     "hbm2e",      "hbm3", "hbm3e"};
    return is_word(word, words, sizeof words / sizeof *words) &&
           !(strcmp(word, "pcie") == 0 && strcmp(before, "h100") == 0);
}

/* Stores the next word of letters and digits in lower case, "" at the end of the text. Returns the
 * position after the word. */
static const char *next_word(const char *at, char word[LONGEST])
{
    size_t length = 0;
    while (*at && !isalnum((unsigned char)*at))
        at++;
    while (isalnum((unsigned char)*at) && length < LONGEST - 1)
        word[length++] = (char)tolower((unsigned char)*at++);
    word[length] = '\0';
    return at;
}

/* True for a size, such as "80gb". */
static bool is_size(const char *word)
{
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && (strcmp(word + digits, "gb") == 0 || strcmp(word + digits, "g") == 0);
}

/* True if the profile without a size in its name is that of a card with this size. */
static bool is_usual_size(const char *name, const char *size)
{
    static const char *const usual[] = {
        "a100-80gb",   "h100-80gb",    "p100-16gb",      "v100-32gb",      "t4-16gb",
        "l4-24gb",     "a10-24gb",     "l40s-48gb",      "h200-141gb",     "h20-96gb",
        "gh200-480gb", "gh200-96gb",   "b200-180gb",     "rtx3060-12gb",   "rtx3050-8gb",
        "rtx2060-6gb", "rtx3080-10gb", "rtx5060ti-16gb", "rtx4060ti-16gb", "rtx6000ada-48gb",
        "a6000-48gb"};
    char both[4 * LONGEST];
    snprintf(both, sizeof both, "%s-%s", name, size);
    return is_word(both, usual, sizeof usual / sizeof *usual);
}

void cs_device_name(const char *written, char *name, size_t size)
{
    char word[LONGEST], joined[2 * LONGEST] = "", bytes[LONGEST] = "";
    const char *at = written;
    size_t length = 0;
    for (at = next_word(at, word); *word; at = next_word(at, word)) {
        if (is_size(word))
            snprintf(bytes, sizeof bytes, "%.*sgb", (int)strspn(word, "0123456789"), word);
        else if (!is_left_out(joined, word) && length + strlen(word) < LONGEST)
            length += (size_t)sprintf(joined + length, "%s", word);
    }
    const bool number = isdigit((unsigned char)joined[0]), a6000 = strcmp(joined, "rtxa6000") == 0;
    char full[2 * LONGEST + 8];
    snprintf(full, sizeof full, "%s%s", number ? "rtx" : "", a6000 ? "a6000" : joined);
    const bool sized = *bytes && !is_usual_size(full, bytes);
    if (length == 0)
        snprintf(name, size, "%s", written);
    else
        snprintf(name, size, "%s%s%s", full, sized ? "-" : "", sized ? bytes : "");
}

const char *cs_device_name_refusal(const char *written)
{
    static const char *const shared[] = {"gb10",   "dgxspark", "spark", "orin", "thor",
                                         "xavier", "jetson",   "agx",   "tegra"};
    char word[LONGEST];
    for (const char *at = next_word(written, word); *word; at = next_word(at, word)) {
        size_t digits = strspn(word, "0123456789");
        if (strcmp(word, "mig") == 0 ||
            (digits > 0 && strcmp(word + digits, "g") == 0 && *at == '.'))
            return "a part of a GPU (MIG) has fewer multiprocessors than any profile. For an "
                   "estimate, simulate the whole GPU with the memory of the part: --device a100 "
                   "--fits 9.5GiB";
        if (is_word(word, shared, sizeof shared / sizeof *shared))
            return "this GPU shares its memory with the CPU, so the free memory depends on all "
                   "programs. "
                   "It is not simulated";
        if (strcmp(word, "laptop") == 0 || strcmp(word, "mobile") == 0)
            return "a laptop's GPU has other units than the desktop GPU of its name. To write its "
                   "profile, run on it: convshim verify --profile";
    }
    return NULL;
}
