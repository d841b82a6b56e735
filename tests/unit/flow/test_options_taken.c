/* An instance's effective options, those that the program sets itself, its messages about them, and
 * the key of its stored records. Each case is a child. */
#include "child_fixture.h"

#include "flow/configure.h"
#include "flow/ending.h"
#include "flow/scoped_limit.h"
#include "policies.h"
#include <errno.h>

static const char *begin_options;

static int begin(void)
{
    setenv("CONVSHIM_CONFIG", begin_options, 1);
    return cs_instance(&host) ? GOOD : 1;
}

static void log_names_the_loaded_policy_and_limits(void)
{
    begin_options = "log=info;summary=off;workspace=3MiB";
    file_now = "libcudnn.so.9";
    check_child(begin);
    char loaded[128];
    snprintf(loaded, sizeof loaded, "is loaded: policy %s, workspace 3 MiB, ",
             default_policy()->name);
    CHECK(strstr(output, loaded) != NULL);
    CHECK(strstr(output, "CONVSHIM_CONFIG") != NULL);
    CHECK(strstr(output, "using cuDNN 9.1.0 from libcudnn.so.9\n") != NULL);
    begin_options = "log=info;summary=off;workspace=auto";
    file_now = vendor_now = "";
    check_child(begin);
    CHECK(strstr(output, "workspace auto, ") != NULL);
    CHECK(strstr(output, "using cuDNN from no file\n") != NULL);
    begin_options = "log=warn;summary=off";
    check_child(begin);
    CHECK_STR(output, "");
    vendor_now = "cuDNN 9.1.0";
}

static void a_second_copy_of_the_library_is_named(void)
{
    begin_options = "log=warn;summary=off";
    second_now = "/other/libconvshim.so";
    check_child(begin);
    CHECK(strstr(output,
                 "two copies of convshim. The second one does nothing: /other/libconvshim.so") !=
          NULL);
    second_now = NULL;
}

/* Every part is set up by its options. */
static int begin_with_all(void)
{
    setenv("CONVSHIM_CONFIG", "log=error;summary=off;backing=own;arena=5MiB", 1);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs || cs->host != &host);
    RETURN_IF(cs->exec.backing != CS_BACKING_OWN || cs->exec.arena.facts.limit != 5 << 20);
    RETURN_IF(cs->exec.device != &device);
    RETURN_IF(cs->start_ms < INT64_C(1500000000000));
    return GOOD;
}

static int begin_with_little(void)
{
    setenv("CONVSHIM_CONFIG", "summary=off;workspace=1TiB", 1);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs);
    RETURN_IF(cs->exec.backing != CS_BACKING_AUTO);
    return GOOD;
}

static void each_part_has_its_options(void)
{
    check_child(begin_with_all);
    CHECK_STR(output, "");
    check_child(begin_with_little);
}

/* One line for each fault, in their order, also for more faults than the first buffer can hold. */
static void faulty_options_are_reported(void)
{
    begin_options = "summary=off;workspace=banana;lanes=pear;tiles=0;price=plum";
    check_child(begin);
    const char *line = output;
    for (int i = 2; i <= 5; i++, line += strcspn(line, "\n") + 1) {
        char place[32];
        snprintf(place, sizeof place, "CONVSHIM_CONFIG:%d: ", i);
        CHECK(strncmp(line, place, strlen(place)) == 0 || !printf("# %s\n", line));
        if (!strchr(line, '\n'))
            return;
    }
    CHECK_STR(line, "");
}

static int rules_now; /* of the file */

static int name_rules(void)
{
    static char text[1 << 17];
    FILE *file_p = fopen("many.ini", "w");
    RETURN_IF(!file_p);
    for (int i = 0; i < rules_now; i++)
        fprintf(file_p, "[rule number%d]\nkernel = 3x3\nworkspace = 1MiB\n", i);
    RETURN_IF(fclose(file_p) != 0);
    setenv("CONVSHIM_CONFIGFILE", "many.ini", 1);
    setenv("CONVSHIM_CONFIG", "summary=off;log=off", 1);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs || cs->rules.count != rules_now);
    RETURN_IF(cs_ending_text(cs, text, sizeof text) >= sizeof text);
    char *begin_p = strstr(text, "\"rules\""), *end_p = begin_p ? strchr(begin_p, ']') : NULL;
    RETURN_IF(!end_p);
    *end_p = '\0';
    int named = 0;
    for (const char *at = begin_p; (at = strstr(at, "\"name\"")); at++, named++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "\"number%d\"", named);
        const char *name = strstr(at, wanted);
        RETURN_IF(!name || name - at > 16);
    }
    return named == rules_now ? GOOD : 1;
}

