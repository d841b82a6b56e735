/* Executes a plan in stream order after checking that its operands and workspace lie inside live
 * allocations. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* A program bound to memory, on a stream or in a graph. A run does not change it. */
struct run {
    struct simdev_program *program;
    char *workspace;
    bool is_unchecked; /* not checked before: the run checks everything */
    float *value;      /* of by-value tensors, one each, read at launch as in cuDNN */
    char *data[];      /* one per tensor; NULL for virtual ones */
};

static struct simdev_view view_of_data(const struct simdev_tensor *tensor, char *data)
{
    struct simdev_view view = tensor->view;
    view.data = data;
    return view;
}

/* ---- checks for faults and races on a GPU ---- */

static bool check_tensor(const struct simdev_tensor *tensor, const char *data, const char *when)
{
    const size_t span = simdev_view_span(&tensor->view);
    const long long uid = (long long)tensor->uid;
    if (!simdev_range_alive(data, span)) {
        simdev_violation("%s: tensor %lld at %p, %zu bytes, is not inside one live allocation",
                         when, uid, (const void *)data, span);
        return false;
    }
    if (tensor->alignment > 0 && (uintptr_t)data % (uintptr_t)tensor->alignment != 0) {
        simdev_violation("%s: tensor %lld at %p is not aligned to the declared %lld bytes", when,
                         uid, (const void *)data, (long long)tensor->alignment);
        return false;
    }
    return true;
}

static bool check_workspace(const struct run *run, const char *when)
{
    const struct simdev_program *program = run->program;
    const size_t bytes = program->workspace;
    if (bytes == 0)
        return true;
    if (!run->workspace || !simdev_range_alive(run->workspace, bytes)) {
        simdev_violation("%s: the plan's %zu bytes of workspace at %p are not inside one live "
                         "allocation",
                         when, bytes, (void *)run->workspace);
        return false;
    }
    const struct simdev_view scratch = {
        run->workspace, CUDNN_DATA_HALF, 1, {(int64_t)((bytes + 1) / 2)}, {1}};
    for (int i = 0; i < program->tensors; i++) {
        const struct simdev_view view = view_of_data(&program->tensor[i], run->data[i]);
        if (view.data && !program->tensor[i].is_by_value && simdev_views_overlap(&scratch, &view)) {
            simdev_violation("%s: the workspace at %p overlaps tensor %lld", when,
                             (void *)run->workspace, (long long)program->tensor[i].uid);
            return false;
        }
    }
    return true;
}

/* An output may be identical to a pointwise operand. Any other overlap is a race on a GPU. */
static bool may_share(const struct simdev_program *program, int input, int output)
{
    for (int n = 0; n < program->nodes; n++) {
        const struct simdev_node *node = &program->node[n];
        for (int role = 0; role < SIMDEV_ROLES; role++)
            if (!node->is_pointwise && node->operand[role] == input &&
                node->operand[role] != output)
                return false;
    }
    return true;
}

static bool check_aliasing(const struct run *run, const char *when)
{
    const struct simdev_program *program = run->program;
    for (int out = 0; out < program->tensors; out++) {
        const struct simdev_view y = view_of_data(&program->tensor[out], run->data[out]);
        if (!program->tensor[out].is_written || !y.data)
            continue;
        for (int in = 0; in < program->tensors; in++) {
            const struct simdev_view x = view_of_data(&program->tensor[in], run->data[in]);
            if (in == out || !x.data || program->tensor[in].is_by_value)
                continue;
            const bool same = simdev_views_equal(&x, &y) && may_share(program, in, out);
            if (!same && simdev_views_overlap(&x, &y)) {
                simdev_violation("%s: output %lld overlaps tensor %lld", when,
                                 (long long)program->tensor[out].uid,
                                 (long long)program->tensor[in].uid);
                return false;
            }
        }
    }
    return true;
}

static bool check_run(const struct run *run, const char *when)
{
    const struct simdev_program *program = run->program;
    for (int i = 0; i < program->tensors; i++) {
        const struct simdev_tensor *tensor = &program->tensor[i];
        if (!tensor->is_virtual && !tensor->is_by_value &&
            !check_tensor(tensor, run->data[i], when))
            return false;
    }
    return check_workspace(run, when);
}

/* ---- the work ---- */

static bool is_direct(const struct simdev_node *node, const struct simdev_tensor *tensor, int role)
{
    const bool is_result = role == (int)simdev_conv_result(node->geometry.kind);
    const bool scaled = is_result && (node->alpha != 1 || node->beta != 0);
    const bool flipped = role == SIMDEV_W && node->is_flipped;
    return tensor->view.type == CUDNN_DATA_FLOAT && !scaled && !flipped && !tensor->is_by_value;
}

