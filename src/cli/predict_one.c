#include "cli/predict.h"

void cs_predict_print_one(const struct cs_predict_results *results, struct cs_asker *asker)
{
    (void)asker;
    (void)cs_predict_print(results, NULL);
}

bool cs_predict_print_engines(const struct cs_predict_results *results, struct cs_asker *asker)
{
    (void)results, (void)asker;
    return true;
}
bool cs_predict_svg(const struct cs_predict_results *results, const char *path, char *error,
                    size_t size)
{
    (void)results, (void)path, (void)error, (void)size;
    return true;
}
