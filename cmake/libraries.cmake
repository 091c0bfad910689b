# Libraries: two that the program itself needs, and one for each module.

find_library(JANSSON jansson REQUIRED)
find_library(MNL mnl REQUIRED)
find_library(ARCHIVE archive)
find_library(MICROHTTPD microhttpd)
find_library(NCURSES ncursesw)
find_library(PFM pfm)
find_library(PQ pq)
find_path(PQ_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql)
find_library(SMARTCOLS smartcols)
find_library(SQLITE sqlite3)
find_library(ZSTD zstd)
