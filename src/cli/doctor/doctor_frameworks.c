/* Check of the files that call cuDNN: whether convshim can intercept them, and which cuDNN they
 * load. */
#include "base/path.h"
#include "cli/doctor/doctor.h"
#include "cli/program/command_facts.h"
#include <stdio.h>
#include <string.h>

/* `asked`: the condition under which the file loads the cuDNN of a package (frameworks.def). */
static void report_client(struct cs_doctor *doctor, const char *name, const char *asked,
                          const struct cs_client *client)
{
    char title[64];
    const char *way = client->linkage == CS_LINKAGE_LINKED
                          ? "links cuDNN (intercepted with LD_PRELOAD)"
                          : "looks up cuDNN (intercepted with dlsym)";
    const char *file = cs_path_file(client->path);
    if (!*client->cudnn) {
        cs_doctor_add(doctor, CS_CHECK_framework, CS_WARNING, name,
                      "%s %s. The loader finds no libcudnn for it", file, way);
        return;
    }
    cs_libcudnn_title(client->cudnn, client->version, title, sizeof title);
    bool served = cs_libcudnn_served(client->cudnn, client->version);
    if (served && client->packaged && *asked)
        cs_doctor_add(
            doctor, CS_CHECK_framework, CS_NOTE, name,
            "%s %s. The loader finds no libcudnn for it, but a program that %s loads %s in %s",
            file, way, asked, title, client->cudnn);
    else if (served)
        cs_doctor_add(doctor, CS_CHECK_framework, CS_FINE, name, "%s %s: %s in %s", file, way,
                      title, client->cudnn);
    else
        cs_doctor_add(
            doctor, CS_CHECK_framework, CS_FATAL, name,
            "%s loads %s in %s: convshim supports only cuDNN 9, so all calls run unchanged", file,
            title, client->cudnn);
}

/* Advice for a command that is not Python, for which there is no CUDA build to install. */
static const char other_command[] =
    "Check the program that uses cuDNN: convshim doctor -- COMMAND.";

static void report_subject(struct cs_doctor *doctor, const struct cs_examined *subject)
{
    char name[128];
    bool reported = false;
    cs_examined_name(subject, name, sizeof name);
    for (size_t i = 0; i < subject->clients; i++) {
        enum cs_linkage linkage = subject->client[i].linkage;
        reported = reported || linkage != CS_LINKAGE_NONE;
        if (linkage == CS_LINKAGE_LINKED || linkage == CS_LINKAGE_LOOKED)
            report_client(doctor, name, subject->asked, &subject->client[i]);
    }
    if (reported)
        return;
    cs_doctor_add(doctor, CS_CHECK_framework, CS_NOTE, name,
                  "none of its libraries uses cuDNN. It is a CPU-only build, or it loads its CUDA "
                  "part later");
    if (!doctor->facts.packages.text)
        cs_doctor_advise(doctor, other_command);
}

void cs_doctor_framework(struct cs_doctor *doctor)
{
    cs_clients_find(&doctor->facts);
    for (size_t i = 0; i < doctor->facts.subjects; i++)
        report_subject(doctor, &doctor->facts.subject[i]);
    if (doctor->facts.subjects == 0) {
        cs_doctor_add(doctor, CS_CHECK_framework, CS_NOTE, "frameworks", "no framework was found");
        if (doctor->command && !*doctor->facts.python)
            cs_doctor_advise(doctor, other_command);
    }
}

/* --- calls of cuDNN that bypass the library --- */

void cs_doctor_inside(struct cs_doctor *doctor)
{
    size_t found = 0;
    for (size_t i = 0; i < doctor->facts.subjects; i++) {
        const struct cs_examined *subject = &doctor->facts.subject[i];
        char name[128];
        for (size_t j = 0; j < subject->clients; j++) {
            if (subject->client[j].linkage != CS_LINKAGE_INSIDE)
                continue;
            found++;
            cs_doctor_add(doctor, CS_CHECK_inside, CS_FATAL,
                          cs_examined_name(subject, name, sizeof name),
                          "%s contains a statically linked cuDNN", subject->client[j].path);
        }
    }
    if (found == 0 && doctor->facts.subjects > 0)
        cs_doctor_add(doctor, CS_CHECK_inside, CS_FINE, "statically linked cuDNN", "in no file");
}

