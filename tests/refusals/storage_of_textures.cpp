// A storage in a texture scope, whose memory is allocated by shape.
// refused: allot: this scope's memory is allocated by shape and dtype: use alloc_texture
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

struct my_images {
    using region = allot::texture_region<int>;
    using error = int;
    allot::result<region, error> acquire(allot::texture_shape shape, allot::dtype type) noexcept {
        return region{1, shape, type};
    }
    void release(region) noexcept {}
};

int main() {
    my_images images;
    const allot::scope_map memories{allot::in_scope<allot::scope::texture>(images)};
#ifdef MISUSE
    auto fresh = allot::alloc_storage<allot::scope::texture>(memories, {8, 6, 4}, allot::int32);
#else
    auto fresh = allot::alloc_texture<allot::scope::texture>(memories, {8, 6, 4}, allot::int32);
#endif
    return fresh ? 0 : 1;
}
