// The functions of precise_math and their helpers.  A shader contains those that it uses, in this order.
//
// They rely only on integers and on +, - and * of floats, which every Vulkan device rounds correctly; the device's
// quotients and roots are first guesses.  Float arithmetic may flush denormals, so tests of the bits replace it there.

// -- bits ------------------------------------------------------------------------------------------------------------

// Whether x is NaN. A test of the bits is safe from compilers that assume that there is no NaN.
bool is_not_a_number(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

// Whether x is infinite.
bool is_infinite(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}

// |x| with the sign of y. Not (x & m) | (y & ~m), which lavapipe compiles wrongly where y & m is used elsewhere.
float with_sign(float x, float y) {
    uint y_bits = floatBitsToUint(y);
    return uintBitsToFloat(y_bits ^ ((floatBitsToUint(x) ^ y_bits) & 0x7fffffffu));
}

float not_a_number() {
    return uintBitsToFloat(0x7fc00000u);
}

float infinity() {
    return uintBitsToFloat(0x7f800000u);
}

// 2 to the power of n, for n from -126 to 127.
float power_of_two(int n) {
    return uintBitsToFloat(uint(n + 127) << 23);
}

// |x| = significand * 2^(exponent - 23) for a finite x other than 0; the significand has 24 bits.
void unpack(float x, out uint significand, out int exponent) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    uint fraction = bits & 0x7fffffu;
    if (bits >= 0x800000u) {
        significand = fraction | 0x800000u;
        exponent = int(bits >> 23) - 127;
    } else {
        int shift = 23 - findMSB(fraction);
        significand = fraction << shift;
        exponent = -126 - shift;
    }
}

// The float with this sign and the value bits * 2^(exponent - 30), bit 30 the leading one; rounded once, to even.
float round_bits(uint sign, uint bits, int exponent) {
    if (exponent > 127) {
        return uintBitsToFloat(sign | 0x7f800000u);
    }
    int dropped = 7 + max(-126 - exponent, 0);
    if (dropped > 31) {
        return uintBitsToFloat(sign);
    }
    uint kept = bits >> dropped;
    uint rest = bits & ((1u << dropped) - 1u);
    uint middle = 1u << (dropped - 1);
    if (rest > middle || (rest == middle && (kept & 1u) != 0u)) {
        kept += 1u;
    }
    // A carry out of the significand correctly increments the exponent.
    return uintBitsToFloat(sign | (exponent >= -126 ? (uint(exponent + 126) << 23) + kept : kept));
}

// The float with this sign and the value significand * 2^(exponent - 23), where the significand has 24 bits.
float pack(uint sign, uint significand, int exponent) {
    return round_bits(sign, significand << 7, exponent);
}

// x * 2^n, rounded once. Integer arithmetic, so that no device flushes a denormal.
float scale_by_power(float x, int n) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits == 0u || bits >= 0x7f800000u) {
        return x;
    }
    uint significand;
    int exponent;
    unpack(x, significand, exponent);
    return pack(floatBitsToUint(x) & 0x80000000u, significand, exponent + clamp(n, -1000, 1000));
}

// The significand of a finite x other than 0, as a float in [1, 2), and its exponent.
float normalized(float x, out int exponent) {
    uint significand;
    unpack(x, significand, exponent);
    return uintBitsToFloat(0x3f800000u | (significand & 0x7fffffu));
}

// -- pairs: a number as the unevaluated sum of two floats, about 48 bits ---------------------------------------------

// a + b exactly.
vec2 two_sum(float a, float b) {
    precise float sum = a + b;
    precise float second = sum - a;
    precise float first = sum - second;
    precise float rest = (a - first) + (b - second);
    return vec2(sum, rest);
}

// a + b exactly, where a is 0 or |a| >= |b|.
vec2 quick_two_sum(float a, float b) {
    precise float sum = a + b;
    precise float second = sum - a;
    precise float rest = b - second;
    return vec2(sum, rest);
}

// x without its lower 12 bits, so that products of two such parts are exact.
float upper_half(float x) {
    return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u);
}

// a * b exactly, without an fma, which some devices lack.
vec2 two_product(float a, float b) {
    float a_upper = upper_half(a);
    float b_upper = upper_half(b);
    precise float a_lower = a - a_upper;
    precise float b_lower = b - b_upper;
    precise float product = a * b;
    precise float rest = ((a_upper * b_upper - product) + a_upper * b_lower + a_lower * b_upper) + a_lower * b_lower;
    return vec2(product, rest);
}

vec2 pair_add(vec2 a, vec2 b) {
    vec2 sum = two_sum(a.x, b.x);
    precise float rest = sum.y + (a.y + b.y);
    return quick_two_sum(sum.x, rest);
}

vec2 pair_multiply(vec2 a, vec2 b) {
    vec2 product = two_product(a.x, b.x);
    precise float rest = product.y + (a.x * b.y + a.y * b.x);
    return quick_two_sum(product.x, rest);
}

// a / b: the device's quotient, which may be off by a few ulp, and the quotient of its remainder.
vec2 pair_divide(vec2 a, vec2 b) {
    precise float quotient = a.x / b.x;
    vec2 product = two_product(quotient, b.x);
    precise float rest = ((a.x - product.x) - product.y) + a.y - quotient * b.y;
    precise float correction = rest / b.x;
    return quick_two_sum(quotient, correction);
}

vec2 pair_sqrt(vec2 a) {
    if (a.x <= 0.0) {
        return vec2(0.0);
    }
    precise float root = sqrt(a.x);
    vec2 square = two_product(root, root);
    precise float rest = ((a.x - square.x) - square.y) + a.y;
    precise float correction = rest * (0.5 / root);
    return quick_two_sum(root, correction);
}

// -- exponential and logarithm ---------------------------------------------------------------------------------------

// exp(a) = (1 + result) * 2^exponent with the result from -0.3 to 0.42, for |a| < 200.
vec2 pair_expm1(vec2 a, out int exponent) {
    precise float whole = floor(a.x * 1.44269504 + 0.5);
    exponent = int(whole);
    // The first part of ln 2 has so few bits that its product is exact.
    precise float first = a.x - whole * 0.693145752;
    precise float second = a.y - whole * 1.42860677e-6;
    vec2 r = two_sum(first, second);
    float x = r.x;
    precise float square = x * x;
    precise float tail = square * (0.5 + x * (0.166666667 + x * (0.0416666667 + x * (0.00833333333
        + x * (0.00138888889 + x * (0.000198412698 + x * 2.48015873e-5))))));
    vec2 sum = quick_two_sum(x, tail);
    precise float rest = sum.y + r.y * (1.0 + x);
    return quick_two_sum(sum.x, rest);
}

// exp(a) = result * 2^exponent, for |a| < 200.
vec2 pair_exp(vec2 a, out int exponent) {
    vec2 above = pair_expm1(a, exponent);
    vec2 sum = quick_two_sum(1.0, above.x);
    precise float rest = sum.y + above.y;
    return quick_two_sum(sum.x, rest);
}

// exp(a) as a float: infinity or 0 beyond the range.
float rounded_exp(vec2 a) {
    if (a.x > 89.0) {
        return infinity();
    }
    if (a.x < -104.0) {
        return 0.0;
    }
    int exponent;
    vec2 size = pair_exp(a, exponent);
    return scale_by_power(size.x, exponent);
}

