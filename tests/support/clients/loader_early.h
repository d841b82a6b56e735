/* libloader_early.so, to be preloaded. */
#ifndef LOADER_EARLY_H
#define LOADER_EARLY_H

typedef const char *loader_early_fn(void);

/* "found" or "missing": how a lookup before anything is relocated went. */
loader_early_fn loader_early_chosen;
loader_early_fn loader_early;

#endif
