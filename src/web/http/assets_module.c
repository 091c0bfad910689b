/* The files of the pages, see pl_assets() in cmake/flags.cmake. */
#include "web/http/assets_module.h"

#include "web_assets.h"