// exp(a) - 1 for a from -60 to 88.
vec2 pair_expm1_whole(vec2 a) {
    int exponent;
    vec2 above = pair_expm1(a, exponent);
    if (exponent == 0) {
        return above;
    }
    // 2^n (1 + r) - 1
    float scale = power_of_two(exponent);
    vec2 sum = two_sum(scale, -1.0);
    return pair_add(sum, above * scale);
}

// The natural logarithm of a * 2^exponent for a from 1/2 to 2, with a relative error of about 2^-31.
vec2 pair_log_scaled(vec2 a, int exponent) {
    if (a.x > 1.41421356) {
        a *= 0.5;
        exponent += 1;
    }
    // ln a = 2 atanh s, s = (a - 1) / (a + 1)
    precise float above = a.x - 1.0;
    vec2 sum = two_sum(a.x, 1.0);
    precise float sum_rest = sum.y + a.y;
    vec2 s = pair_divide(two_sum(above, a.y), vec2(sum.x, sum_rest));
    precise float z = s.x * s.x;
    precise float series = s.x * z * (0.666666667 + z * (0.4 + z * (0.285714286 + z * (0.222222222
        + z * (0.181818182 + z * 0.153846154)))));
    // The first part of ln 2 has so few bits that its product is exact.
    float whole = float(exponent);
    vec2 total = two_sum(whole * 0.693145752, 2.0 * s.x);
    precise float rest = total.y + (2.0 * s.y + (series + whole * 1.42860677e-6));
    return quick_two_sum(total.x, rest);
}

// The natural logarithm of a > 0 that is not denormal.
vec2 pair_log(vec2 a) {
    int exponent = int(floatBitsToUint(a.x) >> 23) - 127;
    return pair_log_scaled(a * power_of_two(-exponent), exponent);
}

// The natural logarithm of a finite x > 0.
vec2 log_of(float x) {
    int exponent;
    float size = normalized(x, exponent);
    return pair_log_scaled(vec2(size, 0.0), exponent);
}

// The logarithm of x where it is not finite; else 1.
float log_exception(float x) {
    if (x == 0.0 && (floatBitsToUint(x) & 0x7fffffffu) == 0u) {
        return -infinity();
    }
    if (is_not_a_number(x) || (floatBitsToUint(x) & 0x80000000u) != 0u) {
        return not_a_number();
    }
    return is_infinite(x) ? x : 1.0;
}

float precise_log(float x) {
    float exception = log_exception(x);
    return exception != 1.0 ? exception : log_of(x).x;
}

float precise_log2(float x) {
    float exception = log_exception(x);
    return exception != 1.0 ? exception : pair_multiply(log_of(x), vec2(1.44269502, 1.92596303e-8)).x;
}

float precise_log10(float x) {
    float exception = log_exception(x);
    return exception != 1.0 ? exception : pair_multiply(log_of(x), vec2(0.434294492, -1.00990708e-8)).x;
}

float precise_log1p(float x) {
    if (is_not_a_number(x) || x < -1.0) {
        return not_a_number();
    }
    if (x == -1.0) {
        return -infinity();
    }
    // Near 0 the result is x itself, which keeps the sign of 0.
    if (abs(x) < 2.98023224e-8 || is_infinite(x)) {
        return x;
    }
    return x > 1e10 ? log_of(x).x : pair_log(two_sum(1.0, x)).x;
}

float precise_exp(float x) {
    if (is_not_a_number(x)) {
        return not_a_number();
    }
    return rounded_exp(vec2(clamp(x, -200.0, 200.0), 0.0));
}

float precise_exp2(float x) {
    if (is_not_a_number(x)) {
        return not_a_number();
    }
    x = clamp(x, -200.0, 200.0);
    precise float whole = floor(x + 0.5);
    precise float part = x - whole;
    int exponent;
    vec2 size = pair_exp(pair_multiply(vec2(part, 0.0), vec2(0.693147182, -1.90465421e-9)), exponent);
    return scale_by_power(size.x, exponent + int(whole));
}

float precise_exp10(float x) {
    if (is_not_a_number(x)) {
        return not_a_number();
    }
    return rounded_exp(pair_multiply(vec2(clamp(x, -80.0, 80.0), 0.0), vec2(2.30258512, -3.19754436e-8)));
}

float precise_expm1(float x) {
    if (is_not_a_number(x) || abs(x) < 2.98023224e-8) {
        return x;
    }
    if (x > 88.0) {
        return rounded_exp(vec2(min(x, 200.0), 0.0));
    }
    return x < -20.0 ? -1.0 : pair_expm1_whole(vec2(x, 0.0)).x;
}

// x to the power of y, as C defines it for every argument.
float precise_pow(float x, float y) {
    uint size_bits = floatBitsToUint(x) & 0x7fffffffu;
    uint power_bits = floatBitsToUint(y) & 0x7fffffffu;
    bool is_negative = (floatBitsToUint(x) & 0x80000000u) != 0u;
    if (power_bits == 0u || floatBitsToUint(x) == 0x3f800000u) {
        return 1.0;
    }
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return not_a_number();
    }
    bool is_growing = (floatBitsToUint(y) & 0x80000000u) == 0u;
    if (power_bits == 0x7f800000u) {
        if (size_bits == 0x3f800000u) {
            return 1.0;
        }
        return (size_bits > 0x3f800000u) == is_growing ? infinity() : 0.0;
    }
    // Beyond 2^24 every float is an even number.
    bool is_whole = power_bits >= 0x4b800000u || trunc(y) == y;
    bool is_odd = is_whole && power_bits < 0x4b800000u && (int(y) & 1) != 0;
    float sign = is_negative && is_odd ? -1.0 : 1.0;
    if (size_bits == 0u || size_bits == 0x7f800000u) {
        return (size_bits == 0u) != is_growing ? sign * infinity() : with_sign(0.0, sign);
    }
    if (is_negative && !is_whole) {
        return not_a_number();
    }
    vec2 logarithm = log_of(uintBitsToFloat(size_bits));
    precise float estimate = logarithm.x * y;
    if (estimate > 100.0) {
        return sign * infinity();
    }
    if (estimate < -120.0) {
        return with_sign(0.0, sign);
    }
    float size = rounded_exp(pair_multiply(logarithm, vec2(y, 0.0)));
    return with_sign(size, sign);
}

// (exp(x) + sign * exp(-x)) / 2 for x >= 0: the hyperbolic cosine, and the hyperbolic sine away from 0.
float half_exponentials(float x, float sign) {
    if (x > 90.0) {
        return infinity();
    }
    int exponent;
    vec2 size = pair_exp(vec2(x, 0.0), exponent);
    if (exponent <= 20) {
        vec2 inverse = pair_divide(vec2(sign, 0.0), size);
        size = pair_add(size, inverse * power_of_two(-2 * exponent));
    }
    return scale_by_power(size.x, exponent - 1);
}

float precise_cosh(float x) {
    return is_not_a_number(x) ? x : half_exponentials(abs(x), 1.0);
}

