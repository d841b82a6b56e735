/* `convshim verify`: command lines that are refused. Nothing is run: there is no GPU here. */
#include "golden.h"

static void refusals(void)
{
    static const struct golden_answer rows[] = {
        {"verify --dtype f64", 2, "f32, f16, bf16"},
        {"verify --layout abcd", 2, "nchw, nhwc"},
        {"verify --time 0", 2, "--time"},
        {"verify --memory lots", 2, "a size such as 8GiB"},
        {"verify --iterations 0", 2, "--iterations"},
        {"verify --workspace lots", 2, "--workspace"},
        {"verify --layers a.csv --summary b.json", 2, "one of them"},
        {"verify -- true", 2, "run --summary json:FILE"},
        {"verify --repeats 0", 2, "--repeats"},
        {"verify --once --layers nowhere.csv", 2, "nowhere.csv"},
        {"verify --out README.md", 2, "is no output of 'convshim verify'"},
        {"verify --help", 0, "--threshold"},
    };
    golden_answers(cs_cli_verify, rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    heap_watch();
    TEST(refusals);
    return REPORT();
}
