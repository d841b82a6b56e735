/* Options as texts: each written value can be read back, independent of the buffer's earlier
 * contents. */
#include "config_fixture.h"

#include "config/option.h"
#include "config/option_text.h"

static char text[CS_OPTION_VALUE];

static const char *text_of(int option)
{
    memset(text, 'x', sizeof text);
    cs_option_text(&config, option, text, sizeof text);
    CHECK(strnlen(text, sizeof text) < sizeof text);
    return text;
}

static void defaults_equal_the_list(void)
{
    cs_config_default(&config);
    for (int i = 0; i < CS_OPTIONS; i++)
        CHECK_STR(text_of(i), cs_options[i].value);
}

/* The words that an option allows, and values of other forms. */
static void written_options_read_back_alike(void)
{
    static const char *const more[] = {"1KiB", "1025", "3MiB", "7GiB",  "1TiB",    "0",
                                       "2",    "1.5",  "1.25", "1000",  "fast",    "/a/b",
                                       "text", "off",  "info", "debug", "json:/x", "text,json:/y"};
    int kept = 0;
    for (int i = 0; i < CS_OPTIONS; i++) {
        for (size_t j = 0; j < sizeof more / sizeof *more; j++) {
            cs_config_default(&config);
            if (!cs_option_set(&config, i, more[j], policies))
                continue;
            CHECK_STR(text_of(i), more[j]);
            kept++;
        }
        const char *at = cs_options[i].allowed;
        for (size_t length; *at; at += length + strspn(at + length, ", ")) {
            char word[64];
            length = strcspn(at, ",");
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            cs_config_default(&config);
            if (length == 0 || !cs_option_set(&config, i, word, policies))
                continue;
            CHECK_STR(text_of(i), word);
            kept++;
        }
    }
    CHECK(kept > 60);
}

int main(void)
{
    TEST(defaults_equal_the_list);
    TEST(written_options_read_back_alike);
    return REPORT();
}
