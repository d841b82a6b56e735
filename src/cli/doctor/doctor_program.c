/* Checks of the command: the program that would run, and the Python that would import frameworks.
 */
#include "base/path.h"
#include "cli/common/read_file.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/start_script.h"
#include "cli/program/run_program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    DEEPEST = 5, /* scripts that the kernel follows, each the next one's interpreter */
    FIRST_LINE = 512
};

/* Compares its name, or the name of the file that the link leads to. */
static bool is_python(const char *path)
{
    static const char name[] = "python";
    char real[PATH_MAX];
    return strncmp(cs_path_file(path), name, strlen(name)) == 0 ||
           (realpath(path, real) && strncmp(cs_path_file(real), name, strlen(name)) == 0);
}

/* The words after "#!", without `env` and its options; false if the file is no script. */
static bool read_interpreter(const char *path, char *name, size_t size)
{
    char line[FIRST_LINE] = "", *rest;
    FILE *file = fopen(path, "r");
    bool script = file && fgets(line, sizeof line, file) && strncmp(line, "#!", 2) == 0;
    if (file)
        fclose(file);
    char *word = script ? strtok_r(line + 2, " \t\n", &rest) : NULL;
    if (word && strcmp(cs_path_file(word), "env") == 0)
        do
            word = strtok_r(NULL, " \t\n", &rest);
        while (word && (*word == '-' || strchr(word, '=')));
    if (word)
        snprintf(name, size, "%s", word);
    return word != NULL;
}

/* Follows the interpreters of scripts from `path` to the program that the kernel runs in the end.
 * `python` gets the first Python on the way, because that one imports frameworks. It may be a
 * wrapper that is a script itself. */
static bool follow(char path[PATH_MAX], char python[PATH_MAX])
{
    char name[FIRST_LINE];
    for (int i = 0; i <= DEEPEST; i++) {
        if (!*python && is_python(path))
            snprintf(python, PATH_MAX, "%s", path);
        if (!read_interpreter(path, name, sizeof name))
            return true;
        if (!cs_search_path(name, path, PATH_MAX))
            return false;
    }
    return false;
}

/* True if the file's privileges make the loader ignore LD_PRELOAD. */
static bool privileged(const char *path)
{
    struct stat status;
    if (geteuid() == 0 || stat(path, &status) != 0)
        return false;
    return ((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
           ((status.st_mode & S_ISGID) && status.st_gid != getegid()) ||
           getxattr(path, "security.capability", NULL, 0) > 0;
}

/* NULL if a library can be preloaded into that program. */
static const char *obstacle(const struct cs_elf *elf, const char *path)
{
    if (elf->machine != cs_elf_this_machine())
        return "built for another processor";
    if (!elf->interpreter)
        return "linked statically, so LD_PRELOAD has no effect";
    if (strstr(elf->interpreter, "ld-musl"))
        return "built for musl, but convshim needs glibc";
    if (privileged(path))
        return "has setuid, setgid or capabilities, so the loader ignores LD_PRELOAD";
    return NULL;
}

static void judge(struct cs_doctor *doctor, const char *subject)
{
    struct cs_elf elf;
    const char *why;
    if (!cs_elf_open(&elf, doctor->program, &why)) {
        cs_doctor_add(doctor, CS_CHECK_program, CS_FATAL, subject, "%s: %s", doctor->program, why);
        doctor->program[0] = '\0';
        return;
    }
    why = obstacle(&elf, doctor->program);
    if (why)
        cs_doctor_add(doctor, CS_CHECK_program, CS_FATAL, subject, "%s: %s", doctor->program, why);
    else
        cs_doctor_add(doctor, CS_CHECK_program, CS_FINE, subject, "runs %s", doctor->program);
    cs_elf_close(&elf);
}

static bool is_shell(const char *path)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(cs_path_file(path), names[i]) == 0)
            return true;
    return false;
}

/* Returns the text that a shell runs: the word after -c, else the content of its script. *name_p is
 * the script's name, or "-c". Returns NULL if there is no text, and adds a finding if the script
 * cannot be read. The caller frees the text. */
