/* Opens and describes the GPU and the cuDNN of `convshim verify`. */
#include "base/json.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/common/read_file.h"
#include "cli/layers/find_cudnn.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/capture_profile.h"
#include "cudnn/standalone/standalone.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ERROR_BYTES = 512
};

/* LD_LIBRARY_PATH has a cuDNN. It comes before the folders of any library, so Python's cuDNN would
 * load parts of it. */
static bool in_library_path(void)
{
    char file[PATH_MAX];
    for (const char *folder = cs_cli_variable("LD_LIBRARY_PATH"); folder;) {
        int length = (int)strcspn(folder, ":");
        snprintf(file, sizeof file, "%.*s/libcudnn.so.9", length, folder);
        if (length > 0 && access(file, R_OK) == 0)
            return true;
        folder = folder[length] ? folder + length + 1 : NULL;
    }
    return false;
}

int cs_verify_open(const struct cs_verify_options *options, struct cs_trial **trial_p,
                   struct cs_trial_gpu *gpu)
{
    char error[ERROR_BYTES];
    if (!cs_trial_find_gpu(trial_p, gpu, error, sizeof error)) {
        cs_cli_complain("verify: no GPU: %s. To simulate one: convshim simulate -- COMMAND", error);
        return CS_VERIFY_NO_GPU;
    }
    /* A simulated GPU runs only the simulated cuDNN, which is the loader's. */
    bool python = !options->cudnn && !gpu->simulated && !in_library_path();
    if (!(python && cs_find_cudnn_of_python(error, sizeof error)) &&
        !cs_find_cudnn(options->cudnn, error, sizeof error)) {
        cs_cli_complain("verify: no cuDNN found: %s", error);
        cs_cli_complain("%s", cs_find_cudnn_hint);
        return CS_CLI_NO;
    }
    if (cs_trial_open(*trial_p, error, sizeof error))
        return CS_CLI_OK;
    cs_cli_complain("verify: %s", error);
    return CS_CLI_NO;
}

/* cuDNN's description with the width of the memory bus, which NVIDIA's does not have; NULL: there
 * is none. */
static char *profile_text(void)
{
    char error[ERROR_BYTES], *json = NULL;
    int bus_width = 0;
    if (!cs_standalone_capture(&json, &bus_width, error, sizeof error))
        return NULL;
    cJSON *profile = cJSON_Parse(json);
    if (bus_width > 0 && !cJSON_GetObjectItemCaseSensitive(profile, "memoryBusWidth"))
        cJSON_AddNumberToObject(profile, "memoryBusWidth", bus_width);
    char *text = cJSON_PrintUnformatted(profile);
    cJSON_Delete(profile);
    free(json);
    return text;
}

static void write_out(void *ctx, const char *bytes, size_t size)
{
    (void)fwrite(bytes, 1, size, ctx);
}

static void put_driver(struct cs_json *json)
{
    char error[CS_FILE_ERROR];
    size_t length = 0;
    char *text = cs_read_file_bytes("/sys/module/nvidia/version", &length, error);
    if (text) {
        text[strcspn(text, "\n")] = '\0';
        cs_json_string(json, "driver", text);
    }
    free(text);
}

/* `loader` is the file of the cuDNN that the loader finds. */
static void put_gpu(const struct cs_trial_gpu *gpu, const char *loader, FILE *out)
{
    struct cs_json json = {.write = write_out, .ctx = out};
    char version[32], *profile = profile_text();
    size_t cudnn = cs_standalone_version();
    snprintf(version, sizeof version, "%zu.%zu.%zu", cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
    cs_json_open(&json, NULL, '{');
    cs_json_string(&json, "name", gpu->name);
    cs_json_integer(&json, "memory_bytes", gpu->memory);
    cs_json_integer(&json, "free_bytes", gpu->free);
    cs_json_integer(&json, "driver_cuda", gpu->driver);
    cs_json_boolean(&json, "simulated", gpu->simulated);
    put_driver(&json);
    cs_json_string(&json, "cudnn", version);
    const char *number = strstr(loader, ".so.");
    char opened[PATH_MAX];
    if (number && realpath(cs_standalone_file(), opened) && strcmp(loader, opened) != 0)
        cs_json_string(&json, "other_cudnn", number + strlen(".so."));
    cs_json_string(&json, "cudnn_file", cs_standalone_file());
    if (profile)
        cs_json_string(&json, "profile", profile);
    cs_json_close(&json, '}');
    cs_json_end(&json);
    cJSON_free(profile);
}

/* In the child. */
static int describe(const struct cs_verify_options *options, FILE *out)
{
    struct cs_trial *trial = NULL;
    struct cs_trial_gpu gpu;
    char loader[PATH_MAX] = "";
    (void)cs_standalone_loader_file(loader, sizeof loader);
    int status =
        setenv("CONVSHIM", "0", 1) == 0 ? cs_verify_open(options, &trial, &gpu) : CS_CLI_NO;
    if (status == CS_CLI_OK)
        put_gpu(&gpu, loader, out);
    cs_trial_close(trial);
    return status;
}

static bool read_gpu(FILE *file, struct cs_verify_gpu *gpu)
{
    enum {
        MOST = 1 << 16
    };
    char *text = calloc(MOST, 1);
    rewind(file);
    gpu->json = text && fread(text, 1, MOST - 1, file) > 0 ? cJSON_Parse(text) : NULL;
    gpu->name = cs_verify_text(gpu->json, "name");
    gpu->cudnn = cs_verify_text(gpu->json, "cudnn");
    gpu->profile = cs_verify_text(gpu->json, "profile");
    gpu->other = cs_verify_text(gpu->json, "other_cudnn");
    gpu->simulated = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(gpu->json, "simulated"));
    const char *path = cs_verify_text(gpu->json, "cudnn_file");
    snprintf(gpu->file, sizeof gpu->file, "%s", path ? path : "");
    cJSON_DeleteItemFromObjectCaseSensitive(gpu->json, "cudnn_file");
    gpu->free = (int64_t)cs_verify_number(gpu->json, "free_bytes");
    free(text);
    return gpu->name && gpu->cudnn;
}

int cs_verify_describe(const struct cs_verify_options *options, struct cs_verify_gpu *gpu)
{
    FILE *file = tmpfile();
    int status = 0;
    fflush(NULL);
    pid_t pid = file ? fork() : -1;
    if (pid == 0) {
        status = describe(options, file);
        fflush(NULL);
        _exit(status);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    int result = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : CS_CLI_NO;
    if (result == CS_CLI_OK && !read_gpu(file, gpu))
        result = CS_CLI_NO;
    if (pid < 0 || (result == CS_CLI_NO && !WIFEXITED(status)))
        cs_cli_complain("verify: the process that queries the GPU ended abnormally");
    if (file)
        fclose(file);
    return result;
}
