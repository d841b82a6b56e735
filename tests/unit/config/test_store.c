/* The file of records: many processes at once, every truncation, every kind of damage, no room, no
 * right, no home. */
#include "base/log.h"
#include "check.h"
#include "config/store.h"
#include "config/store_file.h"
#include "config/store_text.h"
#include "descriptors.h"
#include "random_problem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RECORDS = 12,
    WRITERS = 12,
    EACH = 150,
    SEED = 20267,
    MOST_TEXT = 1 << 16
};

static char folder[256], path[300], log_path[300];

/* A shell's command; $F is the folder or file. */
static void run(const char *command, const char *argument)
{
    setenv("F", argument, 1);
    if (system(command) != 0)
        printf("# failed: %s\n", command);
}

/* An empty folder, with the log next to it. */
static void fresh(void)
{
    run("chmod -R u+rwx \"$F\" 2>/dev/null; rm -rf \"$F\"", folder);
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/cache/plans-1", folder);
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    cs_log_open(CS_LOG_INFO, log_path);
}

static size_t contents(const char *name, char text[MOST_TEXT])
{
    FILE *file = fopen(name, "r");
    size_t length = file ? fread(text, 1, MOST_TEXT - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    return length;
}

static void replace(const char *name, const char *text, size_t length)
{
    FILE *file = fopen(name, "w");
    CHECK(file && fwrite(text, 1, length, file) == length);
    if (file)
        fclose(file);
}

static int log_lines(const char *what)
{
    static char text[MOST_TEXT];
    int lines = 0;
    contents(log_path, text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        lines += strstr(line, what) != NULL;
    return lines;
}

static struct cs_store_key key_of(int64_t a, int64_t b)
{
    return cs_store_key((int64_t[]){a, b}, 2);
}

/* A record whose words follow from its numbers. */
static struct cs_store_record record_of(int64_t a, int64_t b)
{
    struct rng rng = {(uint64_t)(a * 1000003 + b)};
    struct cs_store_record record = {.key = key_of(a, b)};
    record.words = (int)rng_between(&rng, 1, CS_STORE_WORDS);
    for (int i = 0; i < record.words; i++)
        record.word[i] =
            rng_between(&rng, 0, 1) ? rng_between(&rng, -9, 9) : (int64_t)rng_next(&rng);
    record.word[0] = rng_between(&rng, 0, 1) ? INT64_MIN : INT64_MAX;
    return record;
}

static bool equal(const struct cs_store_record *a, const struct cs_store_record *b)
{
    return memcmp(&a->key, &b->key, sizeof a->key) == 0 && a->words == b->words &&
           memcmp(a->word, b->word, (size_t)a->words * sizeof *a->word) == 0;
}

/* 1: there and as it was written; 0: not there; -1: there, but another. */
static int has(struct cs_store *store, int64_t a, int64_t b)
{
    struct cs_store_record record, required = record_of(a, b);
    if (!cs_store_get(store, required.key, &record))
        return 0;
    return equal(&record, &required) ? 1 : -1;
}

static void put(struct cs_store *store, int64_t a, int64_t b)
{
    struct cs_store_record record = record_of(a, b);
    cs_store_put(store, &record);
}

/* How many of the records (a, 0..) a new process would find; none may be another. */
static int found(int64_t a, int records)
{
    struct cs_store store;
    int count = 0;
    cs_store_init(&store, path);
    for (int i = 0; i < records; i++) {
        int state = has(&store, a, i);
        CHECK(state >= 0);
        count += state > 0;
    }
    cs_store_fini(&store);
    return count;
}

static void write_records(int64_t a, int records)
{
    struct cs_store store;
    cs_store_init(&store, path);
    for (int i = 0; i < records; i++)
        put(&store, a, i);
    cs_store_fini(&store);
}

static void remembers(void)
{
    struct cs_store store;
    struct stat info;
    fresh();
    cs_store_init(&store, path);
    CHECK_INT(has(&store, 1, 1), 0);
    CHECK(stat(path, &info) != 0); /* asking writes nothing */
    put(&store, 1, 1);
    CHECK_INT(has(&store, 1, 1), 1);
    CHECK_INT(has(&store, 1, 2), 0);
    cs_store_fini(&store);
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
    write_records(2, RECORDS);
    CHECK_INT(found(2, RECORDS + 1), RECORDS);
    CHECK_INT(found(1, 2), 1);
    CHECK_INT(log_lines(""), 0);
}

static void the_first_of_a_key_counts(void)
{
    struct cs_store store;
    struct cs_store_record record = record_of(1, 1), got;
    fresh();
    for (int64_t turn = 0; turn < 3; turn++) {
        cs_store_init(&store, path);
        record.word[0] = turn;
        cs_store_put(&store, &record);
        CHECK(cs_store_get(&store, record.key, &got) && got.word[0] == 0);
        cs_store_fini(&store);
    }
    cs_store_init(&store, path);
    CHECK(cs_store_get(&store, record.key, &got) && got.word[0] == 0);
    cs_store_fini(&store);
}

/* Noted records belong to this process alone, and stay when the file changes. */
static void notes_are_not_written(void)
{
    struct cs_store store;
    struct cs_store_record record = record_of(1, 1);
    fresh();
    cs_store_init(&store, path);
    cs_store_add(&store, &record);
    put(&store, 1, 2);
    run("cp \"$F\" \"$F.copy\" && mv \"$F.copy\" \"$F\"", path);
    CHECK_INT(has(&store, 1, 3), 0);
    CHECK_INT(has(&store, 1, 1), 1);
    cs_store_fini(&store);
    CHECK_INT(found(1, 3), 1);
}

static void wrong_counts_are_not_written(void)
{
    struct cs_store store;
    struct cs_store_record record = record_of(1, 1), got;
    fresh();
    cs_store_init(&store, path);
    record.words = 0;
    cs_store_put(&store, &record);
    record.words = CS_STORE_WORDS + 1;
    cs_store_put(&store, &record);
    CHECK(!cs_store_get(&store, record.key, &got));
    CHECK(access(path, F_OK) != 0);
    cs_store_fini(&store);
}

/* A file is found again by later versions: keys of the same words stay the same. */
static void keys_are_stable_between_builds(void)
{
    static const int64_t words[] = {1, -2, INT64_C(1) << 40};
    static const uint64_t part[][2] = {{0x546e3d47867320d6, 0x6a46fad0e67d0b13},
                                       {0xe3c461fd0fa5751f, 0x920b1265a67040c5},
                                       {0x21390a36f5476d8b, 0xd269cae3078e055a},
                                       {0xec5193ec8e21ad5d, 0xd5f9a06e46f00aba}};
    for (int i = 0; i < 4; i++) {
        struct cs_store_key key = cs_store_key(words, i);
        CHECK(key.part[0] == part[i][0] && key.part[1] == part[i][1]);
    }
}

static void different_inputs_have_different_keys(void)
{
    static struct cs_store_key keys[4096];
    int64_t words[3] = {0};
    int count = 0;
    for (words[0] = -8; words[0] < 8; words[0]++)
        for (words[1] = 0; words[1] < 16; words[1]++)
            for (words[2] = 0; words[2] < 15; words[2]++)
                keys[count++] = cs_store_key(words, 3);
    for (int i = 4; i < 100; i++)
        keys[count++] = cs_store_key((int64_t[100]){0}, i);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            CHECK(keys[i].part[0] != keys[j].part[0] && keys[i].part[1] != keys[j].part[1]);
}

struct seen {
    int count;
    int64_t last;
};

static void see(void *ctx, const struct cs_store_record *record)
{
    struct seen *seen = ctx;
    seen->count++;
    CHECK(record->word[0] > seen->last);
    seen->last = record->word[0];
}

static void lists_those_of_a_part(void)
{
    struct cs_store store;
    struct cs_store_record record = {.words = 1};
    struct seen seen = {0, 0}, none = {0, 0};
    fresh();
    cs_store_init(&store, path);
    for (int64_t i = 1; i <= 900; i++) {
        record.key = (struct cs_store_key){{(uint64_t)i % 3, (uint64_t)(i % 300)}};
        record.word[0] = i;
        cs_store_put(&store, &record);
    }
    cs_store_each(&store, 2, see, &seen);
    cs_store_each(&store, 3, see, &none);
    CHECK_INT(seen.count, 100); /* the first of each key */
    CHECK_INT(seen.last, 299);
    CHECK_INT(none.count, 0);
    cs_store_fini(&store);
}

/* Other processes find new records without opening the store again, also if the file is replaced.
 */
static void others_are_heard(void)
{
    struct cs_store one, other;
    fresh();
    cs_store_init(&one, path);
    cs_store_init(&other, path);
    for (int i = 0; i < RECORDS; i++) {
        CHECK_INT(has(&other, 1, i), 0);
        put(&one, 1, i);
        CHECK_INT(has(&other, 1, i), 1);
        put(&other, 2, i);
        CHECK_INT(has(&one, 2, i), 1);
    }
    CHECK_INT(unlink(path), 0); /* another file in its place is read from its beginning */
    write_records(3, RECORDS);
    for (int i = 0; i < RECORDS; i++)
        CHECK_INT(has(&other, 3, i), 1);
    cs_store_fini(&one);
    cs_store_fini(&other);
}

static int in_child(void (*work)(int64_t), int64_t argument)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        work(argument);
        _exit(check_failures ? 1 : 0);
    }
    return (int)child;
}

