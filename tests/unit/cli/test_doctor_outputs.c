/* Inputs of `convshim doctor` (scripts of shells, ELF files byte by byte, commands) and the
 * program that a command runs. The test makes the files and runs none of them. */
#include "golden.h"

#include "cli/doctor/doctor.h"
#include "cli/program/command_facts.h"
#include "elf_image.h"
#include <stdarg.h>
#include <sys/stat.h>

static char folder[] = "/tmp/convshim-outputs-XXXXXX", root[PATH_MAX];

static void write_bytes(const char *path, const void *bytes, size_t size, mode_t mode)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    CHECK(chmod(path, mode) == 0);
}

static void write_text(const char *path, const char *text, mode_t mode)
{
    write_bytes(path, text, strlen(text), mode);
}

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
    char line[2 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *at = line; *at && at[1]; at++)
        if (*at == '\n')
            *at = ';'; /* one line */
    golden_puts(line);
}

/* --- ELF files --- */

struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segment[ELF_SEGMENTS];
    Elf64_Dyn dynamic[9];
    Elf64_Sym symbol[4];
    char names[64], sections[48], constants[32], interpreter[ELF_INTERPRETER];
    Elf64_Shdr section[ELF_SECTIONS];
};

static struct image image;

#define AT(member) offsetof(struct image, member)

static void make_image(void)
{
    static const char names[] = "\0libone.so\0libtwo.so\0libown.so\0/rpath\0/runpath\0defd\0und";
    static const char sections[] = "\0.dynsym\0.dynstr\0.rodata.x\0.shstrtab";
    static const struct elf_places at = {AT(segment), AT(section),          AT(interpreter),
                                         AT(dynamic), sizeof image.dynamic, sizeof image};
    const Elf64_Addr base = 0x400000;
    image = (struct image){
        .header = elf_header(&at),
        .dynamic = {{.d_tag = DT_NEEDED, .d_un.d_val = 1},
                    {.d_tag = DT_NEEDED, .d_un.d_val = 11},
                    {.d_tag = DT_SONAME, .d_un.d_val = 21}, /* not read */
                    {.d_tag = DT_RPATH, .d_un.d_val = 31},
                    {.d_tag = DT_RUNPATH, .d_un.d_val = 38},
                    {.d_tag = DT_STRTAB, .d_un.d_ptr = base + AT(names)},
                    {.d_tag = DT_STRSZ, .d_un.d_val = sizeof names},
                    {.d_tag = DT_NULL},
                    {.d_tag = DT_NEEDED, .d_un.d_val = 1}},
        .symbol = {{.st_name = 0}, {.st_name = 47, .st_shndx = 3}, {.st_name = 52}},
        .constants = "some words inside",
        .interpreter = "/lib/ld.so",
        .section = {
            {.sh_type = SHT_NULL},
            {.sh_name = 1,
             .sh_type = SHT_DYNSYM,
             .sh_offset = AT(symbol),
             .sh_size = sizeof image.symbol,
             .sh_link = 2},
            {.sh_name = 9, .sh_type = SHT_STRTAB, .sh_offset = AT(names), .sh_size = sizeof names},
            {.sh_name = 17, .sh_type = SHT_PROGBITS, .sh_offset = AT(constants), .sh_size = 17},
            {.sh_name = 27,
             .sh_type = SHT_STRTAB,
             .sh_offset = AT(sections),
             .sh_size = sizeof sections}}};
    elf_segments(&at, base, image.segment);
    memcpy(image.names, names, sizeof names);
    memcpy(image.sections, sections, sizeof sections);
}

static void count_symbol(void *ctx, const char *name, bool defined)
{
    CHECK(defined || *name);
    ++*(int *)ctx;
}

/* A damaged file is refused with a reason, or all reads stay inside it: the sanitizers and the end
 * of the mapping check this. */
static void check_image(size_t size)
{
    struct cs_elf elf;
    const char *why = "";
    int symbols = 0;
    write_bytes("image", &image, size, 0700);
    if (!cs_elf_open(&elf, "image", &why)) {
        CHECK(*why);
        return;
    }
    cs_elf_symbols(&elf, count_symbol, &symbols);
    CHECK(symbols <= (int)(sizeof image / sizeof *image.symbol) && elf.needs <= 8);
    CHECK(!cs_elf_holds(&elf, "insidf", 6));
    cs_elf_close(&elf);
}

static void a_whole_file(void)
{
    struct cs_elf elf;
    const char *why = "";
    int symbols = 0;
    make_image();
    write_bytes("image", &image, sizeof image, 0700);
    CHECK(cs_elf_open(&elf, "image", &why));
    CHECK_INT(elf.needs, 2);
    CHECK_STR(elf.needed[0], "libone.so");
    CHECK_STR(elf.needed[1], "libtwo.so");
    CHECK_STR(elf.rpath, "/rpath");
    CHECK_STR(elf.runpath, "/runpath");
    CHECK_STR(elf.interpreter, "/lib/ld.so");
    cs_elf_symbols(&elf, count_symbol, &symbols);
    CHECK_INT(symbols, 2);
    CHECK(cs_elf_holds(&elf, "words", 5) && cs_elf_holds(&elf, "inside", 6));
    CHECK(!cs_elf_holds(&elf, "inside", 7) && !cs_elf_holds(&elf, "libone", 6));
    cs_elf_close(&elf);
    CHECK(!cs_elf_open(&elf, ".", &why));
    CHECK_STR(why, "Is a directory");
    CHECK(!cs_elf_open(&elf, "nowhere", &why));
    CHECK_STR(why, "No such file or directory");
    CHECK(!cs_elf_open(&elf, "/dev/null", &why));
    CHECK_STR(why, "Invalid argument");
}

