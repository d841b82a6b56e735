/* Any bytes after the head of a store's file: incomplete lines are ignored, and records that are
 * added later are found again, by this store and by one that opens the file again. */
#include "bytes.h"
#include "memory_file.h"

#include "config/store_file.h"
#include "config/store_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[CS_STORE_PATH];

/* The file as if others had written it: a good head, perhaps a good line, then any bytes. */
static void write_file(const struct cs_store_record *good, const uint8_t *data, size_t size)
{
    char line[CS_STORE_LINE];
    size_t length = cs_store_write_line(good, line);
    require(unlink(path) == 0 || access(path, F_OK) != 0);
    require(cs_store_append(path, line, length) > 0);
    if (size > 0)
        require(cs_store_append(path, (const char *)data, size) > 0);
}

static void check_line(const uint8_t *data, size_t size)
{
    struct cs_store_record record, again;
    char line[CS_STORE_LINE];
    if (!cs_store_read_line((const char *)data, size, &record))
        return;
    require(record.words >= 1 && record.words <= CS_STORE_WORDS);
    size_t length = cs_store_write_line(&record, line);
    require(length > 2 && cs_store_read_line(line + 1, length - 2, &again));
    require(again.words == record.words &&
            memcmp(again.word, record.word, (size_t)record.words * sizeof *record.word) == 0);
}

static void visit(void *ctx, const struct cs_store_record *record)
{
    require(record->words >= 1 && record->words <= CS_STORE_WORDS);
    ++*(int *)ctx;
}

static void expect(const struct cs_store_record *wanted)
{
    static struct cs_store store;
    struct cs_store_record found;
    int visited = 0;
    cs_store_init(&store, path);
    require(cs_store_get(&store, wanted->key, &found));
    require(found.words == wanted->words && found.word[0] == wanted->word[0]);
    cs_store_each(&store, wanted->key.part[0], visit, &visited);
    require(visited >= 1);
    cs_store_fini(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t first = 1, second = 2;
    struct cs_store_record good = {cs_store_key(&first, 1), 1, {7}},
                           added = {cs_store_key(&second, 1), 2, {8, -9}};
    static struct cs_store store;
    if (!path[0])
        snprintf(path, sizeof path, "/tmp/fuzz_store.%ld", (long)getpid());
    check_line(data, size);
    write_file(&good, data, size);
    expect(&good);
    cs_store_init(&store, path);
    cs_store_put(&store, &added);
    cs_store_fini(&store);
    expect(&good);
    expect(&added);
    unlink(path);
    return 0;
}
