/* The command lines of `convshim simulate`, up to where a program would run. */
#include "golden.h"
#include "simdev/simulate/simulate.h"

/* Reads the options alone; 0: they are accepted. */
static int options(int argc, char **argv)
{
    struct cs_simulate_options o = {.jobs = 0};
    int operand = -1, status = cs_simulate_options(argc, argv, &o, &operand);
    if (status < 0)
        printf(
            "%s, %s, %s, %s, %s, capacity %lld, %d fits %lld, context %lld, %d GPUs, %d jobs, CUDA "
            "%d, sides %d%d, program %s, %s\n",
            o.device ? o.device : "-", o.preset ? o.preset : "-", o.cudnn ? o.cudnn : "-",
            o.keep ? o.keep : "-", o.html ? o.html : "-", (long long)o.capacity, o.checks,
            (long long)o.fits, (long long)o.context, o.gpus, o.jobs, o.cuda, o.side[CS_WITHOUT],
            o.side[CS_WITH], argv[operand], o.given.items > 0 ? o.given.item[0] : "-");
    cs_child_variables_free(&o.given);
    return status < 0 ? 0 : status;
}

static void accepted(void)
{
    static const struct golden_answer rows[] = {
        {"simulate prog", 0, "sides 11, program prog, -"},
        {"simulate -- --prog --jobs", 0, "program --prog"},
        {"simulate prog --jobs 0", 0, "program prog"},
        {"simulate --device a --cudnn b --keep d p", 0,
         "a, -, b, d, -, capacity 0, 0 fits 0, context -1, 1 GPUs"},
        {"simulate --device a,b --preset card --format csv p", 0, "a,b, card"},
        {"simulate --fits card --gpus 16 p", 0, "1 fits 0, context -1, 16 GPUs"},
        {"simulate --fits 8GB --context 0 p", 0, "1 fits 8000000000, context 0"},
        {"simulate --fits 1048576 --context 300MiB p", 0, "fits 1048576, context 314572800"},
        {"simulate --html x --smallest --format json p", 0, ", x, "},
        {"simulate --jobs 1 --cuda 12 --capacity 7MiB p", 0,
         "capacity 7340032, 0 fits 0, context -1, 1 GPUs, 1 jobs, CUDA 12"},
        {"simulate --jobs 8 --cuda 13 --capacity 8GiB p", 0,
         "capacity 8589934592, 0 fits 0, context -1, 1 GPUs, 8 jobs, CUDA 13"},
        {"simulate --only with p", 0, "sides 01"},
        {"simulate --only without p", 0, "sides 10"},
        {"simulate --workspace 4MiB --lanes 2 p", 0, "CONVSHIM_WORKSPACE=4MiB"}};
    golden_answers(options, rows, sizeof rows / sizeof *rows);
}

static void refused(void)
{
    static const struct golden_answer simulate[] = {
        {"simulate", 2, "program"},
        {"simulate --", 2, "program"},
        {"simulate --html README.md p", 2, "--html README.md: this file exists"},
        {"simulate --html x --device b,c p", 2, "--html"},
        {"simulate --fits card --device b,c p", 2, "--fits"},
        {"simulate --fits card --capacity 8GiB p", 2, "omit --capacity"},
        {"simulate --fits 8192 p", 2, "unit"},
        {"simulate --fits gpu p", 2, "card or a size"},
        {"simulate --fits 0 p", 2, "--fits"},
        {"simulate --capacity 8192 p", 2, "unit"},
        {"simulate --context -1 p", 2, "--context"},
        {"simulate --baseline no-such.json p", 2, "no-such.json"},
        {"simulate --baseline README.md p", 2,
         "README.md: not JSON, not a result of convshim simulate"},
        {"simulate --baseline a --device b,c p", 2, "and --baseline work with one"},
        {"simulate --tolerance x p", 2, "--tolerance"},
        {"simulate --tolerance 2%% p", 2, "--tolerance"},
        {"simulate --tolerance 2 p", 2, "--tolerance works with --baseline"},
        {"simulate --tolerance 2 --vary px=1,2 {px}", 2, "--tolerance works with --baseline"},
        {"simulate --vary px=1,2 --vary n=1,2 {px} {n}", 2, "--vary: given twice"},
        {"simulate --vary px=8-64:8 --fits card {px}", 2, "with two dots"},
        {"simulate --vary 'px=8, 64' {px}", 2, "without blanks"},
        {"simulate --vary px p", 2, "NAME=V1,V2"},
        {"simulate --vary px=1..4 p", 2, "add --fits"},
        {"simulate --vary px=1,2 --device a,b {px}", 2, "one --device"},
        {"simulate --vary px=1,2 p", 2, "no word of the command contains {px}"},
        {"simulate --gpus 0 p", 2, "--gpus"},
        {"simulate --gpus 17 p", 2, "--gpus"},
        {"simulate --jobs 0 p", 2, "--jobs"},
        {"simulate --jobs 9 p", 2, "--jobs"},
        {"simulate --jobs 1x p", 2, "--jobs"},
        {"simulate --jobs '' p", 2, "--jobs"},
        {"simulate --cuda 11 p", 2, "--cuda"},
        {"simulate --cuda 14 p", 2, "--cuda"},
        {"simulate --capacity 0 p", 2, "--capacity"},
        {"simulate --capacity much p", 2, "--capacity"},
        {"simulate --only both p", 2, "--only"},
        {"simulate --workspace lots p", 2, "--workspace"},
        {"simulate --summary text p", 2, "--summary"},
        {"simulate --format xml p", 2, "--format"},
        {"simulate --nothing p", 2, "--nothing"},
        {"simulate --keep", 2, "--keep"},
        {"simulate --help", 0, "--capacity"},
        {"simulate --device '' p", 2, "--device"},
        {"simulate --device rtx309 p", 2, "'rtx3090'"},
        {"simulate --device t4,nothing p", 2, "'nothing'"},
        {"simulate --html /no/such/page.html p", 2, "/no/such/page.html"},
        {"simulate --device 'A100 1g.10gb' p", 2, "MIG"},
        {"simulate --device GB10 p", 2, "shares its memory"},
        {"simulate --device 'RTX 4090 Laptop GPU' p", 2, "laptop"},
        {"simulate --device nowhere.json p", 2, "nowhere.json"},
        {"simulate --device h100 --preset nowhere.ini p", 2, "nowhere.ini"}};
    golden_answers(cs_cli_simulate, simulate, sizeof simulate / sizeof *simulate);
}

int main(void)
{
    heap_watch();
    TEST(accepted);
    TEST(refused);
    return REPORT();
}
