// SPDX-License-Identifier: BSL-1.0
// The command line of replay, parsed.
#pragma once

#include "replay.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace benchmarks {

inline constexpr std::string_view group_names[] = {"bump", "pool", "best_fit"};

struct replay_arguments {
    std::string allocator{}, group{};  // empty: all
    std::vector<std::string> traces{};
    std::string wrong{};  // error message; empty: no error

    [[nodiscard]] bool has(std::string_view name, subject_group of) const {
        return (allocator.empty() || allocator == name) && (group.empty() || group == group_name(of));
    }

private:
    static constexpr std::string_view group_name(subject_group of) {
        switch (of) {
            case subject_group::bump: return "bump";
            case subject_group::pool:
            case subject_group::pool_beside: return "pool";
            default: return "best_fit";
        }
    }
};

template <class Names>
std::string listed(const Names& names) {
    std::string text;
    for (const auto& name : names) (text += text.empty() ? "" : ", ") += name;
    return text;
}

/// Parses `arguments`. `names`: the available allocators.
inline replay_arguments parse(const std::vector<std::string>& arguments, const std::vector<std::string>& names) {
    replay_arguments asked;
    const auto refuse = [](std::string reason) {
        replay_arguments refused;
        refused.wrong = std::move(reason);
        return refused;
    };
    for (std::size_t i = 0; i != arguments.size(); ++i) {
        const std::string& each = arguments[i];
        std::string* const value = each == "--allocator" ? &asked.allocator
                                   : each == "--group"   ? &asked.group
                                                         : nullptr;
        if (value == nullptr && each.starts_with("-")) return refuse(each + ": unknown option");
        if (value != nullptr && ++i == arguments.size()) return refuse(each + " needs a name");
        if (value == nullptr) asked.traces.push_back(each);
        else *value = arguments[i];
    }
    if (!asked.allocator.empty() && std::ranges::find(names, asked.allocator) == names.end())
        return refuse(asked.allocator + ": unknown or not installed allocator; available: " + listed(names));
    if (!asked.group.empty() && std::ranges::find(group_names, asked.group) == std::end(group_names))
        return refuse(asked.group + ": unknown group; available: " + listed(group_names));
    return asked;
}

}  // namespace benchmarks
