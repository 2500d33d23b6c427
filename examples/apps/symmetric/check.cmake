# Runs PROGRAM by LAUNCHER on each number of RANKS: all print the same, and what the README shows. Then one rank makes a call
# that others do not: all ranks say so, and the program fails. The environment is what Open MPI heeds.
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_btl} ^uct)
set(ENV{OMPI_MCA_sshmem_base_start_address} 0x200000000000) # not in the address sanitizer's shadow
set(ENV{MPIEXEC_TIMEOUT} 120) # ends ranks that wait for each other
set(ENV{ASAN_OPTIONS} detect_leaks=0) # MPI keeps what it allocated
file(READ ${CMAKE_CURRENT_LIST_DIR}/README.md readme)
foreach(ranks IN LISTS RANKS)
    execute_process(COMMAND ${LAUNCHER} -n ${ranks} ${PROGRAM} OUTPUT_VARIABLE output RESULT_VARIABLE status)
    string(FIND "${readme}" "```\n${output}```\n" place)
    if(NOT status EQUAL 0 OR output STREQUAL "" OR place EQUAL -1)
        message(FATAL_ERROR "on ${ranks} ranks, status ${status}, not what the README shows:\n${output}")
    endif()
    if(ranks EQUAL 1)
        continue()
    endif()
    execute_process(COMMAND ${LAUNCHER} -n ${ranks} ${PROGRAM} --diverge OUTPUT_VARIABLE output ERROR_VARIABLE errors
                    RESULT_VARIABLE status)
    if(status EQUAL 0 OR NOT output STREQUAL "" OR NOT errors MATCHES "some ranks made more calls than others")
        message(FATAL_ERROR "on ${ranks} ranks of which one diverges, status ${status}:\n${output}\n${errors}")
    endif()
endforeach()