static char *shell_text(struct cs_doctor *doctor, const char **name_p)
{
    char why[CS_FILE_ERROR], **word = doctor->command;
    bool named = is_shell(*word);
    for (word += named; named && *word && **word == '-'; word++)
        if ((*word)[1] != '-' && strchr(*word, 'c') && word[1]) {
            *name_p = "-c";
            return strdup(word[1]);
        } else if ((*word)[1] == '-' && (*word)[2])
            return NULL; /* it may or may not take a value */
    *name_p = *word;
    if (!*word)
        return NULL;
    char *text = cs_read_file_text(named ? *word : doctor->script, why);
    if (!text) {
        bool there = access(named ? *word : doctor->script, R_OK) == 0;
        cs_doctor_add(doctor, CS_CHECK_program, there ? CS_WARNING : CS_FATAL, *word,
                      "cannot be read: %s", why);
        cs_doctor_advise(doctor, "Check the path of the script.");
    }
    return text;
}

bool cs_doctor_place(const struct cs_doctor *doctor, int place, const char *word,
                     char path[PATH_MAX])
{
    const char *script = doctor->script, *folder = doctor->script_folder;
    int length = (int)(cs_path_file(script) - script), written = PATH_MAX;
    if (place == 0)
        written = snprintf(path, PATH_MAX, "%s", word);
    else if (*word == '/' || place > 2)
        return false;
    else if (place == 1)
        written = snprintf(path, PATH_MAX, "%.*s%s", length, script, word);
    else if (*folder)
        written = snprintf(path, PATH_MAX, "%.*s%s/%s", *folder == '/' ? 0 : length, script, folder,
                           word);
    if (written >= PATH_MAX)
        path[0] = '\0';
    return true;
}

static bool runs_python(const struct cs_doctor *doctor, const char *word, char python[PATH_MAX])
{
    char path[PATH_MAX], beside[PATH_MAX];
    bool found = cs_search_path(word, path, sizeof path);
    python[0] = '\0';
    for (int i = 1; !found && strchr(word, '/') && cs_doctor_place(doctor, i, word, beside); i++)
        if (cs_search_path_runnable(beside)) {
            strcpy(path, beside);
            found = true;
        }
    return found && follow(path, python) && *python;
}

/* Finds the Python that a shell script starts: the Python of an activated environment, else the
 * first that the script names. */
static void look_for_python(struct cs_doctor *doctor, const char *name)
{
    char python[PATH_MAX];
    const char *at = doctor->script_text ? doctor->script_text : "";
    struct cs_start start = {.activated = false};
    int next = 1, line = 0, missing = 0;
    while (!(line && start.activated) && cs_start_script_next(&at, &next, &start))
        if ((!line || start.activated) && runs_python(doctor, start.word, python)) {
            snprintf(doctor->python, sizeof doctor->python, "%s", python);
            line = start.line;
        } else {
            missing = start.activated ? start.line : missing;
            start.activated = false;
        }
    if (line && missing && !start.activated)
        cs_doctor_add(doctor, CS_CHECK_program, CS_FINE, name,
                      "names %s in line %d, which is checked here, because the environment that "
                      "line %d activates does not exist yet",
                      doctor->python, line, missing);
    else if (line)
        cs_doctor_add(doctor, CS_CHECK_program, CS_FINE, name, "starts %s in line %d",
                      doctor->python, line);
}

static void look_into_script(struct cs_doctor *doctor)
{
    const char *name = "";
    char *text = shell_text(doctor, &name);
    /* Behind the shell's options. */
    if (is_shell(*doctor->command) && name && strcmp(name, "-c") != 0)
        snprintf(doctor->script, sizeof doctor->script, "%s", name);
    int line = text ? cs_start_script_preload(text) : 0;
    doctor->script_text = text ? cs_start_script_expand(text) : NULL;
    free(text);
    cs_start_script_folder(doctor->script_text ? doctor->script_text : "", doctor->script_folder);
    look_for_python(doctor, name);
    if (line > 0) {
        cs_doctor_add(doctor, CS_CHECK_program, CS_WARNING, name,
                      "overwrites LD_PRELOAD in line %d, so its programs run without convshim",
                      line);
        cs_doctor_advise(doctor, "Keep its old value there: LD_PRELOAD=other.so:$LD_PRELOAD.");
    }
}