float precise_sinh(float x) {
    if (is_not_a_number(x) || abs(x) < 0.000244140625) {
        return x;
    }
    if (abs(x) > 1.0) {
        return with_sign(half_exponentials(abs(x), -1.0), x);
    }
    precise float z = x * x;
    precise float series = x * z * (0.166666667 + z * (0.00833333333 + z * (0.000198412698 + z * (2.75573192e-6
        + z * 2.50521084e-8))));
    precise float result = x + series;
    return result;
}

float precise_tanh(float x) {
    if (is_not_a_number(x) || abs(x) < 0.000244140625) {
        return x;
    }
    if (abs(x) > 10.0) {
        return with_sign(1.0, x);
    }
    vec2 above = pair_expm1_whole(vec2(2.0 * abs(x), 0.0));
    return with_sign(pair_divide(above, pair_add(above, vec2(2.0, 0.0))).x, x);
}

float precise_asinh(float x) {
    float size = abs(x);
    if (is_not_a_number(x) || size < 0.000244140625 || is_infinite(x)) {
        return x;
    }
    if (size > 16384.0) {
        return with_sign(pair_add(log_of(size), vec2(0.693147182, -1.90465421e-9)).x, x);
    }
    // log(1 + x + x^2 / (1 + sqrt(1 + x^2)))
    vec2 square = two_product(size, size);
    vec2 root = pair_sqrt(pair_add(vec2(1.0, 0.0), square));
    vec2 above = pair_add(vec2(size, 0.0), pair_divide(square, pair_add(vec2(1.0, 0.0), root)));
    return with_sign(pair_log(pair_add(vec2(1.0, 0.0), above)).x, x);
}

float precise_acosh(float x) {
    if (is_not_a_number(x) || x < 1.0) {
        return not_a_number();
    }
    if (is_infinite(x)) {
        return x;
    }
    if (x > 16384.0) {
        return pair_add(log_of(x), vec2(0.693147182, -1.90465421e-9)).x;
    }
    vec2 root = pair_sqrt(pair_multiply(two_sum(x, -1.0), two_sum(x, 1.0)));
    return pair_log(pair_add(vec2(x, 0.0), root)).x;
}

float precise_atanh(float x) {
    float size = abs(x);
    if (is_not_a_number(x) || size > 1.0) {
        return not_a_number();
    }
    if (size == 1.0) {
        return with_sign(infinity(), x);
    }
    if (size < 0.000244140625) {
        return x;
    }
    vec2 ratio = pair_divide(two_sum(1.0, size), two_sum(1.0, -size));
    return with_sign(0.5 * pair_log(ratio).x, x);
}

// -- circular functions ----------------------------------------------------------------------------------------------

// A finite x as quadrant * pi / 2 + result, with the result from -pi/4 to pi/4 and a relative error of about 2^-47.
vec2 reduced_angle(float x, out int quadrant) {
    quadrant = 0;
    if (abs(x) <= 0.785398) {
        return vec2(x, 0.0);
    }
    uint significand;
    int exponent;
    unpack(x, significand, exponent);
    // 2 / pi: 32 bits before the binary point, then the bits after it.
    const uint two_over_pi[8] = uint[8](
        0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu
    );
    // The 96 bits of it that matter: the bits before them only add whole turns.
    int start = exponent + 7;
    int word = start >> 5;
    int shift = start & 31;
    uint first = two_over_pi[word];
    uint second = two_over_pi[word + 1];
    uint third = two_over_pi[word + 2];
    if (shift != 0) {
        first = (first << shift) | (second >> (32 - shift));
        second = (second << shift) | (third >> (32 - shift));
        third = (third << shift) | (two_over_pi[word + 3] >> (32 - shift));
    }
    // The fraction of a turn in 64 bits.
    uint carry;
    uint upper;
    uint lower;
    uint unused;
    umulExtended(significand, third, carry, unused);
    umulExtended(significand, second, upper, lower);
    lower = uaddCarry(lower, carry, carry);
    upper += carry + significand * first;
    uint turn = (upper + 0x20000000u) >> 30;
    upper -= turn << 30;
    bool is_negative = (upper & 0x80000000u) != 0u;
    if (is_negative) {
        upper = ~upper + (lower == 0u ? 1u : 0u);
        lower = ~lower + 1u;
    }
    // Its first 48 bits, times 2 pi.
    int zeros = upper != 0u ? 31 - findMSB(upper) : 63 - findMSB(lower);
    if (zeros >= 32) {
        upper = lower << (zeros - 32);
        lower = 0u;
    } else if (zeros > 0) {
        upper = (upper << zeros) | (lower >> (32 - zeros));
        lower <<= zeros;
    }
    vec2 part = vec2(float(upper >> 8), float(((upper & 0xffu) << 16) | (lower >> 16)) * 5.96046448e-8);
    vec2 angle = pair_multiply(part, vec2(6.28318548, -1.74845553e-7)) * power_of_two(-24 - zeros);
    bool is_below = (floatBitsToUint(x) & 0x80000000u) != 0u;
    quadrant = int(is_below ? 4u - turn : turn) & 3;
    return is_negative != is_below ? -angle : angle;
}

// The sine of an angle from -pi/4 to pi/4.
vec2 pair_sine(vec2 angle) {
    float x = angle.x;
    // Near 0 the sine is the angle itself, which keeps the sign of 0.
    if (abs(x) < 0.000244140625) {
        return angle;
    }
    precise float z = x * x;
    precise float series = x * z * (-0.166666667 + z * (0.00833333333 + z * (-0.000198412698 + z * 2.75255616e-6)));
    precise float rest = series + angle.y * (1.0 - 0.5 * z);
    return quick_two_sum(x, rest);
}

// The cosine of an angle from -pi/4 to pi/4.
vec2 pair_cosine(vec2 angle) {
    float x = angle.x;
    precise float z = x * x;
    precise float half_z = 0.5 * z;
    precise float series = z * z * (0.0416666667 + z * (-0.00138888889 + z * (2.48015873e-5 + z * -2.75573192e-7)));
    vec2 first = quick_two_sum(1.0, -half_z);
    precise float rest = first.y + (series - x * angle.y);
    return quick_two_sum(first.x, rest);
}

// The sine of quadrant * pi / 2 + angle.
float sine_in_quadrant(vec2 angle, int quadrant) {
    float size = (quadrant & 1) == 0 ? pair_sine(angle).x : pair_cosine(angle).x;
    return (quadrant & 2) == 0 ? size : -size;
}

// The tangent of quadrant * pi / 2 + angle.
float tangent_in_quadrant(vec2 angle, int quadrant) {
    if ((quadrant & 1) == 0 && abs(angle.x) < 0.000244140625) {
        return angle.x;
    }
    vec2 sine = pair_sine(angle);
    vec2 cosine = pair_cosine(angle);
    return (quadrant & 1) == 0 ? pair_divide(sine, cosine).x : pair_divide(-cosine, sine).x;
}

float precise_sin(float x) {
    if (is_not_a_number(x) || is_infinite(x)) {
        return not_a_number();
    }
    int quadrant;
    vec2 angle = reduced_angle(x, quadrant);
    return sine_in_quadrant(angle, quadrant);
}

float precise_cos(float x) {
    if (is_not_a_number(x) || is_infinite(x)) {
        return not_a_number();
    }
    int quadrant;
    vec2 angle = reduced_angle(x, quadrant);
    return sine_in_quadrant(angle, quadrant + 1);
}

