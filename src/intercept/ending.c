/* The end of the process, also of one that never called cuDNN: nothing else of the library runs
 * there. Everywhere but in what `convshim run` started that is a look at one variable. */
#include "flow/sign_of_life.h"
#include "intercept/cudnn_host.h"

__attribute__((destructor)) static void last(void)
{
    cs_sign_last(&cs_host);
}
