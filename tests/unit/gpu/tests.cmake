# The tests of a GPU runtime's memory for one vendor, in two variants: on the fake runtime, which replaces the library
# and enforces the rules, and on the library itself, with or without a GPU. `MORE` lists the vendor's additional sources
# for both. The calling directory has vendor.hpp and the sources of the fake.
function(gpu_runtime_tests vendor)
    cmake_parse_arguments(PARSE_ARGV 1 tests "" "FAKE" "INCLUDE_DIRECTORIES;DEFINITIONS;MORE")
    set(shared ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
    set(on_both ${shared}/devices_test.cpp ${shared}/copies_test.cpp ${shared}/demo_memory_test.cpp
        ${shared}/device_table_test.cpp ${shared}/span_test.cpp ${shared}/events_test.cpp ${shared}/tensor_vm_memory_test.cpp ${tests_MORE})
    set(on_fake refusals_test.cpp span_refusals_test.cpp peers_test.cpp streams_test.cpp event_order_test.cpp ordered_test.cpp graph_pool_test.cpp imported_memory_test.cpp laws_test.cpp
        fake_machine.cpp fake_gpu.cpp)
    list(TRANSFORM on_fake PREPEND ${shared}/)

    add_library(test_${vendor}_on_both OBJECT ${on_both})
    # The fake runtime with the vendor's headers.
    allot_test_program(test_${vendor} ${on_fake} ${tests_FAKE})
    foreach(part test_${vendor}_on_both test_${vendor})
        target_include_directories(${part} SYSTEM PRIVATE ${tests_INCLUDE_DIRECTORIES})
        target_compile_definitions(${part} PRIVATE ${tests_DEFINITIONS})
        target_link_libraries(${part} PRIVATE allot::allot doctest::doctest)
        allot_parse_headers_once(${part})
    endforeach()
    target_link_libraries(test_${vendor} PRIVATE test_${vendor}_on_both)
    allot_test(${vendor} test_${vendor})

    add_executable(test_${vendor}_gpu ${shared}/gpu_machine.cpp)
    target_link_libraries(test_${vendor}_gpu PRIVATE test_main test_${vendor}_on_both allot::${vendor})
    allot_test(${vendor}_gpu test_${vendor}_gpu)

    add_executable(test_${vendor}_no_device ${shared}/no_device_test.cpp)
    target_link_libraries(test_${vendor}_no_device PRIVATE test_main allot::${vendor})
    allot_test(${vendor}_no_device test_${vendor}_no_device)

    foreach(part test_${vendor}_on_both test_${vendor} test_${vendor}_gpu test_${vendor}_no_device)
        target_include_directories(${part} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${shared}) # vendor.hpp, machine.hpp
    endforeach()
endfunction()