const char *cs_doctor_python_file(char **command)
{
    if (!command || !*command || !is_python(*command))
        return NULL;
    for (command++; *command && **command == '-'; command++) {
        if (strchr("mc-", (*command)[1]))
            return NULL;
        if ((strcmp(*command, "-X") == 0 || strcmp(*command, "-W") == 0) && command[1])
            command++;
    }
    return *command;
}

static void look_for_file(struct cs_doctor *doctor)
{
    const char *file = cs_doctor_python_file(doctor->command);
    if (!file || access(file, R_OK) == 0)
        return;
    cs_doctor_add(doctor, CS_CHECK_program, CS_FATAL, file, "no such file");
    cs_doctor_advise(doctor, "Check the path of the script.");
}

void cs_doctor_program(struct cs_doctor *doctor)
{
    if (!doctor->command) {
        cs_doctor_add(doctor, CS_CHECK_program, CS_FINE, "command",
                      "not given, so the whole machine is checked");
        return;
    }
    doctor->command = cs_wrapper_unwrap(doctor->command);
    const char *name = doctor->command[0];
    bool found = cs_search_path(name, doctor->program, sizeof doctor->program);
    snprintf(doctor->script, sizeof doctor->script, "%s",
             is_shell(name) ? (doctor->command[1] ? doctor->command[1] : "") : doctor->program);
    if (!found || !follow(doctor->program, doctor->python)) {
        doctor->program[0] = '\0';
        cs_doctor_add(doctor, CS_CHECK_program, CS_FATAL, name,
                      "not found, not executable, or its interpreter is missing");
        cs_doctor_advise(doctor, "Check its spelling and PATH, or give its path. Of a script, also "
                                 "check the line after #!.");
        return;
    }
    judge(doctor, name);
    if (!*doctor->python && is_shell(doctor->program))
        look_into_script(doctor);
    look_for_file(doctor);
}

/* The modules in the rows of frameworks.def: the part of a pattern before the slash, each once. */
static const char *const *modules(void)
{
    enum {
        MOST = 32,
        BYTES = 2048
    };
    static const char *names[MOST + 1];
    static char text[BYTES];
    size_t count = 0, used = 0;
    static const char *const files[] = {
#define CS_FRAMEWORK(title, packages, patterns, asked) patterns,
#include "cli/program/frameworks.def"
#undef CS_FRAMEWORK
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (const char *at = files[i]; *at; at += strcspn(at, " ") + (strchr(at, ' ') != NULL)) {
            size_t length = strcspn(at, "/");
            bool known = count > 0 && strlen(names[count - 1]) == length &&
                         memcmp(names[count - 1], at, length) == 0;
            if (known || count == MOST || used + length + 1 > sizeof text)
                continue;
            memcpy(text + used, at, length);
            names[count++] = text + used;
            used += length + 1;
        }
    return names;
}

void cs_doctor_python(struct cs_doctor *doctor)
{
    char why[FIRST_LINE];
    if (doctor->command && !*doctor->python) {
        cs_doctor_add(doctor, CS_CHECK_python, CS_NOTE, "Python",
                      "%s is not Python, so frameworks that it may start were not searched",
                      doctor->command[0]);
        cs_doctor_advise(doctor, "If it starts a Python program, check that: convshim doctor -- "
                                 "venv/bin/python main.py.");
        return;
    }
    if (!doctor->command && !cs_search_path("python3", doctor->python, sizeof doctor->python)) {
        cs_doctor_add(doctor, CS_CHECK_python, CS_NOTE, "Python",
                      "no python3 in PATH, so PyTorch, JAX and others were not searched");
        return;
    }
    if (!cs_packages_read(&doctor->packages, doctor->python, modules(), why, sizeof why))
        cs_doctor_add(doctor, CS_CHECK_python, CS_WARNING, "Python",
                      "%s cannot list its packages, so frameworks were not searched: %s",
                      doctor->python, why);
    else
        cs_doctor_add(doctor, CS_CHECK_python, CS_FINE, "Python", "%s in %s, %zu packages",
                      doctor->packages.version, doctor->packages.python, doctor->packages.packages);
}
