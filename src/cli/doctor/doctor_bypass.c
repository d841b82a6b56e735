/* Check of the PyTorch that leaves cuDNN by itself for some convolutions. */
#include "cli/doctor/doctor.h"
#include "cli/program/program.h"
#include <stdio.h>
#include <string.h>

/* The treatment of a contiguous 16-bit conv3d with a filter larger than 1, as reported by
 * ConvParams::use_cudnn in the wheels 2.8.0 to 2.15.0. PyTorch itself gives cuDNN 9.8 to 9.14 as
 * the versions with wrong results (its issue 163539). */
static bool is_doubtful(int cudnn)
{
    return cudnn >= 90800 && cudnn < 91500;
}

static bool is_bypassing(const struct cs_examined *torch, int cudnn)
{
    int major = 0, minor = 0, patch = 0;
    (void)sscanf(torch->version, "%d.%d.%d", &major, &minor, &patch);
    if (major != 2 || minor != 9)
        return false;
    return patch == 0 ? cudnn >= 90800 : is_doubtful(cudnn);
}

static void tell_bypass(struct cs_doctor *doctor, const struct cs_examined *torch,
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
        tell_bypass(doctor, torch, client);
        return;
    }
}

void cs_doctor_bypass(struct cs_doctor *doctor)
{
    for (size_t i = 0; i < doctor->facts.subjects; i++)
        if (strcmp(doctor->facts.subject[i].package, "torch") == 0)
            judge_torch(doctor, &doctor->facts.subject[i]);
}
