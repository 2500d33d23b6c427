// The same in Zig, which reads the structures of allot.h from these declarations.
const std = @import("std");

const OffsetsOptions = extern struct {
    struct_size: usize = @sizeOf(OffsetsOptions),
    size: u64 = 0,
    blocks: u64 = 0,
    callbacks: ?*const anyopaque = null,
};
const Block = extern struct { offset: u64 = 0, size: u64 = 0, record: u32 = 0, number: u32 = 0 };
const Offsets = opaque {};

extern fn allot_status_text(status: i32) [*:0]const u8;
extern fn allot_offsets_create(options: *const OffsetsOptions, made: *?*Offsets) i32;
extern fn allot_offsets_destroy(arena: ?*Offsets) void;
extern fn allot_offsets_allocate(arena: *Offsets, size: u64, alignment: u64, block: *Block) i32;
extern fn allot_offsets_free(arena: *Offsets, block: *const Block) i32;

fn check(status: i32) !void {
    if (status != 0) return error.Refused;
}

pub fn main() !void {
    var made: ?*Offsets = null;
    try check(allot_offsets_create(&.{ .size = 5120 }, &made));
    defer allot_offsets_destroy(made);
    const memory = made.?;
    var tensor = Block{};
    var weights = Block{};
    try check(allot_offsets_allocate(memory, 1000, 256, &tensor));
    try check(allot_offsets_allocate(memory, 3000, 256, &weights));
    std.debug.print("tensor at {d}, weights at {d}\n", .{ tensor.offset, weights.offset });
    try check(allot_offsets_free(memory, &tensor));
    std.debug.print("again: {s}\n", .{allot_status_text(allot_offsets_free(memory, &tensor))});
    std.debug.print("5000 bytes: {s}\n", .{allot_status_text(allot_offsets_allocate(memory, 5000, 1, &tensor))});
    try check(allot_offsets_free(memory, &weights));
}