float precise_tan(float x) {
    if (is_not_a_number(x) || is_infinite(x)) {
        return not_a_number();
    }
    int quadrant;
    vec2 angle = reduced_angle(x, quadrant);
    return tangent_in_quadrant(angle, quadrant);
}

// A finite x as quadrant / 2 + result, and the result times pi.
vec2 reduced_half_turns(float x, out int quadrant) {
    // Beyond 2^24 every float is an even number.
    float size = abs(x) >= 16777216.0 ? 0.0 : abs(x);
    precise float turns = size - 2.0 * floor(0.5 * size);
    precise float nearest = floor(2.0 * turns + 0.5);
    precise float part = turns - 0.5 * nearest;
    vec2 angle = pair_multiply(vec2(part, 0.0), vec2(3.14159274, -8.74227766e-8));
    if (size < 1e-20) {
        // The low part of the product may be flushed.
        precise float product = size * 3.14159274;
        angle = vec2(product, 0.0);
    }
    bool is_below = (floatBitsToUint(x) & 0x80000000u) != 0u;
    quadrant = (is_below ? 4 - int(nearest) : int(nearest)) & 3;
    return is_below ? -angle : angle;
}

float precise_sinpi(float x) {
    if (is_not_a_number(x) || is_infinite(x)) {
        return not_a_number();
    }
    int quadrant;
    vec2 angle = reduced_half_turns(x, quadrant);
    // The result for whole numbers is 0 with the sign of x.
    return angle.x == 0.0 && (quadrant & 1) == 0 ? with_sign(0.0, x) : sine_in_quadrant(angle, quadrant);
}

float precise_cospi(float x) {
    if (is_not_a_number(x) || is_infinite(x)) {
        return not_a_number();
    }
    int quadrant;
    vec2 angle = reduced_half_turns(x, quadrant);
    // The cosine of an odd number of quarter turns is +0 here; other libraries differ in its sign.
    return angle.x == 0.0 && (quadrant & 1) != 0 ? 0.0 : sine_in_quadrant(angle, quadrant + 1);
}

float precise_tanpi(float x) {
    if (is_not_a_number(x) || is_infinite(x)) {
        return not_a_number();
    }
    int quadrant;
    vec2 angle = reduced_half_turns(x, quadrant);
    if (angle.x == 0.0) {
        bool is_odd = (quadrant & 2) != 0;
        return (quadrant & 1) == 0 ? with_sign(0.0, is_odd ? -x : x) : (is_odd ? -infinity() : infinity());
    }
    return tangent_in_quadrant(angle, quadrant);
}

// The angle of the point (x, y): neither is negative, not both are 0, and their quotient stays in range.
vec2 pair_angle(vec2 y, vec2 x) {
    bool is_steep = y.x > x.x;
    vec2 numerator = is_steep ? x : y;
    vec2 denominator = is_steep ? y : x;
    vec2 base = vec2(0.0);
    if (numerator.x > 0.414213562 * denominator.x) {
        // atan(y / x) = pi/4 + atan((y - x) / (y + x))
        vec2 difference = pair_add(numerator, -denominator);
        denominator = pair_add(numerator, denominator);
        numerator = difference;
        base = vec2(0.785398185, -2.18556941e-8);
    }
    vec2 t = pair_divide(numerator, denominator);
    precise float z = t.x * t.x;
    precise float series = t.x * z * (-0.333333333 + z * (0.19999977 + z * (-0.142841411 + z * (0.110711995
        + z * (-0.0862356759 + z * 0.050455361))))) + t.y;
    vec2 angle = pair_add(base, quick_two_sum(t.x, series));
    return is_steep ? pair_add(vec2(1.57079637, -4.37113883e-8), -angle) : angle;
}

float precise_atan(float x) {
    if (is_not_a_number(x) || abs(x) < 0.000244140625) {
        return x;
    }
    return with_sign(pair_angle(vec2(min(abs(x), 1e30), 0.0), vec2(1.0, 0.0)).x, x);
}

// sqrt(1 - x^2) for x from 0 to 1.
vec2 pair_leg(float x) {
    return pair_sqrt(pair_multiply(two_sum(1.0, -x), two_sum(1.0, x)));
}

float precise_asin(float x) {
    if (is_not_a_number(x) || abs(x) > 1.0) {
        return not_a_number();
    }
    if (abs(x) < 0.000244140625) {
        return x;
    }
    float angle = pair_angle(vec2(abs(x), 0.0), pair_leg(abs(x))).x;
    // with_sign is not used: after a barrier, lavapipe (Mesa 22.3) would return only a few bits of the angle.
    return x < 0.0 ? -angle : angle;
}

float precise_acos(float x) {
    if (is_not_a_number(x) || abs(x) > 1.0) {
        return not_a_number();
    }
    vec2 angle = pair_angle(pair_leg(abs(x)), vec2(abs(x), 0.0));
    return x < 0.0 ? pair_add(vec2(3.14159274, -8.74227766e-8), -angle).x : angle.x;
}

// The angle of the point (x, y), as C defines it for every argument.
float precise_atan2(float y, float x) {
    if (is_not_a_number(y) || is_not_a_number(x)) {
        return not_a_number();
    }
    bool is_left = (floatBitsToUint(x) & 0x80000000u) != 0u;
    uint y_bits = floatBitsToUint(y) & 0x7fffffffu;
    uint x_bits = floatBitsToUint(x) & 0x7fffffffu;
    vec2 angle;
    if (y_bits == 0u) {
        angle = vec2(0.0);
    } else if (x_bits == 0u || (y_bits == 0x7f800000u) != (x_bits == 0x7f800000u)) {
        angle = x_bits == 0x7f800000u ? vec2(0.0) : vec2(1.57079637, -4.37113883e-8);
    } else if (y_bits == 0x7f800000u) {
        angle = vec2(0.785398185, -2.18556941e-8);
    } else {
        int y_exponent;
        int x_exponent;
        float y_size = normalized(y, y_exponent);
        float x_size = normalized(x, x_exponent);
        int apart = y_exponent - x_exponent;
        if (apart < -30 && !is_left) {
            float quotient = pair_divide(vec2(y_size, 0.0), vec2(x_size, 0.0)).x;
            return with_sign(scale_by_power(quotient, apart), y);
        }
        angle = pair_angle(vec2(y_size * power_of_two(clamp(apart, -60, 60)), 0.0), vec2(x_size, 0.0));
    }
    if (is_left) {
        angle = pair_add(vec2(3.14159274, -8.74227766e-8), -angle);
    }
    return with_sign(angle.x, y);
}

// -- roots -----------------------------------------------------------------------------------------------------------

