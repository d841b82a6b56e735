/* Profiles of devices: accepted and refused members. */
#include "check.h"
#include "cli/common/data_files.h"
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/convshim-devices-XXXXXX";

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

int main(void)
{
    char remove[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    TEST(profiles_of_devices);
    TEST(names_of_devices);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
