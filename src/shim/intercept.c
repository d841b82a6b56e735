#include "shim/intercept.h"

#include "base/nest.h"
#include "shim/instance.h"

int cs_intercept(struct cs_entry_call *call)
{
    struct cs *cs = cs_nested() ? NULL : cs_instance();
    if (!cs)
        return call->replay(call);
    cs_nest_enter();
    int status = call->handle(cs, call);
    cs_nest_leave();
    return status;
}