// The square root, rounded correctly: integer arithmetic corrects the device's root.
float precise_sqrt(float x) {
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) == 0u || bits == 0x7f800000u) {
        return x;
    }
    if (bits > 0x7f800000u) {
        return not_a_number();
    }
    uint significand;
    int exponent;
    unpack(x, significand, exponent);
    // x = n * 2^(even), n from 2^46 to 2^48: its root has 24 bits. n - root^2 is small, so 32 bits suffice for it.
    bool is_odd = (exponent & 1) != 0;
    uint n = significand << (is_odd ? 24 : 23);
    float estimate = sqrt(float(significand) * (is_odd ? 2.0 : 1.0)) * 2896.30938;
    uint root = uint(estimate);
    int rest = int(n - root * root);
    for (int i = 0; i < 8 && rest < 0; i++) {
        root -= 1u;
        rest += 2 * int(root) + 1;
    }
    for (int i = 0; i < 8 && rest > 2 * int(root); i++) {
        rest -= 2 * int(root) + 1;
        root += 1u;
    }
    if (rest > int(root)) {
        root += 1u;
    }
    return pack(0u, root, exponent >> 1);
}

float precise_rsqrt(float x) {
    if (is_not_a_number(x)) {
        return x;
    }
    uint size_bits = floatBitsToUint(x) & 0x7fffffffu;
    if (size_bits == 0u) {
        return with_sign(infinity(), x);
    }
    if ((floatBitsToUint(x) & 0x80000000u) != 0u) {
        return not_a_number();
    }
    if (size_bits == 0x7f800000u) {
        return 0.0;
    }
    int exponent;
    float size = normalized(x, exponent);
    if ((exponent & 1) != 0) {
        size *= 2.0;
    }
    precise float root = inversesqrt(size);
    vec2 square = two_product(root, root);
    vec2 product = pair_multiply(square, vec2(size, 0.0));
    precise float rest = (1.0 - product.x) - product.y;
    precise float result = root + 0.5 * root * rest;
    return scale_by_power(result, -(exponent >> 1));
}

// x = result * 8^exponent, with the result in [1, 8).
float normalized_by_eight(float x, out int exponent) {
    int binary;
    float size = normalized(x, binary);
    int shifted = binary + 150;
    exponent = shifted / 3 - 50;
    return size * power_of_two(shifted - 3 * (shifted / 3));
}

float precise_cbrt(float x) {
    uint size_bits = floatBitsToUint(x) & 0x7fffffffu;
    if (size_bits == 0u || size_bits >= 0x7f800000u) {
        return x;
    }
    int exponent;
    float size = normalized_by_eight(x, exponent);
    // An integer third of the exponent, then Newton's steps, the last one with an exact remainder.
    float root = uintBitsToFloat(floatBitsToUint(size) / 3u + 0x2a5137a0u);
    for (int i = 0; i < 3; i++) {
        root -= (root - size / (root * root)) * 0.333333333;
    }
    precise float first = root;
    vec2 cube = pair_multiply(two_product(first, first), vec2(first, 0.0));
    precise float rest = (size - cube.x) - cube.y;
    precise float result = first + rest / (3.0 * first * first);
    return with_sign(scale_by_power(result, exponent), x);
}

float precise_rcbrt(float x) {
    uint size_bits = floatBitsToUint(x) & 0x7fffffffu;
    if (size_bits > 0x7f800000u) {
        return x;
    }
    if (size_bits == 0u || size_bits == 0x7f800000u) {
        return with_sign(size_bits == 0u ? infinity() : 0.0, x);
    }
    int exponent;
    float size = normalized_by_eight(x, exponent);
    float root = uintBitsToFloat(0x54a2fa8cu - floatBitsToUint(size) / 3u);
    for (int i = 0; i < 3; i++) {
        root += root * (1.0 - size * root * root * root) * 0.333333333;
    }
    precise float first = root;
    vec2 cube = pair_multiply(two_product(first, first), vec2(first, 0.0));
    vec2 product = pair_multiply(cube, vec2(size, 0.0));
    precise float rest = (1.0 - product.x) - product.y;
    precise float result = first + first * rest * 0.333333333;
    return with_sign(scale_by_power(result, -exponent), x);
}

float precise_hypot(float x, float y) {
    if (is_infinite(x) || is_infinite(y)) {
        return infinity();
    }
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return not_a_number();
    }
    uint x_bits = floatBitsToUint(x) & 0x7fffffffu;
    uint y_bits = floatBitsToUint(y) & 0x7fffffffu;
    float larger = uintBitsToFloat(max(x_bits, y_bits));
    float smaller = uintBitsToFloat(min(x_bits, y_bits));
    if (min(x_bits, y_bits) == 0u) {
        return larger;
    }
    int exponent;
    float a = normalized(larger, exponent);
    int other;
    float b = normalized(smaller, other);
    if (exponent - other > 26) {
        return larger;
    }
    b *= power_of_two(other - exponent);
    return scale_by_power(pair_sqrt(pair_add(two_product(a, a), two_product(b, b))).x, exponent);
}

// -- whole numbers and remainders ------------------------------------------------------------------------------------

// The nearest whole number; halves go to the even one.
float precise_nearbyint(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits >= 0x4b000000u) {
        return x;
    }
    float size = uintBitsToFloat(bits);
    float below = floor(size);
    precise float part = size - below;
    if (part > 0.5 || (part == 0.5 && (uint(below) & 1u) != 0u)) {
        below += 1.0;
    }
    return with_sign(below, x);
}

// The nearest whole number; halves go away from zero.
float precise_round(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits >= 0x4b000000u) {
        return x;
    }
    float size = uintBitsToFloat(bits);
    float below = floor(size);
    precise float part = size - below;
    return with_sign(part >= 0.5 ? below + 1.0 : below, x);
}

// x without its fraction, computed on the bits.
float precise_trunc(float x) {
    uint bits = floatBitsToUint(x);
    int exponent = int((bits >> 23) & 0xffu) - 127;
    if (exponent >= 23) {
        return x;
    }
    return uintBitsToFloat(exponent < 0 ? bits & 0x80000000u : bits & ~(0x7fffffu >> exponent));
}

float precise_floor(float x) {
    float whole = precise_trunc(x);
    bool is_between = floatBitsToUint(whole) != floatBitsToUint(x) && !is_not_a_number(x);
    return is_between && (floatBitsToUint(x) & 0x80000000u) != 0u ? whole - 1.0 : whole;
}

float precise_ceil(float x) {
    float whole = precise_trunc(x);
    bool is_between = floatBitsToUint(whole) != floatBitsToUint(x) && !is_not_a_number(x);
    return is_between && (floatBitsToUint(x) & 0x80000000u) == 0u ? whole + 1.0 : whole;
}

// x without its whole part, with the sign of x.
float modf_fraction(float x) {
    if (is_not_a_number(x)) {
        return x;
    }
    if (is_infinite(x)) {
        return with_sign(0.0, x);
    }
    float whole = precise_trunc(x);
    // A number below 1 is returned unchanged: arithmetic might flush it.
    precise float part = x - whole;
    return with_sign(abs(whole) == 0.0 ? x : part, x);
}

// x = result * 2^exponent, with |result| in [1/2, 1); 0, infinities and NaN are returned unchanged with exponent 0.
float frexp_significand(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits == 0u || bits >= 0x7f800000u) {
        return x;
    }
    uint significand;
    int exponent;
    unpack(x, significand, exponent);
    return pack(floatBitsToUint(x) & 0x80000000u, significand, -1);
}

int frexp_exponent(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits == 0u || bits >= 0x7f800000u) {
        return 0;
    }
    uint significand;
    int exponent;
    unpack(x, significand, exponent);
    return exponent + 1;
}