static void join(int children)
{
    int status;
    for (int i = 0; i < children; i++) {
        CHECK(wait(&status) > 0);
        CHECK_INT(status, 0);
    }
}

static void write_each(int64_t writer)
{
    write_records(writer, EACH);
}

/* Lines like the first of the file. */
static int heads(void)
{
    char line[4096], head[64] = "";
    int count = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!head[0])
            snprintf(head, sizeof head, "%.60s", line);
        count += strcmp(line, head) == 0;
    }
    if (file)
        fclose(file);
    return count;
}

/* All begin with no file: none is lost, no matter who makes it. */
static void many_writers(void)
{
    for (int turn = 0; turn < 10; turn++) {
        fresh();
        for (int i = 0; i < WRITERS; i++)
            CHECK(in_child(write_each, i) > 0);
        join(WRITERS);
        for (int i = 0; i < WRITERS; i++)
            CHECK_INT(found(i, EACH), EACH);
        CHECK_INT(heads(), 1);
        CHECK_INT(log_lines(""), 0);
    }
}

/* A file cut at any byte: the records before the cut are read, and later records can be appended.
 */
static void truncated_at_every_byte(void)
{
    static char text[MOST_TEXT];
    fresh();
    write_records(1, RECORDS);
    size_t length = contents(path, text), head = strcspn(text, "\n") + 1;
    int whole = 0;
    for (size_t cut = 0; cut <= length; cut++) {
        replace(path, text, cut);
        bool ended = cut > head + 1 && text[cut - 1] == '\n' && text[cut - 2] != '\n';
        whole += ended;
        CHECK_INT(found(1, RECORDS), whole);
        write_records(2, 1);
        /* A last record that lacked only its end is complete after the append. */
        bool ends = cut > head && text[cut] == '\n' && text[cut - 1] != '\n';
        CHECK_INT(found(1, RECORDS), whole + ends);
        CHECK_INT(found(2, 1), 1);
        char name[400];
        snprintf(name, sizeof name, "%s.corrupt-1", path);
        unlink(path);
        unlink(name);
    }
    CHECK_INT(whole, RECORDS);
}

