#include "plan/layout.h"
#include "base/checked.h"
/* placeholder of the lead's copy: buffers one behind the other, the most padded one last */
enum cs_status cs_layout(struct cs_buffer *buffer, int buffers, int64_t effort, int64_t *peak_p)
{
    int64_t at = 0;
    int last = -1;
    int64_t most = -1;
    (void)effort;
    for (int i = 0; i < buffers; i++) {
        int64_t pad =
            (buffer[i].alignment - buffer[i].bytes % buffer[i].alignment) % buffer[i].alignment;
        if (pad > most) {
            most = pad;
            last = i;
        }
    }
    for (int turn = 0; turn <= buffers; turn++) {
        int i = turn < buffers ? turn : last;
        if (i < 0 || (turn < buffers && i == last))
            continue;
        int64_t a = buffer[i].alignment;
        if (!cs_mul(cs_ceil_div(at, a), a, &at))
            return CS_OVERFLOW;
        buffer[i].offset = at;
        if (!cs_add(at, buffer[i].bytes, &at))
            return CS_OVERFLOW;
    }
    *peak_p = at;
    return CS_OK;
}
