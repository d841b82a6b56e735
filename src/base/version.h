/* The version of convshim, which the library and the command share. */
#ifndef CS_BASE_VERSION_H
#define CS_BASE_VERSION_H

#define CS_VERSION "0.1.0"

#endif
