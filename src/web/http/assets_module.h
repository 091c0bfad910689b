/* The files of the pages, which CMake made part of module "web"; see struct web_asset. */
#pragma once

#include "web/web.h"

extern const struct web_asset web_assets[]; /* ends with a NULL path; sorted by path */
