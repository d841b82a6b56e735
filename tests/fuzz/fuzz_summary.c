/* Any bytes as a JSON summary: an accepted summary can be added to another one, and its members can
 * be shown. */
#include "memory_file.h"

#include "cli/layers/summary.h"
#include "cli/report/report.h"
#include <cjson/cJSON.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(struct cs_report *report)
{
    FILE *out = fopen("/dev/null", "w");
    require(out && cs_report_conclude(report));
    for (int i = 0; i < CS_REPORT_TABLES; i++)
        for (int format = 0; format < 3; format++)
            require(cs_table_print(&report->table[i], (enum cs_format)format, out));
    fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cs_report report;
    char path[MEMORY_FILE_PATH], error[CS_SUMMARY_ERROR] = "";
    int fd = memory_file(data, size, path);
    cs_report_init(&report);
    for (int i = 0; i < 2; i++) {
        struct cJSON *run = cs_summary_read(path, error);
        require(run ? cs_report_add(&report, path, run) : error[0] != '\0');
    }
    if (report.all)
        show(&report);
    cs_report_fini(&report);
    close(fd);
    return 0;
}
