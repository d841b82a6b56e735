/* libloader_local.so, which links libloader_deep.so. */
#ifndef LOADER_LOCAL_H
#define LOADER_LOCAL_H

/* The address of loader_deep, or NULL. */
typedef void *loader_local_fn(void);
loader_local_fn loader_local_default;
loader_local_fn loader_local_next;

/* The address of that function in a library, or NULL. */
typedef void *loader_local_in_fn(void *library, const char *name);
loader_local_in_fn loader_local_in;

/* In libloader_deep.so alone. */
int loader_deep(void);

#endif
