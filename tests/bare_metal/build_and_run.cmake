# Builds the tests of this directory for a machine without a heap, exceptions, RTTI and an operating system, looks at the
# symbols of the objects and of the program, and runs it in an emulator. Run by CTest with CORE and MACHINE (see
# CMakeLists.txt), and what ../freestanding/cross.cmake wants.
cmake_minimum_required(VERSION 3.25)
set(here ${CMAKE_CURRENT_LIST_DIR})
set(freestanding ${here}/../freestanding)
set(board ${SOURCE}/examples/firmware/board)
include(${freestanding}/cross.cmake)
include(${here}/symbols.cmake)

set(link -static)
if(MACHINE STREQUAL "cortex_m")
    set(target arm-none-eabi)
    set(packages "gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm")
    set(emulator qemu-system-arm)
    set(emulator_flags -M ${BOARD} -nographic -semihosting-config enable=on,target=native -kernel)
    set(compile -mthumb -Wno-psabi ${FLAGS} -I${board})
    set(runtime ${board}/semihosting.cpp ${board}/startup.cpp ${here}/cortex_m.cpp)
    set(link --specs=nano.specs -nostartfiles -L${board} -T${LINKER_SCRIPT}.ld -Wl,--no-warn-rwx-segments)
elseif(MACHINE STREQUAL "riscv64")
    set(target riscv64-linux-gnu) # its C library stays out
    set(packages "g++-riscv64-linux-gnu qemu-system-misc")
    set(emulator qemu-system-riscv64)
    set(emulator_flags -M virt -bios none -nographic -kernel)
    set(compile -mcmodel=medany -fno-pie -fno-stack-protector)
    set(runtime ${here}/riscv64.cpp)
    set(link -static -nostdlib -T${here}/riscv64.ld -Wl,--build-id=none,--no-warn-rwx-segments)
else()
    set(target ${CORE}-linux-gnu)
    set(packages "g++-${CORE}-linux-gnu qemu-user")
    set(emulator qemu-${CORE})
    set(emulator_flags)
    set(compile)
    set(runtime ${here}/linux.cpp)
endif()
need_programs(${packages} ${target}-g++ ${target}-nm ${emulator})

file(REMOVE_RECURSE ${SCRATCH})
isolate_boost()
set(compile ${compile} -std=c++20 -Os -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics
            -fno-asynchronous-unwind-tables -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror
            -I${SOURCE}/include -I${freestanding} -isystem ${SCRATCH}/boost)
file(GLOB tests ${here}/*_test.cpp)
run(${target}-g++ ${compile} -c ${tests})
file(GLOB objects ${SCRATCH}/*.o) # of the tests, which is to say allot's

if(MACHINE STREQUAL "riscv64")
    run(${target}-g++ ${compile} -fno-builtin -c ${freestanding}/c_library.cpp)
endif()
run(${target}-g++ ${compile} -c ${freestanding}/cases.cpp ${runtime})
file(GLOB all_objects ${SCRATCH}/*.o)
run(${target}-g++ ${all_objects} ${compile} ${link} -o program -lgcc)

# Where the C library has an operating system under it, the program is full of what allot does not ask for.
if(NOT MACHINE STREQUAL "linux")
    list(APPEND objects ${SCRATCH}/program)
endif()
find_forbidden(found ${target}-nm ${objects})
if(found)
    list(JOIN found "\n" found)
    message(FATAL_ERROR "forbidden:\n${found}")
endif()

run(${emulator} ${emulator_flags} ${SCRATCH}/program)
