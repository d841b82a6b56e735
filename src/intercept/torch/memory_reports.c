/* Receives the reports of PyTorch's caching allocator. PyTorch calls the exported function for each
 * block that its allocator hands out or takes back, also without a profiler, and a preloaded
 * library that exports the name is called instead. It calls PyTorch's own function afterwards, so
 * that profilers get their events, but none for scratch of the library.
 *
 * The allocator holds its lock during a call. So this code takes only the level's lock, which is
 * released before PyTorch's function runs. Only the first call uses the loader and the heap. */
#include "config/config.h"
#include "cudnn/bind/torch.h"
#include "flow/instance.h"
#include "intercept/entry/entry.h"
#include "level/level.h"

/* True if the library is switched off in this process. */
static bool is_off(void)
{
    static _Atomic int off; /* 0: unknown, 1: no, 2: yes */
    int known = atomic_load_explicit(&off, memory_order_relaxed);
    if (known == 0) {
        known = 1 + cs_config_disabled();
        atomic_store_explicit(&off, known, memory_order_relaxed);
    }
    return known == 2;
}

CS_EXPORT cs_torch_report report_memory_usage __asm__(CS_TORCH_REPORT);

void report_memory_usage(void *address, int64_t bytes, size_t allocated, size_t reserved,
                         struct cs_torch_device device)
{
    cs_torch_report *real = cs_torch()->report;
    const bool observed = real && device.type == CS_TORCH_CUDA && !is_off();
    if (observed && !cs_level_note(&cs_levels, device.index, address, bytes, (int64_t)allocated,
                                   (int64_t)reserved))
        return;
    if (real)
        real(address, bytes, allocated, reserved, device);
}
