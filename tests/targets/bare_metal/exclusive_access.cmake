# Compiles files that need instructions for exclusive access for a core that has them, and for a core that lacks them.
# The latter fails with the message in the file's line '// refused: '. CTest runs this script with the variables of
# ../freestanding/cross.cmake.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../freestanding/cross.cmake)
need_programs("gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib" arm-none-eabi-g++)

file(MAKE_DIRECTORY ${SCRATCH})
foreach(file atomic_bitmap page_tree spin_lock)
    set(source ${CMAKE_CURRENT_LIST_DIR}/${file}.cpp)
    set(compile arm-none-eabi-g++ -mthumb -std=c++20 -Os -fno-exceptions -fno-rtti -fno-threadsafe-statics -fsyntax-only
                -I${SOURCE}/include ${source})
    run(${compile} -mcpu=cortex-m4)
    execute_process(COMMAND ${compile} -mcpu=cortex-m0plus RESULT_VARIABLE status ERROR_VARIABLE said)
    file(STRINGS ${source} wanted REGEX "^// refused: ")
    string(REPLACE "// refused: " "" wanted "${wanted}")
    string(FIND "${said}" "${wanted}" found)
    if(status EQUAL 0 OR found EQUAL -1)
        message(FATAL_ERROR "${file}.cpp for a Cortex-M0+ should fail with\n${wanted}\nbut the compiler prints\n${said}")
    endif()
endforeach()
