/* A graph stays until the last of its users has given it back. */
#include "check.h"
#include "intercept/graph/graph.h"

static void references_are_counted(void)
{
    struct cs_graph *graph = calloc(1, sizeof *graph);
    CHECK(graph);
    atomic_store(&graph->references, 1);
    CHECK(cs_graph_keep(graph) == graph);
    CHECK_INT(atomic_load(&graph->references), 2);
    CHECK(cs_graph_keep(graph) == graph);
    CHECK_INT(atomic_load(&graph->references), 3);
    cs_graph_drop(graph);
    cs_graph_drop(graph);
    CHECK_INT(atomic_load(&graph->references), 1);
    cs_graph_drop(graph);
    CHECK(cs_graph_keep(NULL) == NULL);
    cs_graph_drop(NULL);
}

int main(void)
{
    TEST(references_are_counted);
    return REPORT();
}
