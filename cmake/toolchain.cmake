# CUDA, set up for the catalog. Included only where something is built: users of the headers need none of it.
include_guard(GLOBAL)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# CMake 3.25's `native` fails without a GPU: take the GPU's architecture where there is one, else sm_90.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capability ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND capability MATCHES "^([0-9]+)\\.([0-9]+)")
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2} CACHE STRING "CUDA architectures")
  else()
    set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "CUDA architectures")
  endif()
endif()
enable_language(CUDA)

# CMake 3.25's own module fails on a toolkit without nvToolsExt (13.0) in a project that requires 3.25; it asks for nothing
# else by that number.
set(required_version ${CMAKE_MINIMUM_REQUIRED_VERSION})
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${required_version})

# GCC 12 reports overlaps (GCC bug 105651), and GCC 13 accesses out of bounds, in inlined code of the standard library that are not there.
# For bench and tests; the catalog's flags are part of the GPU record.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  foreach(warning restrict stringop-overflow stringop-overread array-bounds)
    list(APPEND RUNGS_MISTAKEN_WARNINGS $<$<COMPILE_LANGUAGE:CXX>:-Wno-${warning}> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-${warning}>)
  endforeach()
endif()

# For device code that never runs, as that of a quick build.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
  set(RUNGS_SYNTAX_ONLY -fdevice-syntax-only)
endif()
# A quick build optimises host code less, since that takes longer than running the tests. Device code is the same, and so are the flags
# that the GPU record knows. (Not by -Xcompiler=-O0: nvcc gives its own -O to the host's compiler after that.)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(RUNGS_RECORDED_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_${build_type}}")
if(RUNGS_QUICK_BUILD)
  add_compile_definitions(RUNGS_QUICK_BUILD)
  string(REGEX REPLACE "-O[23]" "-O1" CMAKE_CXX_FLAGS_${build_type} "${CMAKE_CXX_FLAGS_${build_type}}")
  string(REGEX REPLACE "-O[1-3]" "-O0" CMAKE_CUDA_FLAGS_${build_type} "${CMAKE_CUDA_FLAGS_${build_type}}")
endif()
# Of what runs for moments alone, or only on a GPU, host code is compiled without optimisation, in three quarters of the time.
function(rungs_unoptimised_without_gpu target)
  if(RUNGS_QUICK_BUILD)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  endif()
endfunction()
function(rungs_syntax_without_gpu target)
  if(RUNGS_QUICK_BUILD)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${RUNGS_SYNTAX_ONLY}>)
  endif()
  rungs_unoptimised_without_gpu(${target})
endfunction()
# Host code that tests run for a minute takes -O1 in a quick build, too: it compiles as fast as with -O0, and runs twice as fast.
function(rungs_optimised_in_quick_build)
  if(RUNGS_QUICK_BUILD)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -O1)
  endif()
endfunction()
# In a quick build C++ sources of a target are read as one: reading the headers of GoogleTest and nlohmann-json takes longer than reading
# them. A target may have several groups.
function(rungs_read_as_one target group)
  if(RUNGS_QUICK_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_property(SOURCE ${ARGN} PROPERTY UNITY_GROUP ${group})
  endif()
endfunction()
