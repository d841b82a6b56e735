/* Primitives by oneDNN. */
#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_primitive.h"
#include "layer_onednn.h"

/* One operand: the caller's memory, and the primitive's memory if the layouts differ. */
struct port {
    dnnl_memory_desc_t user, wanted;
    dnnl_primitive_t reorder; /* NULL if the primitive uses the caller's memory directly */
};

struct simdev_primitive {
    struct simdev_geometry geometry;
    bool is_small;
    struct simdev_view view[SIMDEV_ROLES];
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t scratchpad;
    struct port port[SIMDEV_ROLES];
};

/* The resources of one run, which are released together. */
struct hold {
    dnnl_memory_t memory[2 * SIMDEV_ROLES + 1];
    void *block[2 * SIMDEV_ROLES + 1];
    int memories, blocks;
};

static dnnl_engine_t engine;
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;

static void make_engine(void)
{
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
        engine = NULL;
}

dnnl_engine_t simdev_onednn_engine(void)
{
    pthread_once(&engine_once, make_engine);
    return engine;
}

void simdev_primitives_release(void)
{
    if (engine)
        (void)dnnl_engine_destroy(engine);
    engine = NULL;
}

/* oneDNN also checks the strides of extents of 1, although they have no effect. */
static void settle_strides(int rank, const int64_t *dim, int64_t *stride)
{
    int64_t extent = 1;
    for (int i = 0; i < rank; i++)
        if (dim[i] > 1 && dim[i] * stride[i] > extent)
            extent = dim[i] * stride[i];
    for (int i = 0; i < rank; i++)
        if (dim[i] == 1)
            stride[i] = extent;
}

static bool describe_user(const struct simdev_view *view, enum simdev_role role, int64_t groups,
                          dnnl_memory_desc_t *out)
{
    dnnl_dims_t dim, stride;
    const bool grouped = role == SIMDEV_W && groups > 1;
    const int rank = view->rank + grouped;
    memcpy(dim + grouped, view->dim, sizeof view->dim);
    memcpy(stride + grouped, view->stride, sizeof view->stride);
    if (grouped) {
        dim[0] = groups;
        dim[1] = view->dim[0] / groups;
        stride[0] = dim[1] * view->stride[0];
    }
    settle_strides(rank, dim, stride);
    return dnnl_memory_desc_init_by_strides(out, rank, dim, dnnl_f32, stride) == dnnl_success;
}

static bool describe_primitive(const struct simdev_geometry *g,
                               const dnnl_memory_desc_t any[SIMDEV_ROLES],
                               enum simdev_conv_kind kind, dnnl_convolution_desc_t *out)
{
    const dnnl_memory_desc_t *x = &any[SIMDEV_X], *w = &any[SIMDEV_W], *y = &any[SIMDEV_Y];
    dnnl_dims_t stride = {0}, gap = {0}, lower = {0}, upper = {0};
    for (int i = 0; i < g->spatial; i++) {
        stride[i] = g->stride[i];
        gap[i] = g->dilation[i] - 1;
        lower[i] = g->pad_lower[i];
        upper[i] = g->pad_upper[i];
    }
    switch (kind) {
    case SIMDEV_CONV_FORWARD:
        return dnnl_dilated_convolution_forward_desc_init(
                   out, dnnl_forward_training, dnnl_convolution_direct, x, w, NULL, y, stride, gap,
                   lower, upper) == dnnl_success;
    case SIMDEV_CONV_BACKWARD_DATA:
        return dnnl_dilated_convolution_backward_data_desc_init(out, dnnl_convolution_direct, x, w,
                                                                y, stride, gap, lower,
                                                                upper) == dnnl_success;
    default:
        return dnnl_dilated_convolution_backward_weights_desc_init(out, dnnl_convolution_direct, x,
                                                                   w, NULL, y, stride, gap, lower,
                                                                   upper) == dnnl_success;
    }
}