/* Damage after the head loses only the records that it hits. A damaged head sets the file aside. */
static void damaged(void)
{
    static char text[MOST_TEXT], broken[MOST_TEXT];
    struct rng rng = {SEED};
    fresh();
    write_records(1, RECORDS);
    size_t length = contents(path, text), head = strcspn(text, "\n") + 1;
    int least = RECORDS;
    for (int turn = 0; turn < 600; turn++) {
        memcpy(broken, text, length);
        size_t first = (size_t)rng_between(&rng, (int64_t)head, (int64_t)length - 1);
        size_t bytes = (size_t)rng_between(&rng, 1, turn % 2 ? 1 : 40);
        int hit = 1;
        for (size_t i = first; i < first + bytes && i < length; i++) {
            hit += text[i] == '\n';
            broken[i] = (char)rng_next(&rng);
        }
        replace(path, broken, length);
        int count = found(1, RECORDS);
        CHECK(count >= RECORDS - hit);
        least = count < least ? count : least;
    }
    CHECK(least < RECORDS);
    CHECK_INT(log_lines(""), 0);
}

static void set_aside(void)
{
    static char text[MOST_TEXT];
    char name[400];
    fresh();
    for (int turn = 1; turn <= 11; turn++) {
        write_records(1, RECORDS);
        size_t length = contents(path, text);
        text[(size_t)turn % (strcspn(text, "\n") + 1)] ^= 4;
        replace(path, text, length);
        CHECK_INT(found(1, RECORDS), 0);
        CHECK(access(path, F_OK) != 0);
        snprintf(name, sizeof name, "%s.corrupt-%d", path, turn < 9 ? turn : 9);
        CHECK(access(name, F_OK) == 0);
        CHECK_INT(log_lines("is damaged"), turn);
    }
    CHECK_INT(log_lines(""), 11);
    snprintf(name, sizeof name, "%s.corrupt-10", path);
    CHECK(access(name, F_OK) != 0);
    write_records(3, RECORDS);
    CHECK_INT(found(3, RECORDS), RECORDS);
}