int precise_ilogb(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits == 0u || bits > 0x7f800000u) {
        return -2147483647 - 1;
    }
    return bits == 0x7f800000u ? 2147483647 : frexp_exponent(x) - 1;
}

float precise_logb(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits == 0u) {
        return -infinity();
    }
    if (bits >= 0x7f800000u) {
        return bits == 0x7f800000u ? infinity() : x;
    }
    return float(frexp_exponent(x) - 1);
}

// x * 2^y for a whole number y that is given as a float.
float precise_scalb(float x, float y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return not_a_number();
    }
    if (is_infinite(y)) {
        bool is_up = y > 0.0;
        if (is_up ? (floatBitsToUint(x) & 0x7fffffffu) == 0u : is_infinite(x)) {
            return not_a_number();
        }
        return with_sign(is_up ? infinity() : 0.0, x);
    }
    bool is_whole = floatBitsToUint(precise_trunc(y)) == floatBitsToUint(y);
    return is_whole ? scale_by_power(x, int(clamp(y, -1000.0, 1000.0))) : not_a_number();
}

// The remainder of |x| / |y| with the sign of x, and the last bits of the quotient, by exact long division of integers.
float divide_long(float x, float y, out uint quotient) {
    quotient = 0u;
    if (is_not_a_number(x) || is_infinite(x) || is_not_a_number(y) || (floatBitsToUint(y) & 0x7fffffffu) == 0u) {
        return not_a_number();
    }
    if ((floatBitsToUint(x) & 0x7fffffffu) == 0u || is_infinite(y)) {
        return x;
    }
    uint rest;
    uint divisor;
    int x_exponent;
    int y_exponent;
    unpack(x, rest, x_exponent);
    unpack(y, divisor, y_exponent);
    int steps = x_exponent - y_exponent;
    if (steps < 0) {
        return x;
    }
    quotient = rest >= divisor ? 1u : 0u;
    rest -= quotient * divisor;
    while (steps > 0) {
        int shift = min(steps, 8);
        rest <<= shift;
        uint part = rest / divisor;
        rest -= part * divisor;
        quotient = (quotient << shift) | part;
        steps -= shift;
    }
    uint sign = floatBitsToUint(x) & 0x80000000u;
    if (rest == 0u) {
        return uintBitsToFloat(sign);
    }
    int zeros = 23 - findMSB(rest);
    return pack(sign, rest << zeros, y_exponent - zeros);
}

float precise_fmod(float x, float y) {
    uint quotient;
    return divide_long(x, y, quotient);
}

// x - n * y for the whole number n nearest to x / y (ties to even), and the last bits of n with its sign.
float remainder_of(float x, float y, out int bits) {
    uint quotient;
    float rest = divide_long(x, y, quotient);
    bool is_opposite = ((floatBitsToUint(x) ^ floatBitsToUint(y)) & 0x80000000u) != 0u;
    uint rest_bits = floatBitsToUint(rest) & 0x7fffffffu;
    if (rest_bits < 0x7f800000u && rest_bits != 0u && !is_infinite(y)) {
        // |y| - remainder in integers, so that neither is flushed.
        uint size;
        int exponent;
        unpack(y, size, exponent);
        uint part;
        int part_exponent;
        unpack(rest, part, part_exponent);
        int apart = exponent - part_exponent;
        // Only a remainder of at least half of y matters: its exponent is that of y or one less.
        uint doubled = apart == 0 ? part << 1 : (apart == 1 ? part : 0u);
        if (doubled > size || (doubled == size && (quotient & 1u) != 0u)) {
            quotient += 1u;
            uint other = (size << 1) - doubled;
            int zeros = 23 - findMSB(other);
            uint sign = (floatBitsToUint(x) & 0x80000000u) ^ 0x80000000u;
            rest = pack(sign, other << zeros, exponent - 1 - zeros);
        }
    }
    int last = int(quotient & 0x7fffffffu);
    bits = is_opposite ? -last : last;
    return rest;
}

float precise_remainder(float x, float y) {
    int bits;
    return remainder_of(x, y, bits);
}

int remquo_bits(float x, float y) {
    int bits;
    remainder_of(x, y, bits);
    return bits;
}

// -- comparison and bits ---------------------------------------------------------------------------------------------

// An integer that sorts as the floats do, -0 before 0; denormals are not flushed.
int place_of(float x) {
    int bits = int(floatBitsToUint(x));
    return bits < 0 ? -1 - (bits & 0x7fffffff) : bits;
}

float precise_fmin(float x, float y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return is_not_a_number(x) ? y : x;
    }
    return place_of(x) < place_of(y) ? x : y;
}

float precise_fmax(float x, float y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return is_not_a_number(x) ? y : x;
    }
    return place_of(x) > place_of(y) ? x : y;
}

float precise_fdim(float x, float y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return not_a_number();
    }
    precise float difference = x - y;
    return x > y ? difference : 0.0;
}

// The float next to x in the direction of y.
float precise_nextafter(float x, float y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return not_a_number();
    }
    // The floats as integers of the same order.
    int from = int(floatBitsToUint(x));
    int to = int(floatBitsToUint(y));
    int from_place = from < 0 ? -(from & 0x7fffffff) : from;
    int to_place = to < 0 ? -(to & 0x7fffffff) : to;
    if (from_place == to_place) {
        return y;
    }
    bool is_up = to_place > from_place;
    if (from_place == 0) {
        return uintBitsToFloat(is_up ? 1u : 0x80000001u);
    }
    return uintBitsToFloat(uint(is_up == (from > 0) ? from + 1 : from - 1));
}

// FP_NAN 0, FP_INFINITE 1, FP_ZERO 2, FP_SUBNORMAL 3, FP_NORMAL 4.
int precise_fpclassify(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits >= 0x7f800000u) {
        return bits == 0x7f800000u ? 1 : 0;
    }
    return bits >= 0x800000u ? 4 : (bits == 0u ? 2 : 3);
}

// A 64-bit value shifted right; the lowest bit is sticky: set if a 1 was shifted out.
uvec2 shift_right_sticky(uvec2 value, int shift) {
    if (shift == 0) {
        return value;
    }
    if (shift >= 64) {
        return uvec2((value.x | value.y) != 0u ? 1u : 0u, 0u);
    }
    if (shift >= 32) {
        uint lost = value.x | (shift == 32 ? 0u : value.y << (64 - shift));
        uint kept = shift == 32 ? value.y : value.y >> (shift - 32);
        return uvec2(kept | (lost != 0u ? 1u : 0u), 0u);
    }
    uint lost = value.x << (32 - shift);
    uint lower = (value.x >> shift) | (value.y << (32 - shift));
    return uvec2(lower | (lost != 0u ? 1u : 0u), value.y >> shift);
}