static void damaged_files(void)
{
    static const Elf64_Xword values[] = {0, sizeof image - 1, sizeof image, UINT64_MAX};
    for (size_t at = 0; at < sizeof image; at += sizeof(Elf64_Xword))
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            make_image();
            memcpy((char *)&image + at, &values[i], sizeof values[i]);
            check_image(sizeof image);
        }
    for (size_t at = 0; at < sizeof image.header; at++) {
        make_image();
        ((unsigned char *)&image)[at]++;
        check_image(sizeof image);
    }
    make_image();
    for (size_t size = 0; size < sizeof image; size += size < 70 ? 7 : 31)
        check_image(size);
}

/* --- commands --- */

struct words {
    const char *word[12];
};

/* The program that runs, its Python, and the worst finding. */
static void put_command(const struct words *words)
{
    struct words own = *words;
    struct cs_doctor doctor = {.command = (char **)own.word};
    cs_doctor_begin(&doctor);
    for (int i = 0; own.word[i]; i++)
        put(i ? " %s" : "%s", own.word[i]);
    cs_doctor_run(&doctor, CS_CHECK_program);
    put(" => program=%s python=%s%s %s\n", doctor.facts.program, doctor.facts.python,
        doctor.facts.shell ? " shell" : "", doctor.fatal ? "fatal" : "ok");
    cs_doctor_free(&doctor);
}

static void make_programs(void)
{
    CHECK(mkdir("bin", 0700) == 0 && mkdir("apps", 0700) == 0 && mkdir("apps/venv", 0700) == 0 &&
          mkdir("apps/venv/bin", 0700) == 0 && mkdir("bin/folder", 0700) == 0);
    make_image();
    write_bytes("bin/program", &image, sizeof image, 0700);
    write_bytes("bin/python3", &image, sizeof image, 0700);
    write_bytes("bin/sh", &image, sizeof image, 0700);
    write_bytes("bin/nice", &image, sizeof image, 0700);
    write_bytes("apps/venv/bin/python", &image, sizeof image, 0700);
    write_bytes("bin/plain", &image, sizeof image, 0600);
    image.segment[1].p_type = PT_NOTE;
    write_bytes("bin/static", &image, sizeof image, 0700);
    make_image();
    memcpy(image.interpreter, "/lib/ld-musl", 13);
    write_bytes("bin/musl", &image, sizeof image, 0700);
    make_image();
    image.header.e_machine = EM_MIPS;
    write_bytes("bin/foreign", &image, sizeof image, 0700);
    write_text("bin/text", "hello", 0700);
    write_text("bin/tool", "#!/usr/bin/env -S A=1 python3 -u\n", 0700);
    write_text("bin/direct", "#! bin/python3\n", 0700);
    write_text("bin/lost", "#!nowhere/python3\n", 0700);
    write_text("bin/loop", "#!bin/loop\n", 0700);
    write_text("bin/empty", "#!\n", 0700);
    CHECK(symlink("python3", "bin/py") == 0);
    write_text("apps/start.sh", "#!/usr/bin/env sh\npython main.py\n", 0700);
    write_text("main.py", "", 0600);
    setenv("PATH", "bin:nowhere", 1);
}

static void commands(void)
{
    static const struct words lines[] = {
        {{"program"}},
        {{"bin/program", "x"}},
        {{"nowhere"}},
        {{"plain"}},
        {{"folder"}},
        {{"static"}},
        {{"musl"}},
        {{"foreign"}},
        {{"text"}},
        {{"empty"}},
        {{"tool", "main.py"}},
        {{"direct"}},
        {{"lost"}},
        {{"loop"}},
        {{"python3", "main.py"}},
        {{"py", "main.py"}},
        {{"python3", "gone.py"}},
        {{"sh", "apps/start.sh"}},
        {{"apps/start.sh"}},
        {{"sh", "-c", "cd apps; python3 main.py"}},
        {{"sh"}},
        {{"env", "A=1", "-u", "B", "bin/nice", "-n", "5", "python3", "main.py"}},
        {{"timeout", "--signal", "KILL", "-k", "3", "10", "program"}},
        {{"timeout", "--signal=KILL", "10", "program"}},
        {{"timeout", "10"}},
        {{"env", "--unset", "A", "program"}},
        {{"env", "--chdir=apps", "program"}},
        {{"taskset", "-c", "3", "program", "x"}},
        {{"srun", "-n", "4", "--mpi=x", "nowhere", "program", "x"}},
        {{"mpirun", "-n", "4"}},
        {{"numactl", "--cpunodebind", "0", "--", "program"}},
        {{"/usr/bin/env", "--", "A=1", "/usr/bin/env", "program"}},
        {{"env"}},
    };
    make_programs();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        put_command(&lines[i]);
    golden_check(root, "doctor_commands.txt");
}

int main(void)
{
    char remove[64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root) || chdir(folder) != 0)
        return 1;
    TEST(a_whole_file);
    TEST(damaged_files);
    TEST(commands);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    setenv("PATH", "/usr/bin:/bin", 1);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
