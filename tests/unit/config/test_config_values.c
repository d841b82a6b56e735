/* Each option and each key of a rule with many texts: the resulting value, or the note. */
#include "config/config.h"
#include "config/option.h"
#include "decide/rule.h"
#include "golden.h"

static char root[PATH_MAX];

static struct cs_config config;

static char said[256]; /* the last note */

static void note(void *ctx, const char *line)
{
    static const char source[] = "convshim_configure:1: ";
    (void)ctx;
    if (strncmp(line, source, strlen(source)) == 0)
        line += strlen(source);
    snprintf(said, sizeof said, "%s", line);
}

static const char *const policies[] = {"off", "fit", "fixed", "a-policy-of-a-name-of-31-letters",
                                       NULL};

static const char *const texts[] = {
    "",         "0",      "1",           "2",           "1001",    "1023",   "1024",       "1KiB",
    "1.001KiB", "64KiB",  "1TiB",        "1025GiB",     "0x10",    "1.5",    "0.5",        "1.",
    ".5",       "999.99", "1000.1",      "-1",          "auto",    "AUTO",   "off",        "yes",
    "json:",    "json:a", "text,json:a", "text,",       "own",     "client", "stage",      "order",
    "fit",      "fixed",  "nchw",        "nchw , nhwc", "f32,f16", "fwd",    "dgrad,",     ",fwd",
    "1..",      "..1",    "2..1",        "..",          "1 .. 8",  "0..",    "1KiB..2KiB", "3x3",
    "3x3x3x3",  "*x3",    "3x",          "0x3",         "a*b",     "a?",     "warn",       "never",
    "always",   "a b",    "100ms",
};

static void take(const char *items)
{
    said[0] = '\0';
    cs_config_load_items(&config, items, policies, note, NULL);
}

/* A note may also warn about a value that counts, such as a size without a unit. */
static bool is_refused(void)
{
    return strstr(said, "ignored") || strstr(said, "dropped");
}

/* The texts that an option takes, with the value that each makes, in one line. */
static void put_option(const struct cs_option *row)
{
    char items[256], value[CS_CONFIG_TEXT];
    golden_puts(row->name);
    golden_puts(":");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(items, sizeof items, "%s=%s", row->name, texts[i]);
        take(items);
        cs_option_text(&config, (int)(row - cs_options), value, sizeof value);
        if (is_refused()) {
            CHECK_STR(value, row->value); /* the default stays, and the note names the option */
            CHECK(strstr(said, row->name) || strchr(texts[i], ';'));
            continue;
        }
        snprintf(items, sizeof items, strcmp(texts[i], value) == 0 ? " %s" : " %s=%s", texts[i],
                 value);
        golden_puts(items);
    }
    golden_puts("\n");
}

static void options(void)
{
    for (int i = 0; i < CS_OPTIONS; i++)
        put_option(&cs_options[i]);
    golden_check(root, "config_options.txt");
}

/* The same of the keys of rules. */
static void put_key(const char *key)
{
    char items[256];
    const char *other = strcmp(key, "skip") == 0 ? "tiles=1" : "skip=yes";
    golden_puts(key);
    golden_puts(":");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(items, sizeof items, "rule.a.%s=%s;rule.a.%s", key, texts[i], other);
        take(items);
        CHECK_INT(config.rules.count, is_refused() ? 0 : 1); /* a rule with a mistake is dropped */
        if (is_refused())
            continue;
        golden_puts(" ");
        golden_puts(texts[i]);
    }
    golden_puts("\n");
}

static void keys_of_rules(void)
{
    static const char *const keys[] = {
#define CS_RULE_WHEN(name, type, allowed, help) #name,
#define CS_RULE_SET(name, type, allowed, help) #name,
#include "convshim/rules.def"
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put_key(keys[i]);
    golden_check(root, "config_rules.txt");
}

/* Values and names of any length are taken or refused with a note, never cut silently. */
static void lengths(void)
{
    static const struct {
        const char *before, *behind;
        char fill;
        int most;
    } rows[] = {
        {"rule.a.skip=yes;rule.a.n=", "1..2", '0', 66},
        {"rule.a.skip=yes;rule.a.n=", "1 .. 2", ' ', 66},
        {"rule.a.skip=yes;rule.a.kernel=", "3x3", '0', 26},
        {"rule.a.skip=yes;rule.a.direction=fwd,", "dgrad", ' ', 18},
        {"rule.a.skip=yes;rule.a.program=", "", 'p', 132},
        {"tiles=", "2", '0', 34},
        {"workspace=", "1MiB", '0', 34},
        {"", "=1", 'o', 70},
    };
    char items[600];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int length = 1; length <= rows[i].most; length++) {
            size_t start = strlen(rows[i].before);
            memcpy(items, rows[i].before, start);
            memset(items + start, rows[i].fill, (size_t)length);
            snprintf(items + start + length, sizeof items - start - (size_t)length, "%s",
                     rows[i].behind);
            take(items);
            bool rule = strncmp(items, "rule", 4) == 0;
            bool taken = rule                     ? config.rules.count == 1
                         : rows[i].fill == 'o'    ? false
                         : strncmp(items, "t", 1) ? config.workspace == 1 << 20
                                                  : config.tiles == 2;
            if (taken == (*said != '\0') && check_fails(__LINE__))
                printf("# %s: taken %d, '%s'\n", items, taken, said);
        }
    for (int length = 250; length < 262; length++) {
        snprintf(
            items, sizeof items, "log_file=%.*s", length,
            "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll"
            "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll"
            "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll"
            "llllllllllllllllllllllllllllllllllllll");
        take(items);
        CHECK_INT(strlen(config.log_file.text), *said ? 0 : length);
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
    return REPORT();
}
