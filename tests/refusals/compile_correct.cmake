# Compiles FILE, which contains the correct form of many cases. CTest runs this script with FILE and the variables of
# compile.cmake.
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/compile.cmake)
execute_process(COMMAND ${compile} ${FILE} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "A case does not compile without MISUSE")
endif()