static void ask_for_one(int64_t reader)
{
    CHECK_INT(found(reader, 1), 0);
}

/* Many find it broken at once: one of them moves it. */
static void set_aside_once(void)
{
    fresh();
    write_records(1, 1);
    replace(path, "something else\n", 15);
    for (int i = 0; i < WRITERS; i++)
        CHECK(in_child(ask_for_one, i) > 0);
    join(WRITERS);
    CHECK_INT(log_lines(""), 1);
}

/* Writes more than the file may contain, and continues until the file is nearly due to be replaced
 * again. */
static void write_many(int64_t writer)
{
    struct cs_store store;
    struct stat info = {0};
    struct cs_store_record record = {.words = CS_STORE_WORDS};
    cs_store_init(&store, path);
    for (int i = 0; i < CS_STORE_WORDS; i++)
        record.word[i] = INT64_MIN + i;
    for (int64_t i = 0; i < 3000 || (writer == 0 && info.st_size < CS_STORE_BYTES - 65536); i++) {
        record.key = key_of(writer, i);
        cs_store_put(&store, &record);
        CHECK_INT(stat(path, &info), 0);
    }
    cs_store_fini(&store);
}

/* Writes enough for one replacement of the file while several processes write. */
static void write_some(int64_t writer)
{
    struct cs_store store;
    struct cs_store_record record = {.words = CS_STORE_WORDS};
    cs_store_init(&store, path);
    for (int64_t i = 0; i < 300; i++) {
        record.key = key_of(10 + writer, i);
        cs_store_put(&store, &record);
        put(&store, 20 + writer, i);
    }
    cs_store_fini(&store);
}

/* Each line after the head is a complete record of one of the writers. */
static void check_only_records_are_in_it(void)
{
    static char text[CS_STORE_BYTES + 1];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    int records = 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    char *line = strchr(text, '\n');
    for (char *end; line && (end = strchr(line + 1, '\n')); line = end) {
        struct cs_store_record record;
        if (end == line + 1) /* a record has one before it, too */
            continue;
        bool read = cs_store_read_line(line + 1, (size_t)(end - line) - 1, &record);
        CHECK(read && record.words > 0);
        if (!read || record.words == 0)
            return;
        records++;
    }
    CHECK(records > 100 && line && !line[1]);
}

/* Above the limit the newer half stays, and records written during the replacement are kept. */
static void file_size_is_bounded(void)
{
    struct stat info;
    for (int turn = 0; turn < 4; turn++) {
        fresh();
        for (int i = 0; i < 3 && turn == 0; i++)
            CHECK(in_child(write_many, i + 1) > 0);
        join(turn == 0 ? 3 : 0);
        write_many(0);
        for (int i = 0; i < 4; i++)
            CHECK(in_child(write_some, i) > 0);
        join(4);
        CHECK(stat(path, &info) == 0);
        CHECK(info.st_size <= CS_STORE_BYTES && info.st_size > CS_STORE_BYTES / 4);
        for (int i = 0; i < 4; i++)
            CHECK_INT(found(20 + i, 300), 300);
        CHECK_INT(found(0, 1), 0);
        check_only_records_are_in_it();
        CHECK_INT(log_lines(""), 0);
    }
}

/* With a limit on file sizes no signal ends the process, and earlier records stay readable. */
static void write_until_full(int64_t bytes)
{
    struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    struct cs_store store;
    setrlimit(RLIMIT_FSIZE, &limit);
    cs_store_init(&store, path);
    for (int i = 0; i < RECORDS; i++) {
        errno = 77;
        put(&store, 1, i);
        CHECK_INT(errno, 77);
        CHECK_INT(has(&store, 1, i), 1);
    }
    cs_store_fini(&store);
}

static void disk_full(void)
{
    int fewest = RECORDS, most = 0;
    for (int64_t bytes = 0; bytes < 2000; bytes += 37) {
        fresh();
        cs_log_open(CS_LOG_WARN, NULL);
        CHECK(in_child(write_until_full, bytes) > 0);
        join(1);
        int count = found(1, RECORDS);
        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
        write_records(2, 2);
        CHECK_INT(found(2, 2), 2);
        CHECK_INT(found(1, RECORDS), count);
        CHECK(access(path, F_OK) == 0);
    }
    CHECK_INT(fewest, 0);
    CHECK(most > 1 && most < RECORDS);
}

static void begin_without_room(int64_t bytes)
{
    struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK_INT(cs_store_begin_new(path), -1);
}

