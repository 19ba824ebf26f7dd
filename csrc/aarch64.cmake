# For a build on another machine: CMAKE_TOOLCHAIN_FILE names this file, and Debian's package g++-aarch64-linux-gnu has the compiler.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
