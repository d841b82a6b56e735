/* The records of a store and its memory: all of it is freed, and without memory the earlier records
 * stay. Reads of the file that are interrupted or end early. The test provides the results of the
 * system calls. */
#include "config/store.h"

#include "base/lock.h"
#include "base/signals.h"
#include "config/store_file.h"
#include "config/store_text.h"
#include "config_fixture.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The behaviour of the next calls. */
static struct {
    int64_t held;        /* bytes of pages */
    int pages, fails_at; /* number of allocations; the one that fails, from 1 */
    int interruptions;   /* number of reads that are interrupted */
    size_t most;         /* bytes of a read; 0: all */
    int reads, fails_read_at;
} told;

static bool no_memory(void)
{
    return ++told.pages == told.fails_at;
}

WRAPPED(void *, mmap, void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (no_memory())
        return MAP_FAILED;
    told.held += (int64_t)bytes;
    return __real_mmap(at, bytes, protection, flags, fd, offset);
}

WRAPPED(void *, mremap, void *pages, size_t from, size_t to, int flags)
{
    if (no_memory())
        return MAP_FAILED;
    told.held += (int64_t)to - (int64_t)from;
    return __real_mremap(pages, from, to, flags);
}

WRAPPED(int, munmap, void *pages, size_t bytes)
{
    told.held -= (int64_t)bytes;
    return __real_munmap(pages, bytes);
}

WRAPPED(ssize_t, pread, int fd, void *to, size_t length, off_t at)
{
    told.reads++;
    if (told.interruptions-- > 0) {
        errno = EINTR;
        return -1;
    }
    if (told.reads == told.fails_read_at) {
        errno = EIO;
        return -1;
    }
    return __real_pread(fd, to, told.most > 0 && told.most < length ? told.most : length, at);
}

static struct cs_store store;

/* An empty folder, and a store on a file in it or none. */
static void begin(const char *file)
{
    memset(&told, 0, sizeof told);
    CHECK(remove_folder() && mkdir(folder, 0755) == 0);
    cs_store_init(&store, file ? path_of(file) : "");
}

static void end(void)
{
    cs_store_fini(&store);
    CHECK_INT(told.held, 0);
}

static struct cs_store_record record_of(int64_t number, int words)
{
    struct cs_store_record record = {.key = cs_store_key(&number, 1), .words = words};
    for (int i = 0; i < words; i++)
        record.word[i] = number * 100 + i;
    return record;
}

static void put(int64_t number, int words)
{
    struct cs_store_record record = record_of(number, words);
    cs_store_put(&store, &record);
}

static bool has(struct cs_store *from, int64_t number, int words)
{
    struct cs_store_record want = record_of(number, words), got = {.words = 0};
    return cs_store_get(from, want.key, &got) && got.words == words &&
           memcmp(&got.key, &want.key, sizeof got.key) == 0 &&
           memcmp(got.word, want.word, (size_t)words * sizeof *got.word) == 0;
}

static void all_are_remembered_and_freed(void)
{
    begin(NULL);
    for (int64_t i = 0; i < 3000; i++)
        put(i, (int)(i % CS_STORE_WORDS) + 1);
    for (int64_t i = 0; i < 3000; i++)
        CHECK(has(&store, i, (int)(i % CS_STORE_WORDS) + 1));
    CHECK(!has(&store, 3000, 1));
    CHECK_INT(store.entries, 3000);
    CHECK(store.entry_room >= 3000 && store.entry_room < 6000 && store.slots >= 6000 &&
          store.slots <= 12000);
    CHECK(told.held >= (int64_t)(store.slots * sizeof *store.slot));
    end();
}

/* Many that belong to one slot, the last one of the table. */
static void keys_of_one_slot(void)
{
    begin(NULL);
    for (uint64_t i = 0; i < 100; i++) {
        struct cs_store_record record = {.key = {{i, 255}}, .words = 1, .word = {(int64_t)i}};
        cs_store_put(&store, &record);
        record.word[0] = -1;
        cs_store_put(&store, &record); /* the first counts */
    }
    for (uint64_t i = 0; i < 200; i++) {
        struct cs_store_record record = {.words = 0};
        CHECK_INT(cs_store_get(&store, (struct cs_store_key){{i, 255}}, &record), i < 100);
        CHECK(i >= 100 || record.word[0] == (int64_t)i);
        CHECK(!cs_store_get(&store, (struct cs_store_key){{i, 254}}, &record));
    }
    end();
}

/* Memory runs out at any point: earlier records stay, and later ones are kept once there is memory.
 */
static void memory_that_runs_out(void)
{
    int missing = 1;
    for (int fails_at = 1; missing > 0; fails_at++) {
        missing = 0;
        begin(NULL);
        told.fails_at = fails_at;
        for (int64_t i = 0; i < 300; i++)
            put(i, 3);
        for (int64_t i = 0; i < 300; i++)
            missing += !has(&store, i, 3);
        CHECK_INT(missing, fails_at <= told.pages);
        CHECK_INT(store.entries, 300 - missing);
        CHECK(missing == 0 || fails_at < 100);
        end();
    }
}