static struct simdev_kernel *kernel_of(struct simdev_program *program, struct simdev_node *node)
{
    struct simdev_view view[SIMDEV_ROLES];
    pthread_mutex_lock(&program->lock);
    if (!node->kernel) {
        for (int role = 0; role < SIMDEV_ROLES; role++) {
            const struct simdev_tensor *tensor = &program->tensor[node->operand[role]];
            view[role] = tensor->view;
            if (!is_direct(node, tensor, role))
                simdev_view_pack(&tensor->view, &view[role]);
        }
        node->kernel = simdev_kernel_create(&node->geometry, view);
    }
    struct simdev_kernel *kernel = node->kernel;
    pthread_mutex_unlock(&program->lock);
    return kernel;
}

static struct simdev_view operand_of(const struct simdev_program *program, char *const *data,
                                     const struct simdev_node *node, int role)
{
    const int index = node->operand[role];
    return view_of_data(&program->tensor[index], data[index]);
}

/* Converts the operand of a role to packed f32, in the filter's natural order. */
static bool stage_operand(const struct simdev_node *node, struct simdev_view from, int role,
                          struct simdev_view *packed)
{
    const struct simdev_pointwise copy = simdev_pointwise_of(CUDNN_POINTWISE_IDENTITY);
    simdev_view_pack(&from, packed);
    packed->data = simdev_scratch_take((size_t)simdev_view_elements(packed) * sizeof(float));
    if (!packed->data)
        return false;
    if (role == (int)simdev_conv_result(node->geometry.kind))
        return true;
    if (role == SIMDEV_W && node->is_flipped)
        simdev_view_flip(&from, node->geometry.spatial);
    simdev_pointwise_run(&copy, &from, NULL, packed);
    return true;
}

static void unpack_result(const struct simdev_node *node, const struct simdev_view *packed,
                          struct simdev_view to)
{
    struct simdev_pointwise copy = simdev_pointwise_of(CUDNN_POINTWISE_IDENTITY);
    copy.scale = node->alpha;
    copy.beta = node->beta;
    if (simdev_conv_result(node->geometry.kind) == SIMDEV_W && node->is_flipped)
        simdev_view_flip(&to, node->geometry.spatial);
    simdev_pointwise_run(&copy, packed, NULL, &to);
}

static bool run_convolution(struct simdev_program *program, char *const *data,
                            struct simdev_node *node)
{
    const enum simdev_role result = simdev_conv_result(node->geometry.kind);
    const struct simdev_kernel *kernel = kernel_of(program, node);
    struct simdev_view packed[SIMDEV_ROLES] = {{.data = NULL}};
    char *memory[SIMDEV_ROLES];
    bool ok = kernel != NULL;
    for (int role = 0; ok && role < SIMDEV_ROLES; role++) {
        const struct simdev_view view = operand_of(program, data, node, role);
        memory[role] = view.data;
        if (!is_direct(node, &program->tensor[node->operand[role]], role)) {
            ok = stage_operand(node, view, role, &packed[role]);
            memory[role] = packed[role].data;
        }
    }
    ok = ok && simdev_kernel_run(kernel, memory);
    if (ok && packed[result].data)
        unpack_result(node, &packed[result], operand_of(program, data, node, (int)result));
    for (int role = 0; role < SIMDEV_ROLES; role++)
        simdev_scratch_give(packed[role].data);
    simdev_count(SIMDEV_CONV_LAUNCHES);
    return ok;
}

static bool run_pointwise(const struct simdev_program *program, char *const *data,
                          const struct simdev_node *node)
{
    const struct simdev_view x = operand_of(program, data, node, SIMDEV_X);
    const struct simdev_view y = operand_of(program, data, node, SIMDEV_Y);
    struct simdev_view b;
    if (node->operand[SIMDEV_W] >= 0)
        b = operand_of(program, data, node, SIMDEV_W);
    simdev_pointwise_run(&node->pointwise, &x, node->operand[SIMDEV_W] >= 0 ? &b : NULL, &y);
    if (program->nodes == 1)
        simdev_count(SIMDEV_OTHER_LAUNCHES);
    return true;
}

static bool take_virtuals(const struct simdev_program *program, char **data)
{
    for (int i = 0; i < program->tensors; i++) {
        if (!program->tensor[i].is_virtual)
            continue;
        data[i] = simdev_scratch_take(simdev_view_span(&program->tensor[i].view));
        if (!data[i])
            return false;
    }
    return true;
}

