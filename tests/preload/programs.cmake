# The host programs of the tests of the preload library, and what they load. Included by
# tests/CMakeLists.txt.
set(PRELOAD_PROGRAMS ${CMAKE_CURRENT_LIST_DIR}/programs)

# Neither sanitizers nor coverage: programs that close their descriptors or install a seccomp filter
# could not live with either.
function(preload_flags target)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_compile_options(${target} PRIVATE -w -O1 -fno-sanitize=all -fno-profile-arcs -fno-test-coverage)
  target_link_options(${target} PRIVATE -fno-sanitize=all)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TEST_BIN}
    LIBRARY_OUTPUT_DIRECTORY ${TEST_BIN})
endfunction()

foreach(name arguments calls descriptors dlopens doors errnos execs exits filters limits matrix observe places reaps stacks state
    streams threads totals unseen vforks)
  add_executable(host-${name} ${PRELOAD_PROGRAMS}/${name}.c)
  preload_flags(host-${name})
  target_link_options(host-${name} PRIVATE -pthread)
endforeach()

foreach(name beside early tiny)
  add_library(${name} SHARED ${PRELOAD_PROGRAMS}/${name}.c)
  preload_flags(${name})
  set_target_properties(${name} PROPERTIES NO_SONAME ON)
endforeach()

# one function of a family each
foreach(name execl execle execlp execv execve execvp execvpe wait wait3 wait4 waitid waitpid)
  add_library(only-${name} SHARED ${PRELOAD_PROGRAMS}/only.c)
  preload_flags(only-${name})
  target_compile_definitions(only-${name} PRIVATE ONLY_${name})
endforeach()

# its constructor is first, as that of glibc's libpthread was
add_library(early-first SHARED ${PRELOAD_PROGRAMS}/early.c)
preload_flags(early-first)
target_compile_definitions(early-first PRIVATE MIB="4")
target_link_options(early-first PRIVATE -Wl,-z,initfirst)

add_library(versions SHARED ${PRELOAD_PROGRAMS}/versions.c)
preload_flags(versions)
target_link_options(versions PRIVATE -Wl,--hash-style=sysv -Wl,--version-script=${PRELOAD_PROGRAMS}/versions.map)

if(MUSL_GCC)
  foreach(name errnos matrix)
    add_custom_command(OUTPUT ${TEST_BIN}/host-${name}-musl
      COMMAND ${MUSL_GCC} -w -O1 -D_GNU_SOURCE -o ${TEST_BIN}/host-${name}-musl ${PRELOAD_PROGRAMS}/${name}.c
      DEPENDS ${PRELOAD_PROGRAMS}/${name}.c ${PRELOAD_PROGRAMS}/host.h ${PRELOAD_PROGRAMS}/matrix_calls.h)
    add_custom_target(host-${name}-musl ALL DEPENDS ${TEST_BIN}/host-${name}-musl)
  endforeach()
endif()
