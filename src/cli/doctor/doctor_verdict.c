/* The last line of `convshim doctor`: the conclusion from all findings. */
#include "cli/doctor/doctor.h"
#include "cli/program/command_facts.h"
#include <stdio.h>

/* The first file of the subject that loads a supported cuDNN; NULL: there is none. */
static const struct cs_client *find_served(const struct cs_examined *subject)
{
    for (size_t i = 0; i < subject->clients; i++) {
        const struct cs_client *client = &subject->client[i];
        bool calls = client->linkage == CS_LINKAGE_LINKED || client->linkage == CS_LINKAGE_LOOKED;
        if (calls && *client->cudnn && cs_libcudnn_served(client->cudnn, client->version) &&
            !(client->packaged && *subject->asked))
            return client;
    }
    return NULL;
}

static const struct cs_finding *first_fatal(const struct cs_doctor *doctor)
{
    for (size_t i = 0; i < doctor->findings; i++)
        if (doctor->finding[i].severity == CS_FATAL)
            return &doctor->finding[i];
    return NULL;
}

static int count_warnings(const struct cs_doctor *doctor)
{
    int count = 0;
    for (size_t i = 0; i < doctor->findings; i++)
        count += doctor->finding[i].severity == CS_WARNING;
    return count;
}

/* Prints "PyTorch 2.15.0 with cuDNN 9.26.0, JAX 0.7 with cuDNN 9.19.0". Returns their number. */
static int print_served(const struct cs_doctor *doctor)
{
    char title[64];
    int count = 0;
    for (size_t i = 0; i < doctor->facts.subjects; i++) {
        const struct cs_examined *subject = &doctor->facts.subject[i];
        const struct cs_client *client = find_served(subject);
        if (client)
            printf("%s%s%s%s with %s", count++ ? ", " : "", subject->title,
                   *subject->version ? " " : "", subject->version,
                   cs_libcudnn_title(client->cudnn, client->version, title, sizeof title));
    }
    return count;
}

static bool is_any_served(const struct cs_doctor *doctor)
{
    for (size_t i = 0; i < doctor->facts.subjects; i++)
        if (find_served(&doctor->facts.subject[i]))
            return true;
    return false;
}

void cs_doctor_verdict(const struct cs_doctor *doctor)
{
    const struct cs_finding *fatal = first_fatal(doctor);
    int count = count_warnings(doctor);
    if (doctor->pid)
        return; /* its findings are the verdict */
    putchar('\n');
    if (fatal) {
        printf("This will not work: %s: %s.\n", fatal->subject, fatal->text);
        return;
    }
    if (doctor->driver && is_any_served(doctor))
        puts("To compare results and times on this GPU: convshim verify");
    bool is_served = print_served(doctor), simulate = is_served && !doctor->driver;
    if (is_served)
        printf(" %s be intercepted%s%s", doctor->driver ? "will" : "would",
               count ? ", with limits (see the warnings)" : "",
               doctor->channels_last ? ", but channels_last may leave little to save" : "");
    else if (doctor->command)
        printf("No cuDNN was found in this command, so convshim has nothing to do");
    else
        printf("convshim is installed, but no framework that uses cuDNN was found");
    puts(simulate ? ". There is no GPU here. To simulate one: convshim simulate -- COMMAND" : ".");
}
