/* libc10.so: counts the reports that reach it. */
#include "allocator.h"

long torch_reports;

void report_memory(void *address, int64_t bytes, size_t allocated, size_t reserved,
                   struct torch_device device)
{
    (void)address, (void)bytes, (void)allocated, (void)reserved;
    torch_reports += device.type == 1;
}
