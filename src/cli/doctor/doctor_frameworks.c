/* Checks of what calls cuDNN: whether it can be reached, and what would go past the library. */
#include "base/path.h"
#include "cli/doctor/clients.h"
#include "cli/doctor/libcudnn.h"
#include <stdio.h>
#include <string.h>

static const char *name_of(const struct cs_examined *subject, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", subject->title, *subject->version ? " " : "", subject->version);
    return text;
}

static void report_client(struct cs_doctor *doctor, const char *name, const char *asked,
                          const struct cs_client *client)
{
    char title[64];
    const char *way = client->linkage == CS_LINKAGE_LINKED ? "links cuDNN: LD_PRELOAD reaches it"
                                                           : "looks cuDNN up: dlsym reaches it";
    const char *file = cs_path_file(client->path);
    if (!*client->cudnn) {
        cs_doctor_add(doctor, CS_CHECK_framework, CS_WARNING, name,
                      "%s %s; no libcudnn is found for it", file, way);
        return;
    }
    cs_libcudnn_title(client->cudnn, client->version, title, sizeof title);
    bool served = cs_libcudnn_served(client->cudnn, client->version);
    if (served && client->packaged && *asked)
        cs_doctor_add(
            doctor, CS_CHECK_framework, CS_NOTE, name,
            "%s %s; the loader finds no libcudnn for it, but a program that %s gets %s in %s", file,
            way, asked, title, client->cudnn);
    else if (served)
        cs_doctor_add(doctor, CS_CHECK_framework, CS_FINE, name, "%s %s; %s in %s", file, way,
                      title, client->cudnn);
    else
        cs_doctor_add(doctor, CS_CHECK_framework, CS_FATAL, name,
                      "%s has %s in %s: convshim serves cuDNN 9, every call passes through", file,
                      title, client->cudnn);
}

/* A command that is no framework's Python has no build for CUDA to be installed. */
static const char other_command[] =
    "Look at the program that uses cuDNN: convshim doctor -- COMMAND.";

static void report_subject(struct cs_doctor *doctor, const struct cs_examined *subject)
{
    char name[128];
    bool reported = false;
    name_of(subject, name, sizeof name);
    for (size_t i = 0; i < subject->clients; i++) {
        enum cs_linkage linkage = subject->client[i].linkage;
        reported = reported || linkage != CS_LINKAGE_NONE;
        if (linkage == CS_LINKAGE_LINKED || linkage == CS_LINKAGE_LOOKED)
            report_client(doctor, name, subject->asked, &subject->client[i]);
    }
    if (reported)
        return;
    cs_doctor_add(doctor, CS_CHECK_framework, CS_NOTE, name,
                  "no file of it comes to cuDNN by itself: without CUDA, or what does is loaded "
                  "later");
    if (!doctor->packages.text)
        cs_doctor_advise(doctor, other_command);
}

void cs_doctor_framework(struct cs_doctor *doctor)
{
    cs_clients_find(doctor);
    for (size_t i = 0; i < doctor->subjects; i++)
        report_subject(doctor, &doctor->subject[i]);
    if (doctor->subjects == 0) {
        cs_doctor_add(doctor, CS_CHECK_framework, CS_NOTE, "frameworks", "none was found");
        if (doctor->command && !*doctor->python)
            cs_doctor_advise(doctor, other_command);
    }
}

void cs_doctor_inside(struct cs_doctor *doctor)
{
    size_t found = 0;
    for (size_t i = 0; i < doctor->subjects; i++) {
        const struct cs_examined *subject = &doctor->subject[i];
        char name[128];
        for (size_t j = 0; j < subject->clients; j++) {
            if (subject->client[j].linkage != CS_LINKAGE_INSIDE)
                continue;
            found++;
            cs_doctor_add(doctor, CS_CHECK_inside, CS_FATAL, name_of(subject, name, sizeof name),
                          "%s has cuDNN linked in", subject->client[j].path);
        }
    }
    if (found == 0 && doctor->subjects > 0)
        cs_doctor_add(doctor, CS_CHECK_inside, CS_FINE, "linked in", "nothing");
}

