// The functions of float64, and what they are made of.  A shader gets those that it uses, in this order.
//
// GLSL has few functions of doubles.  Those here rely on +, - and * of doubles, rounded correctly, and on 32-bit
// integers; a device's own quotients and roots are first guesses.  Many are overloads of those of floats.

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

// Whether x is no number; by its bits, which no compiler's assumption about floats touches.
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

// The size of x with the sign of y.
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

// 64 bits shifted right; the last bit says whether a 1 was lost.
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

// A finite x, not 0, is significand * 2^(exponent - 52), of either sign; the significand has 53 bits.
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

// The double of a sign and bits * 2^(exponent - 62), where bit 62 is the first; rounded to even once, denormals too.
double round_bits(uint sign, uvec2 bits, int exponent) {
    if (exponent > 1023) {
        return packDouble2x32(uvec2(0u, sign | 0x7ff00000u));
    }
    int dropped = 10 + max(-1022 - exponent, 0);
    // Two bits more than are kept: the middle, and whether there is something below it.
    uvec2 kept = shift_right_keeping(bits, min(dropped - 2, 64));
    uint last = kept.x & 7u;
    kept = uvec2((kept.x >> 2) | (kept.y << 30), kept.y >> 2);
    if (last == 3u || last >= 6u) {
        kept.x += 1u;
        kept.y += kept.x == 0u ? 1u : 0u;
    }
    // A carry goes on into the exponent, as it should.
    return packDouble2x32(uvec2(kept.x, sign | ((exponent >= -1022 ? uint(exponent + 1022) << 20 : 0u) + kept.y)));
}

// x * 2^n, rounded once; in integers, so that no device flushes a denormal.
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

// The significand of a finite x, not 0, as a double from 1 up to 2, and its exponent.
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

// a + b exactly, where a is 0 or not the smaller one.
dvec2 quick_two_sum(double a, double b) {
    precise double sum = a + b;
    precise double second = sum - a;
    precise double rest = b - second;
    return dvec2(sum, rest);
}

// x rounded to 26 bits; what is left has 26 bits too, so that products of the two are exact.
double upper_half(double x) {
    uvec2 bits = unpackDouble2x32(x);
    uint carry;
    bits.x = uaddCarry(bits.x, 0x4000000u, carry) & 0xf8000000u;
    return packDouble2x32(uvec2(bits.x, bits.y + carry));
}

// a * b exactly, without an fma, which not every device has.
dvec2 two_product(double a, double b) {
    double a_upper = upper_half(a);
    double b_upper = upper_half(b);
    precise double a_lower = a - a_upper;
    precise double b_lower = b - b_upper;
    precise double product = a * b;
    precise double rest = ((a_upper * b_upper - product) + a_upper * b_lower + a_lower * b_upper) + a_lower * b_lower;
    return dvec2(product, rest);
}

dvec2 pair_multiply(dvec2 a, dvec2 b) {
    dvec2 product = two_product(a.x, b.x);
    precise double rest = product.y + (a.x * b.y + a.y * b.x);
    return quick_two_sum(product.x, rest);
}

// -- roots -----------------------------------------------------------------------------------------------------------

// The square root, rounded correctly: of what the device gives the square is subtracted exactly.
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
    // The root lies from 1 up to 2. It is off by more than half of a last place where the rest is more than it, times
    // the last place.
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

// -- whole numbers and remainders ------------------------------------------------------------------------------------

// x without its fraction, by its bits.
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
    // Of numbers between -1 and 0 that is -0.
    return is_between && sign_of(x) == 0u ? whole + 1.0lf : whole;
}

// The nearest whole number; of halves the even one.
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

// The nearest whole number, halves away from zero.
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
    // A number below 1 is returned as it is: a device may flush it.
    precise double part = x - whole;
    return is_zero(whole) ? x : with_sign(part, x);
}

// x = result * 2^exponent, the result of size 1/2 up to 1; 0, infinities and NaN are their own, with exponent 0.
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

// x * 2^y for a whole y, in a double.
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

// Whether a remainder of x by y takes a division.
bool is_divided(double x, double y) {
    return is_finite(x) && is_finite(y) && !is_zero(x) && !is_zero(y);
}

// The remainder of x by y where it takes no division: x by an infinity, or 0; else NaN.
double undivided(double x, double y) {
    bool is_undefined = is_not_a_number(x) || is_infinite(x) || is_not_a_number(y) || is_zero(y);
    return is_undefined ? double_not_a_number() : x;
}

// Of |x| / |y|, finite and not 0: the remainder times 2^-exponent, and the quotient's last bits. Every step is exact.
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
        // The quotient is rounded, and may have become the next whole number.
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

// x - n * y for the whole n nearest to x / y, the even one of two; and n's last bits with its sign.
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
    // Twice the rest beside y; both times 2^-exponent, or the rest is too small to count.
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

// Whether x is before y in the order of the doubles, -0 before 0; neither is NaN. Denormals are not flushed.
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

// The double next to x on the way to y.
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
    // A step of the bits, away from 0 or towards it.
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
        // A smaller one counts as much, as only whether it is there does.
        term *= double_power_of_two(max(apart, -110));
        // The sum of three, as one of three that do not overlap.
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
    // To 63 bits; the last says whether there is more.
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
