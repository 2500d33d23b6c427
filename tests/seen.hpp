// Which devices tests have seen at work, and on what: lines that device_table.py makes the README's table of. Said at
// the end of a test; where a test fails, its program fails, and no table is made of that.
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
