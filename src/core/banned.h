/*
 * Unsafe functions do not compile. The compiler's -include option puts this header in front of
 * every .c file.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PL_BANNED(func) sorry_##func##_is_a_banned_function

#undef strcpy
#define strcpy(x, y) PL_BANNED(strcpy)
#undef strcat
#define strcat(x, y) PL_BANNED(strcat)
#undef strncpy
#define strncpy(x, y, n) PL_BANNED(strncpy)
#undef strncat
#define strncat(x, y, n) PL_BANNED(strncat)
#undef sprintf
#define sprintf(...) PL_BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) PL_BANNED(vsprintf)
#undef strtok
#define strtok(x, y) PL_BANNED(strtok)
#undef gmtime
#define gmtime(t) PL_BANNED(gmtime)
#undef localtime
#define localtime(t) PL_BANNED(localtime)
#undef ctime
#define ctime(t) PL_BANNED(ctime)
#undef asctime
#define asctime(t) PL_BANNED(asctime)
#undef atoi
#define atoi(x) PL_BANNED(atoi)
#undef atol
#define atol(x) PL_BANNED(atol)
