/* Feeds a fuzzer without libFuzzer: the files of a directory, then inputs that a fixed generator
 * makes from them and from scratch. Prints TAP. A finding of a fuzzer ends the program. */
#include "random_problem.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum {
    LARGEST = 8192,
    MADE = 4000, /* of each seed, and of empty input */
    CHANGES = 8
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rng rng = {2026};

static uint64_t draw(uint64_t below)
{
    return rng_next(&rng) % below;
}

/* Uses memory of exactly this size, so that AddressSanitizer detects reads after its end. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void feed_made(const uint8_t *seed, size_t size)
{
    uint8_t made[LARGEST];
    for (int i = 0; i < MADE; i++) {
        size_t bytes = size > 0 ? 1 + draw(size) : draw(LARGEST / 8);
        if (size > 0)
            memcpy(made, seed, bytes);
        for (size_t at = 0; size == 0 && at < bytes; at++)
            made[at] = (uint8_t)draw(256);
        for (uint64_t changes = draw(CHANGES); changes > 0 && bytes > 0; changes--)
            made[draw(bytes)] = (uint8_t)draw(256);
        feed(made, bytes);
    }
}

static size_t read_seed(const char *directory, const char *name, uint8_t *seed)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(seed, 1, LARGEST, file) : 0;
    if (file)
        fclose(file);
    return size;
}

/* Feeds each file and the inputs made from it. Returns the number of files. */
static int feed_seeds(const char *path)
{
    static uint8_t seed[LARGEST];
    int seeds = 0;
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        size_t size = read_seed(path, entry->d_name, seed);
        seeds += size > 0;
        feed(seed, size);
        feed_made(seed, size);
    }
    if (directory)
        closedir(directory);
    return seeds;
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? feed_seeds(argv[1]) : 0;
    feed(NULL, 0);
    feed_made(NULL, 0);
    printf("ok 1 - %d inputs made of nothing\n", MADE);
    if (argc > 1)
        printf("%sok 2 - %d seeds, %d inputs made of each\n", seeds > 0 ? "" : "not ", seeds, MADE);
    printf("1..%d\n", argc > 1 ? 2 : 1);
    return argc > 1 && seeds == 0;
}
