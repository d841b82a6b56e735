/* Any bytes as a JSON summary: an accepted summary has valid numbers and texts and merges with
 * itself. */
#include "memory_file.h"

#include "cli/report/summary.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cs_run_summary *run)
{
    require(run->program && run->calls >= 0 && run->runs >= 1);
    for (size_t i = 0; i < run->sites; i++) {
        const struct cs_summary_site *site = &run->site[i];
        require(site->id && site->name && site->text);
        require(site->calls >= 0 && site->tiled >= 0 && site->failed >= 0);
    }
    for (size_t i = 0; i < run->passed_count; i++)
        require(run->passed[i].id && run->passed[i].text && run->passed[i].calls >= 0);
}

static void use(const struct cs_run_summary *run)
{
    const struct cs_run_summary twice[] = {*run, *run};
    struct cs_run_summary merged;
    check(run);
    if (cs_summary_merge(twice, 2, &merged)) {
        require(merged.runs == 2 * run->runs && merged.calls == 2 * run->calls);
        check(&merged);
        cs_summary_fini(&merged);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cs_run_summary run;
    char path[MEMORY_FILE_PATH], error[CS_SUMMARY_ERROR] = "";
    int fd = memory_file(data, size, path);
    if (cs_summary_read(path, &run, error)) {
        use(&run);
        cs_summary_fini(&run);
    } else {
        require(error[0] != '\0' && memchr(error, '\0', sizeof error) != NULL);
    }
    close(fd);
    return 0;
}
