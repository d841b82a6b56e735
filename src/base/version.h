/* Which convshim this is: the library and the command come together. */
#ifndef CS_BASE_VERSION_H
#define CS_BASE_VERSION_H

#define CS_VERSION "0.1.0"

#endif
