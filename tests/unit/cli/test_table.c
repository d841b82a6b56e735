#include "check.h"
#include "cli/common/table.h"

static const struct cs_column columns[] = {
    {"name", "name", CS_CELL_TEXT},    {"hidden", NULL, CS_CELL_TEXT},
    {"bytes", "size", CS_CELL_BYTES},  {"count", "count", CS_CELL_COUNT},
    {"ratio", "ratio", CS_CELL_RATIO}, {"note", "note", CS_CELL_TEXT}};

/* The call that finds no memory, counted down to 1; 0: all find some. */
static int fails_at;

char *strdup(const char *text)
{
    char *copy = fails_at > 0 && --fails_at == 0 ? NULL : malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

void *reallocarray(void *memory, size_t count, size_t bytes)
{
    return fails_at > 0 && --fails_at == 0 ? NULL : realloc(memory, count * bytes);
}

/* A table that lacks something is not printed as if it were all. */
static void without_memory_no_table_is_printed(void)
{
    for (int at = 0; at <= 5; at++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        struct cs_table table;
        fails_at = at;
        cs_table_init(&table, columns, 6);
        for (int row = 0; row < 2; row++)
            cs_table_add(&table, (struct cs_value[]){{.text = "a"},
                                                     {.text = NULL},
                                                     {.number = 1},
                                                     {.number = 2},
                                                     {.ratio = 3},
                                                     {.text = "b"}});
        fails_at = 0;
        bool good = cs_table_print(&table, CS_FORMAT_CSV, out);
        CHECK_INT(good, at == 0);
        cs_table_fini(&table);
        fclose(out);
        CHECK_INT(size > 0, at == 0);
        free(text);
    }
}

static char *printed(enum cs_format format)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct cs_table table;
    cs_table_init(&table, columns, 6);
    cs_table_add(&table, (struct cs_value[]){{.text = "a,\"b\""},
                                             {.text = "x"},
                                             {.number = 1083179008},
                                             {.number = 7},
                                             {.ratio = 1.955},
                                             {.text = ""}});
    cs_table_add(&table, (struct cs_value[]){{.text = "c"},
                                             {.text = NULL},
                                             {.number = -1},
                                             {.number = -1},
                                             {.ratio = 1},
                                             {.text = NULL}});
    CHECK(cs_table_print(&table, format, out));
    cs_table_fini(&table);
    fclose(out);
    return text;
}

static void for_people(void)
{
    char *text = printed(CS_FORMAT_TEXT);
    CHECK_STR(text, "name       size  count  ratio  note\n"
                    "a,\"b\"  1033 MiB      7   1.96\n"
                    "c             -      -   1.00  -\n");
    free(text);
}

static void for_programs(void)
{
    char *text = printed(CS_FORMAT_CSV);
    CHECK_STR(text, "name,hidden,bytes,count,ratio,note\n"
                    "\"a,\"\"b\"\"\",x,1083179008,7,1.96,\n"
                    "c,,,,1.00,\n");
    free(text);
    text = printed(CS_FORMAT_JSON);
    CHECK(strstr(text, "\"bytes\":\t1083179008"));
    CHECK(strstr(text, "\"name\":\t\"a,\\\"b\\\"\""));
    CHECK(!strstr(text, "-1"));
    free(text);
}

/* Control characters, which would act as commands to a terminal, are removed: those of one byte,
 * and those of two in UTF-8 (U+0080 to U+009F). All other bytes are unchanged. */
static void control_characters_are_removed(void)
{
    static const struct cs_column name[] = {{"name", "name", CS_CELL_TEXT}};
    for (int first = 1; first < 256; first++)
        for (int next = 1; next < 256; next++) {
            const char cell[] = {'a', (char)first, (char)next, 'b', 0};
            bool both = first == 0xc2 && next >= 0x80 && next <= 0x9f;
            bool one = first < 0x20 || first == 0x7f || both;
            bool other = next < 0x20 || next == 0x7f || both;
            const char wanted[] = {'a', one ? '?' : (char)first, other ? '?' : (char)next, 'b', 0};
            char *text = NULL;
            size_t size;
            FILE *out = open_memstream(&text, &size);
            struct cs_table table;
            cs_table_init(&table, name, 1);
            cs_table_add(&table, (struct cs_value[]){{.text = cell}});
            CHECK(cs_table_print(&table, CS_FORMAT_TEXT, out));
            cs_table_fini(&table);
            fclose(out);
            CHECK(strncmp(text, "name\n", 5) == 0 && strncmp(text + 5, wanted, 4) == 0 &&
                  strcmp(text + 9, "\n") == 0);
            free(text);
        }
}

static void bytes_for_people(void)
{
    const struct {
        int64_t bytes;
        const char *text;
    } sizes[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1 << 20, "1 MiB"},
                 {541589504, "516.5 MiB"},
                 {INT64_C(10) << 30, "10 GiB"},
                 {INT64_C(9) << 30, "9216 MiB"},
                 {INT64_MAX, "8589934592 GiB"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[CS_BYTES_TEXT];
        CHECK_STR(cs_table_bytes_text(text, sizes[i].bytes), sizes[i].text);
    }
}

int main(void)
{
    TEST(without_memory_no_table_is_printed);
    TEST(for_people);
    TEST(for_programs);
    TEST(control_characters_are_removed);
    TEST(bytes_for_people);
    return REPORT();
}
