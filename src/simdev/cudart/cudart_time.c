/* The deterministic time model behind events: the simulated time of the work on each stream. */
#include "cudart_time.h"
#include "cudart_account.h"
#include "cudart_device.h"
#include <stdlib.h>
#include <string.h>

enum {
    LAUNCH_NS = 2000 /* of any work, however small */
};

static bool modelled;
static atomic_ullong told;

bool simdev_time_init(void)
{
    const char *value = getenv("SIMDEV_TIME");
    modelled = value && *value ? strcmp(value, "model") == 0 : simdev_account_on();
    if (!value || !*value || modelled || strcmp(value, "clock") == 0)
        return true;
    simdev_violation("SIMDEV_TIME %s: not model or clock", value);
    return false;
}

bool simdev_time_modelled(void)
{
    return modelled;
}

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
