// SPDX-License-Identifier: BSL-1.0
// page_cache: the cache of pages, with a policy of eviction that is selected at run time.
#include "counters.hpp"
#include "status.hpp"

#include <allot/page_cache.hpp>

#include <array>
#include <bit>

namespace {

using namespace allot_c;

constexpr std::size_t most_groups = 8;

/// Copies pages by the function of the caller.
struct copier {
    int (*copy)(void* user, const allot_page_place* from, const allot_page_place* to) = nullptr;
    void* user = nullptr;

    bool operator()(allot::page_place from, allot::page_place to) const noexcept {
        if (copy == nullptr) return false;
        const allot_page_place source = place_of(from), target = place_of(to);
        return copy(user, &source, &target) == 0;
    }
    [[nodiscard]] static allot_page_place place_of(const allot::page_place& of) noexcept {
        return {of.group, of.page, of.offset, of.bytes};
    }
};

}  // namespace

struct allot_page_cache {
    allot_page_cache(const own_memory& from, std::uint32_t policy, const allot::page_cache_limits& limits) noexcept
        : memory{from},
          eviction{policy},
          groups{static_cast<std::uint32_t>(limits.groups.size())},
          sequence_pages{limits.sequence_pages},
          compares_tokens{limits.compare_tokens} {
        for (std::uint32_t i = 0; i != groups; ++i) group[i] = limits.groups[i];
    }

    own_memory memory;
    std::uint32_t eviction;
    std::uint32_t groups;
    std::uint32_t sequence_pages;
    bool compares_tokens;
    std::array<allot::page_group, most_groups> group{};
};

namespace {

template <class Eviction>
struct cache_with : allot_page_cache {
    using cache_type = allot::page_cache<allot::page_stack, Eviction, copier>;
    using sequence_type = typename cache_type::sequence_type;

    cache_with(const own_memory& from, std::uint32_t policy, const allot::page_cache_limits& limits,
               own_array<std::byte>& bytes, copier copy) noexcept
        : allot_page_cache{from, policy, limits}, records{memory}, cache{limits, bytes.span(), copy} {
        records.swap(bytes);
    }

    /// Returns the sequence with a number. An even generation is that of a released sequence, so it becomes none.
    [[nodiscard]] static sequence_type sequence_of(allot_sequence number) noexcept {
        const auto parts = std::bit_cast<std::array<std::uint32_t, 2>>(number);
        return parts[1] % 2 == 0 ? sequence_type{} : std::bit_cast<sequence_type>(number);
    }
    [[nodiscard]] static allot_sequence number_of(sequence_type sequence) noexcept {
        return std::bit_cast<allot_sequence>(sequence);
    }

    /// Returns how many tokens each content of a sequence must have, or 0 for any number.
    [[nodiscard]] std::uint32_t tokens_for(sequence_type sequence) const noexcept {
        return tokens_if([&](std::uint32_t at) {
            const auto read = cache.read_pages(sequence, {}, at);
            return read || read.error() == allot::page_refusal::too_long;
        });
    }
    /// The same for a sequence of a model.
    [[nodiscard]] std::uint32_t tokens_for(std::uint32_t model) const noexcept {
        return tokens_if([&](std::uint32_t at) { return group[at].model == model; });
    }

    own_array<std::byte> records;
    cache_type cache;

private:
    template <class Condition>
    [[nodiscard]] std::uint32_t tokens_if(Condition is_group) const noexcept {
        if (!compares_tokens) return 0;
        for (std::uint32_t at = 0; at != groups; ++at)
            if (is_group(at)) return group[at].page_tokens;
        return 0;
    }
};

/// Calls `f(type)` with a value-initialized policy of eviction. Returns `otherwise` for an unknown number.
template <class Result, class Function>
[[nodiscard]] Result with_policy(std::uint32_t eviction, Result otherwise, Function f) noexcept {
    switch (eviction) {
        case ALLOT_EVICT_LRU: return f(std::type_identity<allot::lru_eviction>{});
        case ALLOT_EVICT_LEAF_FIRST: return f(std::type_identity<allot::leaf_first_eviction<allot::lru_eviction>>{});
        case ALLOT_EVICT_PRIORITY: return f(std::type_identity<allot::priority_eviction<>>{});
        case ALLOT_EVICT_REUSE: return f(std::type_identity<allot::reuse_eviction>{});
        case ALLOT_EVICT_S3_FIFO: return f(std::type_identity<allot::s3_fifo_eviction<>>{});
        default: return otherwise;
    }
}
/// Calls `f(cache)` with the cache in its own type.
template <class Function>
[[nodiscard]] allot_status with_cache(allot_page_cache* of, Function f) noexcept {
    if (of == nullptr) return ALLOT_NULL_ARGUMENT;
    return with_policy(of->eviction, allot_status{ALLOT_BAD_OPTION}, [&]<class Eviction>(std::type_identity<Eviction>) {
        return f(static_cast<cache_with<Eviction>&>(*of));
    });
}
/// The same for functions that change nothing.
template <class Function>
[[nodiscard]] allot_status with_cache(const allot_page_cache* of, Function f) noexcept {
    return with_cache(const_cast<allot_page_cache*>(of), [&](const auto& in) { return f(in); });
}

/// Contents of pages, in an array on the stack if they are few.
class contents {
public:
    explicit contents(const own_memory& memory) noexcept : many_{memory} {}

