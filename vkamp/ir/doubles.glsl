// The functions of float64 and their helpers.  A shader contains those that it uses, in this order.
//
// GLSL has few functions of doubles.  These rely only on correctly rounded +, - and * of doubles and on 32-bit
// integers; the device's quotients and roots are first guesses.  Many overload the functions of floats.

// -- bits ------------------------------------------------------------------------------------------------------------

// The bits of |x|: the lower and the upper word.
uvec2 bits_of_size(double x) {
    uvec2 bits = unpackDouble2x32(x);
    bits.y &= 0x7fffffffu;
    return bits;
}

// The sign bit of x, in the upper word.
uint sign_of(double x) {
    return unpackDouble2x32(x).y & 0x80000000u;
}

// Whether x is NaN. A test of the bits is safe from compilers that assume that there is no NaN.
bool is_not_a_number(double x) {
    uvec2 bits = bits_of_size(x);
    return bits.y > 0x7ff00000u || (bits.y == 0x7ff00000u && bits.x != 0u);
}

// Whether x is infinite.
bool is_infinite(double x) {
    return bits_of_size(x) == uvec2(0u, 0x7ff00000u);
}

bool is_finite(double x) {
    return bits_of_size(x).y < 0x7ff00000u;
}

// Whether x is 0 of either sign, and not a denormal that a device flushes.
bool is_zero(double x) {
    return bits_of_size(x) == uvec2(0u);
}

// The magnitude of x with the sign of y.
double with_sign(double x, double y) {
    uvec2 bits = bits_of_size(x);
    return packDouble2x32(uvec2(bits.x, bits.y | sign_of(y)));
}

double double_not_a_number() {
    return packDouble2x32(uvec2(0u, 0x7ff80000u));
}

double double_infinity() {
    return packDouble2x32(uvec2(0u, 0x7ff00000u));
}

// 2 to the power of n, for n from -1022 to 1023.
double double_power_of_two(int n) {
    return packDouble2x32(uvec2(0u, uint(n + 1023) << 20));
}

// 64 bits shifted left by less than 64.
uvec2 shift_left(uvec2 value, int shift) {
    if (shift >= 32) {
        return uvec2(0u, value.x << (shift - 32));
    }
    return shift == 0 ? value : uvec2(value.x << shift, (value.y << shift) | (value.x >> (32 - shift)));
}

