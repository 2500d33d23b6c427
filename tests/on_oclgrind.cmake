# Runs PROGRAM on oclgrind and fails when the program does, or when oclgrind found an error in a kernel: its log says so.
file(REMOVE ${LOG})
message("skipped: events_test.cpp, ordered_test.cpp and the late kernels of device_table_test.cpp, because oclgrind "
        "executes one queue at a time: a user event that holds back a kernel holds back all")
execute_process(COMMAND ${OCLGRIND} --log ${LOG} ${PROGRAM} --source-file-exclude=*/events_test.cpp,*/ordered_test.cpp
                        "--test-case-exclude=*a kernel that runs late*" RESULT_VARIABLE result)
if(NOT EXISTS ${LOG})
    message(FATAL_ERROR "oclgrind wrote no log")
endif()
file(READ ${LOG} errors)
if(NOT errors STREQUAL "")
    message(FATAL_ERROR "oclgrind found errors in kernels:\n${errors}")
endif()
if(NOT result EQUAL 0)
    message(FATAL_ERROR "the tests failed on oclgrind: ${result}")
endif()