    /// Reads contents with `tokens` tokens each, or with any number of tokens if `tokens` is 0.
    [[nodiscard]] allot_status read(const allot_page_content* from, std::size_t count, std::uint32_t tokens) noexcept {
        if (from == nullptr && count != 0) return ALLOT_NULL_ARGUMENT;
        if (count > std::size(few_) && !many_.create(count)) return ALLOT_OUT_OF_MEMORY;
        auto* const to = count > std::size(few_) ? many_.data() : few_;
        for (std::size_t i = 0; i != count; ++i) {
            if (from[i].tokens == nullptr && from[i].token_count != 0) return ALLOT_NULL_ARGUMENT;
            if (tokens != 0 && from[i].token_count != tokens) return ALLOT_NOT_ONE_PAGE;
            to[i] = {{from[i].hash_high, from[i].hash_low}, {from[i].tokens, from[i].token_count}};
        }
        read_ = {to, count};
        return ALLOT_OK;
    }
    [[nodiscard]] std::span<const allot::page_content> pages() const noexcept { return read_; }

private:
    allot::page_content few_[32]{};
    own_array<allot::page_content> many_;
    std::span<const allot::page_content> read_{};
};

/// Converts the groups of the caller, or takes the default.
[[nodiscard]] allot_status read_groups(const allot_page_cache_options& wanted, own_array<allot::page_group>& groups,
                                       allot::page_cache_limits& limits) noexcept {
    if (wanted.group_count == 0) return ALLOT_OK;
    if (wanted.groups == nullptr) return ALLOT_NULL_ARGUMENT;
    if (wanted.group_count > most_groups) return ALLOT_PAGE_BAD_LIMITS;
    if (!groups.create(wanted.group_count)) return ALLOT_OUT_OF_MEMORY;
    for (std::size_t i = 0; i != wanted.group_count; ++i) {
        const allot_page_group& from = wanted.groups[i];
        if (from.reserved != 0) return ALLOT_BAD_OPTION;
        groups[i] = {narrowed(from.page_bytes), from.page_tokens, from.window, from.model};
    }
    limits.groups = groups.span();
    return ALLOT_OK;
}

template <class Eviction>
[[nodiscard]] allot_status create_cache(const allot_page_cache_options& wanted, const allot::page_cache_limits& limits,
                                        const own_memory& memory, allot_page_cache** made) noexcept {
    using handle = cache_with<Eviction>;
    const std::size_t bytes = handle::cache_type::bytes_for(limits);
    if (bytes == 0) return ALLOT_PAGE_BAD_LIMITS;
    own_array<std::byte> records{memory};
    void* const at = memory.allocate(sizeof(handle), alignof(handle));
    if (at == nullptr) return ALLOT_OUT_OF_MEMORY;
    if (!records.create(bytes)) {
        memory.release(at, sizeof(handle), alignof(handle));
        return ALLOT_OUT_OF_MEMORY;
    }
    *made = new (at) handle{memory, wanted.eviction, limits, records, {wanted.copy, wanted.user}};
    return ALLOT_OK;
}

}  // namespace

allot_status allot_page_cache_create(const allot_page_cache_options* options, allot_page_cache** made) {
    if (made == nullptr) return ALLOT_NULL_ARGUMENT;
    *made = nullptr;
    allot_page_cache_options wanted;
    if (const allot_status status = read_struct(options, wanted); status != ALLOT_OK) return status;
    const own_memory memory{wanted.callbacks};
    if (!memory.is_valid()) return ALLOT_NULL_ARGUMENT;
    if (wanted.compare_tokens > 1) return ALLOT_BAD_OPTION;
    own_array<allot::page_group> groups{memory};
    allot::page_cache_limits limits{.bytes = wanted.bytes, .compare_tokens = wanted.compare_tokens != 0};
    if (const allot_status status = read_groups(wanted, groups, limits); status != ALLOT_OK) return status;
    if (wanted.sequences != 0) limits.sequences = wanted.sequences;
    if (wanted.sequence_pages != 0) limits.sequence_pages = wanted.sequence_pages;
    return with_policy(wanted.eviction, allot_status{ALLOT_BAD_OPTION},
                       [&]<class Eviction>(std::type_identity<Eviction>) {
                           return create_cache<Eviction>(wanted, limits, memory, made);
                       });
}

void allot_page_cache_destroy(allot_page_cache* cache) {
    static_cast<void>(with_cache(cache, []<class Cache>(Cache& of) {
        destroy_handle(&of);
        return allot_status{ALLOT_OK};
    }));
}