// 64 bits shifted right; the lowest bit is sticky: set if a 1 was shifted out.
uvec2 shift_right_keeping(uvec2 value, int shift) {
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

// |x| = significand * 2^(exponent - 52) for a finite x other than 0; the significand has 53 bits.
void unpack(double x, out uvec2 significand, out int exponent) {
    uvec2 bits = bits_of_size(x);
    if (bits.y >= 0x100000u) {
        significand = uvec2(bits.x, (bits.y & 0xfffffu) | 0x100000u);
        exponent = int(bits.y >> 20) - 1023;
    } else {
        int shift = bits.y != 0u ? 20 - findMSB(bits.y) : 52 - findMSB(bits.x);
        significand = shift_left(bits, shift);
        exponent = -1022 - shift;
    }
}

// The double with this sign and the value bits * 2^(exponent - 62), bit 62 the leading one; rounded once, to even.
double round_bits(uint sign, uvec2 bits, int exponent) {
    if (exponent > 1023) {
        return packDouble2x32(uvec2(0u, sign | 0x7ff00000u));
    }
    int dropped = 10 + max(-1022 - exponent, 0);
    // Two bits more than the result keeps: the rounding bit and the sticky bit.
    uvec2 kept = shift_right_keeping(bits, min(dropped - 2, 64));
    uint last = kept.x & 7u;
    kept = uvec2((kept.x >> 2) | (kept.y << 30), kept.y >> 2);
    if (last == 3u || last >= 6u) {
        kept.x += 1u;
        kept.y += kept.x == 0u ? 1u : 0u;
    }
    // A carry out of the significand correctly increments the exponent.
    return packDouble2x32(uvec2(kept.x, sign | ((exponent >= -1022 ? uint(exponent + 1022) << 20 : 0u) + kept.y)));
}

// x * 2^n, rounded once. Integer arithmetic, so that no device flushes a denormal.
double scale_by_power(double x, int n) {
    uvec2 bits = bits_of_size(x);
    if (bits == uvec2(0u) || bits.y >= 0x7ff00000u) {
        return x;
    }
    uvec2 significand;
    int exponent;
    unpack(x, significand, exponent);
    return round_bits(sign_of(x), shift_left(significand, 10), exponent + clamp(n, -5000, 5000));
}

// The significand of a finite x other than 0, as a double in [1, 2), and its exponent.
double normalized(double x, out int exponent) {
    uvec2 significand;
    unpack(x, significand, exponent);
    return packDouble2x32(uvec2(significand.x, 0x3ff00000u | (significand.y & 0xfffffu)));
}

// -- pairs: a number as the unevaluated sum of two doubles, about 106 bits -------------------------------------------

// a + b exactly.
dvec2 two_sum(double a, double b) {
    precise double sum = a + b;
    precise double second = sum - a;
    precise double first = sum - second;
    precise double rest = (a - first) + (b - second);
    return dvec2(sum, rest);
}

// a + b exactly, where a is 0 or |a| >= |b|.
dvec2 quick_two_sum(double a, double b) {
    precise double sum = a + b;
    precise double second = sum - a;
    precise double rest = b - second;
    return dvec2(sum, rest);
}

// x rounded to 26 bits; the rest has 26 bits too, so products of two such parts are exact.
double upper_half(double x) {
    uvec2 bits = unpackDouble2x32(x);
    uint carry;
    bits.x = uaddCarry(bits.x, 0x4000000u, carry) & 0xf8000000u;
    return packDouble2x32(uvec2(bits.x, bits.y + carry));
}

// a * b exactly, without an fma, which some devices lack.
dvec2 two_product(double a, double b) {
    double a_upper = upper_half(a);
    double b_upper = upper_half(b);
    precise double a_lower = a - a_upper;
    precise double b_lower = b - b_upper;
    precise double product = a * b;
    precise double rest = ((a_upper * b_upper - product) + a_upper * b_lower + a_lower * b_upper) + a_lower * b_lower;
    return dvec2(product, rest);
}

dvec2 pair_add(dvec2 a, dvec2 b) {
    dvec2 sum = two_sum(a.x, b.x);
    precise double rest = sum.y + (a.y + b.y);
    return quick_two_sum(sum.x, rest);
}

dvec2 pair_multiply(dvec2 a, dvec2 b) {
    dvec2 product = two_product(a.x, b.x);
    precise double rest = product.y + (a.x * b.y + a.y * b.x);
    return quick_two_sum(product.x, rest);
}

// a / b: the device's quotient, which may be off by a few ulp, and the quotient of its remainder.
dvec2 pair_divide(dvec2 a, dvec2 b) {
    precise double quotient = a.x / b.x;
    dvec2 product = two_product(quotient, b.x);
    precise double rest = ((a.x - product.x) - product.y) + a.y - quotient * b.y;
    precise double correction = rest / b.x;
    return quick_two_sum(quotient, correction);
}

dvec2 pair_sqrt(dvec2 a) {
    if (a.x <= 0.0lf) {
        return dvec2(0.0lf);
    }
    precise double root = sqrt(a.x);
    dvec2 square = two_product(root, root);
    precise double rest = ((a.x - square.x) - square.y) + a.y;
    precise double correction = rest * (0.5lf / root);
    return quick_two_sum(root, correction);
}

// -- exponential and logarithm ---------------------------------------------------------------------------------------

// exp(a) = (1 + result) * 2^exponent with the result from -0.3 to 0.42, for |a| < 1500.
dvec2 pair_expm1(dvec2 a, out int exponent) {
    precise double whole = floor(a.x * 1.4426950408889634lf + 0.5lf);
    exponent = int(whole);
    // The first part of ln 2 has so few bits that its product is exact.
    precise double first = a.x - whole * 0.693147180559663lf;
    precise double second = a.y - whole * 2.8235290563031577e-13lf;
    dvec2 r = two_sum(first, second);
    double x = r.x;
    precise double square = x * x;
    precise double tail = square * (0.5lf + x * (0.16666666666666666lf + x * (0.04166666666666668lf
        + x * (0.008333333333333333lf + x * (0.0013888888888879054lf + x * (0.00019841269841263285lf
        + x * (2.480158733649766e-05lf + x * (2.755731924725567e-06lf + x * (2.7557263219790347e-07lf
        + x * (2.505207105477011e-08lf + x * (2.09181596693241e-09lf + x * 1.6086642574672407e-10lf)))))))))));
    dvec2 sum = quick_two_sum(x, tail);
    precise double rest = sum.y + r.y * (1.0lf + x);
    return quick_two_sum(sum.x, rest);
}

// exp(a) = result * 2^exponent, for |a| < 1500.
dvec2 pair_exp(dvec2 a, out int exponent) {
    dvec2 above = pair_expm1(a, exponent);
    dvec2 sum = quick_two_sum(1.0lf, above.x);
    precise double rest = sum.y + above.y;
    return quick_two_sum(sum.x, rest);
}

// exp(a) as a double: infinity or 0 beyond the range.
double rounded_exp(dvec2 a) {
    if (a.x > 710.0lf) {
        return double_infinity();
    }
    if (a.x < -746.0lf) {
        return 0.0lf;
    }
    int exponent;
    dvec2 size = pair_exp(a, exponent);
    return scale_by_power(size.x, exponent);
}

// exp(a) - 1 for a from -60 to 700.
dvec2 pair_expm1_whole(dvec2 a) {
    int exponent;
    dvec2 above = pair_expm1(a, exponent);
    if (exponent == 0) {
        return above;
    }
    // 2^n (1 + r) - 1
    double scale = double_power_of_two(exponent);
    dvec2 sum = two_sum(scale, -1.0lf);
    return pair_add(sum, above * scale);
}

// The natural logarithm of a * 2^exponent for a from 1/2 to 2, with a relative error of about 2^-65.
dvec2 pair_log_scaled(dvec2 a, int exponent) {
    if (a.x > 1.4142135623730951lf) {
        a *= 0.5lf;
        exponent += 1;
    }
    // ln a = 2 atanh s, s = (a - 1) / (a + 1)
    precise double above = a.x - 1.0lf;
    dvec2 sum = two_sum(a.x, 1.0lf);
    precise double sum_rest = sum.y + a.y;
    dvec2 s = pair_divide(two_sum(above, a.y), dvec2(sum.x, sum_rest));
    dvec2 square = pair_multiply(s, s);
    double z = square.x;
    precise double tail = 0.4lf + z * (0.28571428571428564lf + z * (0.22222222222228444lf
        + z * (0.18181818179652515lf + z * (0.1538461576181261lf + z * (0.13333296483973292lf
        + z * (0.11766815303406082lf + z * (0.10456278375778207lf + z * 0.10762867423643212lf)))))));
    // s^3 (2/3 + tail z) is a small part of the logarithm, but large powers need it to more than 53 bits.
    dvec2 two_thirds = dvec2(0.6666666666666666lf, 3.700743415417188e-17lf);
    precise double second = two_thirds.y + z * tail;
    dvec2 series = pair_multiply(pair_multiply(s, square), quick_two_sum(two_thirds.x, second));
    // The first part of ln 2 has so few bits that its product is exact.
    double whole = double(exponent);
    dvec2 total = two_sum(whole * 0.693147180559663lf, 2.0lf * s.x);
    precise double rest = total.y + (2.0lf * s.y + whole * 2.8235290563031577e-13lf);
    return pair_add(quick_two_sum(total.x, rest), series);
}

// The natural logarithm of a > 0 that is not denormal.
dvec2 pair_log(dvec2 a) {
    int exponent = int(bits_of_size(a.x).y >> 20) - 1023;
    return pair_log_scaled(a * double_power_of_two(-exponent), exponent);
}

// The natural logarithm of a finite x > 0.
dvec2 log_of(double x) {
    int exponent;
    double size = normalized(x, exponent);
    return pair_log_scaled(dvec2(size, 0.0lf), exponent);
}

// The logarithm of x where it is not finite; else 1.
double log_exception(double x) {
    if (is_zero(x)) {
        return -double_infinity();
    }
    if (is_not_a_number(x) || sign_of(x) != 0u) {
        return double_not_a_number();
    }
    return is_infinite(x) ? x : 1.0lf;
}

double precise_log(double x) {
    double exception = log_exception(x);
    return exception != 1.0lf ? exception : log_of(x).x;
}

double precise_log2(double x) {
    double exception = log_exception(x);
    if (exception != 1.0lf) {
        return exception;
    }
    return pair_multiply(log_of(x), dvec2(1.4426950408889634lf, 2.0355273740931033e-17lf)).x;
}

double precise_log10(double x) {
    double exception = log_exception(x);
    if (exception != 1.0lf) {
        return exception;
    }
    return pair_multiply(log_of(x), dvec2(0.4342944819032518lf, 1.098319650216765e-17lf)).x;
}

double precise_log1p(double x) {
    if (is_not_a_number(x) || x < -1.0lf) {
        return double_not_a_number();
    }
    if (x == -1.0lf) {
        return -double_infinity();
    }
    // Near 0 the result is x itself, which keeps the sign of 0.
    if (abs(x) < 5.551115123125783e-17lf || is_infinite(x)) {
        return x;
    }
    return x > 1e20lf ? log_of(x).x : pair_log(two_sum(1.0lf, x)).x;
}

double precise_exp(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    return rounded_exp(dvec2(clamp(x, -1000.0lf, 1000.0lf), 0.0lf));
}

double precise_exp2(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    x = clamp(x, -2000.0lf, 2000.0lf);
    precise double whole = floor(x + 0.5lf);
    precise double part = x - whole;
    int exponent;
    dvec2 power = pair_multiply(dvec2(part, 0.0lf), dvec2(0.6931471805599453lf, 2.3190468138462996e-17lf));
    dvec2 size = pair_exp(power, exponent);
    return scale_by_power(size.x, exponent + int(whole));
}

double precise_exp10(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    x = clamp(x, -400.0lf, 400.0lf);
    return rounded_exp(pair_multiply(dvec2(x, 0.0lf), dvec2(2.302585092994046lf, -2.1707562233822494e-16lf)));
}

double precise_expm1(double x) {
    if (is_not_a_number(x) || abs(x) < 5.551115123125783e-17lf) {
        return x;
    }
    if (x > 700.0lf) {
        return rounded_exp(dvec2(min(x, 1000.0lf), 0.0lf));
    }
    return x < -50.0lf ? -1.0lf : pair_expm1_whole(dvec2(x, 0.0lf)).x;
}

// x to the power of y, as C defines it for every argument.
double precise_pow(double x, double y) {
    if (is_zero(y) || x == 1.0lf) {
        return 1.0lf;
    }
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return double_not_a_number();
    }
    double size = with_sign(x, 1.0lf);
    bool is_growing = sign_of(y) == 0u;
    if (is_infinite(y)) {
        if (size == 1.0lf) {
            return 1.0lf;
        }
        return (size > 1.0lf) == is_growing ? double_infinity() : 0.0lf;
    }
    // Beyond 2^53 every double is an even number.
    bool is_large = abs(y) >= 9007199254740992.0lf;
    bool is_whole = is_large || floor(y) == y;
    bool is_odd = is_whole && !is_large && floor(0.5lf * y) * 2.0lf != y;
    // The sign is set as a bit: NVIDIA's compiler multiplies an infinity by -1 wrongly.
    double sign = sign_of(x) != 0u && is_odd ? -1.0lf : 1.0lf;
    if (is_zero(x) || is_infinite(x)) {
        return is_zero(x) != is_growing ? with_sign(double_infinity(), sign) : with_sign(0.0lf, sign);
    }
    if (sign_of(x) != 0u && !is_whole) {
        return double_not_a_number();
    }
    dvec2 logarithm = log_of(size);
    precise double estimate = logarithm.x * y;
    if (estimate > 720.0lf) {
        return with_sign(double_infinity(), sign);
    }
    if (estimate < -760.0lf) {
        return with_sign(0.0lf, sign);
    }
    // This also holds where y is so small that parts of the product would be denormal.
    if (size == 1.0lf || abs(y) < 1e-30lf) {
        return sign;
    }
    return with_sign(rounded_exp(pair_multiply(logarithm, dvec2(y, 0.0lf))), sign);
}

