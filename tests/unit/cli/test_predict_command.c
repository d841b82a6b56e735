/* `convshim predict` by the rule of thumb, the limit of scratch, and profiles of
 * devices. And the rule itself. */
#include "capture.h"
#include "cli/common/device_files.h"
#include "cli/layers/plan_layers.h"
#include "cli/predict/predict.h"
#include <limits.h>

static char folder[] = "/tmp/convshim-predict-XXXXXX";

#define PREDICT "predict", "--estimate", "--devices", "conf/devices", "--device", "h100"

#define RUN(...) output_of(cs_cli_predict, (const char *const[]){PREDICT, __VA_ARGS__, NULL})
#define SAYS(...) check_says((const char *const[]){__VA_ARGS__, NULL})

static void write_list(const char *path)
{
    FILE *file = fopen(path, "w");
    CHECK(file &&
          fputs("model,layer,n,c,h,w,k,kh,kw,ph,pw,dtype\n"
                "b,wide,4,64,256,256,64,3,3,1,1,f16\n"
                "a,A<&>,1,8,16,16,8,3,3,1,1,f16\n"
                "b,odd,8,3,512,512,64,3,3,1,1,f16\n"
                "b,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA,1,8,16,16,16,3,3,1,1,f16\n",
                file) >= 0 &&
          fclose(file) == 0);
}

/* With scratch that is limited, a tiling may take no more than that. */
static void the_limit_of_scratch(void)
{
    FILE *file = fopen("arena.ini", "w");
    CHECK(file && fputs("workspace = 4MiB\nbacking = own\n", file) >= 0 && fclose(file) == 0);
    RUN("--csv", "list.csv", "--config", "arena.ini", "--format", "csv");
    CHECK_INT(captured_status, CS_CLI_OK);
    SAYS("\nb,wide,fwd,h100,estimate,33554432,73728,33554432,67182592,134365184,");
    file =
        fopen("arena.ini",
              "w"); /* no scratch of ours beyond the reported size, so this limit has no effect */
    CHECK(file && fputs("workspace = 4MiB\nbacking = own\narena = 0\n", file) >= 0 &&
          fclose(file) == 0);
    RUN("--csv", "list.csv", "--config", "arena.ini", "--format", "csv");
    SAYS("\nb,wide,fwd,h100,estimate,33554432,73728,33554432,67182592,134365184,");
    file = fopen("arena.ini", "a"); /* a rule does not raise it either */
    CHECK(file && fputs("[rule wide]\nworkspace = 8MiB\n", file) >= 0 && fclose(file) == 0);
    RUN("--csv", "list.csv", "--config", "arena.ini", "--format", "csv");
    SAYS("\nb,wide,fwd,h100,estimate,33554432,73728,33554432,67182592,134365184,");
}

/* --- the rule of thumb --- */

static void pack(struct cs_tensor *tensor, const int64_t dims[CS_DIMS])
{
    int64_t stride = 1;
    for (int dim = CS_DIMS - 1; dim >= 0; dim--) {
        tensor->dims[dim] = dims[dim];
        tensor->strides[dim] = stride;
        stride *= dims[dim];
    }
}

static int64_t workspace_of(int64_t groups, int64_t channels, int64_t images, int64_t width)
{
    struct cs_problem problem = {.groups = groups, .spatial = 2, .tensors = CS_OPERANDS};
    pack(&problem.tensor[CS_X], (const int64_t[]){images, channels, 1, 1, width});
    pack(&problem.tensor[CS_FILTER], (const int64_t[]){8, 8, 1, 1, 1});
    pack(&problem.tensor[CS_Y], (const int64_t[]){1, 8, 1, 1, 1});
    for (int i = 0; i < CS_OPERANDS; i++)
        problem.tensor[i].dtype = CS_F16;
    return cs_estimate_workspace(&problem);
}

static void copies_have_channels_by_eights_unless_in_groups(void)
{
    CHECK_INT(workspace_of(1, 8, 3, 5), 3 * 8 * 5 * 2);
    CHECK_INT(workspace_of(1, 4, 3, 5), 3 * 8 * 5 * 2);
    CHECK_INT(workspace_of(1, 9, 3, 5), 3 * 16 * 5 * 2);
    CHECK_INT(workspace_of(2, 4, 3, 5), 3 * 4 * 5 * 2);
    CHECK_INT(workspace_of(2, INT64_C(1) << 40, 1 << 20, 1 << 20), INT64_MAX);
}

