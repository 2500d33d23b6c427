// paged: blocks in pieces. Rows of one size from one allocator, the table that names them from another.
//
//     allot::paged<row_arena&, table_arena&, allot::pointer_table<2048>> tensors{rows, tables};
//     auto tensor = tensors.allocate({.size = 10'000, .align = 128});      // five rows, wherever there is room
//     auto byte = allot::pointer_table<2048>::locate(tensor.address, 4711);
//
// An allocator is referred to when its type is a reference and owned otherwise. Rows may come from memory that the host
// cannot touch; the table is written by the host. Where rows have tickets, these lie behind the entries.
//
// Complexity: that of one allocation per row and one for the table. Either all of it is allocated or nothing is: a
// failure midway gives back what it took. Memory: an entry, and a ticket where there is one, per row. Not synchronised.
#pragma once

#include <allot/address/pointer_table.hpp>
#include <allot/core/allocator.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace allot::inline v1 {

template <allocator Rows, allocator Tables, class Table>
class paged {
    using row_block = block_of<Rows>;
    using row_ticket = decltype(row_block::ticket);
    using value = typename Table::value;
    static constexpr bool keeps_tickets = !std::is_empty_v<row_ticket>;

    static_assert(std::same_as<typename std::remove_reference_t<Rows>::address_model, typename Table::row_model>,
                  "allot: the table names rows of another address model than its row allocator gives: state that model "
                  "as the third parameter of pointer_table");
    static_assert(std::remove_reference_t<Tables>::host_accessible &&
                      std::same_as<typename std::remove_reference_t<Tables>::address_model, raw_pointer>,
                  "allot: the host writes the table: give paged a table allocator over memory that the host can touch");
    static_assert(Table::row_bytes != std::dynamic_extent,
                  "allot: paged cuts rows of one size: state it as the first parameter of pointer_table");
    static_assert(std::is_trivially_copyable_v<row_ticket>);

public:
    using address_model = Table;
    using ticket_type = block_of<Tables>;  // the block that holds the table
    using block_type = block<row_table<Table>, ticket_type>;
    static constexpr bool host_accessible = std::remove_reference_t<Rows>::host_accessible;
    static constexpr offset_use offsets = std::remove_reference_t<Rows>::offsets;
    static constexpr dl_device_type dl_device = std::remove_reference_t<Rows>::dl_device;
    /// All of a block comes back, or it does not count; in the order of the one that needs an order.
    static constexpr reclaim reclaims = std::remove_reference_t<Rows>::reclaims == reclaim::any ||
                                                std::remove_reference_t<Tables>::reclaims == reclaim::never
                                            ? std::remove_reference_t<Tables>::reclaims
                                            : std::remove_reference_t<Rows>::reclaims;

    /// `origin` is what entries count from; pointers need none.
    paged(Rows&& rows, Tables&& tables, typename Table::row_address origin = {}) noexcept
        : rows_{std::forward<Rows>(rows)}, tables_{std::forward<Tables>(tables)}, origin_{origin} {}

    /// As many rows as hold `size` bytes, each aligned to `align`.
    [[nodiscard]] block_type allocate(layout wanted) noexcept { return try_allocate(wanted, nullptr); }

    void deallocate(block_type held) noexcept {
        if (held) give_back(held.ticket, held.address.count);
    }

    /// Why `allocate` would refuse: found out by trying, so that it is the answer of the allocator that refused.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        diagnosis why;
        const undo before{rows_, tables_};
        deallocate(try_allocate(wanted, &why));
        before.restore(rows_, tables_);
        return why;
    }

