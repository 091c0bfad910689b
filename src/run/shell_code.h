/*
 * Code that a shell evaluates to record everything that it starts. It must survive `eval` of an
 * unquoted command substitution, which turns newlines into blanks: so every statement ends in a
 * semicolon.
 */
#pragma once

#include "context/context.h"

enum shell { SHELL_AUTO, SHELL_BOURNE, SHELL_CSH, SHELL_FISH, SHELL_SLURM };

/* The shell that called us; if that is another program, such as a script, the user's shell. */
enum shell detect_shell(void);
/* Prints one statement that adds our library to LD_PRELOAD, or removes it. Returns EXIT_OK. */
int print_preload(enum shell shell, bool on);
/* Prints the code for the job in dir (NULL: the current one). Reports errors; returns the exit
 * status. */
int do_source(struct context *ctx, enum shell shell, const char *dir);