/* Accepted and refused numbers of a profile. */
static void profiles_of_devices(void)
{
    static const char none[] =
        "not a device profile: deviceName, deviceVer and totalGlobalMem are required",
                      capability[] =
                          "deviceVer must be a compute capability times 100, such as 900 for 9.0",
                      units[] = "multiProcessorCount must be at least 1";
    static const struct {
        const char *memory, *version, *units; /* as JSON */
        const char *said;                     /* NULL: it is taken */
    } rows[] = {{"1", "900", "1", NULL},
                {"1.5", "900", "1.9", NULL},
                {"9007199254740992", "900", "1", NULL},
                {"9007199254740994", "900", "1", none},
                {"0.99", "900", "1", none},
                {"0", "900", "1", none},
                {"-1", "900", "1", none},
                {"\"8\"", "900", "1", none},
                {"null", "900", "1", none},
                {"1", "0", "1", none},
                {"1", "1", "1", capability},
                {"1", "490", "1", capability},
                {"1", "499", "1", capability},
                {"1", "500", "1", NULL},
                {"1", "501", "1", capability},
                {"1", "1990", "1", NULL},
                {"1", "2000", "1", capability},
                {"1", "900", "0", units},
                {"1", "900", "-1", units},
                {"1", "900", "\"x\"", units}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_device_file profile;
        char error[CS_DEVICE_FILE_ERROR] = "", wanted[CS_DEVICE_FILE_ERROR + 16];
        FILE *file = fopen("made.json", "we");
        CHECK(file && fprintf(file,
                              "{\"deviceName\":\"A\",\"totalGlobalMem\":%s,\"deviceVer\":%s,"
                              "\"multiProcessorCount\":%s}",
                              rows[i].memory, rows[i].version, rows[i].units) > 0);
        CHECK(file && fclose(file) == 0);
        bool taken = cs_device_file_load("made.json", NULL, &profile, error);
        snprintf(wanted, sizeof wanted, "%s%s", rows[i].said ? "made.json: " : "",
                 rows[i].said ? rows[i].said : "");
        CHECK_STR(error, wanted);
        CHECK_INT(taken, !rows[i].said);
        if (!taken)
            continue;
        CHECK_INT(profile.memory, strtod(rows[i].memory, NULL));
        CHECK_INT(profile.version, atoi(rows[i].version));
        CHECK_STR(profile.name, "made");
        CHECK_STR(profile.title, "A");
        CHECK(!profile.source);
        cs_device_file_fini(&profile);
    }
}

/* cuDNN reads a name of 255 bytes. */
static void names_of_devices(void)
{
    for (int length = 254; length < 258; length++) {
        struct cs_device_file profile;
        char error[CS_DEVICE_FILE_ERROR] = "", name[300] = "";
        memset(name, 'n', (size_t)length);
        FILE *file = fopen("made.json", "we");
        CHECK(file &&
              fprintf(file, "{\"deviceName\":\"%s\",\"totalGlobalMem\":1,\"deviceVer\":900}",
                      name) > 0);
        CHECK(file && fclose(file) == 0);
        bool taken = cs_device_file_load("./made.json", NULL, &profile, error);
        CHECK_INT(taken, length <= 255);
        CHECK_STR(error, taken ? "" : "./made.json: deviceName is longer than 255 characters");
        if (taken)
            cs_device_file_fini(&profile);
    }
}

static const char *switch_of_the_library(void)
{
    const char *value = getenv("CONVSHIM");
    return value ? value : "unset";
}

/* A library that is preloaded into this process must not intercept the queries to cuDNN. */
static void cudnn_is_queried_without_the_library(void)
{
    setenv("CONVSHIM", "1", 1);
    RUN("2x64x64x64 -> 64 k3x3");
    CHECK_STR(switch_of_the_library(), "1");
    said_on(STDERR_FILENO, cs_cli_predict,
            (const char *const[]){"predict", "--devices", "conf/devices", "--device", "h100",
                                  "2x64x64x64 -> 64 k3x3", "--cudnn", "nowhere", NULL});
    CHECK_INT(captured_status, CS_CLI_USAGE);
    SAYS("no usable cuDNN: nowhere: ");
    CHECK_STR(switch_of_the_library(), "0");
    unsetenv("CONVSHIM");
}

int main(void)
{
    char remove[64], link_to[PATH_MAX + 8];
    if (!mkdtemp(folder) || !realpath("conf", link_to) || chdir(folder) != 0 ||
        symlink(link_to, "conf") != 0)
        return 1;
    write_list("list.csv");
    TEST(the_limit_of_scratch);
    TEST(profiles_of_devices);
    TEST(names_of_devices);
    TEST(cudnn_is_queried_without_the_library);
    TEST(copies_have_channels_by_eights_unless_in_groups);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
