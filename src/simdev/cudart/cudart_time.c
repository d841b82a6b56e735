/* The deterministic time model behind events: the simulated time of the work on each stream. */
#include "cudart_time.h"
#include "cudart_account.h"
#include "cudart_device.h"

enum {
    LAUNCH_NS = 2000 /* of any work, however small */
};

static atomic_ullong told;

/* Memory and arithmetic overlap, so the slower of the two determines the time. */
uint64_t simdev_time_of_work(const struct simdev_work *work)
{
    const struct simdev_rates rates = simdev_device_rates();
    const double memory = work->cost.bytes / rates.memory;
    const double arithmetic = work->cost.flops / rates.arithmetic;
    return LAUNCH_NS + (uint64_t)(memory > arithmetic ? memory : arithmetic);
}

uint64_t simdev_time_of(const struct simdev_task *task)
{
    if (task->nanoseconds > 0 || !task->item)
        return task->nanoseconds;
    return simdev_time_of_work(&task->item->work);
}

void simdev_time_told(void)
{
    atomic_fetch_add(&told, 1);
}

uint64_t simdev_times_told(void)
{
    return atomic_load(&told);
}
