/* src/account/session_files.c: files about running processes in a folder that is the user's alone.
 */
#include "account/session_files.h"

#include "check.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/tmp/test_session_files.XXXXXX";
static char folder[64];

static const char *new_folder(const char *name)
{
    snprintf(folder, sizeof folder, "%s/%s", base, name);
    return folder;
}

static void the_folder_is_made_for_the_user_alone(void)
{
    char path[PATH_MAX], wanted[96];
    struct stat there;
    errno = 9;
    CHECK(cs_session_summary_path(new_folder("made"), 12, path));
    CHECK_INT(errno, 9);
    snprintf(wanted, sizeof wanted, "%s/12.json", folder);
    CHECK_STR(path, wanted);
    CHECK(stat(folder, &there) == 0 && (there.st_mode & 0777) == 0700);
    fclose(fopen(path, "w"));
    cs_session_summary_remove(folder, 13);
    CHECK(access(path, F_OK) == 0);
    cs_session_summary_remove(folder, 12);
    CHECK(access(path, F_OK) != 0);
}

static void a_note_is_found_once(void)
{
    new_folder("noted");
    CHECK(!cs_session_noted(folder, 7));
    errno = 9;
    cs_session_note(folder, 7);
    cs_session_note(folder, 7);
    CHECK(!cs_session_noted(folder, 8));
    CHECK(cs_session_noted(folder, 7));
    CHECK(!cs_session_noted(folder, 7));
    CHECK_INT(errno, 9);
}

/* Nothing is written, and nothing is removed. */
static void check_unused(const char *folder_now)
{
    char path[PATH_MAX];
    CHECK(!cs_session_is_private(folder_now));
    CHECK(!cs_session_summary_path(folder_now, 12, path));
    cs_session_note(folder_now, 7);
    CHECK(!cs_session_noted(folder_now, 7));
}

static void other_folders_are_not_used(void)
{
    char link_to[64], path[96], file[96];
    snprintf(link_to, sizeof link_to, "%s/target", base);
    mkdir(link_to, 0700);
    snprintf(path, sizeof path, "%s/12.json", link_to);
    fclose(fopen(path, "w"));
    CHECK(symlink(link_to, new_folder("link")) == 0);
    check_unused(folder);
    cs_session_summary_remove(folder, 12);
    CHECK(access(path, F_OK) == 0);
    static const mode_t modes[] = {0770, 0707, 0722};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        mkdir(new_folder("open"), 0700);
        CHECK(chmod(folder, modes[i]) == 0);
        check_unused(folder);
    }
    snprintf(file, sizeof file, "%s", new_folder("file"));
    fclose(fopen(file, "w"));
    check_unused(file);
    check_unused("");
}

int main(void)
{
    char remove[64];
    if (!mkdtemp(base))
        return 1;
    TEST(the_folder_is_made_for_the_user_alone);
    TEST(a_note_is_found_once);
    TEST(other_folders_are_not_used);
    snprintf(remove, sizeof remove, "rm -r %s", base);
    return REPORT() || system(remove) != 0;
}
