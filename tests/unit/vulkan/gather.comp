// to[i] = from[table[i / row] * row + i % row], for words at offsets of one buffer.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) buffer All { uint words[]; };
layout(push_constant) uniform Arguments { uint to, from, table, count, row; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < count) words[to + i] = words[from + words[table + i / row] * row + i % row];
}
