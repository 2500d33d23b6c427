// Prints a line for each device that a test has used, with the driver. device_table.py writes the README's table from
// these lines. A test prints its line at its end. A failed test makes its program fail, and its lines are not used.
#pragma once

#include <cstdio>
#include <string>

#if __has_include(<sys/utsname.h>)
#include <sys/utsname.h>
#endif

namespace tests {

#if __has_include(<sys/utsname.h>)
/// The kernel that this runs on, by the first two numbers of its version.
[[nodiscard]] inline std::string kernel_version() {
    utsname about{};
    ::uname(&about);
    const std::string release = about.release;
    return "Linux " + release.substr(0, release.find('.', release.find('.') + 1));
}

#else
[[nodiscard]] inline std::string kernel_version() { return "an unknown system"; }
#endif

inline void seen(const char* device, const std::string& real_driver = kernel_version()) {
    std::printf("device: %s on the real driver: %s\n", device, real_driver.c_str());
}
inline void seen_on_fake_driver(const char* device) { std::printf("device: %s on a fake driver\n", device); }

}  // namespace tests
