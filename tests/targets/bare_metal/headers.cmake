# Compiles every header that needs no operating system for a Cortex-M. CTest runs this script with CORE and the
# variables of ../freestanding/cross.cmake.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../freestanding/cross.cmake)
need_programs("gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib" arm-none-eabi-g++)

file(MAKE_DIRECTORY ${SCRATCH})
set(include ${SOURCE}/include)
file(GLOB headers RELATIVE ${include} ${include}/allot/*.hpp)
foreach(directory core strategy address arena compose object plan tensor)
    file(GLOB_RECURSE more RELATIVE ${include} ${include}/allot/${directory}/*.hpp)
    list(APPEND headers ${more})
endforeach()
list(APPEND headers allot/host/buffer.hpp allot/host/heap.hpp allot/host/static_storage.hpp allot/host/tightly_coupled.hpp)
list(FILTER headers EXCLUDE REGEX "/(hardening|live_blocks|recorded).hpp") # Boost
list(FILTER headers EXCLUDE REGEX "/shared_arena|/tensor/(dlpack|symmetric)|allot/(cuda|dma|hip|metal|opencl|vulkan|xrt).hpp") # several processes, and other libraries
list(LENGTH headers count)
message("${count} headers")
list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
list(JOIN headers "" text)
file(WRITE ${SCRATCH}/headers.cpp "${text}")
run(arm-none-eabi-g++ -mthumb -mcpu=${CORE} -std=c++20 -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics
    -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -Wno-psabi
    -I${include} -fsyntax-only headers.cpp)
