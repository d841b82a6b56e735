/* src/base/json.c, text.c and pages.c: every first byte of a character against the ranges of RFC
 * 3629, texts that exceed the buffer, texts that are cut. */
#include "base/json.h"

#include "base/pages.h"
#include "base/text.h"
#include "check.h"
#include <sys/mman.h>

/* By code point: the shortest form, no half of a surrogate pair, nothing above U+10FFFF. */
static size_t length_by_value(const unsigned char *text)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80             ? 1
                    : (text[0] & 0xe0) == 0xc0 ? 2
                    : (text[0] & 0xf0) == 0xe0 ? 3
                    : (text[0] & 0xf8) == 0xf0 ? 4
                                               : 0;
    unsigned value = length < 2 ? text[0] : text[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3f);
    }
    bool good = length > 0 && value >= least[length] && value <= 0x10ffff &&
                (value < 0xd800 || value > 0xdfff);
    return good ? length : 0;
}

/* A JSON string: control characters, quotation marks and invalid bytes are escaped. */
static void quote_by_value(const unsigned char *text, char *out)
{
    *out++ = '"';
    while (*text) {
        size_t length = length_by_value(text);
        if (*text == '"' || *text == '\\') {
            out += sprintf(out, "\\%c", *text);
        } else if (length == 0 || *text < ' ' || *text == 0x7f) {
            out += sprintf(out, "\\u00%02x", *text);
        } else {
            memcpy(out, text, length);
            out += length;
        }
        text += length > 0 ? length : 1;
    }
    memcpy(out, "\"", 2);
}

static void characters_are_those_of_utf8(void)
{
    static const unsigned char next[] = {0,    1,    0x7f, 0x80, 0x8f, 0x90, 0x9e, 0x9f,
                                         0xa0, 0xbe, 0xbf, 0xc0, 0xc2, 0xf0, 0xff};
    enum {
        NEXT = sizeof next
    };
    for (int first = 0; first < 256; first++)
        for (int i = 0; i < NEXT * NEXT * NEXT; i++) {
            const unsigned char text[] = {(unsigned char)first, next[i % NEXT],
                                          next[i / NEXT % NEXT], next[i / NEXT / NEXT], 0};
            char quoted[64], expected[64];
            cs_json_quote(quoted, sizeof quoted, (const char *)text);
            quote_by_value(text, expected);
            CHECK_STR(quoted, expected);
        }
}

static char written[20000];
static size_t written_length, pieces;

static void take(void *ctx, const char *bytes, size_t size)
{
    CHECK(ctx == written && size > 0);
    memcpy(written + written_length, bytes, size);
    written_length += size;
    written[written_length] = '\0';
    pieces++;
}

static struct cs_json new_json(void)
{
    written_length = pieces = 0;
    *written = '\0';
    return (struct cs_json){.write = take, .ctx = written};
}

static void commas_are_between_values_only(void)
{
    struct cs_json json = new_json();
    cs_json_open(&json, NULL, '{');
    cs_json_integer(&json, "a", INT64_MIN);
    cs_json_boolean(&json, "b", true);
    cs_json_boolean(&json, "c", false);
    cs_json_null(&json, "d");
    cs_json_open(&json, "e", '[');
    cs_json_close(&json, ']');
    cs_json_open(&json, "f", '[');
    cs_json_integer(&json, NULL, 1);
    cs_json_string(&json, NULL, "x");
    cs_json_open(&json, NULL, '{');
    cs_json_close(&json, '}');
    cs_json_close(&json, ']');
    cs_json_line(&json, 3);
    cs_json_integer(&json, "g", 5);
    cs_json_line(&json, 0);
    cs_json_integer(&json, "h", INT64_MAX);
    cs_json_close(&json, '}');
    cs_json_end(&json);
    CHECK_STR(written, "{\"a\":-9223372036854775808,\"b\":true,\"c\":false,\"d\":null,\"e\":[],"
                       "\"f\":[1,\"x\",{}],\n   \"g\":5,\n"
                       "\"h\":9223372036854775807}");
    CHECK_INT(pieces, 1);
}