/* The new file replaces the old one completely or not at all. */
static void new_file_without_room_leaves_the_old_one(void)
{
    char name[sizeof path + 8];
    fresh();
    write_records(1, 2);
    CHECK(in_child(begin_without_room, 3) > 0);
    join(1);
    CHECK_INT(found(1, 2), 2);
    snprintf(name, sizeof name, "%s.new", path);
    CHECK(access(name, F_OK) != 0);
}

/* As a user who is subject to permissions. */
static void in_read_only_folder(int64_t unused)
{
    struct cs_store store;
    (void)unused;
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        _exit(2);
    cs_store_init(&store, path);
    CHECK_INT(has(&store, 1, 0), 1);
    for (int i = 0; i < 3; i++)
        put(&store, 2, i);
    CHECK_INT(has(&store, 2, 2), 1);
    cs_store_fini(&store);
}

static void read_only(void)
{
    fresh();
    write_records(1, 1);
    run("chmod 755 \"$F\"; install -m 666 /dev/null \"$F/log\"; "
        "chmod 555 \"$F/cache\"; chmod 444 \"$F/cache/plans-1\"",
        folder);
    CHECK(in_child(in_read_only_folder, 0) > 0);
    join(1);
    CHECK_INT(log_lines("cannot save measured times and records"), 1);
    CHECK_INT(log_lines(""), 1);
}

static void strange_places(void)
{
    struct cs_store store;
    static char longest[CS_STORE_PATH + 10];
    const char *paths[] = {"",      "/dev/null", "/dev/null/x", "/proc/self/nothing/here",
                           longest, folder};
    memset(longest, 'a', sizeof longest - 1);
    fresh();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        cs_store_init(&store, paths[i]);
        CHECK_INT(has(&store, 1, 1), 0);
        put(&store, 1, 1);
        CHECK_INT(has(&store, 1, 1), 1);
        cs_store_fini(&store);
    }
    CHECK_INT(log_lines("(errno 22): /dev/null"), 1); /* EINVAL: it is no plain file */
    CHECK_INT(log_lines("(errno 20): /dev/null/x"), 1);
    CHECK_INT(log_lines(""), 4);
    snprintf(path, sizeof path, "%s/pipe", folder);
    CHECK_INT(mkfifo(path, 0600), 0);
    write_records(1, 1);
    CHECK_INT(found(1, 1), 0);
}

/* A process that is stopped while it holds the file delays others only for a limited time. */
static void stale_lock_is_given_up(void)
{
    struct cs_store store;
    fresh();
    write_records(1, 1);
    int fd = open(path, O_RDWR);
    CHECK_INT(flock(fd, LOCK_EX), 0);
    cs_store_init(&store, path);
    CHECK_INT(has(&store, 1, 0), 1);
    put(&store, 1, 1);
    CHECK_INT(has(&store, 1, 1), 1);
    cs_store_fini(&store);
    close(fd);
    CHECK_INT(found(1, 2), 1);
    CHECK_INT(log_lines(""), 1);
}

static void place(void)
{
    char got[CS_STORE_PATH];
    setenv("HOME", "/home-of-nobody", 1);
    setenv("XDG_CACHE_HOME", "/somewhere", 1);
    cs_config_store_place(got);
    CHECK_STR(got, "/somewhere/convshim/plans-1");
    setenv("XDG_CACHE_HOME", "relative", 1);
    cs_config_store_place(got);
    CHECK_STR(got, "/home-of-nobody/.cache/convshim/plans-1");
    unsetenv("XDG_CACHE_HOME");
    cs_config_store_place(got);
    CHECK_STR(got, "/home-of-nobody/.cache/convshim/plans-1");
    unsetenv("HOME");
    cs_config_store_place(got);
    CHECK_STR(got, "");
}

int main(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/convshim-store-%d", temporary ? temporary : "/tmp",
             (int)getpid());
    descriptors_begin();
    TEST(remembers);
    TEST(the_first_of_a_key_counts);
    TEST(notes_are_not_written);
    TEST(wrong_counts_are_not_written);
    TEST(keys_are_stable_between_builds);
    TEST(different_inputs_have_different_keys);
    TEST(lists_those_of_a_part);
    TEST(others_are_heard);
    TEST(many_writers);
    TEST(truncated_at_every_byte);
    TEST(damaged);
    TEST(set_aside);
    TEST(set_aside_once);
    TEST(file_size_is_bounded);
    TEST(disk_full);
    TEST(new_file_without_room_leaves_the_old_one);
    TEST(read_only);
    TEST(strange_places);
    TEST(stale_lock_is_given_up);
    TEST(place);
    TEST(no_descriptor_is_left_open);
    fresh();
    run("rm -rf \"$F\"", folder);
    return REPORT();
}
