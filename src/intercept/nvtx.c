/* Records the ranges of NVTX (NVIDIA Tools Extension, version 3), by which call sites are named.
 * NVTX consists of headers. At their first use they load the library in NVTX_INJECTION64_PATH and
 * call its InitializeInjectionNvtx2, which sets the callbacks that it needs. Unless the variable
 * names convshim, this code does not run, and other tools can use NVTX.
 *
 * The ABI is declared here, because some versions of CUDA lack the headers (nvtxTypes.h and
 * nvToolsExt.h of NVTX 3: NvtxExportTableCallbacks, NvtxCallbackIdCore, nvtxEventAttributes_v2). */
#include "base/range.h"
#include "config/config.h"
#include "intercept/entry/entry.h"
#include <stddef.h>
#include <stdint.h>

enum {
    TABLE_CALLBACKS = 1,
    MODULE_CORE = 1,
    MESSAGE_ASCII = 1
};

/* Indexes into the table of the core's functions. */
enum {
    PUSH_EX = 8,
    PUSH_A = 9,
    PUSH_W = 10,
    POP = 11
};

typedef void function(void);

struct callbacks {
    size_t size;
    /* Sets *table to the addresses of a module's function pointers, and *count to their number.
     * Returns 0 if the module is unknown. */
    int (*functions)(int module, function ****table, unsigned *count);
};

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
};

static int push_a(const char *message)
{
    return cs_range_push(message);
}

static int push_ex(const struct attributes *attributes)
{
    bool named = attributes && attributes->size >= sizeof *attributes &&
                 attributes->message_type == MESSAGE_ASCII;
    return cs_range_push(named ? attributes->message : "");
}

/* Counts a range without its name, because wide characters depend on the program's locale. */
static int push_w(const void *message)
{
    (void)message;
    return cs_range_push("");
}

static int pop_range(void)
{
    return cs_range_pop();
}

static void set_function(function ***table, unsigned count, unsigned place, function *to)
{
    if (place < count && table[place])
        *table[place] = to;
}

typedef const void *tables(uint32_t id);

/* Called by NVTX. Returns 1 if ranges are recorded. Returns 0 if not: then NVTX is inactive. */
CS_EXPORT int InitializeInjectionNvtx2(tables *get);

CS_EXPORT int InitializeInjectionNvtx2(tables *get)
{
    const struct callbacks *callbacks = get ? get(TABLE_CALLBACKS) : NULL;
    function ***table = NULL;
    unsigned count = 0;
    if (cs_config_disabled() || !callbacks || callbacks->size < sizeof *callbacks ||
        !callbacks->functions(MODULE_CORE, &table, &count) || !table)
        return 0;
    set_function(table, count, PUSH_EX, (function *)push_ex);
    set_function(table, count, PUSH_A, (function *)push_a);
    set_function(table, count, PUSH_W, (function *)push_w);
    set_function(table, count, POP, (function *)pop_range);
    return 1;
}