// (exp(x) + sign * exp(-x)) / 2 for x >= 0: the hyperbolic cosine, and the hyperbolic sine away from 0.
double half_exponentials(double x, double sign) {
    if (x > 711.0lf) {
        return double_infinity();
    }
    int exponent;
    dvec2 size = pair_exp(dvec2(x, 0.0lf), exponent);
    if (exponent <= 40) {
        dvec2 inverse = pair_divide(dvec2(sign, 0.0lf), size);
        size = pair_add(size, inverse * double_power_of_two(-2 * exponent));
    }
    return scale_by_power(size.x, exponent - 1);
}

double precise_cosh(double x) {
    return is_not_a_number(x) ? x : half_exponentials(abs(x), 1.0lf);
}

double precise_sinh(double x) {
    if (is_not_a_number(x) || abs(x) < 7.450580596923828e-09lf) {
        return x;
    }
    if (abs(x) > 1.0lf) {
        return with_sign(half_exponentials(abs(x), -1.0lf), x);
    }
    precise double z = x * x;
    precise double series = x * z * (0.16666666666666666lf + z * (0.008333333333333333lf
        + z * (0.00019841269841269773lf + z * (2.755731922404034e-06lf + z * (2.505210836405804e-08lf
        + z * (1.6059048396350562e-10lf + z * (7.646625361656657e-13lf + z * 2.8445264169895285e-15lf)))))));
    precise double result = x + series;
    return result;
}

double precise_tanh(double x) {
    if (is_not_a_number(x) || abs(x) < 7.450580596923828e-09lf) {
        return x;
    }
    if (abs(x) > 20.0lf) {
        return with_sign(1.0lf, x);
    }
    dvec2 above = pair_expm1_whole(dvec2(2.0lf * abs(x), 0.0lf));
    return with_sign(pair_divide(above, pair_add(above, dvec2(2.0lf, 0.0lf))).x, x);
}

double precise_asinh(double x) {
    double size = abs(x);
    if (is_not_a_number(x) || size < 7.450580596923828e-09lf || is_infinite(x)) {
        return x;
    }
    if (size > 1e10lf) {
        return with_sign(pair_add(log_of(size), dvec2(0.6931471805599453lf, 2.3190468138462996e-17lf)).x, x);
    }
    // log(1 + x + x^2 / (1 + sqrt(1 + x^2)))
    dvec2 square = two_product(size, size);
    dvec2 root = pair_sqrt(pair_add(dvec2(1.0lf, 0.0lf), square));
    dvec2 above = pair_add(dvec2(size, 0.0lf), pair_divide(square, pair_add(dvec2(1.0lf, 0.0lf), root)));
    return with_sign(pair_log(pair_add(dvec2(1.0lf, 0.0lf), above)).x, x);
}

double precise_acosh(double x) {
    if (is_not_a_number(x) || x < 1.0lf) {
        return double_not_a_number();
    }
    if (is_infinite(x)) {
        return x;
    }
    if (x > 1e10lf) {
        return pair_add(log_of(x), dvec2(0.6931471805599453lf, 2.3190468138462996e-17lf)).x;
    }
    dvec2 root = pair_sqrt(pair_multiply(two_sum(x, -1.0lf), two_sum(x, 1.0lf)));
    return pair_log(pair_add(dvec2(x, 0.0lf), root)).x;
}

double precise_atanh(double x) {
    double size = abs(x);
    if (is_not_a_number(x) || size > 1.0lf) {
        return double_not_a_number();
    }
    if (size == 1.0lf) {
        return with_sign(double_infinity(), x);
    }
    if (size < 7.450580596923828e-09lf) {
        return x;
    }
    dvec2 ratio = pair_divide(two_sum(1.0lf, size), two_sum(1.0lf, -size));
    return with_sign(0.5lf * pair_log(ratio).x, x);
}

// -- circular functions ----------------------------------------------------------------------------------------------

// A finite x as quadrant * pi / 2 + result, with the result from -pi/4 to pi/4 and a relative error of about 2^-70.
dvec2 reduced_angle(double x, out int quadrant) {
    quadrant = 0;
    if (abs(x) <= 0.785398163397448lf) {
        return dvec2(x, 0.0lf);
    }
    uvec2 significand;
    int exponent;
    unpack(x, significand, exponent);
    // 2 / pi: 64 bits before the binary point, then the bits after it.
    const uint two_over_pi[40] = uint[40](
        0u, 0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
        0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
        0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu,
        0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
        0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu
    );
    // The 192 bits of it that matter, lowest word first: the bits before them only add whole turns.
    int start = exponent + 10;
    int word = start >> 5;
    int shift = start & 31;
    uint factor[6];
    for (int i = 0; i < 6; i++) {
        uint upper = two_over_pi[word + i];
        factor[5 - i] = shift == 0 ? upper : (upper << shift) | (two_over_pi[word + i + 1] >> (32 - shift));
    }
    // The fraction of a turn: the product with the lower word of the significand, plus that with the upper word.
    uint turn[6];
    uint carry = 0u;
    for (int i = 0; i < 6; i++) {
        uint upper;
        uint lower;
        umulExtended(significand.x, factor[i], upper, lower);
        uint more;
        turn[i] = uaddCarry(lower, carry, more);
        carry = upper + more;
    }
    carry = 0u;
    for (int i = 0; i < 5; i++) {
        uint upper;
        uint lower;
        umulExtended(significand.y, factor[i], upper, lower);
        uint more;
        lower = uaddCarry(lower, carry, more);
        carry = upper + more;
        turn[i + 1] = uaddCarry(turn[i + 1], lower, more);
        carry += more;
    }
    // After the nearest quarter is subtracted, the first word may be negative and the others may cancel it.
    uint quarter = (turn[5] + 0x20000000u) >> 30;
    dvec2 part = two_sum(double(int(turn[5] - (quarter << 30))), double(turn[4]) * double_power_of_two(-32));
    for (int i = 3; i >= 0; i--) {
        part = pair_add(part, dvec2(double(turn[i]) * double_power_of_two(32 * i - 160), 0.0lf));
    }
    dvec2 angle = pair_multiply(part * double_power_of_two(-32), dvec2(6.283185307179586lf, 2.4492935982947064e-16lf));
    bool is_below = sign_of(x) != 0u;
    quadrant = int(is_below ? 4u - quarter : quarter) & 3;
    return is_below ? -angle : angle;
}

