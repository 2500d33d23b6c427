# A bare Hexagon v66 with HVX vectors of 128 bytes, with clang, lld and the headers of newlib and its C++ library. No
# library is linked: runtime.cpp and ../freestanding define the functions that a program calls. Requires the variables
# HEXAGON_LINKER and HEXAGON_LIBRARY.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR hexagon)
set(CMAKE_CXX_COMPILER_TARGET hexagon-unknown-elf)
set(CMAKE_CXX_COMPILER_WORKS ON)
set(CMAKE_CXX_LINK_EXECUTABLE "${HEXAGON_LINKER} -static --fatal-warnings <OBJECTS> -o <TARGET>")

execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-resource-dir OUTPUT_VARIABLE clang_headers
                OUTPUT_STRIP_TRAILING_WHITESPACE)
string(JOIN " " CMAKE_CXX_FLAGS_INIT
       -mcpu=hexagonv66 -mhvx -mhvx-length=128B -G0 -fuse-init-array
       -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics
       -nostdinc -nostdinc++ -D__IEEE_LITTLE_ENDIAN
       -isystem ${HEXAGON_LIBRARY} -isystem ${HEXAGON_LIBRARY}/arm-none-eabi
       -isystem ${clang_headers}/include -isystem ${HEXAGON_LIBRARY}/../..)
