// rungs::rows::route: the experts of every token of a mixture of experts, and their weights, in one read of the logits.
//
//   using rungs::rows::matrix;
//   rungs::rows::routing how;                    // softmax of all experts
//   how.renormalised = true;
//   rungs::rows::route(matrix{d_logits, num_tokens, num_experts}, matrix{d_weights, num_tokens, k},
//                      matrix{d_experts, num_tokens, k}, how, stream);
//
// logits    float, __half or __nv_bfloat16, a row a token, 1 to 1,024 experts (rungs/rows/matrix.cuh).
// weights   float, experts int: k of each token, the first choice first. Their number of columns is k: 1 to 32, and not
//           more than there are experts.
// returns   cudaErrorInvalidValue for other shapes, a null pointer, or rows of outputs that overlap; else what the
//           launch returned. Nothing is allocated, nobody waits: a call may be captured in a graph.
//
// The k experts are those of the greatest scores or logits, as `how` says, each plus its bias. Of equals the smaller
// expert comes first. NaN is greater than any number, and -0 equals 0, as in <rungs/device/device_top_k.cuh>. Without a
// bias the logits are compared themselves, for both scores increase with them. A bias is added in float.
//
// The weights do not contain the bias. A row that has NaN or +inf, or nothing but -inf, gets NaN by softmax. Where
// weights that are to be renormalised have the sum 0, they become NaN.
//
// Accuracy: the relative error of a weight of at least 2^-126 is at most 2^-16. Scores less than that may count as
// 0, also where they are renormalised. The bits of a row depend on it alone, not on other rows or on addresses.
//
// A group of 8, 16 or 32 lanes takes a token: see rungs/production/top_k/lane_groups.cuh.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/top_k/lane_groups.cuh"
#include "rungs/production/top_k/warp_rows.cuh"
#include "rungs/rows/matrix.cuh"

