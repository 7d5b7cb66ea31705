# Variants of one's own, of headers anywhere: -DRUNGS_VARIANTS=/path/to/mine.cuh, which `bench/run --variant` sets. A header defines
# struct mine in the global namespace. Options of rungs_variant (types, operators) may stand in a comment of it:
#   // rungs_variant TYPES f32 f16:f32 OPERATORS plus
include_guard(GLOBAL)
set(RUNGS_VARIANTS "" CACHE STRING "Headers outside the tree, each with a variant to measure")

macro(_rungs_place_outside path)
  set(RUNGS_LISTED_IN RUNGS_VARIANTS)
  set(RUNGS_FAMILY handwritten)
  set(RUNGS_LADDER outside)
  set(RUNGS_NAMESPACE "")
  set(RUNGS_HEADER ${path})
  set(RUNGS_SOURCE ${path})
endmacro()

function(rungs_outside_variants)
  foreach(path IN LISTS RUNGS_VARIANTS)
    if(NOT IS_ABSOLUTE "${path}" OR NOT path MATCHES "/([0-9]+_)?[A-Za-z_][A-Za-z_0-9]*\\.cuh$" OR NOT EXISTS "${path}")
      message(FATAL_ERROR "RUNGS_VARIANTS: ${path} is no absolute path of a header <name of the struct>.cuh")
    endif()
    file(STRINGS ${path} options REGEX "^ *// *rungs_variant " LIMIT_COUNT 1)
    string(REGEX REPLACE "^ *// *rungs_variant " "" options "${options}")
    separate_arguments(options)
    rungs_variant(${path} ${options})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  endforeach()
endfunction()
