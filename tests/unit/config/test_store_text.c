/* A record's line is read back as it was written, and nothing else is taken for one, however right
 * its checksum. */
#include "config/store_text.h"

#include "base/hash.h"
#include "check.h"
#include <inttypes.h>

enum {
    TAIL = 18 /* " #" and the checksum */
};
#define KEY "00112233445566778899aabbccddeeff"

static bool read_back(const char *line, struct cs_store_record *record)
{
    return cs_store_read_line(line, strlen(line), record);
}

/* With the checksum that such a line would have (store_text.c). */
static bool reads(const char *text)
{
    static char line[2 * CS_STORE_LINE];
    struct cs_store_record record;
    uint64_t hash = cs_hash_bytes(CS_HASH_START, text, strlen(text));
    hash ^= hash >> 32;
    hash *= CS_HASH_FACTOR;
    hash ^= hash >> 29;
    snprintf(line, sizeof line, "%s #%016" PRIx64, text, hash);
    return read_back(line, &record);
}

static void written_records_read_back_alike(void)
{
    static const int64_t extreme[] = {0, -1, 1, INT64_MAX, INT64_MIN, 10, -10};
    char line[CS_STORE_LINE];
    for (int words = 1; words <= CS_STORE_WORDS; words++) {
        struct cs_store_record record = {.key = {{UINT64_MAX, (uint64_t)words}}, .words = words},
                               got = {.words = -1};
        for (int i = 0; i < words; i++)
            record.word[i] = words % 2 ? extreme[i % 7] : INT64_MIN;
        size_t length = cs_store_write_line(&record, line);
        CHECK(length == strlen(line) && length < CS_STORE_LINE);
        CHECK(line[0] == '\n' && line[length - 1] == '\n');
        CHECK(cs_store_read_line(line + 1, length - 2, &got));
        CHECK_INT(got.words, words);
        CHECK(got.key.part[0] == record.key.part[0] && got.key.part[1] == record.key.part[1]);
        CHECK(memcmp(got.word, record.word, (size_t)words * sizeof *got.word) == 0);
        for (size_t i = 1; i < length - 1; i++) {
            line[i] ^= 1; /* each letter once, changed */
            CHECK(!cs_store_read_line(line + 1, length - 2, &got));
            line[i] ^= 1;
        }
        for (size_t cut = 0; cut < length - 2; cut++)
            CHECK(!cs_store_read_line(line + 1, cut, &got));
    }
}

static void numbers_are_whole_and_fit(void)
{
    CHECK(reads(KEY " 0"));
    CHECK(reads(KEY " 007 -0"));
    CHECK(reads(KEY " 9223372036854775807 -9223372036854775808"));
    CHECK(!reads(KEY " 9223372036854775808"));
    CHECK(!reads(KEY " -9223372036854775809"));
    CHECK(!reads(KEY " 18446744073709551615"));
    CHECK(!reads(KEY " 18446744073709551616"));
    CHECK(!reads(KEY " 99999999999999999999"));
    CHECK(!reads(KEY " 1x"));
    CHECK(!reads(KEY " +1"));
    CHECK(!reads(KEY " --1"));
    CHECK(!reads(KEY " -"));
    CHECK(!reads(KEY " "));
    CHECK(!reads(KEY "  1"));
    CHECK(!reads(KEY " 1 "));
    CHECK(!reads(KEY "1"));
    CHECK(!reads(KEY ",1"));
}

static void a_record_has_a_key_and_words(void)
{
    char text[8 * CS_STORE_LINE] = KEY;
    CHECK(!reads(KEY));
    CHECK(!reads("00112233445566778899AABBCCDDEEFF 1"));
    CHECK(!reads("00112233445566778899aabbccddeefg 1"));
    CHECK(!reads("/0112233445566778899aabbccddeeff 1"));
    CHECK(!reads("0011223344556677:899aabbccddeeff 1"));
    CHECK(!reads("0011 1"));
    for (int i = 0; i < CS_STORE_WORDS; i++)
        strcat(text, " 1");
    CHECK(reads(text));
    strcat(text, " 1");
    CHECK(!reads(text));
}

/* Lines of any length. The longest written line is one byte shorter than the buffer. */
static void line_length_is_limited(void)
{
    char text[2 * CS_STORE_LINE] = KEY " 1";
    struct cs_store_record record;
    CHECK(!cs_store_read_line("", 0, &record));
    memset(text + 32, '0', CS_STORE_LINE);
    text[32] = ' ';
    text[CS_STORE_LINE - TAIL - 1] = '\0';
    CHECK(reads(text));
    text[CS_STORE_LINE - TAIL - 1] = '0';
    text[CS_STORE_LINE - TAIL] = '\0';
    CHECK(!reads(text));
}

int main(void)
{
    TEST(written_records_read_back_alike);
    TEST(numbers_are_whole_and_fit);
    TEST(a_record_has_a_key_and_words);
    TEST(line_length_is_limited);
    return REPORT();
}