/* Exactly the options in force, in their order. */
static void rules_are_named_in_a_summary(void)
{
    static const int counts[] = {0, 1, 2, 3, CS_MAX_RULES - 1, CS_MAX_RULES};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        rules_now = counts[i];
        check_child(name_rules);
    }
}

/* --- options of the program's own --- */

static int configure(void)
{
    static char many[1 << 20];
    char error[128] = "x", two[2];
    RETURN_IF(cs_configure_check("workspace=1GiB", error, sizeof error) != 0 || error[0]);
    RETURN_IF(cs_configure_check("workspace=banana;lanes=pear", error, sizeof error) != -1);
    RETURN_IF(!strstr(error, "workspace") || strstr(error, "lanes"));
    RETURN_IF(cs_configure_check("workspace=banana", two, sizeof two) != -1 || two[1]);
    two[0] = two[1] = 'x';
    RETURN_IF(cs_configure_check("workspace=banana", two, 1) != -1 || two[0] || two[1] != 'x');
    RETURN_IF(cs_configure_check("workspace=banana", NULL, 0) != -1);
    RETURN_IF(cs_configure_check("", NULL, 0) != 0);
    RETURN_IF(cs_configure("workspace=banana", error, sizeof error) != -1);
    memset(many, ';', sizeof many - 1);
    memcpy(many, "lanes=2", strlen("lanes=2"));
    RETURN_IF(cs_configure(many, error, sizeof error) != -1);
    RETURN_IF(strcmp(error, "the options of all calls are too long together: shorten them") != 0);
    RETURN_IF(cs_configure("workspace=5MiB;summary=off", error, sizeof error) != 0 || error[0]);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs || cs->limits.workspace != 5 << 20);
    RETURN_IF(cs_configure("workspace=6MiB", error, sizeof error) != -2);
    RETURN_IF(strcmp(error, "too late: cuDNN was already called, so the options cannot change") !=
              0);
    RETURN_IF(cs->limits.workspace != 5 << 20);
    return GOOD;
}

/* Together with the environment's options, before and after the first use. */
static int configure_beside(void)
{
    char error[128];
    setenv("CONVSHIM_CONFIG", "summary=off;lanes=3;tiles=7", 1);
    RETURN_IF(cs_configure("workspace=5MiB;lanes=2", error, sizeof error) != 0);
    RETURN_IF(cs_configure("price=7", error, sizeof error) != 0);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs || strcmp(cs->config.source,
                            "/dev/null and CONVSHIM_CONFIG and convshim_configure") != 0);
    RETURN_IF(cs->limits.workspace != 5 << 20 || cs->limits.lanes != 2);
    RETURN_IF(cs->limits.tiles != 7 || cs->limits.price != 7000);
    return GOOD;
}

static int configure_alone(void)
{
    char error[128];
    unsetenv("CONVSHIM_CONFIG");
    RETURN_IF(cs_configure("summary=off", error, sizeof error) != 0);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs || strcmp(cs->config.source, "/dev/null and convshim_configure") != 0);
    return GOOD;
}

static int configure_when_off(void)
{
    char error[128];
    setenv("CONVSHIM", "0", 1);
    RETURN_IF(cs_instance(&host));
    return cs_configure("workspace=6MiB", error, sizeof error) == -2 ? GOOD : 1;
}

static void a_program_may_set_options_before_the_first_call(void)
{
    check_child(configure);
    check_child(configure_beside);
    check_child(configure_alone);
    check_child(configure_when_off);
}

static void scoped_limit_has_the_bounds_of_the_option(void)
{
    CHECK_INT(cs_scoped_limit(), 0);
    CHECK_INT(cs_scoped_limit_set(0), 0);
    CHECK_INT(cs_scoped_limit_set(-5), -1);
    CHECK_INT(cs_scoped_limit_set(1 << 20), 0);
    CHECK_INT(cs_scoped_limit(), 1 << 20);
    CHECK_INT(cs_scoped_limit_set(-5), -1);
    CHECK_INT(cs_scoped_limit(), 1 << 20);
    CHECK_INT(cs_scoped_limit_set(2 << 20), 1 << 20);
    CHECK_INT(cs_scoped_limit_set(0), 2 << 20);
    CHECK_INT(cs_scoped_limit(), 0);
}

int main(void)
{
    if (!enter_folder())
        return 1;
    TEST(log_names_the_loaded_policy_and_limits);
    TEST(a_second_copy_of_the_library_is_named);
    TEST(each_part_has_its_options);
    TEST(faulty_options_are_reported);
    TEST(rules_are_named_in_a_summary);
    TEST(a_program_may_set_options_before_the_first_call);
    TEST(scoped_limit_has_the_bounds_of_the_option);
    return REPORT() || !leave_folder();
}
