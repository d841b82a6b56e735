#include "loader_local.h"

int loader_deep(void)
{
    return 42;
}
