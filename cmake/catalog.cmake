include_guard(GLOBAL)

# rungs_catalog(): the object library rungs_catalog of everything enrolled so far.
function(rungs_catalog)
  get_property(units GLOBAL PROPERTY RUNGS_UNITS)
  list(TRANSFORM units REPLACE "(.+)" "${PROJECT_BINARY_DIR}/catalog/\\1.cu" OUTPUT_VARIABLE sources)
  set(RUNGS_DECLARATIONS "")
  foreach(unit IN LISTS units)
    string(APPEND RUNGS_DECLARATIONS "void ${unit}(collector&);\n")
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
  target_compile_options(rungs_catalog PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -Xptxas=-v
                                               -Xcompiler=-Wall,-Wextra -Werror=all-warnings -Xcompiler=-Wno-unused-parameter>
                                               $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror>)
  # What was compiled of sources that are in it no more would count as built: no text, object or report of it stays.
  file(GLOB written ${PROJECT_BINARY_DIR}/catalog/*.cu)
  foreach(file IN LISTS written)
    if(NOT file IN_LIST sources AND NOT file IN_LIST more_sources)
      file(REMOVE ${file})
    endif()
  endforeach()
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
