// Which devices tests have seen at work, and on what: lines that device_table.py makes the README's table of. Said at
// the end of a test; where a test fails, its program fails, and no table is made of that.
#pragma once

#include <sys/utsname.h>

#include <cstdio>
#include <string>

namespace tests {

/// The kernel that this runs on, by the first two numbers of its version.
[[nodiscard]] inline std::string kernel_version() {
    utsname about{};
    ::uname(&about);
    const std::string release = about.release;
    return "Linux " + release.substr(0, release.find('.', release.find('.') + 1));
}

inline void seen(const char* device, const std::string& real_driver = kernel_version()) {
    std::printf("device: %s on the real driver: %s\n", device, real_driver.c_str());
}
inline void seen_on_fake_driver(const char* device) { std::printf("device: %s on a fake driver\n", device); }

}  // namespace tests
