# Compiles SOURCE with nvcc to PROGRAM and runs it; the program skips the parts that need a GPU. CTest runs this script
# with NVCC, COMPILER, INCLUDES, SYSTEM_INCLUDES, IMPLICIT_INCLUDES, SOURCE, PROGRAM.
cmake_minimum_required(VERSION 3.25)
if(NOT NVCC)
    message("skipped: there is no nvcc")
    return()
endif()
set(includes)
foreach(directory IN LISTS INCLUDES SYSTEM_INCLUDES)
    if(directory IN_LIST SYSTEM_INCLUDES AND NOT directory IN_LIST IMPLICIT_INCLUDES)
        list(APPEND includes -isystem ${directory})
    elseif(NOT directory IN_LIST IMPLICIT_INCLUDES)
        list(APPEND includes -I ${directory})
    endif()
endforeach()
# CUDA 13 supports sm_75 and later, CUDA 12 also earlier devices. The image for sm_80 also serves later devices, which
# recompile it.
execute_process(COMMAND ${NVCC} -std=c++20 -ccbin ${COMPILER} -arch=sm_80 -Werror all-warnings ${includes} ${SOURCE}
                        -o ${PROGRAM}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
    message("${output}")
    message(FATAL_ERROR "nvcc does not compile ${SOURCE}")
endif()
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT status EQUAL 0 AND NOT status EQUAL 77)
    message(FATAL_ERROR "${PROGRAM} failed: ${status}")
endif()
