/* Checks for code whose calls of cuDNN bypass the library: cuDNN is statically linked, or bound
 * with RTLD_DEEPBIND. */
#include "base/path.h"
#include "cli/doctor/doctor.h"
#include <string.h>

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
        cs_doctor_add(doctor, CS_CHECK_inside, CS_FINE, "linked in", "nothing");
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
