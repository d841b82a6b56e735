/* What a store remembers, and its memory: given back whole, and where there is none, what was there
 * before stays. Reads of the file that are interrupted or end early. The system's answers are those
 * of the test. */
#include "base/lock.h"
#include "base/pages.h"
#include "base/signals.h"
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static void *pages_as_told(size_t bytes);
static void *resize_as_told(void *pages, size_t from, size_t to);
static void free_as_told(void *pages, size_t bytes);
static ssize_t read_as_told(int fd, void *to, size_t length, off_t at);
#define cs_pages(bytes) pages_as_told(bytes)
#define cs_pages_resize(pages, from, to) resize_as_told(pages, from, to)
#define cs_pages_free(pages, bytes) free_as_told(pages, bytes)
#define pread(fd, to, length, at) read_as_told(fd, to, length, at)
#define cs_store_init store_init
#define cs_store_fini store_fini
#define cs_store_key store_key
#define cs_store_get store_get
#define cs_store_each store_each
#define cs_store_put store_put
#define cs_store_add store_add
#include "config/store.c" /* NOLINT(bugprone-suspicious-include) */
#undef cs_pages
#undef cs_pages_resize
#undef cs_pages_free
#undef pread
#include "config_fixture.h"

/* What the next calls do. */
static struct {
    int64_t held;        /* bytes of pages */
    int pages, fails_at; /* how often they were asked for; the one that fails, from 1 */
    int interruptions;   /* of so many reads */
    size_t most;         /* bytes of a read; 0: all */
    int reads, fails_read_at;
} told;

static bool no_memory(void)
{
    return ++told.pages == told.fails_at;
}

static void *pages_as_told(size_t bytes)
{
    void *pages = no_memory() ? NULL : cs_pages(bytes);
    told.held += pages ? (int64_t)bytes : 0;
    return pages;
}

static void *resize_as_told(void *pages, size_t from, size_t to)
{
    void *moved = no_memory() ? NULL : cs_pages_resize(pages, from, to);
    CHECK(pages || from == 0);
    told.held += moved ? (int64_t)to - (int64_t)from : 0;
    return moved;
}

static void free_as_told(void *pages, size_t bytes)
{
    CHECK(pages || bytes == 0);
    told.held -= (int64_t)bytes;
    cs_pages_free(pages, bytes);
}

static ssize_t read_as_told(int fd, void *to, size_t length, off_t at)
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
    return pread(fd, to, told.most > 0 && told.most < length ? told.most : length, at);
}

static struct cs_store store;

/* An empty folder, and a store on a file in it or none. */
static void begin(const char *file)
{
    memset(&told, 0, sizeof told);
    CHECK(remove_folder() && mkdir(folder, 0755) == 0);
    store_init(&store, file ? path_of(file) : "");
}

static void end(void)
{
    store_fini(&store);
    CHECK_INT(told.held, 0);
}

static struct cs_store_record record_of(int64_t number, int words)
{
    struct cs_store_record record = {.key = store_key(&number, 1), .words = words};
    for (int i = 0; i < words; i++)
        record.word[i] = number * 100 + i;
    return record;
}

static void put(int64_t number, int words)
{
    struct cs_store_record record = record_of(number, words);
    store_put(&store, &record);
}

static bool has(struct cs_store *from, int64_t number, int words)
{
    struct cs_store_record want = record_of(number, words), got = {.words = 0};
    return store_get(from, want.key, &got) && got.words == words &&
           memcmp(&got.key, &want.key, sizeof got.key) == 0 &&
           memcmp(got.word, want.word, (size_t)words * sizeof *got.word) == 0;
}

static void all_are_remembered_and_given_back(void)
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
        store_put(&store, &record);
        record.word[0] = -1;
        store_put(&store, &record); /* the first counts */
    }
    for (uint64_t i = 0; i < 200; i++) {
        struct cs_store_record record = {.words = 0};
        CHECK_INT(store_get(&store, (struct cs_store_key){{i, 255}}, &record), i < 100);
        CHECK(i >= 100 || record.word[0] == (int64_t)i);
        CHECK(!store_get(&store, (struct cs_store_key){{i, 254}}, &record));
    }
    end();
}

/* Memory that runs out at any point: what was remembered is, and later ones are once there is
 * some. */
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

static void most_records_that_are_remembered(void)
{
    begin(NULL);
    for (int64_t i = 0; i <= MOST_ENTRIES; i++)
        put(i, 1);
    CHECK_INT(store.entries, MOST_ENTRIES);
    CHECK(has(&store, 0, 1) && has(&store, MOST_ENTRIES - 1, 1) && !has(&store, MOST_ENTRIES, 1));
    end();
}

