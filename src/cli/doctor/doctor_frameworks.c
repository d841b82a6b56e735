/* Check of the files that call cuDNN: whether convshim can intercept them, and which cuDNN they
 * load. */
#include "base/path.h"
#include "cli/doctor/doctor.h"
#include "cli/program/program.h"

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

/* A command that is no framework's Python has no build for CUDA to be installed. */
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
