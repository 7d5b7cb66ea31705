// Random numbers by counting, and the noise of Gumbel draws from them. Integers and rounded steps: hosts and all GPUs
// agree in every bit.
//
// Source: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
#pragma once

#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

struct random_words {
  unsigned words[4];

  // By selects: an index into the array would keep it in memory.
  __host__ __device__ unsigned word(unsigned index) const {
    const unsigned low = index % 2 == 0 ? words[0] : words[1], high = index % 2 == 0 ? words[2] : words[3];
    return index % 4 < 2 ? low : high;
  }
  __host__ __device__ weight_sum fraction() const { return static_cast<weight_sum>(words[1]) << 32 | words[0]; }
};

// What rounds begin with. Made on the host, it is an operand from constant memory.
struct philox_keys {
  static constexpr int num_rounds = 10;
  unsigned low[num_rounds], high[num_rounds];

  philox_keys() = default;
  __host__ __device__ explicit philox_keys(unsigned long long key) {
    unsigned next_low = static_cast<unsigned>(key), next_high = static_cast<unsigned>(key >> 32);
    for (int round = 0; round < num_rounds; ++round, next_low += 0x9e3779b9, next_high += 0xbb67ae85) {
      low[round] = next_low;
      high[round] = next_high;
    }
  }
};

// In one instruction; from 64-bit factors, nvcc makes two.
__host__ __device__ inline unsigned long long wide_product(unsigned a, unsigned b) {
#ifdef __CUDA_ARCH__
  unsigned long long product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return static_cast<unsigned long long>(a) * b;
#endif
}

__host__ __device__ inline random_words philox(const random_words& counter, const philox_keys& keys) {
  unsigned a = counter.words[0], b = counter.words[1], c = counter.words[2], d = counter.words[3];
  for (int round = 0; round < philox_keys::num_rounds; ++round) {
    const unsigned long long of_a = wide_product(a, 0xd2511f53), of_c = wide_product(c, 0xcd9e8d57);
    a = static_cast<unsigned>(of_c >> 32) ^ b ^ keys.low[round];
    b = static_cast<unsigned>(of_c);
    c = static_cast<unsigned>(of_a >> 32) ^ d ^ keys.high[round];
    d = static_cast<unsigned>(of_a);
  }
  return {{a, b, c, d}};
}
__host__ __device__ inline random_words philox(const random_words& counter, unsigned long long key) {
  return philox(counter, philox_keys(key));
}

// The numbers of one call. Row r draws by the words of {2^32 - 1, r, offset}, and token c of it has its noise from word
// c % 4 of {c / 4, r, offset}.
struct random_source {
  unsigned long long seed, offset;

  __host__ __device__ random_words of_row(unsigned row) const { return of_tokens(row, 0xffffffff); }
  __host__ __device__ random_words of_tokens(unsigned row, unsigned four) const {
    return philox(counter(row, four), seed);
  }
  __host__ __device__ random_words counter(unsigned row, unsigned four) const {
    return {{four, row, static_cast<unsigned>(offset), static_cast<unsigned>(offset >> 32)}};
  }
};

// log2(x) as a power and the rest of [-1/2, 1/2], which has a relative error of 2^-22.
struct binary_logarithm {
  int power;
  float rest;

  // Of 1 + f.
  __host__ __device__ static float near_one(float f) {
    float sum = rounded::fused(-0.14581165f, f, 0.23404235f);
    sum = rounded::fused(sum, f, -0.24887687f);
    sum = rounded::fused(sum, f, 0.2870987f);
    sum = rounded::fused(sum, f, -0.36023962f);
    sum = rounded::fused(sum, f, 0.48092324f);
    sum = rounded::fused(sum, f, -0.7213528f);
    sum = rounded::fused(sum, f, 1.4426949f);
    return rounded::multiply(sum, f);
  }
  __host__ __device__ explicit binary_logarithm(float positive) {
    constexpr unsigned root_of_half = 0x3f3504f3;
    const unsigned from_root = rounded::bits_of(positive) - root_of_half;
    power = static_cast<int>(from_root) >> 23;
    rest = near_one(rounded::add(rounded::of_bits((from_root & 0x7fffff) + root_of_half), -1));
  }
};

