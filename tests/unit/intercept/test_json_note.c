/* The note in the JSON of a tiled plan, and the effect of foreign texts. */
#include "intercept/graph/json_note.h"

#include "check.h"
#include "cudnn/plan/fusion.h"
#include "random_problem.h"
#include <cudnn.h>

enum {
    ROOM = 1 << 16
};

static const char json[] = "{\"engine\":47,\"graph\":{}}";
static char text[ROOM];

/* A text with a note, which is *length_p characters. */
static struct cs_graph graph_of(uint64_t seed, int64_t *length_p)
{
    struct rng rng = {seed};
    struct cs_graph graph = {.convolution = true, .problem = random_small(&rng)};
    for (int i = 0; i < graph.problem.steps; i++) {
        struct cs_pointwise pointwise = {.mode = CUDNN_POINTWISE_ADD,
                                         .operand = {CS_X, -1, CS_FILTER, CS_Y},
                                         .settings = 1,
                                         .setting = {{3, CUDNN_TYPE_FLOAT, -1}}};
        cs_fusion_pack(&pointwise, &graph.problem.step[i]);
    }
    for (int i = 0; i < graph.problem.tensors; i++)
        graph.uid[i] = 1000 * i - 7;
    strcpy(text, json);
    *length_p = (int64_t)strlen(json) + cs_json_note_length(&graph, 4096);
    CHECK(*length_p < ROOM);
    cs_json_note_write(&graph, 4096, text, (int64_t)strlen(json));
    return graph;
}

static void a_note_that_was_written_reads_back_the_same(void)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        int64_t length, reported = 0, words[2][CS_PROBLEM_WORDS];
        struct cs_graph graph = graph_of(seed, &length);
        CHECK_INT(cs_json_note_begin(text, length), strlen(json));
        CHECK_INT(cs_json_note_begin(text, length - 1), length - 1); /* not a whole note */
        struct cs_graph *read = cs_json_note_read(text, &length, &reported);
        CHECK(read != NULL);
        if (!read)
            return;
        int count = cs_problem_words(&graph.problem, words[0]);
        CHECK_INT(cs_problem_words(&read->problem, words[1]), count);
        CHECK(memcmp(words[0], words[1], (size_t)count * sizeof **words) == 0);
        CHECK(memcmp(read->uid, graph.uid, sizeof graph.uid) == 0);
        CHECK_INT(reported, 4096);
        CHECK_INT(length, strlen(json));
        cs_graph_drop(read);
    }
}

static void note_is_made_of_blanks_after_the_json(void)
{
    int64_t length;
    graph_of(1, &length);
    CHECK(memcmp(text, json, strlen(json)) == 0);
    for (int64_t i = (int64_t)strlen(json); i < length; i++)
        CHECK(strchr(" \t\r\n", text[i]) != NULL);
}

static bool reads(int64_t length)
{
    int64_t reported;
    struct cs_graph *read = cs_json_note_read(text, &length, &reported);
    cs_graph_drop(read);
    return read;
}

static void damaged_note_is_ignored(void)
{
    int64_t length;
    graph_of(1, &length);
    CHECK(reads(length));
    for (int64_t i = 0; i < length; i++) {
        const char was = text[i];
        text[i] = was == ' ' ? '\t' : ' ';
        CHECK(!reads(length));
        text[i] = was;
        CHECK(!reads(i));
    }
}

static void text_that_ends_with_zeros_has_its_note(void)
{
    int64_t length;
    graph_of(1, &length);
    text[length] = text[length + 1] = '\0';
    CHECK(reads(length + 2));
}

/* The hash resists no adversary, so the contents of a note are checked like any foreign input. */
static void note_of_an_invalid_convolution_is_ignored(void)
{
    for (int change = 0; change < 5; change++) {
        int64_t length;
        struct cs_graph graph = graph_of(1, &length);
        struct cs_step *step = &graph.problem.step[graph.problem.steps];
        switch (change) {
        case 0:
            graph.problem.tensor[CS_X].dims[CS_H] = -5;
            break;
        case 1:
            graph.problem.direction = (enum cs_direction)(1 << 30);
            break;
        case 2:
            graph.problem.tensor[CS_Y].dtype = (enum cs_dtype)77;
            break;
        case 3: /* a step without the words of one */
            graph.problem.steps++;
            step->words = 2;
            break;
        default: /* a step of a tensor that is not there */
            graph.problem.steps++;
            step->words = 6;
            step->word[2] = 1 << 20;
        }
        length = (int64_t)strlen(json) + cs_json_note_length(&graph, 4096);
        cs_json_note_write(&graph, 4096, text, (int64_t)strlen(json));
        CHECK(!reads(length));
    }
}

int main(void)
{
    TEST(a_note_that_was_written_reads_back_the_same);
    TEST(note_is_made_of_blanks_after_the_json);
    TEST(damaged_note_is_ignored);
    TEST(text_that_ends_with_zeros_has_its_note);
    TEST(note_of_an_invalid_convolution_is_ignored);
    return REPORT();
}
