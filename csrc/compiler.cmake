# Ends the build in one message where the compiler is older than the oldest that docs/installation.md names.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
    message(FATAL_ERROR "torch_aclnn needs gcc 11 or later, got ${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER}): "
                        "install one, such as g++-12, and set CC=gcc-12 CXX=g++-12")
endif()
