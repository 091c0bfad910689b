# One static library per folder of src. A folder's CMakeLists.txt names the folders that it uses, and its include path is made
# of just those: including from any other folder does not compile.

# Headers are included as "folder/name.h". <build>/include/<folder> holds one link, <folder>, to the sources. A folder is one of
# src, or one of src/compat: those must not see each other.
function(pl_include_path folder)
  string(REPLACE / _ place ${folder})
  get_filename_component(above ${CMAKE_BINARY_DIR}/include/${place}/${folder} DIRECTORY)
  file(MAKE_DIRECTORY ${above})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${folder} ${CMAKE_BINARY_DIR}/include/${place}/${folder} SYMBOLIC)
endfunction()

function(pl_use target)
  foreach(folder ${ARGN})
    string(REPLACE / _ place ${folder})
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/include/${place})
  endforeach()
endfunction()

# pl_library(NAME [USES folder...] [LINKS library...] [EXCEPT folder...]): every .c file of this folder and of the folders below
# it, but for those of modules. Programs link all libraries as one group: a table, as sources.def, may name a constant of a folder
# that nothing can be included from.
function(pl_library name)
  cmake_parse_arguments(LIB "" "" "USES;LINKS;EXCEPT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.c)
  get_property(modules GLOBAL PROPERTY PL_MODULE_SOURCES)
  if(modules)
    list(REMOVE_ITEM sources ${modules})
  endif()
  foreach(folder ${LIB_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  add_library(${name} STATIC ${sources})
  pl_flags(${name})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "^(compat/[^/]+|[^/]+).*" "\\1" folder ${folder})
  pl_include_path(${folder})
  pl_use(${name} ${folder} ${LIB_USES})
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/generated)
  set_property(GLOBAL APPEND PROPERTY PL_LIBRARIES ${name})
  set_property(GLOBAL APPEND PROPERTY PL_LINKS ${LIB_LINKS})
endfunction()

# pl_module(NAME SOURCES file... LINKS library... [INCLUDES directory...] [USES folder...]): lib/plimsoll/NAME.so, a part of
# the program whose library not every site has. It is left out where the library is missing.
function(pl_module name)
  cmake_parse_arguments(MOD "" "" "SOURCES;LINKS;INCLUDES;USES" ${ARGN})
  list(TRANSFORM MOD_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_property(GLOBAL APPEND PROPERTY PL_MODULE_SOURCES ${MOD_SOURCES})
  foreach(library ${MOD_LINKS} ${MOD_INCLUDES})
    if(library MATCHES "NOTFOUND$")
      message(STATUS "module ${name}: its library is missing, left out")
      return()
    endif()
  endforeach()
  if(NOT MOD_LINKS)
    message(STATUS "module ${name}: its library is missing, left out")
    return()
  endif()
  add_library(module_${name} MODULE ${MOD_SOURCES})
  pl_flags(module_${name})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" folder ${folder})
  pl_use(module_${name} ${folder} ${MOD_USES})
  target_include_directories(module_${name} PRIVATE ${CMAKE_BINARY_DIR}/generated)
  target_include_directories(module_${name} SYSTEM PRIVATE ${MOD_INCLUDES})
  target_link_libraries(module_${name} PRIVATE parts ${MOD_LINKS})
  target_link_options(module_${name} PRIVATE -Wl,--exclude-libs,ALL)
  set_source_files_properties(${MOD_SOURCES} PROPERTIES COMPILE_DEFINITIONS PL_BUILD_ID="${PL_BUILD_ID}")
  set_target_properties(module_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/plimsoll)
  install(TARGETS module_${name} LIBRARY DESTINATION lib/plimsoll)
  set_property(GLOBAL APPEND PROPERTY PL_PRODUCT module_${name})
endfunction()
