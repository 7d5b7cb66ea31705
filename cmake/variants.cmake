# rungs_variant(<ladder>/<file> [TYPES basic|wide|<in[:accumulator]>...]
#               [OPERATORS plus|minimum|maximum|compose...|even|range|multi_even...|any] [UNITS n]
#               [LAUNCH_SWEEP] [CLUSTER_SIZES <n>...])
#
# Enrols one variant: the struct of the file's name (without its number) in namespace rungs::<ladder>. This line is the only
# place where a variant is listed; bench, tests and report find it in the catalog.
#   TYPES      basic (default): f32 i32. wide: basic and f64 i64 u64 u8:u32 i8:i32 f16:f32 bf16:f32. Or a list, in which
#              affine stands for the 8-byte pair that only the operator compose takes. samples: what histograms count,
#              u8 i8 u16 i16 i32 u32 f32 f64 f16. words: what atomics change, i32 u32 u64 f32 f64 f16x2 bf16x2.
#              Of a roof, what it writes stands where accumulators do: u8:u32.
#   OPERATORS  default: plus minimum maximum. Of a histogram, the levels that it takes: even, range, multi_even. any: what
#              an atomic can do; of these and of the types `words`, a rung of the study of atomics is enrolled with those
#              that it takes; likewise a rung of the study of collectives. A barrier has neither type nor operator.
#   UNITS      split by type over n translation units: 2 of a rung, and of CUB, that would take over ten seconds and over a minute to
#              compile in one. What a unit reads first takes three seconds of a rung, nine of CUB
#   LAUNCH_SWEEP  with -DRUNGS_LAUNCH_SWEEP=ON, enrols the template <struct>_shaped<block_threads,
#                 blocks_per_multiprocessor> over the shapes below as well, for f32 sums, as ladder launch_sweep: so that
#                 a rung's gain is not an accident of its launch shape
#   CLUSTER_SIZES  enrols the structs <struct>_<n>, which the file names beside <struct>, as rungs of their own as well,
#                 for sums of the basic types: clusters of n blocks, where <struct> takes the size from the input and
#                 the device
include_guard(GLOBAL)

set(RUNGS_ONLY "" CACHE STRING "Enrol only the variants whose family/ladder/file matches this regular expression")
set(RUNGS_SWEPT_BLOCK_THREADS 128 256 512 1024)
set(RUNGS_SWEPT_BLOCKS_PER_MULTIPROCESSOR 1 2 4 8 16 32)
set(RUNGS_TYPES_basic f32 i32)
set(RUNGS_TYPES_wide f32 i32 f64 i64 u64 u8:u32 i8:i32 f16:f32 bf16:f32)
set(RUNGS_TYPES_samples u8 i8 u16 i16 i32 u32 f32 f64 f16)
set(RUNGS_TYPES_words u32 i32 u64 f32 f64 f16x2 bf16x2)
set(RUNGS_OPERATORS_any plus minus increment minimum maximum bit_and bit_or bit_xor exchange)

# Sets what all units of the variant at `path` share.
macro(_rungs_describe path)
  file(RELATIVE_PATH RUNGS_FAMILY ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(RUNGS_LISTED_IN ${RUNGS_FAMILY}/CMakeLists.txt)
  set(RUNGS_HEADER rungs/${path}.cuh)
  get_filename_component(RUNGS_LADDER ${path} DIRECTORY)
  set(RUNGS_NAMESPACE ${RUNGS_LADDER})
  if(RUNGS_FAMILY STREQUAL "cluster")
    set(RUNGS_HEADER rungs/cluster/${path}.cuh)
    set(RUNGS_NAMESPACE cluster::${RUNGS_LADDER})
  endif()
  set(RUNGS_SOURCE ${RUNGS_FAMILY}/${RUNGS_HEADER})
  if(RUNGS_FAMILY STREQUAL "best")  # the front door is of our own hand, and no rung of the ladder that it chooses from
    set(RUNGS_FAMILY handwritten)
    set(RUNGS_LADDER front_door_of_${RUNGS_LADDER})
  endif()
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${RUNGS_SOURCE})
    message(FATAL_ERROR "${path} is listed in ${RUNGS_LISTED_IN}, but there is no file ${RUNGS_SOURCE}")
  endif()
  get_filename_component(RUNGS_STRUCT ${path} NAME)
  set(RUNGS_NUMBER -1)
  if(RUNGS_STRUCT MATCHES "^0*([0-9]+)_(.+)$")
    set(RUNGS_NUMBER ${CMAKE_MATCH_1})
    set(RUNGS_STRUCT ${CMAKE_MATCH_2})
  endif()
  set(RUNGS_RUNG ${RUNGS_STRUCT})
