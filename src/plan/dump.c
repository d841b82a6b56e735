#include "convshim/plan.h"
#include <stdarg.h>
#include <stdio.h>

struct text {
    char *at;
    size_t size;
    int length;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    size_t used = (size_t)text->length < text->size ? (size_t)text->length : text->size;
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(text->size ? text->at + used : NULL, text->size - used, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += length;
}

static void put_extents(struct text *text, const char *before, const struct cs_tensor *tensor)
{
    const int64_t *dims = tensor->dims;
    put(text, "%s%lldx%lldx%lldx%lldx%lld", before, (long long)dims[CS_N], (long long)dims[CS_C],
        (long long)dims[CS_D], (long long)dims[CS_H], (long long)dims[CS_W]);
}

static void put_head(struct text *text, const struct cs_plan *plan)
{
    const struct cs_problem *problem = &plan->problem;
    put_extents(text, "x ", &problem->tensor[CS_X]);
    put_extents(text, " w ", &problem->tensor[CS_FILTER]);
    put_extents(text, " y ", &problem->tensor[CS_Y]);
    put(text, " %s %s", cs_dtype_name(problem->tensor[CS_X].dtype), cs_problem_layout(problem));
    put(text, " axis %s head %lld step %lld tiles %lld kinds %lld workspace %lld halo %lld\n",
        cs_axis_name(plan->axis), (long long)plan->head, (long long)plan->step,
        (long long)plan->tiles, (long long)plan->kinds, (long long)plan->workspace,
        (long long)plan->halo);
}

static void put_tile(struct text *text, const struct cs_plan *plan, int64_t index)
{
    struct cs_tile tile;
    cs_plan_tile(plan, index, &tile);
    const struct cs_kind *kind = &plan->kind[tile.kind];
    put(text, "tile %lld kind %d out %lld+%lld in %lld+%lld pad %lld,%lld", (long long)index,
        tile.kind, (long long)tile.first, (long long)tile.count, (long long)tile.in_first,
        (long long)tile.in_count, (long long)tile.pre, (long long)tile.post);
    put(text, " offset %lld,%lld align %lld,%lld workspace %lld\n", (long long)tile.offset[CS_X],
        (long long)tile.offset[CS_Y], (long long)kind->problem.tensor[CS_X].alignment,
        (long long)kind->problem.tensor[CS_Y].alignment, (long long)kind->workspace);
}

int cs_plan_dump(const struct cs_plan *plan, char *text, size_t size)
{
    struct text out = {text, size, 0};
    put_head(&out, plan);
    for (int64_t i = 0; i < plan->tiles; i++)
        put_tile(&out, plan, i);
    return out.length;
}