// The sine of an angle from -pi/4 to pi/4.
dvec2 pair_sine(dvec2 angle) {
    double x = angle.x;
    // Near 0 the sine is the angle itself, which keeps the sign of 0.
    if (abs(x) < 7.450580596923828e-09lf) {
        return angle;
    }
    precise double z = x * x;
    precise double series = x * z * (-0.16666666666666666lf + z * (0.008333333333333333lf
        + z * (-0.00019841269841269839lf + z * (2.755731922398109e-06lf + z * (-2.50521083823851e-08lf
        + z * (1.6059042779805549e-10lf + z * (-7.646961188578481e-13lf + z * 2.7912360888622325e-15lf)))))));
    precise double rest = series + angle.y * (1.0lf - 0.5lf * z);
    return quick_two_sum(x, rest);
}

// The cosine of an angle from -pi/4 to pi/4.
dvec2 pair_cosine(dvec2 angle) {
    double x = angle.x;
    precise double z = x * x;
    precise double half_z = 0.5lf * z;
    precise double series = z * z * (0.041666666666666664lf + z * (-0.0013888888888888887lf
        + z * (2.4801587301584642e-05lf + z * (-2.755731922139864e-07lf + z * (2.08767557896288e-09lf
        + z * (-1.1470460657567371e-11lf + z * 4.745858344161125e-14lf))))));
    dvec2 first = quick_two_sum(1.0lf, -half_z);
    precise double rest = first.y + (series - x * angle.y);
    return quick_two_sum(first.x, rest);
}

// The sine of quadrant * pi / 2 + angle.
double sine_in_quadrant(dvec2 angle, int quadrant) {
    double size = (quadrant & 1) == 0 ? pair_sine(angle).x : pair_cosine(angle).x;
    return (quadrant & 2) == 0 ? size : -size;
}

// The tangent of quadrant * pi / 2 + angle.
double tangent_in_quadrant(dvec2 angle, int quadrant) {
    if ((quadrant & 1) == 0 && abs(angle.x) < 7.450580596923828e-09lf) {
        return angle.x;
    }
    dvec2 sine = pair_sine(angle);
    dvec2 cosine = pair_cosine(angle);
    return (quadrant & 1) == 0 ? pair_divide(sine, cosine).x : pair_divide(-cosine, sine).x;
}

double precise_sin(double x) {
    if (!is_finite(x)) {
        return double_not_a_number();
    }
    int quadrant;
    dvec2 angle = reduced_angle(x, quadrant);
    return sine_in_quadrant(angle, quadrant);
}

double precise_cos(double x) {
    if (!is_finite(x)) {
        return double_not_a_number();
    }
    int quadrant;
    dvec2 angle = reduced_angle(x, quadrant);
    return sine_in_quadrant(angle, quadrant + 1);
}

double precise_tan(double x) {
    if (!is_finite(x)) {
        return double_not_a_number();
    }
    int quadrant;
    dvec2 angle = reduced_angle(x, quadrant);
    return tangent_in_quadrant(angle, quadrant);
}

// A finite x as quadrant / 2 + result, and the result times pi.
dvec2 reduced_half_turns(double x, out int quadrant) {
    // Beyond 2^53 every double is an even number.
    double size = abs(x) >= 9007199254740992.0lf ? 0.0lf : abs(x);
    precise double turns = size - 2.0lf * floor(0.5lf * size);
    precise double nearest = floor(2.0lf * turns + 0.5lf);
    precise double part = turns - 0.5lf * nearest;
    dvec2 angle = pair_multiply(dvec2(part, 0.0lf), dvec2(3.141592653589793lf, 1.2246467991473532e-16lf));
    if (size < 1e-200lf) {
        // The low part of the product may be flushed.
        precise double product = size * 3.141592653589793lf;
        angle = dvec2(product, 0.0lf);
    }
    bool is_below = sign_of(x) != 0u;
    quadrant = (is_below ? 4 - int(nearest) : int(nearest)) & 3;
    return is_below ? -angle : angle;
}

double precise_sinpi(double x) {
    if (!is_finite(x)) {
        return double_not_a_number();
    }
    int quadrant;
    dvec2 angle = reduced_half_turns(x, quadrant);
    // The result for whole numbers is 0 with the sign of x.
    return angle.x == 0.0lf && (quadrant & 1) == 0 ? with_sign(0.0lf, x) : sine_in_quadrant(angle, quadrant);
}

double precise_cospi(double x) {
    if (!is_finite(x)) {
        return double_not_a_number();
    }
    int quadrant;
    dvec2 angle = reduced_half_turns(x, quadrant);
    // The cosine of an odd number of quarter turns is +0 here; other libraries differ in its sign.
    return angle.x == 0.0lf && (quadrant & 1) != 0 ? 0.0lf : sine_in_quadrant(angle, quadrant + 1);
}

double precise_tanpi(double x) {
    if (!is_finite(x)) {
        return double_not_a_number();
    }
    int quadrant;
    dvec2 angle = reduced_half_turns(x, quadrant);
    if (angle.x == 0.0lf) {
        bool is_odd = (quadrant & 2) != 0;
        if ((quadrant & 1) == 0) {
            return with_sign(0.0lf, is_odd ? -x : x);
        }
        return is_odd ? -double_infinity() : double_infinity();
    }
    return tangent_in_quadrant(angle, quadrant);
}

// The angle of the point (x, y): neither is negative, not both are 0, and their quotient stays in range.
dvec2 pair_angle(dvec2 y, dvec2 x) {
    bool is_steep = y.x > x.x;
    dvec2 numerator = is_steep ? x : y;
    dvec2 denominator = is_steep ? y : x;
    dvec2 base = dvec2(0.0lf);
    if (numerator.x > 0.41421356237309503lf * denominator.x) {
        // atan(y / x) = pi/4 + atan((y - x) / (y + x))
        dvec2 difference = pair_add(numerator, -denominator);
        denominator = pair_add(numerator, denominator);
        numerator = difference;
        base = dvec2(0.7853981633974483lf, 3.061616997868383e-17lf);
    }
    dvec2 t = pair_divide(numerator, denominator);
    precise double z = t.x * t.x;
    precise double tail = z * (-0.3333333333333333lf + z * (0.19999999999999993lf + z * (-0.14285714285711518lf
        + z * (0.11111111110754596lf + z * (-0.09090909067001965lf + z * (0.07692306735718386lf
        + z * (-0.06666642013802823lf + z * (0.058819251621305094lf + z * (-0.052580406718134826lf
        + z * (0.0471938939438005lf + z * (-0.041044134902075015lf + z * (0.03063517636855608lf
        + z * -0.013917695219310572lf))))))))))));
    precise double series = t.x * tail + t.y;
    dvec2 angle = pair_add(base, quick_two_sum(t.x, series));
    return is_steep ? pair_add(dvec2(1.5707963267948966lf, 6.123233995736766e-17lf), -angle) : angle;
}

double precise_atan(double x) {
    if (is_not_a_number(x) || abs(x) < 7.450580596923828e-09lf) {
        return x;
    }
    return with_sign(pair_angle(dvec2(min(abs(x), 1e60lf), 0.0lf), dvec2(1.0lf, 0.0lf)).x, x);
}

// sqrt(1 - x^2) for x from 0 to 1.
dvec2 pair_leg(double x) {
    return pair_sqrt(pair_multiply(two_sum(1.0lf, -x), two_sum(1.0lf, x)));
}

double precise_asin(double x) {
    if (is_not_a_number(x) || abs(x) > 1.0lf) {
        return double_not_a_number();
    }
    if (abs(x) < 7.450580596923828e-09lf) {
        return x;
    }
    double angle = pair_angle(dvec2(abs(x), 0.0lf), pair_leg(abs(x))).x;
    return with_sign(angle, x);
}

