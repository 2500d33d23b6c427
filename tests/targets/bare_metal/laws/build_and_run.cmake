# Builds the conformance laws for another machine and runs them in an emulator. CTest runs this script with CORE,
# DOCTEST (the candidate directories of its headers), and the variables of ../../freestanding/cross.cmake.
cmake_minimum_required(VERSION 3.25)
set(here ${CMAKE_CURRENT_LIST_DIR})
include(${here}/../../freestanding/cross.cmake)

if(CORE STREQUAL "cortex-m4" AND NOT "$ENV{ALLOT_LONG}" STREQUAL "1")
    skip("./dev test --all runs the laws on a Cortex-M4")
elseif(CORE STREQUAL "cortex-m4") # a C library without an operating system, which calls the debugger (QEMU)
    need_programs("gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm" arm-none-eabi-g++ qemu-system-arm)
    set(machine -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_CXX_COMPILER=arm-none-eabi-g++ -DCMAKE_CXX_COMPILER_WORKS=ON
                -DLINKER_SCRIPT=${here}/mps2-an386.ld)
    set(emulator qemu-system-arm -M mps2-an386 -nographic -semihosting-config enable=on,target=native -kernel)
else()
    need_programs("g++-${CORE}-linux-gnu qemu-user" ${CORE}-linux-gnu-g++ qemu-${CORE})
    set(machine -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_CXX_COMPILER=${CORE}-linux-gnu-g++)
    set(emulator qemu-${CORE})
endif()

unset(ENV{ALLOT_LONG}) # the long tests would take an hour in an emulator
isolate_headers(boost ${BOOST})
isolate_headers(doctest ${DOCTEST})
run(${CMAKE_COMMAND} -S ${here} -B ${SCRATCH}/build -G Ninja ${machine} -DALLOT=${SOURCE} -DHEADERS=${SCRATCH}/headers)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${emulator} ${SCRATCH}/build/laws)
