/* How every option and every key of a rule takes each of many texts: the value, or what is said. */
#include "cli/golden.h"
#include "config/config.h"
#include "config/option.h"
#include "config/option_text.h"
#include "decide/rule.h"

static char root[PATH_MAX];

static struct cs_config config;

static char said[256]; /* the first words of the last note */

static void note(void *ctx, const char *line)
{
    static const char source[] = "convshim_configure:1: ";
    (void)ctx;
    if (strncmp(line, source, strlen(source)) == 0)
        line += strlen(source);
    snprintf(said, sizeof said, "%.*s", 24, line);
}

static const char *const policies[] = {"off", "fit", "fixed", "a-policy-of-a-name-of-31-letters",
                                       NULL};

static const char *const texts[] = {
    "",
    "0",
    "1",
    "2",
    "7",
    "8",
    "9",
    "1000",
    "1001",
    "1023",
    "1024",
    "1 KiB",
    "1KiB",
    "0.999KiB",
    "1.001KiB",
    "64KiB",
    "65535",
    "1MiB",
    "1048575",
    "1TiB",
    "1.001TiB",
    "1025GiB",
    "1e3",
    "0x10",
    "1.5",
    "1.0",
    "1.00",
    "0.5",
    "0.999",
    "1.0001",
    "1.",
    ".5",
    "999.99",
    "1000.1",
    "-1",
    "+1",
    "auto",
    "AUTO",
    "Off",
    "off",
    "on",
    "yes",
    "no",
    "true",
    "text",
    "json:",
    "json:a",
    "text,json:a",
    "text, json:a b",
    "text,",
    "json",
    "own",
    "client",
    "stage",
    "order",
    "fit",
    "fixed",
    "a-policy-of-a-name-of-31-letters",
    "nchw",
    "nhwc",
    "nchw,nhwc",
    "nchw , nhwc",
    "f16",
    "f32,f16",
    "fwd",
    "dgrad,",
    ",fwd",
    "fwd,,dgrad",
    "1..",
    "..1",
    "1..1",
    "2..1",
    "..",
    "1 .. 8",
    "0..",
    "1KiB..2KiB",
    "..1MiB",
    "1x1",
    "3x3",
    "3x3x3",
    "3x3x3x3",
    "*",
    "*x3",
    "3x*x1",
    "x",
    "3x",
    "0x3",
    "3X3",
    "**",
    "a*b",
    "a?",
    "warn",
    "debug",
    "Warn",
    "never",
    "always",
    "a b",
    "a\\tb",
    "info,",
    "100ms",
};

static void take(const char *items)
{
    said[0] = '\0';
    cs_config_load_items(&config, items, policies, note, NULL);
}

/* What is taken, with the value that it makes; how many are not. */
static int show_option(void *option)
{
    const struct cs_option *row = option;
    char items[256], value[CS_CONFIG_TEXT];
    int refused = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(items, sizeof items, "%s=%s", row->name, texts[i]);
        take(items);
        cs_option_text(&config, (int)(row - cs_options), value, sizeof value);
        if (*said && strcmp(value, row->value) == 0)
            refused++;
        else
            printf("%s: %s%s\n", texts[i], value, said);
    }
    printf("%d are refused\n", refused);
    return 0;
}

static void options(void)
{
    for (int i = 0; i < CS_OPTIONS; i++)
        golden_add(cs_options[i].name, show_option, (void *)&cs_options[i]);
    golden_check(root, "config_options.txt");
}

/* The same of rules, as text in one line. */
static int show_key(void *key)
{
    char items[256], text[2048];
    int refused = 0;
    const char *other = strcmp(key, "skip") == 0 ? "tiles=1" : "skip=yes";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(items, sizeof items, "rule.a.%s=%s;rule.a.%s", (char *)key, texts[i], other);
        take(items);
        refused += config.rules.count == 0;
        if (config.rules.count == 0)
            continue;
        cs_explain_rule(&config.rules.rule[0], text, sizeof text);
        for (char *end; (end = strchr(text, '\n'));)
            *end = ' ';
        printf("%s: %s%s\n", texts[i], text, said);
    }
    printf("%d are refused\n", refused);
    return 0;
}