double precise_acos(double x) {
    if (is_not_a_number(x) || abs(x) > 1.0lf) {
        return double_not_a_number();
    }
    dvec2 angle = pair_angle(pair_leg(abs(x)), dvec2(abs(x), 0.0lf));
    return x < 0.0lf ? pair_add(dvec2(3.141592653589793lf, 1.2246467991473532e-16lf), -angle).x : angle.x;
}

// The angle of the point (x, y), as C defines it for every argument.
double precise_atan2(double y, double x) {
    if (is_not_a_number(y) || is_not_a_number(x)) {
        return double_not_a_number();
    }
    bool is_left = sign_of(x) != 0u;
    dvec2 angle;
    if (is_zero(y)) {
        angle = dvec2(0.0lf);
    } else if (is_zero(x) || is_infinite(y) != is_infinite(x)) {
        angle = is_infinite(x) ? dvec2(0.0lf) : dvec2(1.5707963267948966lf, 6.123233995736766e-17lf);
    } else if (is_infinite(y)) {
        angle = dvec2(0.7853981633974483lf, 3.061616997868383e-17lf);
    } else {
        int y_exponent;
        int x_exponent;
        double y_size = normalized(y, y_exponent);
        double x_size = normalized(x, x_exponent);
        int apart = y_exponent - x_exponent;
        if (apart < -60 && !is_left) {
            double quotient = pair_divide(dvec2(y_size, 0.0lf), dvec2(x_size, 0.0lf)).x;
            return with_sign(scale_by_power(quotient, apart), y);
        }
        angle = pair_angle(dvec2(y_size * double_power_of_two(clamp(apart, -120, 120)), 0.0lf), dvec2(x_size, 0.0lf));
    }
    if (is_left) {
        angle = pair_add(dvec2(3.141592653589793lf, 1.2246467991473532e-16lf), -angle);
    }
    return with_sign(angle.x, y);
}

// -- roots -----------------------------------------------------------------------------------------------------------

// The square root, rounded correctly: the square of the device's root is subtracted exactly.
double precise_sqrt(double x) {
    if (is_zero(x) || is_not_a_number(x)) {
        return x;
    }
    if (sign_of(x) != 0u) {
        return double_not_a_number();
    }
    if (is_infinite(x)) {
        return x;
    }
    int exponent;
    double size = normalized(x, exponent);
    if ((exponent & 1) != 0) {
        size *= 2.0lf;
    }
    // The root is in [1, 2). Its error exceeds half an ulp where the remainder exceeds the root times one ulp.
    precise double root = sqrt(size);
    for (int i = 0; i < 2; i++) {
        dvec2 square = two_product(root, root);
        precise double rest = (size - square.x) - square.y;
        precise double allowed = root * 2.2204460492503131e-16lf;
        if (rest > allowed) {
            root += 2.2204460492503131e-16lf;
        } else if (rest <= -allowed) {
            root -= 2.2204460492503131e-16lf;
        }
    }
    return scale_by_power(root, exponent >> 1);
}

double precise_rsqrt(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    if (is_zero(x)) {
        return with_sign(double_infinity(), x);
    }
    if (sign_of(x) != 0u) {
        return double_not_a_number();
    }
    if (is_infinite(x)) {
        return 0.0lf;
    }
    int exponent;
    double size = normalized(x, exponent);
    if ((exponent & 1) != 0) {
        size *= 2.0lf;
    }
    precise double root = 1.0lf / sqrt(size);
    dvec2 square = two_product(root, root);
    dvec2 product = pair_multiply(square, dvec2(size, 0.0lf));
    precise double rest = (1.0lf - product.x) - product.y;
    precise double result = root + 0.5lf * root * rest;
    return scale_by_power(result, -(exponent >> 1));
}

// x = result * 8^exponent, with the result in [1, 8).
double normalized_by_eight(double x, out int exponent) {
    int binary;
    double size = normalized(x, binary);
    int shifted = binary + 1200;
    exponent = shifted / 3 - 400;
    return size * double_power_of_two(shifted - 3 * (shifted / 3));
}

double precise_cbrt(double x) {
    if (is_zero(x) || !is_finite(x)) {
        return x;
    }
    int exponent;
    double size = normalized_by_eight(x, exponent);
    // An integer third of the exponent, then Newton's steps, the last one with an exact remainder.
    precise double root = packDouble2x32(uvec2(0u, unpackDouble2x32(size).y / 3u + 0x2a9f7800u));
    for (int i = 0; i < 4; i++) {
        root -= (root - size / (root * root)) * 0.3333333333333333lf;
    }
    dvec2 cube = pair_multiply(two_product(root, root), dvec2(root, 0.0lf));
    precise double rest = (size - cube.x) - cube.y;
    precise double result = root + rest / (3.0lf * root * root);
    return with_sign(scale_by_power(result, exponent), x);
}

double precise_rcbrt(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    if (is_zero(x) || is_infinite(x)) {
        return with_sign(is_zero(x) ? double_infinity() : 0.0lf, x);
    }
    int exponent;
    double size = normalized_by_eight(x, exponent);
    precise double root = packDouble2x32(uvec2(0u, 0x553ee000u - unpackDouble2x32(size).y / 3u));
    for (int i = 0; i < 5; i++) {
        root += root * (1.0lf - size * root * root * root) * 0.3333333333333333lf;
    }
    dvec2 cube = pair_multiply(two_product(root, root), dvec2(root, 0.0lf));
    dvec2 product = pair_multiply(cube, dvec2(size, 0.0lf));
    precise double rest = (1.0lf - product.x) - product.y;
    precise double result = root + root * rest * 0.3333333333333333lf;
    return with_sign(scale_by_power(result, -exponent), x);
}

double precise_hypot(double x, double y) {
    if (is_infinite(x) || is_infinite(y)) {
        return double_infinity();
    }
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return double_not_a_number();
    }
    double x_size = with_sign(x, 1.0lf);
    double y_size = with_sign(y, 1.0lf);
    if (is_zero(x) || is_zero(y)) {
        return is_zero(x) ? y_size : x_size;
    }
    int x_exponent;
    int y_exponent;
    double a = normalized(x_size, x_exponent);
    double b = normalized(y_size, y_exponent);
    if (abs(x_exponent - y_exponent) > 60) {
        return x_exponent > y_exponent ? x_size : y_size;
    }
    b *= double_power_of_two(y_exponent - x_exponent);
    return scale_by_power(pair_sqrt(pair_add(two_product(a, a), two_product(b, b))).x, x_exponent);
}

// -- whole numbers and remainders ------------------------------------------------------------------------------------

// x without its fraction, as fast as the device can. trunc of doubles is wrong on lavapipe without AVX-512.
double whole_part(double x) {
    return x < 0.0lf ? ceil(x) : floor(x);
}

// x without its fraction, computed on the bits.
double precise_trunc(double x) {
    uvec2 bits = unpackDouble2x32(x);
    int exponent = int((bits.y >> 20) & 0x7ffu) - 1023;
    if (exponent >= 52) {
        return x;
    }
    if (exponent < 0) {
        return packDouble2x32(uvec2(0u, bits.y & 0x80000000u));
    }
    if (exponent < 20) {
        return packDouble2x32(uvec2(0u, bits.y & ~(0xfffffu >> exponent)));
    }
    return packDouble2x32(uvec2(bits.x & ~(0xffffffffu >> (exponent - 20)), bits.y));
}

double precise_floor(double x) {
    double whole = precise_trunc(x);
    bool is_between = unpackDouble2x32(whole) != unpackDouble2x32(x) && !is_not_a_number(x);
    return is_between && sign_of(x) != 0u ? whole - 1.0lf : whole;
}

