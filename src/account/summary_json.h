/* The summary as JSON, as docs/summary.md describes it. */
#ifndef CS_ACCOUNT_SUMMARY_JSON_H
#define CS_ACCOUNT_SUMMARY_JSON_H

#include "account/account.h"
#include "base/json.h"

enum {
    CS_SUMMARY_VERSION = 1
};

/* Data of the process in addition to the text summary's head. */
struct cs_summary_process {
    const char *program;
    const char *script;    /* script that the program runs; NULL or "": no script */
    const char *arguments; /* the process's command line, each word with its NUL */
    size_t arguments_bytes;
    int64_t pid;
    int64_t rank;             /* -1: not in a distributed job */
    int64_t start_ms, end_ms; /* since 1970 */
    const char *device;       /* "" if unknown */
    int options;              /* each as a name and a text, written by: */
    const char *(*option)(void *ctx, int index, char *text, size_t size);
    void *ctx;
};

/* Writes the object and a line's end, but not cs_json_end. The account's lock is held. */
void cs_summary_json(struct cs_json *json, const struct cs_account *account,
                     const struct cs_summary_head *head, const struct cs_summary_process *process);

/* Writes the member `problem` of a site. */
void cs_summary_json_problem(struct cs_json *json, const struct cs_problem *problem);

#endif
