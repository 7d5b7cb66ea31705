# Which CCCL (CUB, Thrust, libcu++) the catalog is built against: the toolkit's, or -DCCCL_ROOT=<prefix> with headers in
# <prefix>/include/cccl (as in the toolkit and in the nvidia-cuda-cccl package) or <prefix>/include. Sets RUNGS_CCCL_VERSION.
include_guard(GLOBAL)

set(CCCL_ROOT "" CACHE PATH "A CCCL release to build against instead of the toolkit's")

if(CCCL_ROOT)
  find_path(include_dir cub/version.cuh PATHS ${CCCL_ROOT} PATH_SUFFIXES include/cccl include NO_DEFAULT_PATH NO_CACHE)
  if(NOT include_dir)
    message(FATAL_ERROR "CCCL_ROOT: there is no include/cccl/cub/version.cuh or include/cub/version.cuh in ${CCCL_ROOT}")
  endif()
else()
  find_path(include_dir cub/version.cuh PATHS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES cccl NO_DEFAULT_PATH NO_CACHE)
endif()
file(STRINGS ${include_dir}/cuda/std/__cccl/version.h RUNGS_CCCL_VERSION REGEX "^#define CCCL_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" number "${RUNGS_CCCL_VERSION}")
math(EXPR major "${number} / 1000000")
math(EXPR minor "${number} / 1000 % 1000")
math(EXPR patch "${number} % 1000")
set(RUNGS_CCCL_VERSION ${major}.${minor}.${patch})
message(STATUS "CCCL ${RUNGS_CCCL_VERSION} in ${include_dir}")

# nvcc looks into its own CCCL by -isystem, so a directory given by -I comes first. The unit that answers
# rungs::catalog::cccl_version() fails to compile where that did not work.
if(CCCL_ROOT)
  set_property(GLOBAL APPEND PROPERTY RUNGS_CATALOG_INCLUDES ${include_dir})
endif()
set(RUNGS_CCCL_VERSION_NUMBER ${number})
configure_file(${PROJECT_SOURCE_DIR}/bench/enrol/cccl_version.cu.in ${PROJECT_BINARY_DIR}/catalog/cccl_version.cu @ONLY)
set_property(GLOBAL APPEND PROPERTY RUNGS_CATALOG_SOURCES ${PROJECT_BINARY_DIR}/catalog/cccl_version.cu)
