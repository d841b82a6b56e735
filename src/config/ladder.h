/* The file in which `convshim verify` leaves two constants of the cost model that it has measured
 * on a GPU (struct cs_ladder), for the library and the other commands. One file for each GPU model:
 *
 *     ${XDG_CACHE_HOME:-$HOME/.cache}/convshim/NVIDIA-H200.json
 *     {"convshim_ladder": 1, "gpu": "NVIDIA H200", "kernel_us": 4.1, "lane_gain": 0.3}
 *
 * The file's name is the driver's name of the GPU. Characters other than letters, digits, '-' and
 * '_' are replaced by '-'. The members may be in any order, and no other members are allowed.
 * kernel_us is within its bounds in decide/cost.def, lane_gain from 0 to 1.
 *
 * A file is ignored if it is damaged, is not a plain file, belongs to another user, or may be
 * written by other users. A set-user-id process reads none. */
#ifndef CS_CONFIG_LADDER_H
#define CS_CONFIG_LADDER_H

#include "config/config.h"
#include "convshim/profile.h"

enum {
    CS_LADDER_PATH = 4096,
    CS_LADDER_TEXT = 512, /* bytes of a file, NUL included; longer ones are damaged */
    CS_LADDER_NAMED = CS_LADDER_PATH + 160
};

/* Writes the path of the file for a GPU. False if the environment names no folder, or the path is
 * too long. */
bool cs_ladder_path(const char *gpu, char path[CS_LADDER_PATH]);

/* Writes the text of a file, with three decimals. Returns its length. */
size_t cs_ladder_write(const struct cs_ladder *ladder, const char *gpu, char text[CS_LADDER_TEXT]);

/* Parses the text of a file for this GPU. Returns NULL, or the reason why it is ignored (static).
 */
const char *cs_ladder_parse(const char *text, const char *gpu, struct cs_ladder *ladder);

/* Reads the file for this GPU. False if no file exists, or if it is ignored. Then `note` (may be
 * NULL) gets one line, and ladder->known is false. errno is kept. */
bool cs_ladder_read(const char *gpu, struct cs_ladder *ladder, cs_config_note_fn *note, void *ctx);

/* Returns the ladder of a GPU, and reads the file only once in a process for each of the first few
 * models. The log names the file, or the reason why it is ignored. Thread-safe, without a lock. */
struct cs_ladder cs_ladder_of(const char *gpu);

/* Describes a known ladder in one sentence, with its file. Returns `text`. */
const char *cs_ladder_name(const struct cs_ladder *ladder, const char *gpu,
                           char text[CS_LADDER_NAMED]);

#endif
