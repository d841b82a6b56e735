/* Notes after a plan's JSON, in the right form and with a right hash, of any words. A note that is
 * read describes a convolution that passes cs_problem_check, and that can be cut and priced. */
#include "base/hash.h"
#include "bytes.h"
#include "decide/cost.h"
#include "intercept/graph/json_note.h"
#include "random_problem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    HEAD = 3, /* the format, the reported size, the number of the problem's words */
    WORDS = HEAD + CS_PROBLEM_WORDS + CS_MAX_TENSORS,
    ROOM = 10 * WORDS + 10 /* bytes: of the words, their count, the hash */
};

static const char json[] = "{}";

static const int64_t odd[] = {
    -1,       2,         7,         9,        16,       255,           1 << 20,
    1 << 30,  INT32_MIN, INT32_MAX, 1L << 31, 1L << 40, INT64_MAX / 2, INT64_MAX,
    INT64_MIN};

/* The words of a note with a random convolution. */
static int words_of(struct bytes *bytes, int64_t word[WORDS])
{
    struct rng rng = {bytes_byte(bytes)};
    struct cs_problem problem = random_small(&rng);
    word[0] = 1, word[1] = 4096, word[2] = cs_problem_words(&problem, word + HEAD);
    int words = HEAD + (int)word[2];
    for (int i = 0; i < problem.tensors; i++)
        word[words++] = i;
    return words;
}

/* A few changes, half of them of the scalars and the window. */
static int change_words(struct bytes *bytes, int64_t word[WORDS], int words)
{
    for (int left = bytes_byte(bytes) % 4; left > 0; left--) {
        int at = bytes_byte(bytes), how = bytes_byte(bytes);
        at = at < 128 ? at % 25 : (at - 128) * 8 + how % 8;
        word[at % words] = how < 128 ? how - 64 : odd[how % (int)(sizeof odd / sizeof *odd)];
        if (how == 250)
            words = at % words + 1;
    }
    return words;
}

/* Seven bits a byte, signs in the lowest bit, then the number of bytes and the hash of all before.
 */
static int encode(const int64_t *word, int words, unsigned char *out)
{
    int used = 0;
    for (int i = 0; i < words; i++) {
        uint64_t left = (uint64_t)word[i] << 1 ^ (word[i] < 0 ? UINT64_MAX : 0);
        for (; left > 127; left >>= 7)
            out[used++] = (unsigned char)(left | 128);
        out[used++] = (unsigned char)left;
    }
    int count = used;
    out[used++] = (unsigned char)count;
    out[used++] = (unsigned char)(count >> 8);
    uint64_t hash = CS_HASH_START;
    hash = cs_hash_bytes(hash, json, strlen(json));
    hash = cs_hash_bytes(hash, (const char *)out, (size_t)used);
    for (int i = 0; i < 64; i += 8)
        out[used++] = (unsigned char)(hash >> i);
    return used;
}

/* Two bits a blank. The text ends where its memory ends. */
static char *text_of(const unsigned char *bytes, int count, int64_t *length_p)
{
    static const char blank[] = {' ', '\t', '\n', '\r'};
    size_t start = strlen(json);
    char *text = malloc(start + 4 * (size_t)count);
    if (!text)
        abort();
    memcpy(text, json, start);
    for (int i = 0; i < 4 * count; i++)
        text[start + (size_t)i] = blank[bytes[i / 4] >> 2 * (i % 4) & 3];
    *length_p = (int64_t)start + 4 * count;
    return text;
}

static void use(const struct cs_problem *problem, int64_t reported)
{
    static const struct cs_profile typical;
    static struct cs_plan plan;
    for (int axis = 1; axis < CS_AXES; axis++)
        for (int64_t step = 1; step < 9; step *= 2)
            if (cs_plan_cut(problem,
                            &(struct cs_tiling){.axis = {(enum cs_axis)axis}, .step = {step, 1}},
                            &plan) == CS_OK)
                (void)cs_cost_of(&plan, reported, &typical);
    (void)cs_cost_untiled(problem, reported, &typical);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, size};
    int64_t word[WORDS], length, reported = 0;
    unsigned char out[ROOM] = {0};
    int words = words_of(&bytes, word);
    bool changed = bytes.left > 0;
    words = change_words(&bytes, word, words);
    char *text = text_of(out, encode(word, words, out), &length);
    struct cs_graph *graph = cs_json_note_read(text, &length, &reported);
    if (!graph && !changed && word[HEAD + 8] == 0) /* steps have words of cuDNN, not any */
        abort();
    if (graph) {
        if (cs_problem_check(&graph->problem) != CS_OK || length != (int64_t)strlen(json) ||
            reported < 0)
            abort();
        use(&graph->problem, reported);
    }
    cs_graph_drop(graph);
    free(text);
    return 0;
}