/* How a file will be loaded stands in no file: a program that has the word may mean it. */
void cs_doctor_deepbind(struct cs_doctor *doctor)
{
    const char *program = cs_path_file(doctor->program);
    size_t found = 0;
    if (strncmp(program, "julia", strlen("julia")) == 0) {
        found++;
        cs_doctor_add(
            doctor, CS_CHECK_deepbind, CS_NOTE, program,
            "Julia loads libraries with RTLD_DEEPBIND; cuDNN.jl looks cuDNN up, which dlsym "
            "reaches");
    }
    for (size_t i = 0; i < doctor->subjects; i++) {
        const struct cs_examined *subject = &doctor->subject[i];
        char name[128];
        for (size_t j = 0; j < subject->clients; j++) {
            if (!subject->client[j].names_deepbind)
                continue;
            found++;
            cs_doctor_add(
                doctor, CS_CHECK_deepbind, CS_WARNING, name_of(subject, name, sizeof name),
                "%s speaks of RTLD_DEEPBIND: a library that it loads so binds past convshim",
                subject->client[j].path);
        }
    }
    if (found == 0 && doctor->subjects > 0)
        cs_doctor_add(doctor, CS_CHECK_deepbind, CS_FINE, "RTLD_DEEPBIND",
                      "nothing is known to load that way; files alone cannot prove it");
}

/* What becomes of a conv3d of 16 bits, contiguous, with a filter larger than 1, reported by
 * ConvParams::use_cudnn in the wheels 2.8.0 to 2.15.0. cuDNN 9.8 to 9.14 are PyTorch's own bounds
 * of what computes wrongly (its issue 163539). */
static bool doubtful(int cudnn)
{
    return cudnn >= 90800 && cudnn < 91500;
}

static bool bypasses(const struct cs_examined *torch, int cudnn)
{
    int major = 0, minor = 0, patch = 0;
    (void)sscanf(torch->version, "%d.%d.%d", &major, &minor, &patch);
    if (major != 2 || minor != 9)
        return false;
    return patch == 0 ? cudnn >= 90800 : doubtful(cudnn);
}

static void tell_bypass(struct cs_doctor *doctor, const struct cs_examined *torch,
                        const struct cs_client *client)
{
    char name[128], title[64];
    name_of(torch, name, sizeof name);
    cs_libcudnn_title(client->cudnn, client->version, title, sizeof title);
    if (bypasses(torch, client->version))
        cs_doctor_add(
            doctor, CS_CHECK_bypass, CS_WARNING, name,
            "with %s 16-bit conv3d in the contiguous layout leaves cuDNN for vol2col, whose "
            "buffers are larger: convshim never sees it",
            title);
    else if (doubtful(client->version))
        cs_doctor_add(
            doctor, CS_CHECK_bypass, CS_NOTE, name,
            "with %s every conv3d goes to cuDNN, which before 9.15 computes some 16-bit ones "
            "wrongly (pytorch issue 163539)",
            title);
    else
        cs_doctor_add(doctor, CS_CHECK_bypass, CS_FINE, name, "with %s every conv3d goes to cuDNN",
                      title);
}

static void judge_torch(struct cs_doctor *doctor, const struct cs_examined *torch)
{
    for (size_t i = 0; i < torch->clients; i++) {
        const struct cs_client *client = &torch->client[i];
        if (client->linkage != CS_LINKAGE_LINKED || !*client->cudnn)
            continue;
        tell_bypass(doctor, torch, client);
        return;
    }
}

void cs_doctor_bypass(struct cs_doctor *doctor)
{
    for (size_t i = 0; i < doctor->subjects; i++)
        if (strcmp(doctor->subject[i].package, "torch") == 0)
            judge_torch(doctor, &doctor->subject[i]);
}
