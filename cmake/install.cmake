# What a user gets: the headers of the three include roots and find_package(rungs).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(root handwritten cluster best)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${root}/rungs)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${root}/rungs DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            FILES_MATCHING PATTERN "*.cuh" REGEX "/nvrtc/[a-z_.]+$")
  endif()
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rungs)
install(TARGETS rungs EXPORT rungs-targets)
install(EXPORT rungs-targets NAMESPACE rungs:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rungs-config.cmake.in ${PROJECT_BINARY_DIR}/rungs-config.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may change what a call does.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rungs-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/rungs-config.cmake ${PROJECT_BINARY_DIR}/rungs-config-version.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/rungs)
