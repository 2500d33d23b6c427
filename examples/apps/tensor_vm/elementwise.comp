// Computes c = a (operation) b element by element over rows. Row r of an operand begins at entry r, in bytes from the
// operand's first word.
// Integers wrap. A 64-bit integer is two words, because not every device supports 64-bit integers.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(std430, set = 0, binding = 2) buffer C { uint c[]; };
layout(std430, set = 0, binding = 3) readonly buffer Rows { uint rows[]; };

struct operand { uint first, first_row, row_elements; };
layout(push_constant) uniform Arguments {
    operand of_a, of_b, of_c;
    uint count, what, type;
};
const uint add = 0, subtract = 1;                  // multiply has the remaining code
const uint type_int32 = 0, type_float32 = 2;       // int64 has the code in between

uint word_of(operand of, uint element, uint words) {
    return of.first + rows[of.first_row + element / of.row_elements] / 4 + element % of.row_elements * words;
}
uint integers(uint x, uint y) { return what == add ? x + y : what == subtract ? x - y : x * y; }
float reals(float x, float y) { return what == add ? x + y : what == subtract ? x - y : x * y; }
uvec2 long_integers(uvec2 x, uvec2 y) {
    uint low, high, carry;
    if (what == add) {
        low = uaddCarry(x.x, y.x, carry);
        return uvec2(low, x.y + y.y + carry);
    }
    if (what == subtract) {
        low = usubBorrow(x.x, y.x, carry);
        return uvec2(low, x.y - y.y - carry);
    }
    umulExtended(x.x, y.x, high, low);
    return uvec2(low, high + x.x * y.y + x.y * y.x);
}

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    const uint words = type == type_int32 || type == type_float32 ? 1 : 2;
    const uint x = word_of(of_a, i, words), y = word_of(of_b, i, words), z = word_of(of_c, i, words);
    if (type == type_int32) {
        c[z] = integers(a[x], b[y]);
    } else if (type == type_float32) {
        c[z] = floatBitsToUint(reals(uintBitsToFloat(a[x]), uintBitsToFloat(b[y])));
    } else {
        const uvec2 both = long_integers(uvec2(a[x], a[x + 1]), uvec2(b[y], b[y + 1]));
        c[z] = both.x;
        c[z + 1] = both.y;
    }
}
