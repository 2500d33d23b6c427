// to[i] = from[i] * factor + i, for words at offsets of two buffers.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) buffer To { uint to[]; };
layout(std430, set = 0, binding = 1) readonly buffer From { uint from[]; };
layout(push_constant) uniform Arguments { uint to_first, from_first, count, factor; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < count) to[to_first + i] = from[from_first + i] * factor + i;
}