/* Each piece but the last fills the buffer, for any text. */
static void text_beyond_the_buffer_is_written_in_full_pieces(void)
{
    static char text[9000];
    for (size_t length = 4090; length < 8200; length += length == 4100 ? 4080 : 1) {
        struct cs_json json = new_json();
        memset(text, 'x', length);
        text[length] = '\0';
        cs_json_string(&json, NULL, text);
        cs_json_end(&json);
        CHECK_INT(written_length, length + 2);
        CHECK_INT(pieces, (length + 2 + sizeof json.buffer - 1) / sizeof json.buffer);
        CHECK(written[0] == '"' && written[length] == 'x' && written[length + 1] == '"');
    }
}

static void quoted_text_ends_at_a_whole_character(void)
{
    static const char text[] = "ab\"\xc3\xbc\x01z";
    static const char *const quoted[] = {"\"\"",
                                         "\"a\"",
                                         "\"ab\"",
                                         "\"ab\"",
                                         "\"ab\\\"\"",
                                         "\"ab\\\"\"",
                                         "\"ab\\\"\xc3\xbc\"",
                                         "\"ab\\\"\xc3\xbc\"",
                                         "\"ab\\\"\xc3\xbc\"",
                                         "\"ab\\\"\xc3\xbc\"",
                                         "\"ab\\\"\xc3\xbc\"",
                                         "\"ab\\\"\xc3\xbc\"",
                                         "\"ab\\\"\xc3\xbc\\u0001\"",
                                         "\"ab\\\"\xc3\xbc\\u0001z\"",
                                         "\"ab\\\"\xc3\xbc\\u0001z\""};
    for (size_t i = 0; i < sizeof quoted / sizeof *quoted; i++) {
        char out[32];
        memset(out, '#', sizeof out);
        CHECK_INT(cs_json_quote(out, i + 3, text), strlen(quoted[i]));
        CHECK_STR(out, quoted[i]);
        CHECK_INT(out[i + 3], '#');
    }
}

static void texts_are_cut_and_counted(void)
{
    for (size_t size = 1; size < 12; size++) {
        char at[16];
        memset(at, '#', sizeof at);
        struct cs_text text = {.at = at, .size = size};
        cs_text_put(&text, "%s", "abc");
        cs_text_put(&text, "%d", 4567);
        cs_text_put(&text, "%s", "");
        CHECK_INT(text.length, 7);
        CHECK_INT(strlen(at), size > 7 ? 7 : size - 1);
        CHECK(strncmp(at, "abc4567", strlen(at)) == 0);
        CHECK_INT(at[size], '#');
    }
}

static void pages_are_zeroed_or_missing(void)
{
    enum {
        PAGE = 4096
    };
    char *pages = cs_pages(300 * PAGE);
    CHECK(pages && pages[0] == 0 && pages[300 * PAGE - 1] == 0);
    memset(pages, 7, 300 * PAGE);
    cs_pages_free(pages, 300 * PAGE);
    cs_pages_free(NULL, PAGE);
    CHECK(!cs_pages(SIZE_MAX / 2));
}

static bool is_mapped(char *page)
{
    return msync(page, 4096, MS_ASYNC) == 0;
}

static void freed_pages_are_unmapped(void)
{
    enum {
        PAGE = 4096
    };
    char *pages = cs_pages(4 * PAGE);
    CHECK(is_mapped(pages) && is_mapped(pages + 3 * PAGE));
    cs_pages_free(pages, 4 * PAGE);
    CHECK(!is_mapped(pages) && !is_mapped(pages + 3 * PAGE));
}

int main(void)
{
    TEST(characters_are_those_of_utf8);
    TEST(commas_are_between_values_only);
    TEST(text_beyond_the_buffer_is_written_in_full_pieces);
    TEST(quoted_text_ends_at_a_whole_character);
    TEST(texts_are_cut_and_counted);
    TEST(pages_are_zeroed_or_missing);
    TEST(freed_pages_are_unmapped);
    return REPORT();
}