/* Another store reads the file: whole, in small parts, interrupted. */
static void file_is_read_completely_despite_short_reads(void)
{
    struct cs_store other;
    for (size_t most = 0; most <= 13; most += 13) {
        begin("file");
        for (int64_t i = 0; i < 20; i++)
            put(i, 2);
        cs_store_init(&other, store.path);
        told.most = most;
        told.interruptions = 3;
        for (int64_t i = 0; i < 20; i++)
            CHECK(has(&other, i, 2));
        int64_t size = other.read;
        put(20, 2);
        CHECK(has(&other, 20, 2) && other.read > size);
        cs_store_fini(&other);
        end();
    }
}

/* Records that could not be read are read the next time. */
static void reads_that_fail(void)
{
    begin("file");
    for (int64_t i = 0; i < 20; i++)
        put(i, 2);
    struct cs_store other;
    cs_store_init(&other, store.path);
    told.reads = 0;
    told.most = 100;
    told.fails_read_at = 3;
    CHECK(!has(&other, 19, 2));
    CHECK(other.entries > 0 && other.entries < 19);
    CHECK(has(&other, 19, 2) && other.entries == 20);
    cs_store_fini(&other);
    cs_store_init(&other, store.path);
    told.most = 0;
    told.fails_at = told.pages + 1; /* of the text that is read */
    CHECK(!has(&other, 0, 2));
    CHECK(has(&other, 0, 2));
    cs_store_fini(&other);
    end();
}

static void end_of_a_large_file_is_read(void)
{
    static const char line[] = "nonsense\n";
    begin("file");
    put(1, 1);
    FILE *file = fopen(store.path, "a");
    for (int64_t bytes = 0; file && bytes <= 2 * CS_STORE_BYTES; bytes += (int64_t)sizeof line - 1)
        fputs(line, file);
    CHECK(file && fclose(file) == 0);
    struct cs_store_record record = record_of(2, 1);
    char text[CS_STORE_LINE];
    CHECK(cs_store_append(store.path, text, cs_store_write_line(&record, text)) >
          2 * CS_STORE_BYTES);
    struct cs_store other;
    cs_store_init(&other, store.path);
    CHECK(has(&other, 2, 1) && !has(&other, 1, 1));
    cs_store_fini(&other);
    end();
}

static int visits;

/* No other thread enters during the visit, and no signal caused by writing arrives. */
static void visit_in_peace(void *ctx, const struct cs_store_record *record)
{
    sigset_t blocked;
    CHECK(ctx == &visits && record->words == 1);
    CHECK(pthread_mutex_trylock(&store.lock.mutex) == EBUSY);
    CHECK(cs_locks_held & 1U << CS_RANK_STORE);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGXFSZ));
    visits++;
    errno = ERANGE;
}

static bool is_left(void)
{
    sigset_t blocked;
    bool is_free = pthread_mutex_trylock(&store.lock.mutex) == 0;
    if (is_free)
        pthread_mutex_unlock(&store.lock.mutex);
    return is_free && cs_locks_held == 0 && pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 &&
           !sigismember(&blocked, SIGXFSZ);
}

static void each_call_holds_the_lock_and_leaves_errno(void)
{
    struct cs_store_record record;
    begin(NULL);
    errno = EDOM;
    put(7, 1);
    CHECK(errno == EDOM && is_left());
    CHECK(has(&store, 7, 1) && !has(&store, 8, 1));
    CHECK(errno == EDOM && is_left());
    record = record_of(7, 1);
    visits = 0;
    cs_store_each(&store, record.key.part[0], visit_in_peace, &visits);
    CHECK(errno == EDOM && is_left());
    cs_store_each(&store, record.key.part[0] + 1, visit_in_peace, &visits);
    CHECK_INT(visits, 1);
    cs_store_add(&store, &record);
    CHECK(errno == EDOM && is_left() && store.entries == 1);
    end();
}

static void wrong_words_and_paths(void)
{
    static char path[CS_STORE_PATH + 1];
    begin(NULL);
    struct cs_store_record record = record_of(1, 1);
    for (record.words = -1; record.words <= 1; record.words++)
        cs_store_put(&store, &record);
    CHECK_INT(store.entries, 1);
    record = record_of(2, CS_STORE_WORDS);
    record.words++;
    cs_store_put(&store, &record);
    CHECK_INT(store.entries, 1);
    record.words--;
    cs_store_put(&store, &record);
    CHECK(store.entries == 2 && has(&store, 2, CS_STORE_WORDS));
    end();
    memset(path, 'x', CS_STORE_PATH);
    cs_store_init(&store, path);
    CHECK_STR(store.path, "");
    path[CS_STORE_PATH - 1] = '\0';
    cs_store_init(&store, path);
    CHECK_STR(store.path, path);
}

int main(void)
{
    if (!make_folder())
        return 1;
    TEST(all_are_remembered_and_freed);
    TEST(keys_of_one_slot);
    TEST(memory_that_runs_out);
    TEST(file_is_read_completely_despite_short_reads);
    TEST(reads_that_fail);
    TEST(end_of_a_large_file_is_read);
    TEST(each_call_holds_the_lock_and_leaves_errno);
    TEST(wrong_words_and_paths);
    return !remove_folder() || REPORT();
}
