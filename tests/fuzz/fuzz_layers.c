/* Any bytes as a list of layers, lines and JSON: accepted layers are problems that pass
 * cs_problem_check, with terminated names. Wrong lists are reported. */
#include "memory_file.h"

#include "cli/layers/layers.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef bool reader(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                    char *error);

static void read_as(reader *read, const uint8_t *data, size_t size)
{
    const struct cs_layer_rules rules = {0};
    struct cs_layers layers = {0};
    char path[MEMORY_FILE_PATH];
    char error[CS_LAYERS_ERROR] = "";
    int fd = memory_file(data, size, path);
    bool good = read(&layers, path, &rules, error);
    require(good == (*error == '\0'));
    require(!good || layers.count > 0);
    for (size_t i = 0; good && i < layers.count; i++) {
        require(cs_problem_check(&layers.layer[i].problem) == CS_OK);
        require(layers.layer[i].model && layers.layer[i].name);
    }
    cs_layers_fini(&layers);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(cs_layers_list, data, size);
    read_as(cs_layers_summary, data, size);
    return 0;
}
