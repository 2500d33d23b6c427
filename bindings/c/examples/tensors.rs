// The same in Rust: declarations of the functions that it calls, and an arena that is destroyed at the end of its scope.
use std::ffi::{c_void, CStr};
use std::os::raw::c_char;

#[repr(C)]
struct OffsetsOptions {
    struct_size: usize,
    size: u64,
    blocks: u64,
    callbacks: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    offset: u64,
    size: u64,
    record: u32,
    number: u32,
}

#[link(name = "allot_c")]
extern "C" {
    fn allot_status_text(status: i32) -> *const c_char;
    fn allot_offsets_create(options: *const OffsetsOptions, made: *mut *mut c_void) -> i32;
    fn allot_offsets_destroy(arena: *mut c_void);
    fn allot_offsets_allocate(arena: *mut c_void, size: u64, align: u64, block: *mut Block) -> i32;
    fn allot_offsets_free(arena: *mut c_void, block: *const Block) -> i32;
}

fn checked<T>(status: i32, value: T) -> Result<T, String> {
    if status == 0 {
        return Ok(value);
    }
    let text = unsafe { CStr::from_ptr(allot_status_text(status)) };
    Err(text.to_string_lossy().into_owned())
}

struct Offsets(*mut c_void);

impl Offsets {
    fn new(size: u64) -> Result<Offsets, String> {
        let options = OffsetsOptions {
            struct_size: std::mem::size_of::<OffsetsOptions>(),
            size,
            blocks: 0,
            callbacks: std::ptr::null(),
        };
        let mut made = std::ptr::null_mut();
        let status = unsafe { allot_offsets_create(&options, &mut made) };
        checked(status, Offsets(made))
    }
    fn allocate(&mut self, size: u64, align: u64) -> Result<Block, String> {
        let mut block = Block::default();
        let status = unsafe { allot_offsets_allocate(self.0, size, align, &mut block) };
        checked(status, block)
    }
    fn free(&mut self, block: &Block) -> Result<(), String> {
        checked(unsafe { allot_offsets_free(self.0, block) }, ())
    }
}

impl Drop for Offsets {
    fn drop(&mut self) {
        unsafe { allot_offsets_destroy(self.0) }
    }
}

fn main() -> Result<(), String> {
    let mut memory = Offsets::new(5120)?;
    let tensor = memory.allocate(1000, 256)?;
    let weights = memory.allocate(3000, 256)?;
    println!("tensor at {}, weights at {}", tensor.offset, weights.offset);
    memory.free(&tensor)?;
    println!("again: {}", memory.free(&tensor).unwrap_err());
    println!("5000 bytes: {}", memory.allocate(5000, 1).unwrap_err());
    memory.free(&weights)
}