private:
    /// Where allocators that never take a block back stood, so that a failure leaves nothing used.
    struct undo {
        undo(Rows& rows, Tables& tables) noexcept : rows_mark{mark_of(rows)}, tables_mark{mark_of(tables)} {}
        void restore(Rows& rows, Tables& tables) const noexcept {
            if constexpr (markable_allocator<Rows>) rows.rollback(rows_mark);
            if constexpr (markable_allocator<Tables>) tables.rollback(tables_mark);
        }
        template <class Allocator>
        [[nodiscard]] static auto mark_of([[maybe_unused]] Allocator& allocator) noexcept {
            if constexpr (markable_allocator<Allocator>) return allocator.mark();
            else return false;
        }
        decltype(mark_of(std::declval<Rows&>())) rows_mark;
        decltype(mark_of(std::declval<Tables&>())) tables_mark;
    };

    [[nodiscard]] static layout table_layout(std::size_t rows) noexcept {
        layout whole{0, alignof(value)};
        if (!checked_multiply(rows, sizeof(value), whole.size)) return {};
        if constexpr (keeps_tickets) {
            std::size_t tickets = 0;
            if (!checked_multiply(rows, sizeof(row_ticket), tickets) ||
                !checked_align_up(whole.size, alignof(row_ticket), whole.size) ||
                !checked_add(whole.size, tickets, whole.size))
                return {};
            if (whole.align < alignof(row_ticket)) whole.align = alignof(row_ticket);
        }
        return whole;
    }
    [[nodiscard]] static value* entries(const ticket_type& table) noexcept {
        return static_cast<value*>(table.address);
    }
    [[nodiscard]] static row_ticket* tickets(const ticket_type& table, std::size_t rows) noexcept {
        const std::size_t behind = align_up(rows * sizeof(value), alignof(row_ticket));
        return reinterpret_cast<row_ticket*>(static_cast<std::byte*>(table.address) + behind);
    }

    [[nodiscard]] block_type try_allocate(layout wanted, diagnosis* why) noexcept {
        const auto refuse = [why](diagnosis answer) {
            if (why != nullptr) *why = answer;
            return block_type{};
        };
        if (const refusal bad = invalidity(wanted); bad != refusal::none) return refuse({bad});
        const std::size_t count = Table::rows_for(wanted.size);
        const layout for_table = table_layout(count), for_row{Table::row_bytes, wanted.align};
        if (for_table.size == 0) return refuse({refusal::over_limit});
        const undo before{rows_, tables_};
        const ticket_type table = tables_.allocate(for_table);
        if (!table) return refuse(why == nullptr ? diagnosis{} : tables_.diagnose(for_table));

        for (std::size_t row = 0; row != count; ++row) {
            row_block given = rows_.allocate(for_row);
            value entry{};
            if (given && Table::entry::encode(origin_, given.address, Table::row_bytes, entry)) {
                ::new (static_cast<void*>(entries(table) + row)) value{entry};
                if constexpr (keeps_tickets)
                    ::new (static_cast<void*>(tickets(table, count) + row)) row_ticket{given.ticket};
                continue;
            }
            diagnosis answer{refusal::over_limit};  // a row that the entry cannot name
            if (given) {
                rows_.deallocate(given);
            } else if (why != nullptr) {
                answer = rows_.diagnose(for_row);
            }
            give_back_rows(table, row, count);
            tables_.deallocate(table);
            before.restore(rows_, tables_);
            return refuse(answer);
        }
        return {{entries(table), count, origin_}, wanted.size, table};
    }

    void give_back(const ticket_type& table, std::size_t count) noexcept {
        give_back_rows(table, count, count);
        tables_.deallocate(table);
    }
    /// The last row first, as strategies that reclaim in that order need it.
    void give_back_rows(const ticket_type& table, std::size_t written, std::size_t count) noexcept {
        for (std::size_t row = written; row-- != 0;) {
            row_block held{Table::entry::decode(origin_, entries(table)[row], Table::row_bytes), Table::row_bytes, {}};
            if constexpr (keeps_tickets) held.ticket = tickets(table, count)[row];
            rows_.deallocate(held);
        }
    }

    Rows rows_;
    Tables tables_;
    typename Table::row_address origin_;
};

}  // namespace allot::inline v1