/* By another one that reads what is written: whole, in bits, interrupted. */
static void the_file_is_read_whatever_reads_do(void)
{
    struct cs_store other;
    for (size_t most = 0; most <= 13; most += 13) {
        begin("file");
        for (int64_t i = 0; i < 20; i++)
            put(i, 2);
        store_init(&other, store.path);
        told.most = most;
        told.interruptions = 3;
        for (int64_t i = 0; i < 20; i++)
            CHECK(has(&other, i, 2));
        int64_t size = other.read;
        put(20, 2);
        CHECK(has(&other, 20, 2) && other.read > size);
        store_fini(&other);
        end();
    }
}

/* What could not be read is read the next time. */
static void reads_that_fail(void)
{
    begin("file");
    for (int64_t i = 0; i < 20; i++)
        put(i, 2);
    struct cs_store other;
    store_init(&other, store.path);
    told.reads = 0;
    told.most = 100;
    told.fails_read_at = 3;
    CHECK(!has(&other, 19, 2));
    CHECK(other.entries > 0 && other.entries < 19);
    CHECK(has(&other, 19, 2) && other.entries == 20);
    store_fini(&other);
    store_init(&other, store.path);
    told.most = 0;
    told.fails_at = told.pages + 1; /* of the text that is read */
    CHECK(!has(&other, 0, 2));
    CHECK(has(&other, 0, 2));
    store_fini(&other);
    end();
}

static void of_a_large_file_the_end_is_read(void)
{
    static const char line[] = "nonsense\n";
    begin("file");
    put(1, 1);
    FILE *file = fopen(store.path, "a");
    for (int64_t bytes = 0; file && bytes <= MOST_READ; bytes += (int64_t)sizeof line - 1)
        fputs(line, file);
    CHECK(file && fclose(file) == 0);
    struct cs_store_record record = record_of(2, 1);
    char text[CS_STORE_LINE];
    CHECK(cs_store_append(store.path, text, cs_store_write_line(&record, text)) > MOST_READ);
    struct cs_store other;
    store_init(&other, store.path);
    CHECK(has(&other, 2, 1) && !has(&other, 1, 1));
    store_fini(&other);
    end();
}

static int visits;

/* Nobody else comes in meanwhile, and no signal of what is written. */
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
    store_each(&store, record.key.part[0], visit_in_peace, &visits);
    CHECK(errno == EDOM && is_left());
    store_each(&store, record.key.part[0] + 1, visit_in_peace, &visits);
    CHECK_INT(visits, 1);
    store_add(&store, &record);
    CHECK(errno == EDOM && is_left() && store.entries == 1);
    end();
}

/* The newest whose lines fit; what is noted takes no room. */
static void which_records_are_kept(void)
{
    char line[CS_STORE_LINE];
    begin(NULL);
    CHECK_INT(first_kept(&store), 0);
    size_t bytes = 0, count = 0;
    for (int64_t i = 0; bytes <= 2 * (size_t)KEPT_BYTES; i++) {
        struct cs_store_record record = record_of(1000000000 + i, CS_STORE_WORDS);
        if (i % 3 == 0)
            store_add(&store, &record);
        else
            store_put(&store, &record);
        bytes += i % 3 == 0 ? 0 : cs_store_write_line(&record, line);
        count++;
    }
    CHECK_INT(store.entries, count);
    size_t first = first_kept(&store);
    CHECK(first > 0 && first < count);
    for (size_t from = first - 2; from <= first; from++) {
        struct cs_store_record record;
        size_t kept = 0;
        for (size_t i = from; i < count; i++) {
            recall(&store, &store.entry[i], &record);
            kept += store.entry[i].noted ? 0 : cs_store_write_line(&record, line);
        }
        CHECK(from == first ? kept <= (size_t)KEPT_BYTES
                            : kept > (size_t)KEPT_BYTES || store.entry[from].noted);
    }
    end();
}

static void wrong_words_and_paths(void)
{
    static char path[CS_STORE_PATH + 1];
    begin(NULL);
    struct cs_store_record record = record_of(1, 1);
    for (record.words = -1; record.words <= 1; record.words++)
        store_put(&store, &record);
    CHECK_INT(store.entries, 1);
    record = record_of(2, CS_STORE_WORDS);
    record.words++;
    store_put(&store, &record);
    CHECK_INT(store.entries, 1);
    record.words--;
    store_put(&store, &record);
    CHECK(store.entries == 2 && has(&store, 2, CS_STORE_WORDS));
    end();
    memset(path, 'x', CS_STORE_PATH);
    store_init(&store, path);
    CHECK_STR(store.path, "");
    path[CS_STORE_PATH - 1] = '\0';
    store_init(&store, path);
    CHECK_STR(store.path, path);
}

int main(void)
{
    if (!make_folder())
        return 1;
    TEST(all_are_remembered_and_given_back);
    TEST(keys_of_one_slot);
    TEST(memory_that_runs_out);
    TEST(most_records_that_are_remembered);
    TEST(the_file_is_read_whatever_reads_do);
    TEST(reads_that_fail);
    TEST(of_a_large_file_the_end_is_read);
    TEST(each_call_holds_the_lock_and_leaves_errno);
    TEST(which_records_are_kept);
    TEST(wrong_words_and_paths);
    return !remove_folder() || REPORT();
}