/* `data` has room for one address per tensor. */
static bool run_nodes(const struct run *run, char **data)
{
    struct simdev_program *program = run->program;
    memcpy(data, run->data, (size_t)program->tensors * sizeof *data);
    bool ok = take_virtuals(program, data);
    for (int n = 0; ok && n < program->nodes; n++) {
        struct simdev_node *node = &program->node[n];
        ok = node->is_pointwise ? run_pointwise(program, data, node)
                                : run_convolution(program, data, node);
    }
    for (int i = 0; i < program->tensors; i++)
        if (program->tensor[i].is_virtual)
            simdev_scratch_give(data[i]);
    return ok;
}

static void destroy_run(void *arg)
{
    struct run *run = arg;
    simdev_program_release(run->program);
    free(run->value);
    free(run);
}

/* Overwrites the workspace, so that a program which shares it by mistake fails. A GPU may write it
 * at any time of the run. */
static void overwrite_workspace(const struct run *run)
{
    if (run->program->workspace)
        memset(run->workspace, 0xa5, run->program->workspace);
}

static void touch_operands(const struct run *run)
{
    const struct simdev_program *program = run->program;
    for (int i = 0; simdev_racing() && i < program->tensors; i++) {
        const struct simdev_tensor *tensor = &program->tensor[i];
        const struct simdev_view view = view_of_data(tensor, run->data[i]);
        if (!tensor->is_virtual && !tensor->is_by_value)
            simdev_view_touch(&view, tensor->is_written);
    }
    simdev_touch(run->workspace, program->workspace, true);
}

/* Bytes of all tensors, each counted once, without gaps between rows. */
static size_t tensor_bytes(const struct simdev_program *program)
{
    size_t bytes = 0;
    for (int i = 0; i < program->tensors; i++) {
        const struct simdev_view *view = &program->tensor[i].view;
        if (!program->tensor[i].is_virtual && !program->tensor[i].is_by_value)
            bytes += (size_t)simdev_view_elements(view) * simdev_type_size(view->type);
    }
    return bytes;
}

static double count_operations(const struct simdev_program *program, const struct simdev_node *node)
{
    const struct simdev_view *w = &program->tensor[node->operand[SIMDEV_W]].view;
    const struct simdev_view *y = &program->tensor[node->operand[SIMDEV_Y]].view;
    const double filters = w->dim[0] > 0 ? (double)w->dim[0] : 1;
    return 2 * (double)simdev_view_elements(w) / filters * (double)simdev_view_elements(y);
}

/* Every tensor counts once, the workspace twice: written and read. */
static struct simdev_cost cost_of(const struct simdev_program *program)
{
    struct simdev_cost cost = {.bytes =
                                   2 * (double)program->workspace + (double)tensor_bytes(program)};
    for (int n = 0; !program->refusal[0] && n < program->nodes; n++)
        if (!program->node[n].is_pointwise)
            cost.flops += count_operations(program, &program->node[n]);
    return cost;
}

static bool has_convolution(const struct simdev_program *program)
{
    for (int n = 0; !program->refusal[0] && n < program->nodes; n++)
        if (!program->node[n].is_pointwise)
            return true;
    return false;
}

/* In account mode, counts the kernels that a GPU would run. */
static void count_launches(const struct simdev_program *program)
{
    const bool unknown = program->refusal[0] != '\0'; /* its operations are unknown */
    const struct simdev_cost cost = cost_of(program);
    for (int n = 0; !unknown && n < program->nodes; n++)
        if (!program->node[n].is_pointwise)
            simdev_count(SIMDEV_CONV_LAUNCHES);
    if (has_convolution(program)) {
        simdev_note_plan(program->label, program->problem);
        simdev_note_traffic(tensor_bytes(program), program->workspace, &cost);
    } else
        simdev_count(SIMDEV_OTHER_LAUNCHES);
    simdev_note_workspace(program->workspace);
}

/* The previous contents of the outputs become unknown. */
static void forget_results(const struct run *run)
{
    for (int i = 0; !run->program->refusal[0] && i < run->program->tensors; i++) {
        const struct simdev_tensor *tensor = &run->program->tensor[i];
        if (tensor->is_written && !tensor->is_virtual)
            simdev_account_written(run->data[i], simdev_view_span(&tensor->view));
    }
}

static void compute_run(void *arg)
{
    const struct run *run = arg;
    const char *when = "at run time";
    const bool unknown = run->program->refusal[0] != '\0';
    if (!unknown && (!check_run(run, when) || (run->is_unchecked && !check_aliasing(run, when))))
        return;
    if (simdev_account_mode()) {
        count_launches(run->program);
        forget_results(run);
        return;
    }
    touch_operands(run);
    char **data = calloc((size_t)run->program->tensors + 1, sizeof *data);
    overwrite_workspace(run);
    if (!data || !run_nodes(run, data))
        simdev_violation("a plan could not be computed: no host memory");
    overwrite_workspace(run);
    simdev_note_workspace(run->program->workspace);
    free(data);
}