// x * y + z, rounded once: the product of the significands has 48 bits, the sum is formed in 64 bits.
float precise_fma(float x, float y, float z) {
    uint x_bits = floatBitsToUint(x) & 0x7fffffffu;
    uint y_bits = floatBitsToUint(y) & 0x7fffffffu;
    uint z_bits = floatBitsToUint(z) & 0x7fffffffu;
    uint sign = (floatBitsToUint(x) ^ floatBitsToUint(y)) & 0x80000000u;
    uint z_sign = floatBitsToUint(z) & 0x80000000u;
    if (max(max(x_bits, y_bits), z_bits) >= 0x7f800000u) {
        bool is_infinite_product = x_bits == 0x7f800000u || y_bits == 0x7f800000u;
        bool is_opposite = z_bits == 0x7f800000u && sign != z_sign;
        bool is_undefined = is_infinite_product && (min(x_bits, y_bits) == 0u || is_opposite);
        if (max(max(x_bits, y_bits), z_bits) > 0x7f800000u || is_undefined) {
            return not_a_number();
        }
        return is_infinite_product ? uintBitsToFloat(sign | 0x7f800000u) : z;
    }
    if (min(x_bits, y_bits) == 0u) {
        return z_bits == 0u ? uintBitsToFloat(sign & z_sign) : z;
    }
    uint x_part;
    uint y_part;
    int x_exponent;
    int exponent;
    unpack(x, x_part, x_exponent);
    unpack(y, y_part, exponent);
    // Bit 62 or 61 is the leading one: value = sum * 2^(exponent - 61).
    exponent += x_exponent;
    uvec2 sum;
    umulExtended(x_part << 7, y_part << 8, sum.y, sum.x);
    if (z_bits != 0u) {
        uint z_part;
        int z_exponent;
        unpack(z, z_part, z_exponent);
        uvec2 term = uvec2(0u, z_part << 6);
        int apart = exponent - z_exponent;
        if (apart >= 0) {
            term = shift_right_sticky(term, min(apart, 64));
        } else {
            sum = shift_right_sticky(sum, min(-apart, 64));
            exponent = z_exponent;
        }
        if (sign == z_sign) {
            uint carry;
            sum.x = uaddCarry(sum.x, term.x, carry);
            sum.y += term.y + carry;
        } else {
            if (sum.y < term.y || (sum.y == term.y && sum.x < term.x)) {
                uvec2 other = sum;
                sum = term;
                term = other;
                sign = z_sign;
            }
            uint borrow;
            sum.x = usubBorrow(sum.x, term.x, borrow);
            sum.y -= term.y + borrow;
            if ((sum.x | sum.y) == 0u) {
                return 0.0;
            }
        }
    }
    // Rounds to 30 bits and a sticky bit, then to a float.
    int first = sum.y != 0u ? 32 + findMSB(sum.y) : findMSB(sum.x);
    exponent += first - 61;
    uint bits;
    if (first >= 30) {
        bits = shift_right_sticky(sum, first - 30).x;
    } else {
        bits = sum.x << (30 - first);
    }
    return round_bits(sign, bits, exponent);
}

// -- error functions -------------------------------------------------------------------------------------------------

// The error function of x from -1 to 1.
float erf_series(float x) {
    precise float z = x * x;
    precise float result = x + x * (0.128379167 + z * (-0.376126384 + z * (0.112837818 + z * (-0.0268653921
        + z * (0.00522092322 + z * (-0.000848250775 + z * (0.000112546408 + z * -9.63499136e-06)))))));
    return result;
}

// 1 - erf(x) for x from 1/2, times 2^-exponent: exp(-x^2) times a smooth function.
float erfc_scaled(vec2 x, out int exponent) {
    exponent = 0;
    if (x.x > 11.0) {
        return 0.0;
    }
    vec2 size = pair_exp(-pair_multiply(x, x), exponent);
    precise float t = (x.x - 2.0) / (x.x + 2.0);
    precise float smooth_part = 1.27697838 + t * (-0.0927638162 + t * (-0.166030345 + t * (0.164050748
        + t * (-0.0542211988 + t * (-0.00802622594 + t * (0.00873193179 + t * (0.0012236211 + t * (-0.00148512706
        + t * (-0.000321314822 + t * 0.000233989203)))))))));
    return pair_divide(pair_multiply(size, vec2(smooth_part, 0.0)), pair_add(vec2(1.0, 0.0), 2.0 * x)).x;
}

float erfc_tail(vec2 x) {
    int exponent;
    float size = erfc_scaled(x, exponent);
    return scale_by_power(size, exponent);
}

float precise_erf(float x) {
    if (is_not_a_number(x)) {
        return x;
    }
    if (abs(x) < 1.0) {
        return abs(x) < 0.000244140625 ? x * 1.12837917 : erf_series(x);
    }
    precise float result = 1.0 - erfc_tail(vec2(min(abs(x), 12.0), 0.0));
    return with_sign(result, x);
}

float precise_erfc(float x) {
    if (is_not_a_number(x)) {
        return x;
    }
    precise float result;
    if (abs(x) < 0.5) {
        result = 1.0 - erf_series(x);
    } else {
        result = erfc_tail(vec2(min(abs(x), 12.0), 0.0));
        if (x < 0.0) {
            result = 2.0 - result;
        }
    }
    return result;
}

// The standard normal distribution function.
float precise_phi(float x) {
    if (is_not_a_number(x)) {
        return x;
    }
    vec2 y = pair_multiply(vec2(min(abs(x), 20.0), 0.0), vec2(0.707106769, 1.21016175e-8));
    precise float result;
    if (y.x < 0.5) {
        result = 0.5 + 0.5 * with_sign(erf_series(y.x), x);
    } else {
        int exponent;
        float size = erfc_scaled(y, exponent);
        result = scale_by_power(size, exponent - 1);
        if (x > 0.0) {
            result = 1.0 - result;
        }
    }
    return result;
}

// The inverse error function of x > 0, where w = -log(1 - x^2).
float erfinv_of(float x, float w) {
    precise float result;
    if (w < 5.0) {
        precise float t = w - 3.25;
        precise float ratio;
        if (w < 1.6) {
            ratio = 0.886226923 + w * (0.232013804 + w * (0.0115478853 + w * (-0.00232934878
                + w * (-0.000138881056 + w * (5.7174162e-05 + w * -3.16600451e-06)))));
        } else {
            ratio = 1.68357866 + t * (0.238616496 + t * (-0.00629421706 + t * (-0.000649598093
                + t * (0.000177795155 + t * (-1.47200846e-05 + t * (-1.0314956e-06 + t * (3.70752816e-07
                + t * -2.51791059e-08)))))));
        }
        result = x * ratio;
        return result;
    }
    float root = pair_sqrt(vec2(w, 0.0)).x;
    if (root < 4.15) {
        precise float t = root - 3.2;
        result = 3.0335824 + t * (1.00502109 + t * (0.00503262951 + t * (-0.00262127917 + t * (0.000912507432
            + t * (-0.000233830112 + t * (1.62845199e-05 + t * (3.15887145e-05 + t * -1.50877263e-05)))))));
    } else {
        precise float t = root - 7.2;
        result = 7.07071837 + t * (1.0083914 + t * (-0.000507749122 + t * (1.06787176e-05 + t * (4.77030446e-06
            + t * (-1.3527136e-06 + t * (2.02713305e-07 + t * (-2.90775377e-08 + t * (1.14325019e-08
            + t * -1.97017867e-09))))))));
    }
    return result;
}

