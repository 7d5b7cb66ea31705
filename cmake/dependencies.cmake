# What bench and tests stand on, beside the CUDA toolkit: the installed package where there is one, else the sources at a
# pinned commit. (A commit's hash covers its content; GitHub's archives have no hash that is promised to stay.)
# Users of the headers need none of it: this file is included only where bench or tests are built.
include_guard(GLOBAL)
include(FetchContent)
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # the options set below reach projects of any age

option(RUNGS_FETCH "Fetch Google Benchmark, GoogleTest, CLI11, nlohmann-json and zlib where they are not installed" ON)

# rungs_dependency(<name> <package> <Debian package> <repository> <commit>)
macro(rungs_dependency name package debian repository commit)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    if(NOT RUNGS_FETCH)
      message(FATAL_ERROR "${package} is not installed (Debian, Ubuntu: apt-get install ${debian}), and RUNGS_FETCH is off")
    endif()
    message(STATUS "${package} is not installed: fetching ${repository} at ${commit}")
    FetchContent_Declare(${name} SYSTEM GIT_REPOSITORY ${repository} GIT_TAG ${commit} GIT_PROGRESS ON)
    FetchContent_MakeAvailable(${name})
  endif()
endmacro()

if(RUNGS_BUILD_BENCH)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  # 1.9.4
  rungs_dependency(benchmark benchmark libbenchmark-dev https://github.com/google/benchmark.git
                   eddb0241389718a23a42db6af5f0164b6e0139af)
endif()

set(JSON_Install OFF)
# 3.11.3
rungs_dependency(json nlohmann_json nlohmann-json3-dev https://github.com/nlohmann/json.git
                 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03)

set(SKIP_INSTALL_ALL ON)
set(ZLIB_BUILD_EXAMPLES OFF)
# 1.3.1
rungs_dependency(zlib ZLIB zlib1g-dev https://github.com/madler/zlib.git 51b7f2abdade71cd9bb0e7a373ef2610ec6f9daf)
if(NOT TARGET ZLIB::ZLIB)
  target_include_directories(zlibstatic INTERFACE ${zlib_SOURCE_DIR} ${zlib_BINARY_DIR})
  add_library(ZLIB::ZLIB ALIAS zlibstatic)
endif()

set(CLI11_BUILD_TESTS OFF)
set(CLI11_BUILD_EXAMPLES OFF)
set(CLI11_INSTALL OFF)
# 2.5.0
rungs_dependency(cli11 CLI11 libcli11-dev https://github.com/CLIUtils/CLI11.git 4160d259d961cd393fd8d67590a8c7d210207348)

if(RUNGS_BUILD_TESTS)
  set(INSTALL_GTEST OFF)
  # 1.15.2
  rungs_dependency(googletest GTest libgtest-dev https://github.com/google/googletest.git
                   b514bdc898e2951020cbdca1304b75f5950d1f59)
  if(NOT TARGET GTest::gtest)  # fetched: CMake's names for its targets
    add_library(GTest::gtest ALIAS gtest)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
endif()
