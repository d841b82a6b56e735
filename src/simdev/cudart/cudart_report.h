/* The report at exit: functions through which other files of the simulated libcudart add to it. */
#ifndef CUDART_REPORT_H
#define CUDART_REPORT_H

/* `path` with every %p replaced by the process id, to be freed; NULL if memory is short. */
char *simdev_report_path(const char *path);

/* Writes the report as at exit. framework_hook.py calls it before a process ends without exit. */
void simdev_report_early(void);

#endif