double precise_ceil(double x) {
    double whole = precise_trunc(x);
    bool is_between = unpackDouble2x32(whole) != unpackDouble2x32(x) && !is_not_a_number(x);
    // The result for numbers between -1 and 0 is -0.
    return is_between && sign_of(x) == 0u ? whole + 1.0lf : whole;
}

// The nearest whole number; halves go to the even one.
double precise_nearbyint(double x) {
    if (bits_of_size(x).y >= 0x43300000u) {
        return x;
    }
    double below = precise_trunc(with_sign(x, 1.0lf));
    precise double part = with_sign(x, 1.0lf) - below;
    bool is_odd = precise_trunc(0.5lf * below) * 2.0lf != below;
    if (part > 0.5lf || (part == 0.5lf && is_odd)) {
        below += 1.0lf;
    }
    return with_sign(below, x);
}

// The nearest whole number; halves go away from zero.
double precise_round(double x) {
    if (bits_of_size(x).y >= 0x43300000u) {
        return x;
    }
    double below = precise_trunc(with_sign(x, 1.0lf));
    precise double part = with_sign(x, 1.0lf) - below;
    return with_sign(part >= 0.5lf ? below + 1.0lf : below, x);
}

// x without its whole part, with the sign of x.
double modf_fraction(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    if (is_infinite(x)) {
        return with_sign(0.0lf, x);
    }
    double whole = precise_trunc(x);
    // A number below 1 is returned unchanged: arithmetic might flush it.
    precise double part = x - whole;
    return is_zero(whole) ? x : with_sign(part, x);
}

// x = result * 2^exponent, with |result| in [1/2, 1); 0, infinities and NaN are returned unchanged with exponent 0.
double frexp_significand(double x) {
    uvec2 bits = bits_of_size(x);
    if (bits == uvec2(0u) || bits.y >= 0x7ff00000u) {
        return x;
    }
    int exponent;
    return with_sign(0.5lf * normalized(x, exponent), x);
}

int frexp_exponent(double x) {
    uvec2 bits = bits_of_size(x);
    if (bits == uvec2(0u) || bits.y >= 0x7ff00000u) {
        return 0;
    }
    uvec2 significand;
    int exponent;
    unpack(x, significand, exponent);
    return exponent + 1;
}

int precise_ilogb(double x) {
    if (is_zero(x) || is_not_a_number(x)) {
        return -2147483647 - 1;
    }
    return is_infinite(x) ? 2147483647 : frexp_exponent(x) - 1;
}

double precise_logb(double x) {
    if (is_zero(x)) {
        return -double_infinity();
    }
    if (is_not_a_number(x)) {
        return x;
    }
    return is_infinite(x) ? double_infinity() : double(frexp_exponent(x) - 1);
}

// x * 2^y for a whole number y that is given as a double.
double precise_scalb(double x, double y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return double_not_a_number();
    }
    if (is_infinite(y)) {
        bool is_up = sign_of(y) == 0u;
        if (is_up ? is_zero(x) : is_infinite(x)) {
            return double_not_a_number();
        }
        return with_sign(is_up ? double_infinity() : 0.0lf, x);
    }
    bool is_whole = unpackDouble2x32(precise_trunc(y)) == unpackDouble2x32(y);
    return is_whole ? scale_by_power(x, int(clamp(y, -5000.0lf, 5000.0lf))) : double_not_a_number();
}

// Whether the remainder of x by y needs a division.
bool is_divided(double x, double y) {
    return is_finite(x) && is_finite(y) && !is_zero(x) && !is_zero(y);
}

// The remainder of x by y where it needs no division: x if y is infinite or x is 0; else NaN.
double undivided(double x, double y) {
    bool is_undefined = is_not_a_number(x) || is_infinite(x) || is_not_a_number(y) || is_zero(y);
    return is_undefined ? double_not_a_number() : x;
}

// For |x| / |y|, both finite and not 0: the remainder times 2^-exponent, and the quotient's last bits. It is exact.
double divide_long(double x, double y, out uint quotient, out int exponent) {
    quotient = 0u;
    int x_exponent;
    precise double rest = normalized(x, x_exponent);
    double divisor = normalized(y, exponent);
    int steps = x_exponent - exponent;
    if (steps < 0) {
        exponent = x_exponent;
        return rest;
    }
    bool is_first = true;
    while (is_first || steps > 0) {
        int shift = is_first ? 0 : min(steps, 20);
        is_first = false;
        steps -= shift;
        rest *= double_power_of_two(shift);
        precise double estimate = rest / divisor;
        uint part = uint(estimate);
        dvec2 product = two_product(double(part), divisor);
        rest = (rest - product.x) - product.y;
        // Rounding may have raised the quotient to the next whole number.
        if (rest < 0.0lf) {
            rest += divisor;
            part -= 1u;
        } else if (rest >= divisor) {
            rest -= divisor;
            part += 1u;
        }
        quotient = (quotient << shift) + part;
    }
    return rest;
}

double precise_fmod(double x, double y) {
    if (!is_divided(x, y)) {
        return undivided(x, y);
    }
    uint quotient;
    int exponent;
    double rest = divide_long(x, y, quotient, exponent);
    return with_sign(scale_by_power(rest, exponent), x);
}

// x - n * y for the whole number n nearest to x / y (ties to even), and the last bits of n with its sign.
double remainder_of(double x, double y, out int bits) {
    bits = 0;
    if (!is_divided(x, y)) {
        return undivided(x, y);
    }
    uint quotient;
    int exponent;
    double rest = divide_long(x, y, quotient, exponent);
    int y_exponent;
    double divisor = normalized(y, y_exponent);
    // Compares twice the remainder with y, both times 2^-exponent; else the remainder is too small to matter.
    bool is_up = false;
    if (y_exponent - exponent <= 1) {
        divisor *= double_power_of_two(y_exponent - exponent);
        precise double doubled = 2.0lf * rest;
        is_up = doubled > divisor || (doubled == divisor && (quotient & 1u) != 0u);
        if (is_up) {
            rest = divisor - rest;
            quotient += 1u;
        }
    }
    int last = int(quotient & 0x7fffffffu);
    bits = sign_of(x) != sign_of(y) ? -last : last;
    rest = with_sign(scale_by_power(rest, exponent), x);
    return is_up ? -rest : rest;
}

double precise_remainder(double x, double y) {
    int bits;
    return remainder_of(x, y, bits);
}

int remquo_bits(double x, double y) {
    int bits;
    remainder_of(x, y, bits);
    return bits;
}

// -- comparison and bits ---------------------------------------------------------------------------------------------

// Whether x comes before y, where -0 comes before 0; neither is NaN. Denormals are not flushed.
bool is_before(double x, double y) {
    uint sign = sign_of(x);
    if (sign != sign_of(y)) {
        return sign != 0u;
    }
    uvec2 a = bits_of_size(x);
    uvec2 b = bits_of_size(y);
    if (sign != 0u) {
        return a.y > b.y || (a.y == b.y && a.x > b.x);
    }
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

double precise_fmin(double x, double y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return is_not_a_number(x) ? y : x;
    }
    return is_before(x, y) ? x : y;
}

double precise_fmax(double x, double y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return is_not_a_number(x) ? y : x;
    }
    return is_before(y, x) ? x : y;
}

double precise_fdim(double x, double y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return double_not_a_number();
    }
    precise double difference = x - y;
    return x > y ? difference : 0.0lf;
}

