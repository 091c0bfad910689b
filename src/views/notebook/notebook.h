/*
 * A notebook about a job, and Jupyter to open it. The notebook then belongs to the user: an
 * existing one is never overwritten. It reads the store with contrib/python/plimsoll.py. All
 * functions report errors and return a negative errno.
 */
#pragma once

#include "core/strbuf.h"

#define JUPYTER_PACKAGES "jupyter-notebook python3-pandas python3-matplotlib"

/* The text of the notebook; id NULL: about the job stored last. */
void notebook_add(struct strbuf *out, const char *id);
/* Its file name, with the harmless characters of the id. The caller frees it. */
char *notebook_name(const char *id);
/* Writes it unless it exists. */
int notebook_put(const char *dir, const char *id, const char *name);
/* Sets PYTHONPATH, and PLIMSOLL_DB to db unless that is empty. */
int notebook_environment(const char *db);

/* The path of the program; NULL: not installed. The caller frees it. */
char *jupyter_find(void);
/* Installs the packages with apt-get. */
int jupyter_install(void);
/* Becomes Jupyter; returns only after an error. */
int jupyter_exec(const char *jupyter, const char *dir, const char *name, int argc, char **args);