static bool choose_implementation(const struct simdev_geometry *g,
                                  const dnnl_memory_desc_t any[SIMDEV_ROLES],
                                  dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t forward, backward;
    dnnl_primitive_desc_t hint = NULL;
    dnnl_primitive_attr_t attr = NULL;
    bool ok =
        dnnl_primitive_attr_create(&attr) == dnnl_success &&
        dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) == dnnl_success &&
        describe_primitive(g, any, SIMDEV_CONV_FORWARD, &forward) &&
        dnnl_primitive_desc_create(&hint, &forward, attr, engine, NULL) == dnnl_success;
    if (ok && g->kind == SIMDEV_CONV_FORWARD) {
        *out = hint;
        hint = NULL;
    } else if (ok) {
        ok = describe_primitive(g, any, g->kind, &backward) &&
             dnnl_primitive_desc_create(out, &backward, attr, engine, hint) == dnnl_success;
    }
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    return ok;
}

static bool make_reorder(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                         dnnl_primitive_t *out)
{
    dnnl_primitive_desc_t desc = NULL;
    if (dnnl_memory_desc_equal(from, to))
        return true;
    if (dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, NULL) != dnnl_success)
        return false;
    const bool ok = dnnl_primitive_create(out, desc) == dnnl_success;
    dnnl_primitive_desc_destroy(desc);
    return ok;
}

static const dnnl_memory_desc_t *wanted_by(const_dnnl_primitive_desc_t desc,
                                           enum simdev_conv_kind kind, enum simdev_role role)
{
    static const dnnl_query_t plain[SIMDEV_ROLES] = {dnnl_query_src_md, dnnl_query_weights_md,
                                                     dnnl_query_dst_md};
    static const dnnl_query_t diff[SIMDEV_ROLES] = {
        dnnl_query_diff_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md};
    const bool is_diff =
        kind != SIMDEV_CONV_FORWARD && (role == SIMDEV_Y || role == simdev_conv_result(kind));
    return dnnl_primitive_desc_query_md(desc, is_diff ? diff[role] : plain[role], 0);
}

static bool prepare(struct simdev_primitive *kernel)
{
    const struct simdev_geometry *g = &kernel->geometry;
    dnnl_memory_desc_t any[SIMDEV_ROLES];
    dnnl_primitive_desc_t desc = NULL;
    bool ok = true;
    for (int role = 0; ok && role < SIMDEV_ROLES; role++) {
        struct port *port = &kernel->port[role];
        ok = describe_user(&kernel->view[role], (enum simdev_role)role, g->groups, &port->user) &&
             dnnl_memory_desc_init_by_tag(&any[role], port->user.ndims, port->user.dims, dnnl_f32,
                                          dnnl_format_tag_any) == dnnl_success;
    }
    if (!ok || !choose_implementation(g, any, &desc))
        return false;
    for (int role = 0; ok && role < SIMDEV_ROLES; role++) {
        struct port *port = &kernel->port[role];
        const bool is_result = role == (int)simdev_conv_result(g->kind);
        port->wanted = *wanted_by(desc, g->kind, (enum simdev_role)role);
        ok = make_reorder(is_result ? &port->wanted : &port->user,
                          is_result ? &port->user : &port->wanted, &port->reorder);
    }
    kernel->scratchpad = *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    ok = ok && dnnl_primitive_create(&kernel->primitive, desc) == dnnl_success;
    dnnl_primitive_desc_destroy(desc);
    return ok;
}

/* Waking a team of threads costs more than this many multiplications. */
static const double small_work = 4e6;

static double multiplications(const struct simdev_geometry *geometry,
                              const struct simdev_view view[SIMDEV_ROLES])
{
    double count = (double)simdev_view_elements(&view[SIMDEV_Y]) * (double)view[SIMDEV_W].dim[1];
    for (int i = 0; i < geometry->spatial; i++)
        count *= (double)view[SIMDEV_W].dim[2 + i];
    return count;
}

/* Sets the team size of this thread and returns the previous one. oneDNN requires the same size
 * when a primitive is created and when it runs. */
static int enter_team(const struct simdev_primitive *kernel)
{
    const int before = omp_get_max_threads();
    if (kernel->is_small)
        omp_set_num_threads(1);
    return before;
}

void simdev_primitive_destroy(struct simdev_primitive *kernel)
{
    if (!kernel)
        return;
    for (int role = 0; role < SIMDEV_ROLES; role++)
        if (kernel->port[role].reorder)
            dnnl_primitive_destroy(kernel->port[role].reorder);
    if (kernel->primitive)
        dnnl_primitive_destroy(kernel->primitive);
    free(kernel);
}