// The double next to x in the direction of y.
double precise_nextafter(double x, double y) {
    if (is_not_a_number(x) || is_not_a_number(y)) {
        return double_not_a_number();
    }
    if ((is_zero(x) && is_zero(y)) || unpackDouble2x32(x) == unpackDouble2x32(y)) {
        return y;
    }
    if (is_zero(x)) {
        return packDouble2x32(uvec2(1u, sign_of(y)));
    }
    // One step of the bits, away from 0 or towards it.
    uvec2 bits = unpackDouble2x32(x);
    if (is_before(x, y) == (sign_of(x) == 0u)) {
        bits.x += 1u;
        bits.y += bits.x == 0u ? 1u : 0u;
    } else {
        bits.y -= bits.x == 0u ? 1u : 0u;
        bits.x -= 1u;
    }
    return packDouble2x32(bits);
}

// FP_NAN 0, FP_INFINITE 1, FP_ZERO 2, FP_SUBNORMAL 3, FP_NORMAL 4.
int precise_fpclassify(double x) {
    uint upper = bits_of_size(x).y;
    if (upper >= 0x7ff00000u) {
        return is_infinite(x) ? 1 : 0;
    }
    return upper >= 0x100000u ? 4 : (is_zero(x) ? 2 : 3);
}

// x * y + z, rounded once: product and sum are formed exactly, as sums of doubles.
double precise_fma(double x, double y, double z) {
    uint sign = sign_of(x) ^ sign_of(y);
    if (!is_finite(x) || !is_finite(y) || !is_finite(z)) {
        bool is_infinite_product = is_infinite(x) || is_infinite(y);
        bool is_undefined = is_not_a_number(x) || is_not_a_number(y) || is_not_a_number(z);
        if (is_infinite_product) {
            is_undefined = is_undefined || is_zero(x) || is_zero(y) || (is_infinite(z) && sign != sign_of(z));
        }
        if (is_undefined) {
            return double_not_a_number();
        }
        return is_infinite_product ? packDouble2x32(uvec2(0u, sign | 0x7ff00000u)) : z;
    }
    if (is_zero(x) || is_zero(y)) {
        return is_zero(z) ? packDouble2x32(uvec2(0u, sign & sign_of(z))) : z;
    }
    int exponent;
    int y_exponent;
    dvec2 product = two_product(normalized(x, exponent), normalized(y, y_exponent));
    exponent += y_exponent;
    if (sign != 0u) {
        product = -product;
    }
    dvec2 sum = product;
    double least = 0.0lf;
    if (!is_zero(z)) {
        int z_exponent;
        double term = with_sign(normalized(z, z_exponent), z);
        int apart = z_exponent - exponent;
        if (apart > 110) {
            return z;
        }
        // A smaller value has the same effect: only its presence matters.
        term *= double_power_of_two(max(apart, -110));
        // The sum of three numbers as a sum of three that do not overlap.
        dvec2 lower = two_sum(term, product.y);
        dvec2 upper = two_sum(product.x, lower.x);
        dvec2 middle = two_sum(upper.y, lower.y);
        sum = two_sum(upper.x, middle.x);
        dvec2 last = two_sum(sum.y, middle.y);
        sum.y = last.x;
        least = last.y;
    }
    if (sum.x == 0.0lf) {
        return 0.0lf;
    }
    sign = sign_of(sum.x);
    if (sign != 0u) {
        sum = -sum;
        least = -least;
    }
    // To 63 bits; the last one is sticky.
    uvec2 bits;
    int first;
    unpack(sum.x, bits, first);
    bits = shift_left(bits, 10);
    precise double rest = sum.y * double_power_of_two(62 - first);
    precise double below = floor(rest);
    bool is_more = below != rest || least != 0.0lf;
    int whole = int(below) - (below == rest && least < 0.0lf ? 1 : 0);
    uint borrow;
    if (whole < 0) {
        bits.x = usubBorrow(bits.x, uint(-whole), borrow);
        bits.y -= borrow;
    } else {
        bits.x = uaddCarry(bits.x, uint(whole), borrow);
        bits.y += borrow;
    }
    bits.x |= is_more ? 1u : 0u;
    if ((bits.y & 0x40000000u) == 0u) {
        bits = shift_left(bits, 1);
        first -= 1;
    }
    return round_bits(sign, bits, exponent + first);
}

// -- error and gamma functions ---------------------------------------------------------------------------------------

// The error function of x from -1 to 1.
double erf_series(double x) {
    precise double z = x * x;
    precise double above = 0.1283791670955126lf + z * (-0.37612638903183754lf + z * (0.11283791670955126lf
        + z * (-0.026866170645131252lf + z * (0.005223977625442175lf + z * (-0.0008548327023449497lf
        + z * (0.00012055332981694495lf + z * (-1.4925650353787866e-05lf + z * (1.6462114205798046e-06lf
        + z * (-1.6365840648222765e-07lf + z * (1.4807117719731329e-08lf + z * (-1.2289529419960295e-09lf
        + z * (9.412558594992829e-11lf + z * (-6.639294901316118e-12lf + z * (4.117309460970657e-13lf
        + z * -1.746609279318069e-14lf))))))))))))));
    precise double result = x + x * above;
    return result;
}

// 1 - erf(x) for x from 1/2, times 2^-exponent: exp(-x^2) times a smooth function.
double erfc_scaled(dvec2 x, out int exponent) {
    exponent = 0;
    if (x.x > 28.0lf) {
        return 0.0lf;
    }
    // The square is not negated: NVIDIA's compiler would lose its lower part.
    dvec2 size = pair_exp(pair_multiply(-x, x), exponent);
    precise double t = (x.x - 2.0lf) / (x.x + 2.0lf);
    precise double smooth_part = 1.2769783815525286lf + t * (-0.09276382658574601lf + t * (-0.1660303976152894lf
        + t * (0.16405128003344435lf + t * (-0.05422000099203184lf + t * (-0.008034015082556287lf
        + t * (0.008722653875433828lf + t * (0.0012713389694459579lf + t * (-0.0014568139404450597lf
        + t * (-0.0004543408821214674lf + t * (0.00020636712754879916lf + t * (0.00015103962825978271lf
        + t * (-1.5092159078910957e-06lf + t * (-3.6425937295919106e-05lf + t * (-1.3495780725351959e-05lf
        + t * (3.720921545028723e-06lf + t * (5.232035593621999e-06lf + t * (1.4754997010390185e-06lf
        + t * (-7.0849772506709e-07lf + t * (-7.781603415949583e-07lf + t * (-2.5610777966116615e-07lf
        + t * (6.027820752838827e-08lf + t * (1.772438737021366e-07lf + t * (9.298953226623962e-08lf
        + t * (-6.265137635876684e-08lf + t * (-4.086147690217479e-08lf + t * (1.8148395186671697e-08lf
        + t * 1.102950730489453e-09lf))))))))))))))))))))))))));
    return pair_divide(pair_multiply(size, dvec2(smooth_part, 0.0lf)), pair_add(dvec2(1.0lf, 0.0lf), 2.0lf * x)).x;
}

double erfc_tail(dvec2 x) {
    int exponent;
    double size = erfc_scaled(x, exponent);
    return scale_by_power(size, exponent);
}

double precise_erf(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    if (abs(x) < 1.0lf) {
        return with_sign(erf_series(x), x);
    }
    precise double result = 1.0lf - erfc_tail(dvec2(min(abs(x), 30.0lf), 0.0lf));
    return with_sign(result, x);
}

double precise_erfc(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    precise double result;
    if (abs(x) < 0.5lf) {
        result = 1.0lf - erf_series(x);
    } else {
        result = erfc_tail(dvec2(min(abs(x), 30.0lf), 0.0lf));
        if (x < 0.0lf) {
            result = 2.0lf - result;
        }
    }
    return result;
}