/* ---- launches ---- */

static bool bind_tensor(struct run *run, int index, const struct simdev_binding *binding)
{
    const struct simdev_tensor *tensor = &run->program->tensor[index];
    if (tensor->is_virtual)
        return true;
    for (int i = 0; i < binding->count; i++) {
        if (binding->uid[i] != tensor->uid)
            continue;
        run->data[index] = binding->pointer[i];
        if (tensor->is_by_value && run->data[index]) {
            memcpy(&run->value[index], run->data[index], simdev_type_size(tensor->view.type));
            run->data[index] = (char *)&run->value[index];
        }
        if (run->data[index])
            return true;
    }
    simdev_violation("at launch: the variant pack has no pointer for tensor %lld",
                     (long long)tensor->uid);
    return false;
}

static struct run *bind_program(struct simdev_program *program,
                                const struct simdev_binding *binding, bool *bound_all)
{
    const size_t tensors = (size_t)program->tensors;
    struct run *run = calloc(1, sizeof *run + tensors * sizeof *run->data);
    if (!run)
        return NULL;
    run->value = calloc(tensors, sizeof *run->value);
    run->program = simdev_program_retain(program);
    run->workspace = binding->workspace;
    if (!run->value) {
        destroy_run(run);
        return NULL;
    }
    *bound_all = true;
    for (int i = 0; *bound_all && i < program->tensors; i++)
        *bound_all = bind_tensor(run, i, binding);
    return run;
}

static cudnnStatus_t make_work(struct simdev_program *program, const struct simdev_binding *binding,
                               bool unchecked, struct simdev_work *out)
{
    bool bound_all;
    if (program->refusal[0] && !simdev_account_mode()) {
        simdev_violation("at launch: the simulated device cannot compute %s", program->refusal);
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED, "cannot compute %s", program->refusal);
    }
    struct run *run = bind_program(program, binding, &bound_all);
    if (!run)
        return simdev_fail(CUDNN_STATUS_ALLOC_FAILED, "no host memory");
    run->is_unchecked = unchecked;
    unchecked = unchecked || program->refusal[0];
    if (!bound_all ||
        (!unchecked && (!check_run(run, "at launch") || !check_aliasing(run, "at launch")))) {
        destroy_run(run);
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "operands refused");
    }
    *out = (struct simdev_work){.run = compute_run,
                                .release = destroy_run,
                                .arg = run,
                                .maker = program,
                                .cost = cost_of(program)};
    return CUDNN_STATUS_SUCCESS;
}

/* Called before the program is queued, so that the record shows the memory that the call needs. */
static void note_call(const struct simdev_program *program, const struct simdev_binding *binding,
                      const struct simdev_cost *cost)
{
    if (!has_convolution(program))
        return;
    const struct simdev_convolution convolution = {.workspace = binding->workspace,
                                                   .workspace_bytes = program->workspace,
                                                   .tensor_bytes = tensor_bytes(program),
                                                   .cost = *cost,
                                                   .plan = program->label};
    simdev_note_convolution(&convolution);
}

cudnnStatus_t simdev_program_launch(struct simdev_program *program, cudaStream_t stream,
                                    const struct simdev_binding *binding)
{
    struct simdev_work made;
    const cudnnStatus_t status = make_work(program, binding, simdev_is_capturing(stream), &made);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    note_call(program, binding, &made.cost);
    const cudaError_t error = simdev_enqueue(stream, &made);
    if (error != cudaSuccess) {
        destroy_run(made.arg);
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "the stream refused: %s",
                           cudaGetErrorName(error));
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t simdev_program_populate(struct simdev_program *program, cudaGraph_t graph,
                                      const struct simdev_binding *binding)
{
    struct simdev_work made;
    const cudnnStatus_t status = make_work(program, binding, false, &made);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (simdev_graph_add(graph, &made) != cudaSuccess) {
        destroy_run(made.arg);
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "no such graph");
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t simdev_program_update(struct simdev_program *program, cudaGraph_t graph,
                                    const struct simdev_binding *binding)
{
    struct simdev_work made;
    const cudnnStatus_t status = make_work(program, binding, false, &made);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (simdev_graph_replace(graph, &made) != cudaSuccess) {
        destroy_run(made.arg);
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "the graph was not populated by this plan");
    }
    return CUDNN_STATUS_SUCCESS;
}
