/* Primitives by oneDNN. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_primitive.h"
#include "operations.h"

/* One operand: the caller's memory, and the primitive's memory if the layouts differ. */
struct port {
    struct simdev_layout user, wanted;
    dnnl_primitive_t reorder; /* NULL if the primitive uses the caller's memory directly */
};

struct simdev_primitive {
    struct simdev_geometry geometry;
    bool is_small;
    struct simdev_view view[SIMDEV_ROLES];
    dnnl_primitive_t primitive;
    struct simdev_layout scratchpad;
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

/* The caller's memory, and the same extents in a layout of oneDNN's choice. */
static bool describe_user(const struct simdev_view *view, enum simdev_role role, int64_t groups,
                          struct simdev_layout *user, struct simdev_layout *any)
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
    return simdev_layout_make(rank, dim, stride, user) && simdev_layout_make(rank, dim, NULL, any);
}

static bool choose_implementation(const struct simdev_geometry *g,
                                  const struct simdev_layout any[SIMDEV_ROLES],
                                  dnnl_primitive_desc_t *out)
{
    const struct simdev_layout *x = &any[SIMDEV_X], *w = &any[SIMDEV_W], *y = &any[SIMDEV_Y];
    struct simdev_window window = {.stride = {0}};
    dnnl_primitive_desc_t forward = NULL;
    for (int i = 0; i < g->spatial; i++) {
        window.stride[i] = g->stride[i];
        window.gap[i] = g->dilation[i] - 1;
        window.lower[i] = g->pad_lower[i];
        window.upper[i] = g->pad_upper[i];
    }
    if (!simdev_create_convolution(x, w, y, &window, false, NULL, &forward))
        return false;
    if (g->kind == SIMDEV_CONV_FORWARD) {
        *out = forward;
        return true;
    }
    const bool ok = simdev_create_convolution(x, w, y, &window,
                                              g->kind == SIMDEV_CONV_BACKWARD_DATA, forward, out);
    dnnl_primitive_desc_destroy(forward);
    return ok;
}

static bool make_reorder(simdev_described from, simdev_described to, dnnl_primitive_t *out)
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

static simdev_described wanted_by(const_dnnl_primitive_desc_t desc, enum simdev_conv_kind kind,
                                  enum simdev_role role)
{
    static const dnnl_query_t plain[SIMDEV_ROLES] = {dnnl_query_src_md, dnnl_query_weights_md,
                                                     dnnl_query_dst_md};
    static const dnnl_query_t diff[SIMDEV_ROLES] = {
        dnnl_query_diff_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md};
    const bool is_diff =
        kind != SIMDEV_CONV_FORWARD && (role == SIMDEV_Y || role == simdev_conv_result(kind));
    return dnnl_primitive_desc_query_md(desc, is_diff ? diff[role] : plain[role], 0);
}

static bool make_ports(struct simdev_primitive *kernel, const_dnnl_primitive_desc_t desc)
{
    const struct simdev_geometry *g = &kernel->geometry;
    for (int role = 0; role < SIMDEV_ROLES; role++) {
        struct port *port = &kernel->port[role];
        if (!simdev_layout_copy(wanted_by(desc, g->kind, (enum simdev_role)role), &port->wanted))
            return false;
        simdev_described user = simdev_layout_of(&port->user),
                         wanted = simdev_layout_of(&port->wanted);
        if (role == (int)simdev_conv_result(g->kind) ? !make_reorder(wanted, user, &port->reorder)
                                                     : !make_reorder(user, wanted, &port->reorder))
            return false;
    }
    return true;
}

static bool prepare_kernel(struct simdev_primitive *kernel)
{
    const struct simdev_geometry *g = &kernel->geometry;
    struct simdev_layout any[SIMDEV_ROLES];
    dnnl_primitive_desc_t desc = NULL;
    bool ok = true;
    memset(any, 0, sizeof any);
    for (int role = 0; ok && role < SIMDEV_ROLES; role++)
        ok = describe_user(&kernel->view[role], (enum simdev_role)role, g->groups,
                           &kernel->port[role].user, &any[role]);
    ok = ok && choose_implementation(g, any, &desc);
    for (int role = 0; role < SIMDEV_ROLES; role++)
        simdev_layout_drop(&any[role]);
    if (!ok)
        return false;
    ok = make_ports(kernel, desc) &&
         simdev_layout_copy(dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0),
                            &kernel->scratchpad) &&
         dnnl_primitive_create(&kernel->primitive, desc) == dnnl_success;
    dnnl_primitive_desc_destroy(desc);
    return ok;
}

/* Waking a team of threads costs more than this many multiplications. */
static const double small_work = 4e6;

static double count_multiplications(const struct simdev_geometry *geometry,
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
    for (int role = 0; role < SIMDEV_ROLES; role++) {
        if (kernel->port[role].reorder)
            dnnl_primitive_destroy(kernel->port[role].reorder);
        simdev_layout_drop(&kernel->port[role].user);
        simdev_layout_drop(&kernel->port[role].wanted);
    }
    simdev_layout_drop(&kernel->scratchpad);
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
    kernel->is_small = count_multiplications(geometry, view) < small_work;
    const int team = enter_team(kernel);
    const bool ok = prepare_kernel(kernel);
    omp_set_num_threads(team);
    if (ok)
        return kernel;
    simdev_primitive_destroy(kernel);
    return NULL;
}

/* Memory at data, or in a scratch block if data is NULL. */
static dnnl_memory_t hold_memory(struct hold *hold, const struct simdev_layout *tensor, void *data)
{
    simdev_described desc = simdev_layout_of(tensor);
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

static int argument_of(enum simdev_conv_kind kind, enum simdev_role role)
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
        args[i] = (dnnl_exec_arg_t){argument_of(kernel->geometry.kind, role), own};
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