struct simdev_primitive *simdev_primitive_create(const struct simdev_geometry *geometry,
                                                 const struct simdev_view view[SIMDEV_ROLES])
{
    struct simdev_primitive *kernel = simdev_onednn_engine() ? calloc(1, sizeof *kernel) : NULL;
    if (!kernel)
        return NULL;
    kernel->geometry = *geometry;
    memcpy(kernel->view, view, sizeof kernel->view);
    kernel->is_small = multiplications(geometry, view) < small_work;
    const int team = enter_team(kernel);
    const bool ok = prepare(kernel);
    omp_set_num_threads(team);
    if (ok)
        return kernel;
    simdev_primitive_destroy(kernel);
    return NULL;
}

/* Memory at data, or in a scratch block if data is NULL. */
static dnnl_memory_t hold_memory(struct hold *hold, const dnnl_memory_desc_t *desc, void *data)
{
    dnnl_memory_t memory;
    if (!data) {
        data = simdev_scratch_take(dnnl_memory_desc_get_size(desc) + 1);
        if (!data)
            return NULL;
        hold->block[hold->blocks++] = data;
    }
    if (dnnl_memory_create(&memory, desc, engine, data) != dnnl_success)
        return NULL;
    hold->memory[hold->memories++] = memory;
    return memory;
}

static bool run_reorder(dnnl_primitive_t reorder, dnnl_stream_t stream, dnnl_memory_t from,
                        dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(reorder, stream, 2, args) == dnnl_success;
}

static int argument(enum simdev_conv_kind kind, enum simdev_role role)
{
    static const int plain[SIMDEV_ROLES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    static const int diff[SIMDEV_ROLES] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_WEIGHTS,
                                           DNNL_ARG_DIFF_DST};
    const bool is_diff =
        kind != SIMDEV_CONV_FORWARD && (role == SIMDEV_Y || role == simdev_conv_result(kind));
    return is_diff ? diff[role] : plain[role];
}

static bool run_primitive(const struct simdev_primitive *kernel, dnnl_stream_t stream,
                          char *const data[SIMDEV_ROLES], struct hold *hold)
{
    const enum simdev_role result = simdev_conv_result(kernel->geometry.kind);
    dnnl_memory_t user[SIMDEV_ROLES];
    dnnl_exec_arg_t args[SIMDEV_ROLES + 1];
    for (int i = 0; i < SIMDEV_ROLES; i++) {
        const struct port *port = &kernel->port[i];
        const enum simdev_role role = (enum simdev_role)i;
        user[i] = hold_memory(hold, &port->user, data[i]);
        dnnl_memory_t own =
            port->reorder && user[i] ? hold_memory(hold, &port->wanted, NULL) : user[i];
        if (!own)
            return false;
        if (port->reorder && role != result && !run_reorder(port->reorder, stream, user[i], own))
            return false;
        args[i] = (dnnl_exec_arg_t){argument(kernel->geometry.kind, role), own};
    }
    dnnl_memory_t scratchpad = hold_memory(hold, &kernel->scratchpad, NULL);
    args[SIMDEV_ROLES] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, scratchpad};
    if (!scratchpad ||
        dnnl_primitive_execute(kernel->primitive, stream, SIMDEV_ROLES + 1, args) != dnnl_success)
        return false;
    return !kernel->port[result].reorder ||
           run_reorder(kernel->port[result].reorder, stream, args[result].memory, user[result]);
}

bool simdev_primitive_run(const struct simdev_primitive *kernel, char *const data[SIMDEV_ROLES])
{
    struct hold hold = {.memories = 0};
    dnnl_stream_t stream;
    if (dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
        return false;
    const int team = enter_team(kernel);
    bool ok = run_primitive(kernel, stream, data, &hold);
    ok = dnnl_stream_wait(stream) == dnnl_success && ok;
    omp_set_num_threads(team);
    for (int i = 0; i < hold.memories; i++)
        dnnl_memory_destroy(hold.memory[i]);
    for (int i = 0; i < hold.blocks; i++)
        simdev_scratch_give(hold.block[i]);
    dnnl_stream_destroy(stream);
    return ok;
}
