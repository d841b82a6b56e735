/* Encodes and decodes the notes after the JSON of plans. Words become bytes, and each byte becomes
 * four blanks. */
#include "intercept/graph/json_note.h"

#include "base/hash.h"
#include "cudnn/plan/fusion.h"
#include "intercept/graph/describe_graph.h"
#include <stdlib.h>
#include <string.h>

enum {
    FORMAT = 1,
    HEAD_WORDS = 3, /* the format, the size, the words of the problem */
    WORDS = HEAD_WORDS + CS_PROBLEM_WORDS + CS_MAX_TENSORS,
    WORD_BYTES = 10, /* the most bytes of a word, with seven bits each */
    COUNT = 2,       /* size of the field with the number of bytes before it */
    HASH = 8,        /* bytes of the hash of the JSON and the bytes before it */
    BLANKS = 4,      /* characters of one byte */
    BYTES = WORDS * WORD_BYTES + COUNT + HASH
};

_Static_assert(BYTES < 1 << 8 * COUNT, "a note's bytes cannot be counted");

static const char blank[4] = {' ', '\t', '\n', '\r'};

/* Writes a word, seven bits in each byte, so that small numbers of either sign take one byte.
 * Returns the number of bytes. */
static int put_word(unsigned char *bytes, int64_t value)
{
    uint64_t left = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
    int used = 0;
    for (; left > 0x7f; left >>= 7)
        bytes[used++] = (unsigned char)(left | 0x80);
    bytes[used++] = (unsigned char)left;
    return used;
}

/* Reads a word. Returns the number of bytes that it took, or 0 if the word is incomplete. */
static int get_word(const unsigned char *bytes, int count, int64_t *value_p)
{
    uint64_t value = 0;
    for (int i = 0; i < count && i < WORD_BYTES; i++) {
        value |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
        if (bytes[i] <= 0x7f) {
            *value_p = (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
            return i + 1;
        }
    }
    return 0;
}

static uint64_t hash_of(const char *json, int64_t length, const unsigned char *bytes, int count)
{
    uint64_t hash = cs_hash_bytes(CS_HASH_START, json, (size_t)length);
    return cs_hash_bytes(hash, (const char *)bytes, (size_t)count);
}

static int put_number(unsigned char *bytes, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    return count;
}

static uint64_t get_number(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* Encodes a note without its hash. Returns the number of bytes. */
static int bytes_of(const struct cs_graph *graph, int64_t reported, unsigned char bytes[BYTES])
{
    int64_t word[WORDS];
    int used = 0, words = cs_problem_words(&graph->problem, word + HEAD_WORDS);
    word[0] = FORMAT;
    word[1] = reported;
    word[2] = words;
    words += HEAD_WORDS;
    for (int i = 0; i < graph->problem.tensors; i++)
        word[words++] = graph->uid[i];
    for (int i = 0; i < words; i++)
        used += put_word(bytes + used, word[i]);
    return used + put_number(bytes + used, (uint64_t)used, COUNT);
}

int64_t cs_json_note_length(const struct cs_graph *graph, int64_t reported)
{
    unsigned char bytes[BYTES];
    return (int64_t)(bytes_of(graph, reported, bytes) + HASH) * BLANKS;
}

void cs_json_note_write(const struct cs_graph *graph, int64_t reported, char *json, int64_t length)
{
    unsigned char bytes[BYTES];
    int used = bytes_of(graph, reported, bytes);
    used += put_number(bytes + used, hash_of(json, length, bytes, used), HASH);
    for (int i = 0; i < used * BLANKS; i++)
        json[length + i] = blank[bytes[i / BLANKS] >> 2 * (i % BLANKS) & 3];
}

/* Decodes the `count` bytes whose blanks end at `end`. False if some of the characters are not
 * blanks. */
static bool bytes_before(const char *end, int count, unsigned char *bytes)
{
    const char *at = end - (ptrdiff_t)count * BLANKS;
    for (int i = 0; i < count; i++) {
        bytes[i] = 0;
        for (int j = 0; j < BLANKS; j++) {
            const char *found = memchr(blank, *at++, sizeof blank);
            if (!found)
                return false;
            bytes[i] |= (unsigned char)((found - blank) << 2 * j);
        }
    }
    return true;
}

/* Reads the words of the note at the end of a text. Returns their number, 0 if there is no valid
 * note. *length_p becomes the length of the text before the note. */
static int words_of(const char *text, int64_t *length_p, int64_t word[WORDS])
{
    unsigned char bytes[BYTES];
    int64_t length = *length_p;
    int words = 0;
    while (length > 0 && text[length - 1] == '\0')
        length--;
    if (length < (COUNT + HASH) * BLANKS || !bytes_before(text + length, COUNT + HASH, bytes))
        return 0;
    int used = (int)get_number(bytes, COUNT), all = used + COUNT + HASH;
    if (all > BYTES || length < (int64_t)all * BLANKS || !bytes_before(text + length, all, bytes))
        return 0;
    length -= (int64_t)all * BLANKS;
    if (get_number(bytes + used + COUNT, HASH) != hash_of(text, length, bytes, used + COUNT))
        return 0;
    for (int at = 0, read; at < used; at += read) {
        read = words < WORDS ? get_word(bytes + at, used - at, &word[words++]) : 0;
        if (read == 0)
            return 0;
    }
    *length_p = length;
    return words;
}

/* True if the steps of a problem from a note are valid. Planning copies steps without a check. */
static bool steps_valid(const struct cs_problem *problem)
{
    for (int i = 0; i < problem->steps; i++)
        if (!cs_fusion_valid(&problem->step[i], problem->tensors))
            return false;
    return true;
}

/* Fills a graph from the words of a note. False if they describe no supported convolution. */
static bool fill_graph(struct cs_graph *graph, const int64_t *word, int words, int64_t *reported_p)
{
    if (words < HEAD_WORDS || word[0] != FORMAT || word[1] < 0 || word[2] < 0 ||
        word[2] > words - HEAD_WORDS ||
        !cs_problem_of_words(word + HEAD_WORDS, (int)word[2], &graph->problem) ||
        words != HEAD_WORDS + word[2] + graph->problem.tensors || !steps_valid(&graph->problem) ||
        cs_describe_check(&graph->problem) != CS_REASON_NONE)
        return false;
    memcpy(graph->uid, word + HEAD_WORDS + word[2],
           (size_t)graph->problem.tensors * sizeof *graph->uid);
    graph->convolution = true;
    *reported_p = word[1];
    return true;
}

struct cs_graph *cs_json_note_read(const char *text, int64_t *length_p, int64_t *reported_p)
{
    int64_t word[WORDS];
    int words = words_of(text, length_p, word);
    struct cs_graph *graph = words > 0 ? calloc(1, sizeof *graph) : NULL;
    if (!graph)
        return NULL;
    atomic_init(&graph->references, 1);
    if (fill_graph(graph, word, words, reported_p))
        return graph;
    cs_graph_drop(graph);
    return NULL;
}

int64_t cs_json_note_begin(const char *text, int64_t length)
{
    int64_t word[WORDS], json = length;
    return words_of(text, &json, word) > 0 ? json : length;
}