endmacro()

macro(_rungs_unit name)
  set(RUNGS_UNIT ${name})
  configure_file(${PROJECT_SOURCE_DIR}/bench/enrol/unit.cu.in ${PROJECT_BINARY_DIR}/catalog/${RUNGS_UNIT}.cu @ONLY)
  set_property(GLOBAL APPEND PROPERTY RUNGS_UNITS ${RUNGS_UNIT})
endmacro()

# A unit for every launch shape of the variant that was described last.
function(_rungs_sweep)
  set(RUNGS_LADDER launch_sweep)
  set(RUNGS_NUMBER -1)
  set(RUNGS_ELEMENTS "element<f32>")
  set(RUNGS_OPERATORS plus)
  set(swept ${RUNGS_STRUCT})
  foreach(threads IN LISTS RUNGS_SWEPT_BLOCK_THREADS)
    foreach(blocks IN LISTS RUNGS_SWEPT_BLOCKS_PER_MULTIPROCESSOR)
      set(RUNGS_STRUCT "${swept}_shaped<${threads}, ${blocks}>")
      set(RUNGS_RUNG ${swept}_${threads}x${blocks})
      _rungs_unit(launch_sweep_${RUNGS_RUNG})
    endforeach()
  endforeach()
endfunction()

# A unit for every cluster size of the variant that was described last.
function(_rungs_cluster_sizes)
  set(RUNGS_ELEMENTS ${RUNGS_TYPES_basic})
  list(TRANSFORM RUNGS_ELEMENTS REPLACE "(.+)" "element<\\1>")
  list(JOIN RUNGS_ELEMENTS ", " RUNGS_ELEMENTS)
  set(RUNGS_OPERATORS plus)
  set(sized ${RUNGS_STRUCT})
  foreach(blocks IN LISTS ARGN)
    set(RUNGS_STRUCT ${sized}_${blocks})
    set(RUNGS_RUNG ${RUNGS_STRUCT})
    _rungs_unit(${RUNGS_FAMILY}_${RUNGS_LADDER}_${sized}_of_${blocks})
  endforeach()
endfunction()