/* Files do not show how a library will be loaded. A program that contains the word may use it. */
void cs_doctor_deepbind(struct cs_doctor *doctor)
{
    const char *program = cs_path_file(doctor->facts.program);
    size_t found = 0;
    if (strncmp(program, "julia", strlen("julia")) == 0) {
        found++;
        cs_doctor_add(doctor, CS_CHECK_deepbind, CS_NOTE, program,
                      "Julia loads libraries with RTLD_DEEPBIND, but cuDNN.jl looks up cuDNN with "
                      "dlsym, which convshim intercepts");
    }
    for (size_t i = 0; i < doctor->facts.subjects; i++) {
        const struct cs_examined *subject = &doctor->facts.subject[i];
        char name[128];
        for (size_t j = 0; j < subject->clients; j++) {
            if (!subject->client[j].names_deepbind)
                continue;
            found++;
            cs_doctor_add(doctor, CS_CHECK_deepbind, CS_WARNING,
                          cs_examined_name(subject, name, sizeof name),
                          "%s contains the name RTLD_DEEPBIND: libraries that it loads with it "
                          "bypass convshim",
                          subject->client[j].path);
        }
    }
    if (found == 0 && doctor->facts.subjects > 0)
        cs_doctor_add(doctor, CS_CHECK_deepbind, CS_FINE, "RTLD_DEEPBIND",
                      "no library is known to use it, but files alone cannot prove that");
}

/* --- PyTorch that runs some convolutions without cuDNN --- */

/* True for cuDNN 9.8 to 9.14, which PyTorch lists as the versions with wrong results of some 16-bit
 * conv3d (its issue 163539). */
static bool is_doubtful(int cudnn)
{
    return cudnn >= 90800 && cudnn < 91500;
}

/* True if this PyTorch runs a contiguous 16-bit conv3d with a filter larger than 1 without cuDNN,
 * as reported by ConvParams::use_cudnn in the wheels 2.8.0 to 2.15.0. */
static bool is_bypassing(const struct cs_examined *torch, int cudnn)
{
    int major = 0, minor = 0, patch = 0;
    (void)sscanf(torch->version, "%d.%d.%d", &major, &minor, &patch);
    if (major != 2 || minor != 9)
        return false;
    return patch == 0 ? cudnn >= 90800 : is_doubtful(cudnn);
}

static void report_bypass(struct cs_doctor *doctor, const struct cs_examined *torch,
                          const struct cs_client *client)
{
    char name[128], title[64];
    cs_examined_name(torch, name, sizeof name);
    cs_libcudnn_title(client->cudnn, client->version, title, sizeof title);
    if (is_bypassing(torch, client->version))
        cs_doctor_add(doctor, CS_CHECK_bypass, CS_WARNING, name,
                      "with %s PyTorch runs contiguous 16-bit conv3d without cuDNN (vol2col, in "
                      "larger buffers), so convshim cannot tile it",
                      title);
    else if (is_doubtful(client->version))
        cs_doctor_add(doctor, CS_CHECK_bypass, CS_NOTE, name,
                      "with %s every conv3d runs in cuDNN, which before 9.15 computes some of 16 "
                      "bits wrongly (pytorch issue 163539)",
                      title);
    else
        cs_doctor_add(doctor, CS_CHECK_bypass, CS_FINE, name, "with %s every conv3d runs in cuDNN",
                      title);
}

static void judge_torch(struct cs_doctor *doctor, const struct cs_examined *torch)
{
    for (size_t i = 0; i < torch->clients; i++) {
        const struct cs_client *client = &torch->client[i];
        if (client->linkage != CS_LINKAGE_LINKED || !*client->cudnn)
            continue;
        report_bypass(doctor, torch, client);
        return;
    }
}

void cs_doctor_bypass(struct cs_doctor *doctor)
{
    for (size_t i = 0; i < doctor->facts.subjects; i++)
        if (strcmp(doctor->facts.subject[i].package, "torch") == 0)
            judge_torch(doctor, &doctor->facts.subject[i]);
}
