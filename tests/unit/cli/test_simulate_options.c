/* The options of `convshim simulate`, line by line. */
#include "cli/simulate/simulate.h"
#include "golden.h"
#include <inttypes.h>

static void put(const char *name, int64_t value)
{
    printf("%s %" PRId64 "\n", name, value);
}

struct line {
    const char *word[12];
};

static int show_options(void *line)
{
    struct cs_simulate_options o = {.jobs = -7};
    const struct line *given = line;
    int operand = -1, words = 0;
    while (given->word[words])
        words++;
    int status = cs_simulate_options(words, (char **)given->word, &o, &operand);
    if (status < 0) {
        printf("%s, %s, %s, %s, %s, %s, %s\n", o.device ? o.device : "-",
               o.devices ? o.devices : "-", o.preset ? o.preset : "-", o.cudnn ? o.cudnn : "-",
               o.library ? o.library : "-", o.keep ? o.keep : "-", o.html ? o.html : "-");
        put("capacity", o.capacity);
        put("cuda", o.cuda);
        put("jobs", o.jobs);
        put("smallest", o.smallest);
        put("without", o.side[CS_WITHOUT]);
        put("with", o.side[CS_WITH]);
        put("format", o.format);
        put("operand", operand);
        printf("%s\n", o.given.items ? o.given.items : "-");
    }
    cs_library_options_free(&o.given);
    return status < 0 ? 100 : status;
}

static void options(void)
{
    static const struct line lines[] = {
        {{"simulate", "prog"}},
        {{"simulate", "--", "--prog", "--jobs"}},
        {{"simulate", "prog", "--jobs", "0"}},
        {{"simulate"}},
        {{"simulate", "--"}},
        {{"simulate", "--device", "a", "--cudnn", "b", "--library", "c", "--keep", "d", "p"}},
        {{"simulate", "--devices", "a,b", "--preset", "train", "--format", "csv", "p"}},
        {{"simulate", "--device", "a", "--devices", "b", "p"}},
        {{"simulate", "--html", "x", "--devices", "b", "p"}},
        {{"simulate", "--html", "x", "--smallest", "--format", "json", "p"}},
        {{"simulate", "--jobs", "1", "--cuda", "12", "--capacity", "1", "p"}},
        {{"simulate", "--jobs", "8", "--cuda", "13", "--capacity", "8GiB", "p"}},
        {{"simulate", "--jobs", "0", "p"}},
        {{"simulate", "--jobs", "9", "p"}},
        {{"simulate", "--jobs", "1x", "p"}},
        {{"simulate", "--jobs", "", "p"}},
        {{"simulate", "--cuda", "11", "p"}},
        {{"simulate", "--cuda", "14", "p"}},
        {{"simulate", "--capacity", "0", "p"}},
        {{"simulate", "--capacity", "much", "p"}},
        {{"simulate", "--only", "with", "p"}},
        {{"simulate", "--only", "without", "p"}},
        {{"simulate", "--only", "both", "p"}},
        {{"simulate", "--only", "without", "--workspace", "4MiB", "p"}},
        {{"simulate", "--workspace", "4MiB", "--lanes", "2", "p"}},
        {{"simulate", "--workspace", "lots", "p"}},
        {{"simulate", "--format", "xml", "p"}},
        {{"simulate", "--nothing", "p"}},
        {{"simulate", "--keep"}},
        {{"simulate", "--help"}},
    };
    char title[256];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t length = 0;
        for (int j = 0; lines[i].word[j]; j++)
            length +=
                (size_t)snprintf(title + length, sizeof title - length, "%s ", lines[i].word[j]);
        golden_add(title, show_options, (void *)&lines[i]);
    }
    golden_check(".", "outputs_simulate_options.txt");
}

int main(void)
{
    heap_watch();
    TEST(options);
    free(golden_text);
    return REPORT();
}