namespace rungs::RUNGS_ABI::rows {

// What a score is of one expert: its softmax, or 1 / (1 + exp(-logit)).
enum class routing_score : unsigned char { softmax, sigmoid };

struct routing {
  routing_score score = routing_score::softmax;
  // Whether experts are chosen by their scores, with a softmax over all experts. Else they are chosen by their logits,
  // with a softmax over the chosen ones.
  bool scored_before = true;
  bool renormalised = false;      // whether the weights of a token are divided by their sum
  const float* d_bias = nullptr;  // of each expert, for the choice alone; null where there is none
};

namespace parts {

__device__ inline float reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
// 2^x, with 0 for what is less than 2^-126.
__device__ inline float power_of_2(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
inline constexpr float log2_e = 1.442695041f;

// Terms of a softmax: 2^shift exp(x - base). The shift cancels, so rounding it is no error. The greatest term is about
// 2^63, so exponents of weights from 2^-126 on are within 64. The base is 0, which saves subtractions, unless logits
// are large. Then differences that matter are exact.
//
// Errors of a weight from 2^-126 on, in units of 2^-24, where 2^-16 is 256: its exponent is rounded (22), log2_e is
// (19), and the power errs (4). The terms of the sum err as much at most, and their additions by 15. The total is less
// than 110. Where a bias chose experts to renormalise, exponents reach -126, and it is less than 170.
struct softmax_terms {
  float base, shift, scale = 1;  // scale: 1 / their sum

  __device__ explicit softmax_terms(float greatest)
      : base(fabsf(greatest) < 0x1p16f ? 0 : greatest), shift(fmaf(base - greatest, log2_e, 63)) {}
  __device__ float operator()(float logit) const { return power_of_2(fmaf(logit - base, log2_e, shift)); }
  // The same bits, where the base is 0.
  __device__ float of_small(float logit) const { return power_of_2(fmaf(logit, log2_e, shift)); }

  __device__ softmax_terms of_lane(int lane) const {
    softmax_terms there = *this;
    there.base = __shfl_sync(rungs::parts::full_mask, base, lane);
    there.shift = __shfl_sync(rungs::parts::full_mask, shift, lane);
    there.scale = __shfl_sync(rungs::parts::full_mask, scale, lane);
    return there;
  }
};

// The order of floats, the greatest first.
__device__ inline unsigned order_of_float(float value) {
  return production::key_order<std::uint32_t, true>{0, 0x7f800000}(__float_as_uint(value));
}

// What experts of a row are chosen by, and how much they weigh.
template <bool has_bias>
struct routing_scores {
  routing how;
  softmax_terms terms;

  __device__ bool is_softmax() const { return how.score == routing_score::softmax; }
  __device__ float score(float logit) const {
    return is_softmax() ? terms(logit) * terms.scale : reciprocal(1 + power_of_2(-log2_e * logit));
  }
  // Sums are not contracted, so the bits are the same wherever this is computed.
  __device__ float preference(float logit, unsigned expert) const {
    if constexpr (!has_bias) return logit;
    return __fadd_rn(how.scored_before ? score(logit) : logit, how.d_bias[expert]);
  }
};

using candidates_of_row = production::row_candidates<float>;

// By rounds: the experts of one row, by all lanes of the warp.
template <int items, class T, bool has_bias>
__device__ void route_by_rounds(const T* from, unsigned num_experts, unsigned k, const routing_scores<has_bias>& scores,
                                candidates_of_row& candidates) {
  constexpr unsigned lanes = rungs::parts::warp_threads;
  const unsigned lane = threadIdx.x % lanes;
  unsigned ordered[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const unsigned expert = i * lanes + lane;
    ordered[i] =
        expert < num_experts ? order_of_float(scores.preference(production::to_float(from[expert]), expert)) : 0;
  }
  const unsigned expert = production::greatest_columns_by_rounds(ordered, num_experts, k);
  if (lane >= k) return;
  candidates.set(lane, 0, expert, production::to_float(from[expert]));
  candidates.places[lane] = lane;
}

// So many blocks of a multiprocessor as registers suffice for.
template <class Shape, bool has_bias>
constexpr int route_blocks() {
  if (Shape::lanes == 32) return 6;
  return has_bias || Shape::lanes * Shape::items > 256 ? 7 : Shape::resident_blocks;
}

// What a lane holds of its token's row: pieces of neighbours, dealt among the lanes. Which lane holds an expert does
// not depend on how they are read.
template <class T, class Shape>
struct lane_logits {
  using piece = production::row_piece<T>;
  using chooser = production::lane_group<Shape::lanes>;
  static constexpr int lanes = Shape::lanes, items = Shape::items, piece_items = piece::items;
  static constexpr int pieces = items / piece_items;

  float values[items];
  float greatest[chooser::parts_a_lane];  // of parts of the values

  static __device__ unsigned expert_of(unsigned i) {
    return i / piece_items * (lanes * piece_items) + i % piece_items + chooser::lane() * piece_items;
  }

  // has_pieces: whether rows are whole pieces at multiples of 16 bytes.
  __device__ void read(const T* from, unsigned num_experts, bool has_pieces) {
    if (has_pieces && num_experts == items * lanes) {
      piece held[pieces];
#pragma unroll
      for (int p = 0; p < pieces; ++p) held[p] = {*reinterpret_cast<const int4*>(from + expert_of(p * piece_items))};
#pragma unroll
      for (int p = 0; p < pieces; ++p) take(p, held[p]);
    } else if (has_pieces) {
      piece held[pieces];
#pragma unroll
      for (int p = 0; p < pieces; ++p) {
        held[p].fill(-INFINITY);
        if (expert_of(p * piece_items) < num_experts)
          held[p] = {*reinterpret_cast<const int4*>(from + expert_of(p * piece_items))};
      }
#pragma unroll
      for (int p = 0; p < pieces; ++p) take(p, held[p]);
    } else {
#pragma unroll
      for (int i = 0; i < items; ++i)
        values[i] = expert_of(i) < num_experts ? production::to_float(from[expert_of(i)]) : -INFINITY;
    }
    find_greatest();
  }
  __device__ void find_greatest() { chooser::template find_greatest<piece_items>(values, greatest); }
  __device__ bool has_nan() const {
    bool found = false;
#pragma unroll
    for (const float each : greatest) found |= isnan(each);
    return found;
  }
  // Of a softmax over the whole row. The order of additions is that of Shape::sum_lanes lanes, of which this one is
  // `virtual_lanes`.
  __device__ softmax_terms terms() const {
    float of_row = production::maximum_or_nan(greatest[0], greatest[chooser::parts_a_lane - 1]);
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2)
      of_row = production::maximum_or_nan(of_row, __shfl_xor_sync(rungs::parts::full_mask, of_row, distance));
    softmax_terms found(of_row);
    constexpr int virtual_lanes = Shape::sum_lanes / lanes;
    float sums[virtual_lanes][4] = {};
    const auto sum_of = [&](int i) -> float& { return sums[i / piece_items % virtual_lanes][i % 4]; };
    if (found.base == 0) {
#pragma unroll
      for (int i = 0; i < items; ++i) sum_of(i) += found.of_small(values[i]);
    } else {
#pragma unroll
      for (int i = 0; i < items; ++i) sum_of(i) += found(values[i]);
    }
    float sum = 0;
#pragma unroll
    for (auto& each : sums) sum += (each[0] + each[1]) + (each[2] + each[3]);
    found.scale = reciprocal(chooser::sum(sum));
    return found;
  }

 private:
  __device__ void take(int p, const piece& held) {
    typename piece::floats unpacked;
    held.get(unpacked);
#pragma unroll
    for (int i = 0; i < piece_items; ++i) values[p * piece_items + i] = unpacked[i];
  }
};

// The weights of a row's chosen experts, by the group of lanes that has the row. Where no row exists, nothing was
// chosen: there is nothing to read.
template <int lanes, bool has_bias>
__device__ void write_choice(const candidates_of_row& chosen, routing_scores<has_bias> scores, unsigned k, bool exists,
                             float* weights, int* experts) {
  using chooser = production::lane_group<lanes>;
  constexpr int most_ranks = lanes == 8 ? 2 : 1;  // of each lane
  const unsigned lane = chooser::lane(), num_chosen = exists ? k : 0;
  float of_ranks[most_ranks];
#pragma unroll
  for (int r = 0; r < most_ranks; ++r)
    of_ranks[r] = lane + r * lanes < num_chosen ? chosen.items[chosen.places[lane + r * lanes]] : -INFINITY;
  const auto sum_of_ranks = [&] { return chooser::sum(of_ranks[0] + (most_ranks > 1 ? of_ranks[most_ranks - 1] : 0)); };
  if (scores.how.renormalised) scores.terms.scale = 1;
  if (scores.is_softmax() && !scores.how.scored_before) {
    const softmax_terms terms(production::greatest_of_lanes<lanes>(fmaxf(of_ranks[0], of_ranks[most_ranks - 1])));
#pragma unroll
    for (float& each : of_ranks) each = terms(each);
    const float scale = reciprocal(sum_of_ranks());
#pragma unroll
    for (float& each : of_ranks) each *= scale;
  } else {
#pragma unroll
    for (float& each : of_ranks) each = scores.score(each);
  }
  if (scores.how.renormalised) {
    const float scale = reciprocal(sum_of_ranks());
#pragma unroll
    for (float& each : of_ranks) each *= scale;
  }
#pragma unroll
  for (int r = 0; r < most_ranks; ++r) {
    const unsigned rank = lane + r * lanes;
    if (rank >= num_chosen) continue;
    weights[rank] = of_ranks[r];
    experts[rank] = static_cast<int>(chosen.column(chosen.places[rank]));
  }
}

template <class T, bool has_bias, class Shape>
__global__ void __launch_bounds__(Shape::block_threads, route_blocks<Shape, has_bias>())
    route_kernel(const matrix<const T> logits, const matrix<float> weights, const matrix<int> experts,
                 const routing how, const bool has_pieces) {
  using held = lane_logits<T, Shape>;
  constexpr int lanes = Shape::lanes, items = Shape::items;
  constexpr int warp_lanes = rungs::parts::warp_threads, warp_rows = warp_lanes / lanes;
  __shared__ candidates_of_row of_rows[Shape::block_rows];
  const unsigned warp = threadIdx.x / warp_lanes;
  const std::size_t first_row = std::size_t{blockIdx.x} * Shape::block_rows + warp * warp_rows;
  if (first_row >= logits.num_rows) return;  // the whole warp
  const std::size_t row = first_row + threadIdx.x % warp_lanes / lanes;
  const bool exists = row < logits.num_rows;
  const T* const from = logits.row(exists ? row : first_row);
  const unsigned num_experts = static_cast<unsigned>(logits.num_columns),
                 k = static_cast<unsigned>(weights.num_columns);
  held own;
  own.read(from, num_experts, has_pieces);
  routing_scores<has_bias> scores{how, softmax_terms(0)};
  if (scores.is_softmax() && how.scored_before) scores.terms = own.terms();
  if constexpr (has_bias) {
#pragma unroll
    for (int i = 0; i < items; ++i)
      own.values[i] =
          held::expert_of(i) < num_experts ? scores.preference(own.values[i], held::expert_of(i)) : -INFINITY;
    own.find_greatest();
  }

  candidates_of_row& candidates = of_rows[threadIdx.x / lanes];
  const bool is_found = held::chooser::choose(
      candidates, own.values, own.greatest, own.has_nan(), num_experts, k, held::expert_of,
      [&](unsigned expert, float& logit) {
        logit = production::to_float(from[expert]);
        return production::order_of_number(scores.preference(logit, expert));
      },
      [&](unsigned rank, unsigned place) { candidates.places[rank] = place; });
  const bool is_first = threadIdx.x % lanes == 0;
  unsigned others = __ballot_sync(rungs::parts::full_mask, !is_found && is_first && exists);
  while (others != 0) {
    const int leader = __ffs(static_cast<int>(others)) - 1;
    others &= others - 1;
    route_by_rounds<items * lanes / warp_lanes>(logits.row(first_row + leader / lanes), num_experts, k,
                                                routing_scores<has_bias>{how, scores.terms.of_lane(leader)},
                                                of_rows[warp * warp_rows + leader / lanes]);
  }
  __syncwarp();
  write_choice<lanes>(candidates, scores, k, exists, weights.row(exists ? row : first_row),
                      experts.row(exists ? row : first_row));
}

template <class T>
cudaError_t route(const matrix<const T>& logits, const matrix<float>& weights, const matrix<int>& experts,
                  const routing& how, cudaStream_t stream) {
  using production::warp_rows;
  static_assert(production::is_item<T>, "logits are float, __half or __nv_bfloat16");
  const std::size_t k = weights.num_columns;
  if (!same_shape(weights, experts) || weights.num_rows != logits.num_rows || !is_valid(logits) || !is_valid(weights) ||
      !is_valid(experts) || k < 1 || k > warp_rows::most_k || k > logits.num_columns ||
      logits.num_columns > warp_rows::most_columns)
    return cudaErrorInvalidValue;
  if (logits.num_rows == 0) return cudaSuccess;
  // So many lanes a row, which hold so many items each.
  const bool has_pieces = is_aligned(logits) && logits.num_columns * sizeof(T) % 16 == 0;
  const auto with = [&](auto shape) {
    using Shape = decltype(shape);
    const auto kernel = how.d_bias != nullptr ? route_kernel<T, true, Shape> : route_kernel<T, false, Shape>;
    return rungs::parts::launch(kernel, rungs::parts::ceil_div(logits.num_rows, Shape::block_rows),
                                Shape::block_threads, stream, logits, weights, experts, how, has_pieces);
  };
  const std::size_t n = logits.num_columns;
  const bool is_few = k <= production::lane_group<8>::most_k;
  // Few tokens have more lanes each. The bits are the same.
  const bool are_few = logits.num_rows <= production::group_rows_of_more_lanes;
  if (is_few && n <= 64) return with(production::group_shape<8, 8>{});
  if (is_few && n <= 128 && are_few) return with(production::group_shape<16, 8>{});
  if (is_few && n <= 128) return with(production::group_shape<8, 16>{});
  if (is_few && n <= 256 && are_few) return with(production::group_shape<16, 16>{});
  if (is_few && n <= 256) return with(production::group_shape<8, 32>{});
  if (is_few && n <= 512) return with(production::group_shape<16, 32>{});
  if (n <= 256) return with(production::group_shape<32, 8>{});
  return with(production::group_shape<32, 32>{});
}

}  // namespace parts

template <class In>
cudaError_t route(const matrix<In>& logits, const matrix<float>& weights, const matrix<int>& experts,
                  const routing& how = {}, cudaStream_t stream = nullptr) {
  return parts::route<std::remove_const_t<In>>(logits, weights, experts, how, stream);
}

}  // namespace rungs::RUNGS_ABI::rows