function(rungs_variant path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LAUNCH_SWEEP" "UNITS" "TYPES;OPERATORS;CLUSTER_SIZES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rungs_variant(${path}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TYPES)
    set(arg_TYPES basic)
  endif()
  if(NOT arg_OPERATORS)
    set(arg_OPERATORS plus minimum maximum)
  endif()
  if(arg_OPERATORS STREQUAL "any")
    set(arg_OPERATORS ${RUNGS_OPERATORS_any})
  endif()
  if(NOT arg_UNITS)
    set(arg_UNITS 1)
  endif()
  set(listed_types ${arg_TYPES})
  set(arg_TYPES "")
  foreach(type IN LISTS listed_types)
    if(DEFINED RUNGS_TYPES_${type})
      list(APPEND arg_TYPES ${RUNGS_TYPES_${type}})
    else()
      list(APPEND arg_TYPES ${type})
    endif()
  endforeach()

  _rungs_describe(${path})
  if(arg_LAUNCH_SWEEP AND RUNGS_LAUNCH_SWEEP)
    _rungs_sweep()
  endif()
  if(RUNGS_ONLY AND NOT "${RUNGS_FAMILY}/${path}" MATCHES "${RUNGS_ONLY}")
    return()
  endif()
  list(JOIN arg_OPERATORS ", " RUNGS_OPERATORS)
  list(LENGTH arg_TYPES num_types)
  math(EXPR types_per_unit "(${num_types} + ${arg_UNITS} - 1) / ${arg_UNITS}")
  math(EXPR last_unit "(${num_types} + ${types_per_unit} - 1) / ${types_per_unit} - 1")
  foreach(unit_index RANGE ${last_unit})
    math(EXPR first_type "${unit_index} * ${types_per_unit}")
    list(SUBLIST arg_TYPES ${first_type} ${types_per_unit} types)
    set(RUNGS_ELEMENTS "")
    foreach(type IN LISTS types)
      string(REPLACE ":" ", " type ${type})
      list(APPEND RUNGS_ELEMENTS "element<${type}>")
    endforeach()
    list(JOIN RUNGS_ELEMENTS ", " RUNGS_ELEMENTS)
    _rungs_unit(${RUNGS_FAMILY}_${RUNGS_LADDER}_${RUNGS_STRUCT}_${unit_index})
  endforeach()
  _rungs_cluster_sizes(${arg_CLUSTER_SIZES})
endfunction()

# rungs_catalog(): the object library rungs_catalog of everything enrolled so far.
function(rungs_catalog)
  get_property(units GLOBAL PROPERTY RUNGS_UNITS)
  set(sources "")
  set(RUNGS_DECLARATIONS "")
  foreach(unit IN LISTS units)
    list(APPEND sources ${PROJECT_BINARY_DIR}/catalog/${unit}.cu)
    string(APPEND RUNGS_DECLARATIONS "std::vector<record> ${unit}();\n")
  endforeach()
  list(JOIN units ", " RUNGS_UNITS)
  configure_file(${PROJECT_SOURCE_DIR}/bench/enrol/catalog.cpp.in ${PROJECT_BINARY_DIR}/catalog/catalog.cpp @ONLY)

  get_property(more_sources GLOBAL PROPERTY RUNGS_CATALOG_SOURCES)
  get_property(more_includes GLOBAL PROPERTY RUNGS_CATALOG_INCLUDES)
  get_property(more_libraries GLOBAL PROPERTY RUNGS_CATALOG_LIBRARIES)
  add_library(rungs_catalog OBJECT ${sources} ${more_sources} ${PROJECT_BINARY_DIR}/catalog/catalog.cpp)
  target_include_directories(rungs_catalog PUBLIC ${PROJECT_SOURCE_DIR}/bench)
  target_include_directories(rungs_catalog PRIVATE ${PROJECT_SOURCE_DIR}/cluster ${PROJECT_SOURCE_DIR}/library_baselines)
  target_include_directories(rungs_catalog BEFORE PRIVATE ${more_includes})
  target_link_libraries(rungs_catalog PUBLIC rungs::rungs CUDA::cudart_static ${more_libraries})
  # CMake 3.25 adds no flag for C++20 with nvcc 13.
  target_compile_options(rungs_catalog PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --compress-mode=size -Xptxas=-v
                                               -Xcompiler=-Wall,-Wextra -Werror=all-warnings -Xcompiler=-Wno-unused-parameter>
                                               $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror>)
  # What was compiled of sources that are in it no more would count as built: no object, no report of it stays.
  file(GLOB compiled ${PROJECT_BINARY_DIR}/CMakeFiles/rungs_catalog.dir/catalog/*.cu.o*)
  foreach(file IN LISTS compiled)
    get_filename_component(name ${file} NAME_WE)
    set(source ${PROJECT_BINARY_DIR}/catalog/${name}.cu)
    if(NOT source IN_LIST sources AND NOT source IN_LIST more_sources)
      file(REMOVE ${file})
    endif()
  endforeach()

  # What ptxas says about each kernel goes to <object>.ptxas beside the object, for the test that refuses spills.
  set(launcher ${PROJECT_SOURCE_DIR}/cmake/ptxas_report ${CMAKE_CUDA_COMPILER_LAUNCHER})
  set_target_properties(rungs_catalog PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
  target_compile_features(rungs_catalog PUBLIC cxx_std_20)
endfunction()