allot_status allot_page_cache_start(allot_page_cache* cache, const allot_page_request* request, allot_sequence* made,
                                    uint32_t* tokens) {
    if (made != nullptr) *made = 0;
    if (tokens != nullptr) *tokens = 0;
    if (made == nullptr || tokens == nullptr) return ALLOT_NULL_ARGUMENT;
    return with_cache(cache, [&](auto& in) {
        allot_page_request wanted;
        if (const allot_status status = read_struct(request, wanted); status != ALLOT_OK) return status;
        if (wanted.priority > 15) return allot_status{ALLOT_BAD_OPTION};
        contents pages{in.memory};
        const std::uint32_t each = in.tokens_for(wanted.model);
        if (const allot_status status = pages.read(wanted.contents, wanted.content_count, each); status != ALLOT_OK)
            return status;
        const auto begun = in.cache.start(
            {pages.pages(), wanted.model, wanted.priority, allot::page_key{wanted.salt_high, wanted.salt_low}});
        if (!begun) return status_of(begun.error());
        *made = in.number_of(begun->sequence);
        *tokens = begun->tokens;
        return allot_status{ALLOT_OK};
    });
}

namespace {

/// Returns the code of a result, and writes its value unless `to` is null.
[[nodiscard]] allot_status write_value(const allot::result<std::uint32_t, allot::page_refusal>& from,
                                       uint32_t* to) noexcept {
    if (!from) return status_of(from.error());
    if (to != nullptr) *to = *from;
    return ALLOT_OK;
}

}  // namespace

allot_status allot_page_cache_append(allot_page_cache* cache, allot_sequence sequence, uint32_t tokens,
                                     uint32_t* added) {
    if (added != nullptr) *added = 0;
    return with_cache(cache,
                      [&](auto& in) { return write_value(in.cache.append(in.sequence_of(sequence), tokens), added); });
}

allot_status allot_page_cache_name(allot_page_cache* cache, allot_sequence sequence, const allot_page_content* given,
                                   size_t count, uint32_t* replaced) {
    if (replaced != nullptr) *replaced = 0;
    return with_cache(cache, [&](auto& in) {
        const auto of = in.sequence_of(sequence);
        contents pages{in.memory};
        if (const allot_status status = pages.read(given, count, in.tokens_for(of)); status != ALLOT_OK) return status;
        return write_value(in.cache.name(of, pages.pages()), replaced);
    });
}

allot_status allot_page_cache_fork(allot_page_cache* cache, allot_sequence sequence, allot_sequence* made) {
    if (made == nullptr) return ALLOT_NULL_ARGUMENT;
    *made = 0;
    return with_cache(cache, [&](auto& in) {
        const auto fork = in.cache.fork(in.sequence_of(sequence));
        if (!fork) return status_of(fork.error());
        *made = in.number_of(*fork);
        return allot_status{ALLOT_OK};
    });
}

allot_status allot_page_cache_truncate(allot_page_cache* cache, allot_sequence sequence, uint32_t tokens) {
    return with_cache(cache, [&](auto& in) {
        const allot::page_refusal refused = in.cache.truncate(in.sequence_of(sequence), tokens);
        return refused == allot::page_refusal::not_full ? allot_status{ALLOT_PAST_END} : status_of(refused);
    });
}

allot_status allot_page_cache_release(allot_page_cache* cache, allot_sequence sequence) {
    return with_cache(cache, [&](auto& in) { return status_of(in.cache.release(in.sequence_of(sequence))); });
}

allot_status allot_page_cache_pin(allot_page_cache* cache, allot_sequence sequence, int pinned) {
    return with_cache(cache, [&](auto& in) {
        const auto of = in.sequence_of(sequence);
        return status_of(pinned != 0 ? in.cache.pin(of) : in.cache.unpin(of));
    });
}

allot_status allot_page_cache_read_pages(const allot_page_cache* cache, allot_sequence sequence, uint32_t group,
                                         uint32_t* pages, size_t capacity, size_t* count) {
    if (count == nullptr) return ALLOT_NULL_ARGUMENT;
    *count = 0;
    if (pages == nullptr && capacity != 0) return ALLOT_NULL_ARGUMENT;
    return with_cache(cache, [&](const auto& in) {
        const auto read = in.cache.read_pages(in.sequence_of(sequence), {pages, capacity}, group);
        if (read) {
            *count = *read;
            return allot_status{ALLOT_OK};
        }
        if (read.error() == allot::page_refusal::not_a_model) return allot_status{ALLOT_NO_SUCH_GROUP};
        if (read.error() != allot::page_refusal::too_long) return status_of(read.error());
        *count = in.sequence_pages;  // the table may change during the call, so this is the number that always suffices
        return allot_status{ALLOT_TOO_SMALL};
    });
}

allot_status allot_page_cache_counts(const allot_page_cache* cache, uint32_t group, allot_page_counts* counts) {
    if (const allot_status status = clear_struct(counts); status != ALLOT_OK) return status;
    return with_cache(cache, [&](const auto& in) {
        if (group >= in.groups) return allot_status{ALLOT_NO_SUCH_GROUP};
        const allot::page_counts found = in.cache.counts(group);
        allot_page_counts now = ALLOT_PAGE_COUNTS_INIT;
        now.free = found.free;
        now.cached = found.cached;
        now.used = found.used;
        now.evictions = in.cache.evictions();
        write_struct(now, counts);
        return allot_status{ALLOT_OK};
    });
}
