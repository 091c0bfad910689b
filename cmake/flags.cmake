# Compiler flags, and what makes the preload library and the modules special.

set(PL_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
  -Wwrite-strings -Wconversion)
if(PL_WERROR)
  list(APPEND PL_WARNINGS -Werror)
endif()

# Modules are private to the build they come from: the id is the version and a hash of the sources. A source that changes
# configures again, so that the id follows it.
file(GLOB_RECURSE PL_SOURCES CONFIGURE_DEPENDS src/*.c src/*.h src/*.def include/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PL_SOURCES})
set(PL_HASHES "")
foreach(source ${PL_SOURCES})
  file(SHA1 ${source} hash)
  string(APPEND PL_HASHES ${hash})
endforeach()
string(SHA1 PL_HASH "${PL_HASHES}")
string(SUBSTRING ${PL_HASH} 0 12 PL_HASH)
if(NOT PL_BUILD_ID)
  set(PL_BUILD_ID "${PROJECT_VERSION}-${PL_HASH}")
endif()

set(PL_DEFINITIONS _GNU_SOURCE PL_VERSION="${PROJECT_VERSION}")
set(PL_HARDENING "")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(PL_HARDENING -fstack-protector-strong -D_FORTIFY_SOURCE=2)
  add_link_options(-Wl,-z,relro -Wl,-z,now)
endif()

function(pl_flags target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(${target} PRIVATE ${PL_DEFINITIONS})
  target_compile_options(${target} PRIVATE ${PL_WARNINGS} ${PL_HARDENING} -fvisibility=hidden
    -include ${PROJECT_SOURCE_DIR}/src/core/banned.h)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# Without libc, without start files, without anything that the program it is loaded into could miss.
# Merged segments and no RELRO: mapping and protecting the pages of a library costs every process that
# loads it (13 us for these two on the machine where this was measured, of 110 us in all), and the
# only pointers that RELRO would protect are eight weak references. Its constructor is the first where the
# loader allows: it sees the threads that those of other libraries make.
function(pl_preload_flags target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  # clang, which compiles the fuzzers, has no limits of libc in a freestanding program
  if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -ffreestanding -fno-tree-loop-distribute-patterns)
  else()
    target_compile_options(${target} PRIVATE -fno-builtin)
  endif()
  target_compile_options(${target} PRIVATE ${PL_WARNINGS} -O2 -fvisibility=hidden
    -fno-stack-protector -U_FORTIFY_SOURCE -fno-sanitize=all)
  # a library without these marks would take shadow stacks and branch tracking from a program that has them
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    target_compile_options(${target} PRIVATE -fcf-protection=full)
    target_link_options(${target} PRIVATE -Wl,-z,ibt -Wl,-z,shstk)
  endif()
  target_link_options(${target} PRIVATE -nostdlib -fno-sanitize=all -Wl,-z,noseparate-code -Wl,-z,norelro
    -Wl,-z,now -Wl,-z,initfirst -Wl,--hash-style=gnu -Wl,-Bsymbolic-functions -Wl,--build-id
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/preload/exports.map)
  set_target_properties(${target} PROPERTIES
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/preload/exports.map NO_SONAME ON)
endfunction()

# A text file as the bytes of a C array that ends in 0, <build>/generated/<name>.h; beside it its SHA-256, by which
# pages name the scripts that a browser may run.
function(pl_embed pattern)
  file(GLOB files CONFIGURE_DEPENDS ${pattern})
  foreach(file ${files})
    pl_embed_file(${file})
  endforeach()
endfunction()

function(pl_embed_file file)
  get_filename_component(name ${file} NAME)
  set(header ${CMAKE_BINARY_DIR}/generated/${name}.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  file(GENERATE OUTPUT ${header} CONTENT "${bytes}0\n")
  file(SHA256 ${file} hash)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hash "${hash}")
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/${name}.sha256.h CONTENT "${hash}\n")
endfunction()

# pl_assets(NAME PREFIX pattern...): files for a browser as <build>/generated/NAME.h, which defines the sorted table NAME of
# struct web_asset (src/web/web.h): each file as it is and by gzip, under /PREFIX/.
set(PL_TYPE_css "text/css; charset=utf-8")
set(PL_TYPE_html "text/html; charset=utf-8")
set(PL_TYPE_js "text/javascript; charset=utf-8")
set(PL_TYPE_mjs "text/javascript; charset=utf-8")
set(PL_TYPE_svg "image/svg+xml")
set(PL_TYPE_png "image/png")
set(PL_TYPE_json "application/json")
set(PL_TYPE_woff2 "font/woff2")

function(pl_asset_bytes symbol hex out)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  set(${out} "static const unsigned char ${symbol}[] = {${bytes}0};\n" PARENT_SCOPE)
endfunction()

function(pl_assets name prefix)
  find_program(PL_GZIP gzip REQUIRED)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
  set(arrays "")
  set(rows "")
  set(number 0)
  set(names "")
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  foreach(file ${files})
    get_filename_component(base ${file} NAME)
    set(path_of_${base} ${file})
    list(APPEND names ${base})
  endforeach()
  list(SORT names)
  foreach(base ${names})
    set(file ${path_of_${base}})
    get_filename_component(suffix ${base} LAST_EXT)
    string(SUBSTRING "${suffix}" 1 -1 suffix)
    if(NOT DEFINED PL_TYPE_${suffix})
      message(FATAL_ERROR "${file}: the type of *.${suffix} is unknown; add it to cmake/flags.cmake")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    set(packed ${CMAKE_BINARY_DIR}/generated/${base}.gz)
    execute_process(COMMAND ${PL_GZIP} -9nc ${file} OUTPUT_FILE ${packed} COMMAND_ERROR_IS_FATAL ANY)
    file(SHA256 ${file} hash)
    string(SUBSTRING ${hash} 0 24 hash)
    file(READ ${file} hex HEX)
    file(READ ${packed} packed_hex HEX)
    pl_asset_bytes(plain_${number} "${hex}" plain)
    pl_asset_bytes(gzip_${number} "${packed_hex}" gzip)
    string(APPEND arrays "${plain}${gzip}")
    string(APPEND rows "{\"/${prefix}/${base}\", \"${PL_TYPE_${suffix}}\", \"\\\"${hash}\\\"\", plain_${number}, gzip_${number}, "
      "sizeof(plain_${number}) - 1, sizeof(gzip_${number}) - 1},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/${name}.h CONTENT
    "${arrays}const struct web_asset ${name}[] = {\n${rows}{0}};\n")
endfunction()
