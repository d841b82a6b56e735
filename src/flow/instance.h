/* The single instance: options, limits, remembered decisions, streams and scratch, counters. Made
 * at the first intercepted call, not at load time. Lives until the process ends. */
#ifndef CS_FLOW_INSTANCE_H
#define CS_FLOW_INSTANCE_H

#include "account/account.h"
#include "account/convolution_peak.h"
#include "base/file.h"
#include "config/config.h"
#include "config/session.h"
#include "convshim/policy.h"
#include "convshim/profile.h"
#include "decide/memo.h"
#include "exec/exec.h"
#include "flow/host.h"
#include <sys/types.h>

enum {
    CS_VENDOR_NAME = 64
};

struct cs {
    const struct cs_host *host;
    struct cs_config config;
    const char *program;            /* the program's file name */
    char script[CS_PROGRAM_SCRIPT]; /* script that the program runs; "": no script */
    struct cs_rules rules;          /* those that apply to this program */
    const struct cs_policy *policy; /* unless a rule sets another */
    struct cs_limits limits;        /* unless a rule sets others */
    struct cs_memo memo;
    struct cs_convolution_peak peak;
    struct cs_account account;
    struct cs_exec exec;
    struct cs_place summary;     /* the file of the JSON summary */
    int64_t start_ms;            /* since 1970 */
    char vendor[CS_VENDOR_NAME]; /* the library's name and version at the first call */
    _Atomic(pid_t) process;      /* the process that writes a summary at its end; 0: not begun */
    _Atomic int64_t renewal;     /* next time of a JSON summary, seconds of the monotonic clock; 0:
                                    this process has not written one */
    _Atomic int64_t reported;    /* calls that were in the last summary of flow/ending.h */
    atomic_bool device_named;
    char device[CS_PROFILE_NAME]; /* of the first prepared convolution, if a summary needs it, else
                                     ""; protected by the account's lock */
};

/* Milliseconds since 1970. */
int64_t cs_instance_now_ms(void);

/* True if every convolution must be described, even if it is small. */
static inline bool cs_describes_all(const struct cs *cs)
{
    return cs->config.summary.form & CS_SUMMARY_JSON;
}

/* The number of the calling thread's context. 0: no context. */
static inline uint64_t cs_instance_context(const struct cs *cs)
{
    const struct cs_device *device = cs->exec.device;
    return device ? device->context(device->ctx) : 0;
}

/* The instance. NULL if switched off (CONVSHIM=0), if cuDNN is not supported, or if host memory is
 * short. The first call's `host` is kept. Thread-safe. One load after the first time. */
struct cs *cs_instance(const struct cs_host *host);

/* True if it is certain that this process has no instance. */
bool cs_instance_off(void);

/* The instance, or NULL if it was not made yet. */
struct cs *cs_instance_made(void);

#endif