// 2^25 (8 - log2(-log2(u))) for u = (word + 1/2) / 2^32, rounded. It is between 0 and 1.4 * 2^30.
__host__ __device__ inline unsigned gumbel_noise(unsigned word) {
  constexpr unsigned begins_near_one = 0xb504f334;  // of u: sqrt(1/2)
  float waited;                                     // -log2(u)
  if (word >= begins_near_one) {
    waited = -binary_logarithm::near_one(rounded::multiply(rounded::add(rounded::to_float(~word), 0.5f), -0x1p-32f));
  } else {
    const binary_logarithm of(rounded::multiply(rounded::add(rounded::to_float(word), 0.5f), 0x1p-32f));
    waited = rounded::add(static_cast<float>(-of.power), -of.rest);
  }
  const binary_logarithm of(waited);
  return (static_cast<unsigned>(8 - of.power) << 25) -
         static_cast<unsigned>(rounded::to_int(rounded::multiply(of.rest, 0x1p25f)));
}

// 2^25 (32 + log2(p / greatest p)), rounded, of the p that a level stands for. Levels of logits are logarithms, those
// of probabilities are the upper bits of a float: 2^(level's whole part - 1) (1 + its fraction).
template <bool of_logits>
__host__ __device__ unsigned gumbel_level(unsigned level) {
  if (of_logits) return level << (25 - level_bits);
  const binary_logarithm of(rounded::of_bits(rounded::bits_of(0.5f) + (level << (23 - level_bits))));
  return (static_cast<unsigned>(of.power + 1) << 25) +
         static_cast<unsigned>(rounded::to_int(rounded::multiply(of.rest, 0x1p25f)));
}

// What tokens compete with: log2 of the weight in units of 2^-25, and noise.
template <bool of_logits>
__host__ __device__ unsigned gumbel_score(unsigned level, unsigned word) {
  return gumbel_level<of_logits>(level) + gumbel_noise(word);
}

// Whether a token may exceed the best score so far. Most cannot, and need neither a level nor noise.
//
// Let binary be log2(p / greatest p), and 1 - u be (~word + 1/2) / 2^32. Then a score in powers of two is
// 40 + binary - log2(-log2(u)), and -log2(u) >= (1 - u) log2(e). So a token cannot win where
// (~word + 1/2) / 2^32 > 2^(40 + binary - log2(log2(e)) - best). Levels, noise, and what is rounded here are wrong by
// less than 2^-12 together, and rounding an exponent by 2^-8. The bound is 2^-6 and 2^-7 more than is due.
template <bool of_logits>
class gumbel_bound {
 public:
  __device__ explicit gumbel_bound(const row_levels<of_logits>& levels) : greatest_(levels.greatest) {
    factor_ = of_logits ? levels.factor / most_exponent : 1 / levels.greatest;
    raise(0);
  }
  __device__ bool may_win(float value, unsigned word) const {
    const float most = of_logits ? at_least_power(value) : value * factor_ * share_;
    return rounded::of_bits(0x3f800000 | ~word >> 9) <= 1 + most;  // 1 + (1 - u), rounded down
  }
  // The best score of a thread. All threads of a warp call it, and learn from each other.
  __device__ void raise(unsigned best) {
#if __CUDA_ARCH__ >= 800
    best = __reduce_max_sync(0xffffffff, best);
#endif
    const float power = 40 - 0.52876637f + 0x1p-6f - static_cast<float>(best) * 0x1p-25f;
    if (of_logits)
      exponent_ = (power + 127 + 0x1p-7f) / most_exponent;
    else
      share_ = rounded::about_power(power);
  }

 private:
  static constexpr float most_exponent = 255;  // of a float

  // From 1 to 1.1 times the bound, without a conversion: exponents that are not whole become a float's fraction. The
  // last bit of 2^16 and less than 2^8 is 2^-7, and 2^16 itself leaves the word. NaN becomes 0.
  __device__ float at_least_power(float value) const {
    const float exponent = rounded::saturated(value - greatest_, factor_, exponent_);
    return rounded::of_bits(rounded::bits_of(rounded::fused(exponent, most_exponent, 0x1p16f)) << 16);
  }

  float greatest_, factor_, exponent_ = 0, share_ = 1;
};

}  // namespace rungs::RUNGS_ABI::production
