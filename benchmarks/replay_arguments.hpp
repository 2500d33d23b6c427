// SPDX-License-Identifier: BSL-1.0
// What the command line of replay asks for, or what is wrong with it.
#pragma once

#include "replay.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace benchmarks {

inline constexpr std::string_view group_names[] = {"bump", "pool", "best_fit"};

struct replay_arguments {
    std::string allocator{}, group{};  // empty: all of them
    std::vector<std::string> traces{};
    std::string wrong{};               // empty: nothing is

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

/// `names`: of the allocators that there are.
inline replay_arguments parse(const std::vector<std::string>& arguments, const std::vector<std::string>& names) {
    replay_arguments asked;
    const auto refuse = [](std::string reason) {
        replay_arguments refused;
        refused.wrong = std::move(reason);
        return refused;
    };
    for (std::size_t i = 0; i != arguments.size(); ++i) {
        const std::string& each = arguments[i];
        std::string* const value = each == "--allocator" ? &asked.allocator : each == "--group" ? &asked.group : nullptr;
        if (value == nullptr && each.starts_with("-")) return refuse(each + ": there is no such option");
        if (value != nullptr && ++i == arguments.size()) return refuse(each + " wants a name");
        if (value == nullptr) asked.traces.push_back(each);
        else *value = arguments[i];
    }
    if (!asked.allocator.empty() && std::ranges::find(names, asked.allocator) == names.end())
        return refuse(asked.allocator + ": there is no such allocator, or it is not installed; there are " + listed(names));
    if (!asked.group.empty() && std::ranges::find(group_names, asked.group) == std::end(group_names))
        return refuse(asked.group + ": there is no such group; there are " + listed(group_names));
    return asked;
}

}  // namespace benchmarks