// The standard normal distribution function.
double precise_phi(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    dvec2 y = pair_multiply(dvec2(min(abs(x), 40.0lf), 0.0lf), dvec2(0.7071067811865476lf, -4.833646656726457e-17lf));
    precise double result;
    if (y.x < 0.5lf) {
        result = 0.5lf + 0.5lf * with_sign(erf_series(y.x), x);
    } else {
        int exponent;
        double size = erfc_scaled(y, exponent);
        result = scale_by_power(size, exponent - 1);
        if (x > 0.0lf) {
            result = 1.0lf - result;
        }
    }
    return result;
}

double precise_tgamma(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    if (is_zero(x)) {
        return with_sign(double_infinity(), x);
    }
    if (x > 172.0lf) {
        return double_infinity();
    }
    double below = floor(x);
    if (x < 0.0lf && below == x) {
        return double_not_a_number();
    }
    if (x < -190.0lf) {
        return floor(0.5lf * below) * 2.0lf == below ? 0.0lf : -0.0lf;
    }
    if (abs(x) < 4.336808689942018e-19lf) {
        int exponent;
        double size = normalized(x, exponent);
        return with_sign(scale_by_power(pair_divide(dvec2(1.0lf, 0.0lf), dvec2(size, 0.0lf)).x, -exponent), x);
    }
    // The factors between reduce y to [1, 2]; each is scaled by 2^-5 to keep the product in range.
    int steps = int(abs(below - 1.0lf));
    double direction = x < 1.0lf ? 1.0lf : -1.0lf;
    dvec2 product = dvec2(1.0lf, 0.0lf);
    for (int i = 0; i < steps; i++) {
        dvec2 factor = two_sum(x, direction * double(x < 1.0lf ? i : i + 1));
        product = pair_multiply(product, factor * 0.03125lf);
    }
    dvec2 y = two_sum(x, direction * double(steps));
    precise double t = (y.x - 1.5lf) + y.y;
    precise double inverse = 1.1283791670955126lf + t * (-0.0411745264452831lf + t * (-0.5266544355255445lf
        + t * (0.17510202604393457lf + t * (0.050966860247706226lf + t * (-0.04215516936853562lf
        + t * (0.006612897826817975lf + t * (0.002120731442573585lf + t * (-0.0011107302544683159lf
        + t * (0.00015235762075417166lf + t * (2.5355203461086256e-05lf + t * (-1.3896805564037045e-05lf
        + t * (2.1562132202348084e-06lf + t * (5.7941594656335966e-08lf + t * (-8.917479963625388e-08lf
        + t * (1.7107616495239485e-08lf + t * (-8.475278521147793e-10lf
        + t * -2.76936022375562e-10lf))))))))))))))));
    if (x < 1.0lf) {
        dvec2 size = pair_divide(dvec2(1.0lf, 0.0lf), pair_multiply(product, dvec2(inverse, 0.0lf)));
        return scale_by_power(size.x, -5 * steps);
    }
    return scale_by_power(pair_divide(product, dvec2(inverse, 0.0lf)).x, 5 * steps);
}

// log(gamma(2 + t)) for t from -1/2 to 1.
dvec2 pair_lgamma_near_two(double t) {
    precise double ratio = 0.42278433509846713lf + t * (0.3224670334241132lf + t * (-0.06735230105319809lf
        + t * (0.020580808427784435lf + t * (-0.007385551028674139lf + t * (0.002890510330748136lf
        + t * (-0.0011927539117035553lf + t * (0.0005096695245693555lf + t * (-0.00022315475828452692lf
        + t * (9.945751517388788e-05lf + t * (-4.492624096325781e-05lf + t * (2.0507195202221444e-05lf
        + t * (-9.439440499307966e-06lf + t * (4.374923397996977e-06lf + t * (-2.0395006933611473e-06lf
        + t * (9.5520165428538e-07lf + t * (-4.4839053621808377e-07lf + t * (2.1105056481225418e-07lf
        + t * (-1.0123438317925032e-07lf + t * (5.0297400098335534e-08lf + t * (-2.4292908348961975e-08lf
        + t * (9.641643145630568e-09lf + t * (-2.5317840682215007e-09lf
        + t * 3.128546330715388e-10lf))))))))))))))))))))));
    return two_product(t, ratio);
}

// log(gamma(x)) for x from 2^-61 to 2^60.
dvec2 pair_lgamma(double x) {
    if (x < 1.5lf) {
        // gamma(x) = gamma(x + 2) / (x (x + 1)), or gamma(x + 1) / x
        bool is_small = x < 0.5lf;
        dvec2 factor = dvec2(x, 0.0lf);
        if (is_small) {
            factor = pair_multiply(factor, two_sum(1.0lf, x));
        }
        return pair_add(pair_lgamma_near_two(is_small ? x : x - 1.0lf), -pair_log(factor));
    }
    if (x < 8.0lf) {
        dvec2 product = dvec2(1.0lf, 0.0lf);
        while (x >= 3.0lf) {
            x -= 1.0lf;
            product = pair_multiply(product, dvec2(x, 0.0lf));
        }
        dvec2 near_two = pair_lgamma_near_two(x - 2.0lf);
        return product.x == 1.0lf ? near_two : pair_add(near_two, pair_log(product));
    }
    // Stirling's series.
    precise double inverse = 1.0lf / x;
    precise double z = inverse * inverse;
    precise double series = 0.08333333333333333lf + z * (-0.0027777777777777775lf + z * (0.0007936507936505212lf
        + z * (-0.0005952380950132668lf + z * (0.000841750747093041lf + z * (-0.0019175038824583914lf
        + z * (0.006406810491432411lf + z * (-0.02922619520793422lf + z * (0.16055308981936847lf
        + z * -0.7175354764905278lf))))))));
    series *= inverse;
    dvec2 size = pair_multiply(two_sum(x, -0.5lf), pair_add(log_of(x), dvec2(-1.0lf, 0.0lf)));
    return pair_add(size, pair_add(dvec2(0.4189385332046727lf, 1.6728209650585413e-17lf), dvec2(series, 0.0lf)));
}

// The logarithm of |gamma(x)|.
double lgamma_size(double x) {
    if (is_not_a_number(x)) {
        return x;
    }
    double size = abs(x);
    if (is_infinite(x) || is_zero(x) || (x < 0.0lf && floor(x) == x)) {
        return double_infinity();
    }
    if (size < 4.336808689942018e-19lf) {
        return -log_of(with_sign(x, 1.0lf)).x;
    }
    if (size > 1.1e18lf) {
        // The other terms are negligible. The product is formed in parts, because it may overflow.
        dvec2 factor = pair_add(log_of(size), dvec2(-1.0lf, 0.0lf));
        dvec2 product = pair_multiply(dvec2(size * 9.5367431640625e-07lf, 0.0lf), factor);
        return scale_by_power(product.x, 20);
    }
    dvec2 result = pair_lgamma(size);
    if (x < 0.0lf) {
        // gamma(-y) gamma(y) = -pi / (y sin(pi y))
        int quadrant;
        dvec2 angle = reduced_half_turns(size, quadrant);
        dvec2 sine = (quadrant & 1) == 0 ? pair_sine(angle) : pair_cosine(angle);
        dvec2 product = pair_multiply(sine, dvec2(size, 0.0lf));
        dvec2 ratio = pair_multiply(product, dvec2(0.3183098861837907lf, -1.9678676675182486e-17lf));
        result = -pair_add(result, pair_log(ratio.x < 0.0lf ? -ratio : ratio));
    }
    return result.x;
}

// The sign of gamma(x): 1 or -1.
int lgamma_sign(double x) {
    if (sign_of(x) == 0u || !is_finite(x)) {
        return 1;
    }
    // A negative denormal is between -1 and 0, even if the device flushes it.
    if (bits_of_size(x).y < 0x100000u) {
        return -1;
    }
    double below = floor(x);
    return below == x || floor(0.5lf * below) * 2.0lf == below ? 1 : -1;
}