float precise_erfinv(float x) {
    float size = abs(x);
    if (is_not_a_number(x) || size > 1.0) {
        return not_a_number();
    }
    if (size == 1.0) {
        return with_sign(infinity(), x);
    }
    if (size < 0.000244140625) {
        return x * 0.886226925;
    }
    float w = -pair_log(pair_multiply(two_sum(1.0, -size), two_sum(1.0, size))).x;
    return with_sign(erfinv_of(size, w), x);
}

float precise_erfcinv(float x) {
    // The bits of every negative number are above those of -0, even if the device flushes the number.
    if (is_not_a_number(x) || floatBitsToUint(x) > 0x80000000u || x > 2.0) {
        return not_a_number();
    }
    if (x >= 0.5 && x <= 1.5) {
        return precise_erfinv(1.0 - x);
    }
    float size = x > 1.0 ? 2.0 - x : x;
    float result = infinity();
    if ((floatBitsToUint(size) & 0x7fffffffu) != 0u) {
        float w = -pair_add(log_of(size), pair_log(two_sum(2.0, -size))).x;
        result = erfinv_of(1.0 - size, w);
    }
    return x > 1.0 ? -result : result;
}

// The inverse of the standard normal distribution function.
float precise_probit(float x) {
    if (is_not_a_number(x) || floatBitsToUint(x) > 0x80000000u || x > 1.0) {
        return not_a_number();
    }
    if (x == 0.5) {
        return 0.0;
    }
    // 2 x exactly, also for a denormal.
    return -1.41421354 * precise_erfcinv(scale_by_power(x, 1));
}

// -- gamma -----------------------------------------------------------------------------------------------------------

float precise_tgamma(float x) {
    if (is_not_a_number(x)) {
        return x;
    }
    if ((floatBitsToUint(x) & 0x7fffffffu) == 0u) {
        return with_sign(infinity(), x);
    }
    if (x > 36.0) {
        return infinity();
    }
    float below = floor(x);
    if (x < 0.0 && below == x) {
        return not_a_number();
    }
    if (x < -46.0) {
        return floor(0.5 * below) * 2.0 == below ? 0.0 : -0.0;
    }
    if (abs(x) < 9.31322575e-10) {
        int exponent;
        float size = normalized(x, exponent);
        return with_sign(scale_by_power(pair_divide(vec2(1.0, 0.0), vec2(size, 0.0)).x, -exponent), x);
    }
    // The factors between reduce y to [1, 2]; each is scaled by 2^-5 to keep the product in range.
    int steps = int(abs(below - 1.0));
    float direction = x < 1.0 ? 1.0 : -1.0;
    vec2 product = vec2(1.0, 0.0);
    for (int i = 0; i < steps; i++) {
        vec2 factor = two_sum(x, direction * float(x < 1.0 ? i : i + 1));
        product = pair_multiply(product, factor * 0.03125);
    }
    vec2 y = two_sum(x, direction * float(steps));
    precise float t = (y.x - 1.5) + y.y;
    precise float inverse = 1.12837917 + t * (-0.0411745266 + t * (-0.526654446 + t * (0.175102038
        + t * (0.0509671938 + t * (-0.0421554311 + t * (0.00660922029 + t * (0.00212312307 + t * (-0.00109423263
        + t * 0.000142802306))))))));
    if (x < 1.0) {
        vec2 size = pair_divide(vec2(1.0, 0.0), pair_multiply(product, vec2(inverse, 0.0)));
        return scale_by_power(size.x, -5 * steps);
    }
    return scale_by_power(pair_divide(product, vec2(inverse, 0.0)).x, 5 * steps);
}

// log(gamma(2 + t)) for t from -1/2 to 1.
vec2 pair_lgamma_near_two(float t) {
    precise float ratio = 0.422784335 + t * (0.322467033 + t * (-0.0673522938 + t * (0.0205808191
        + t * (-0.00738572708 + t * (0.00289046987 + t * (-0.0011912095 + t * (0.000508731863
        + t * (-0.000228465049 + t * (0.000106551632 + t * (-4.14245457e-05 + t * 8.35983397e-06))))))))));
    return two_product(t, ratio);
}

// log(gamma(x)) for x from 2^-30 to 2^60.
vec2 pair_lgamma(float x) {
    if (x < 1.5) {
        // gamma(x) = gamma(x + 2) / (x (x + 1)), or gamma(x + 1) / x
        bool is_small = x < 0.5;
        vec2 factor = vec2(x, 0.0);
        if (is_small) {
            factor = pair_multiply(factor, two_sum(1.0, x));
        }
        return pair_add(pair_lgamma_near_two(is_small ? x : x - 1.0), -pair_log(factor));
    }
    if (x < 8.0) {
        vec2 product = vec2(1.0, 0.0);
        while (x >= 3.0) {
            x -= 1.0;
            product = pair_multiply(product, vec2(x, 0.0));
        }
        vec2 near_two = pair_lgamma_near_two(x - 2.0);
        return product.x == 1.0 ? near_two : pair_add(near_two, pair_log(product));
    }
    // Stirling's series.
    float inverse = 1.0 / x;
    float z = inverse * inverse;
    float series = inverse * (0.0833333333 - z * (0.00277777778 - z * (0.000793650794 - z * 0.000595238095)));
    vec2 size = pair_multiply(two_sum(x, -0.5), pair_add(log_of(x), vec2(-1.0, 0.0)));
    return pair_add(size, two_sum(0.418938547, series - 1.36647597e-8));
}

// The logarithm of |gamma(x)|.
float lgamma_size(float x) {
    if (is_not_a_number(x)) {
        return x;
    }
    float size = abs(x);
    if (is_infinite(x) || (floatBitsToUint(x) & 0x7fffffffu) == 0u || (x < 0.0 && floor(x) == x)) {
        return infinity();
    }
    if (size < 9.31322575e-10) {
        return -log_of(x).x;
    }
    if (size > 1.1e18) {
        // The other terms are negligible. The product is formed in parts, because it may overflow.
        vec2 product = pair_multiply(vec2(size * 9.53674316e-7, 0.0), pair_add(log_of(size), vec2(-1.0, 0.0)));
        return scale_by_power(product.x, 20);
    }
    vec2 result = pair_lgamma(size);
    if (x < 0.0) {
        // gamma(-y) gamma(y) = -pi / (y sin(pi y))
        int quadrant;
        vec2 angle = reduced_half_turns(size, quadrant);
        vec2 sine = (quadrant & 1) == 0 ? pair_sine(angle) : pair_cosine(angle);
        vec2 ratio = pair_multiply(pair_multiply(sine, vec2(size, 0.0)), vec2(0.318309873, 1.28412765e-8));
        result = -pair_add(result, pair_log(ratio.x < 0.0 ? -ratio : ratio));
    }
    return result.x;
}

// The sign of gamma(x): 1 or -1.
int lgamma_sign(float x) {
    uint bits = floatBitsToUint(x);
    if ((bits & 0x80000000u) == 0u || is_not_a_number(x) || is_infinite(x)) {
        return 1;
    }
    if (bits == 0x80000000u) {
        return -1;
    }
    // A negative denormal is between -1 and 0, even if the device flushes it.
    if (bits < 0x80800000u) {
        return -1;
    }
    float below = floor(x);
    return below == x || floor(0.5 * below) * 2.0 == below ? 1 : -1;
}