static void keys_of_rules(void)
{
    static const char *const keys[] = {
#define CS_RULE_WHEN(name, type, allowed, help) #name,
#define CS_RULE_SET(name, type, allowed, help) #name,
#include "convshim/rules.def"
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        golden_add(keys[i], show_key, (void *)keys[i]);
    golden_check(root, "config_rules.txt");
}

/* Of each length up to where it is too long: zeros before a number, blanks around a word, letters.
 */
static int show_lengths(void *unused)
{
    static const struct {
        const char *before, *behind;
        char fill;
        int least, most;
    } rows[] = {
        {"rule.a.skip=yes;rule.a.n=", "1", '0', 18, 34},
        {"rule.a.skip=yes;rule.a.n=", "1..2", '0', 28, 66},
        {"rule.a.skip=yes;rule.a.n=", "..2", '1', 14, 22},
        {"rule.a.skip=yes;rule.a.n=2..", "3", '0', 28, 34},
        {"rule.a.skip=yes;rule.a.n=", "1 .. 2", ' ', 28, 66},
        {"rule.a.skip=yes;rule.a.kernel=", "3x3", '0', 20, 26},
        {"rule.a.skip=yes;rule.a.kernel=3x", "3", '0', 20, 26},
        {"rule.a.skip=yes;rule.a.direction=fwd,", "dgrad", ' ', 8, 18},
        {"rule.a.skip=yes;rule.a.direction=", "", 'f', 1, 18},
        {"rule.a.skip=yes;rule.a.program=", "", 'p', 60, 132},
        {"rule.a.skip=yes;rule.", ".n=1", 'r', 1, 70},
        {"policy=", "", 'p', 28, 34},
        {"tiles=", "2", '0', 16, 34},
        {"workspace=", "1MiB", '0', 14, 34},
        {"log_file=", "", 'l', 252, 260},
        {"", "=1", 'o', 1, 70},
    };
    char items[600];
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int length = rows[i].least; length <= rows[i].most; length++) {
            size_t start = strlen(rows[i].before);
            memcpy(items, rows[i].before, start);
            memset(items + start, rows[i].fill, (size_t)length);
            snprintf(items + start + length, sizeof items - start - (size_t)length, "%s",
                     rows[i].behind);
            take(items);
            printf("%s %d %c %s: %lld %lld %zu %d '%s'\n", rows[i].before, length, rows[i].fill,
                   rows[i].behind, (long long)config.tiles, (long long)config.workspace,
                   strlen(config.log_file.text), config.rules.count, said);
        }
    return 0;
}

static void lengths(void)
{
    golden_add("lengths", show_lengths, NULL);
    golden_check(root, "config_lengths.txt");
}

static char whole_note[1024];

static void keep_note(void *ctx, const char *line)
{
    (void)ctx;
    snprintf(whole_note, sizeof whole_note, "%s", line);
}

/* A name in a section is shown with it, as much as is shown of any. */
static void long_names_in_a_section(void)
{
    for (int length = 10; length < 60; length++) {
        char items[128] = "[interleave];", want[128] = "convshim_configure:2: interleave.";
        size_t shown = (size_t)length < 37 ? (size_t)length : 33; /* 47 letters, or 44 and dots */
        size_t begun = strlen(items), said_before = strlen(want);
        memset(items + begun, 'n', (size_t)length);
        snprintf(items + begun + length, 4, "=1");
        memset(want + said_before, 'n', shown);
        snprintf(want + said_before + shown, 32, "%s: no such option",
                 shown < (size_t)length ? "..." : "");
        cs_config_load_items(&config, items, policies, keep_note, NULL);
        CHECK(strncmp(whole_note, want, strlen(want)) == 0 || !printf("# %s\n", whole_note));
    }
}

int main(void)
{
    heap_watch();
    if (!getcwd(root, sizeof root))
        return 1;
    TEST(options);
    TEST(keys_of_rules);
    TEST(lengths);
    TEST(long_names_in_a_section);
    free(golden_text);
    return REPORT();
}
