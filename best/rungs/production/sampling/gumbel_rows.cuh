// Gumbel draws from all logits of a row, which is read once.
//
// A token's score is its logit, scaled, and its noise. A block keeps the best score so far. Eight tokens at a time are
// compared with it: their greatest logit with the most noise that their greatest random number can give. Most cannot
// win, and their noise is not computed. Others are listed.
//
// Levels are relative to the row's greatest logit, which is known behind the read. Then the listed tokens have their
// scores anew, exactly as in best_score(). A block looks through its share again where that does not prove the draw.
//
// Proof. Scores are compared in units of 2^-16 with an error of less than 2^-8 powers of two, while no scaled logit
// that competes exceeds 2^14. A token that is not listed is more than 2^-5 below the best score, which
// only rises. The draw is proven where its exact score is at most 2^-6 below it: the best score may be of a token that
// does not compete.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <climits>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "rungs/operators.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/sampling/random.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/row_share.cuh"

namespace rungs::RUNGS_ABI::production {

struct gumbel_memory {
  static constexpr unsigned capacity = 1024;
  row_blocks_memory blocks;
  int best_score;
  unsigned size, columns[capacity];  // of the list
};

// The lane's greatest of vectors of 16 bytes; NaN only where all are.
template <class T, int num>
__device__ float greatest_of_vectors(const uint4 (&vectors)[num]) {
  if constexpr (sizeof(T) == 4) {
    float values[4 * num];
    memcpy(values, vectors, sizeof(values));
#pragma unroll
    for (int i = 1; i < 4 * num; ++i) values[0] = rounded::greater(values[0], values[i]);
    return values[0];
  } else {
    using two_items = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
    two_items pairs[4 * num];
    memcpy(pairs, vectors, sizeof(pairs));
#pragma unroll
    for (int i = 1; i < 4 * num; ++i) pairs[0] = __hmax2(pairs[0], pairs[i]);
    return rounded::greater(to_float(pairs[0].x), to_float(pairs[0].y));
  }
}

// A block's share of a row.
template <class T>
class gumbel_share : public row_share<T, false> {
  using all = row_share<T, false>;
  static constexpr unsigned lanes = parts::warp_threads, block_threads = all::block_threads;
  static constexpr unsigned group_tokens = 8;
  static constexpr int vectors_at_once = 2, group_vectors = group_tokens / all::vector_items,
                       groups_at_once = vectors_at_once / group_vectors;
  static constexpr float unit = 0x1p-16f, tolerance = 0x1p-5f / unit, proof_tolerance = 0x1p-6f / unit;
  static constexpr float most_scaled = 0x1p14f;

 public:
  using all::vector_items;

  __device__ gumbel_share(const T* row, unsigned num_columns, unsigned rank, unsigned num_blocks, gumbel_memory& own,
                          float factor, const random_words& counter, const philox_keys& keys)
      : all(row, num_columns, rank, num_blocks, nullptr),
        own_(own),
        factor_(factor / unit),
        counter_(counter),
        keys_(keys) {}

  // Lists the tokens that may win. Returns the thread's greatest logit.
  __device__ float list() const {
    if (threadIdx.x == 0) {
      own_.best_score = INT_MIN;
      own_.size = 0;
    }
    return this->has_whole_fours() ? list<true>() : list<false>();
  }

  // The best token of the list, behind a barrier. False where others may be better.
  __device__ bool best_of_list(const row_levels<true>& levels, unsigned least_level, row_blocks& group,
                               candidate& best) const {
    best = 0;
    const unsigned size = own_.size;
    const float greatest = levels.greatest * factor_;
    if (size > gumbel_memory::capacity || !(std::fabs(greatest) <= most_scaled / unit)) return false;
    for (unsigned i = threadIdx.x; i < size; i += block_threads) {
      const unsigned column = own_.columns[i], level = levels.level(this->value_at(column));
      if (level < least_level) continue;
      const unsigned score = gumbel_score<true>(level, words_of(column / 4).word(column));
      const candidate each = static_cast<candidate>(score) << 32 | static_cast<unsigned>(~column);
      if (each > best) best = each;
    }
    candidate of_block = best, unused = best;
    group.template share_extremes<false>(unused, of_block);
    const float score = static_cast<float>(static_cast<unsigned>(of_block >> 32)) * (0x1p-25f / unit) - 40 / unit;
    return score + greatest + proof_tolerance >= static_cast<float>(own_.best_score);
  }

 private:
  __device__ random_words words_of(unsigned four) const {
    random_words counter = counter_;
    counter.words[0] = four;
    return philox(counter, keys_);
  }
  // The words of neighbours from column `first` on. Those before the row may have any.
  template <bool are_whole_fours, unsigned num>
  __device__ void words_from(unsigned first, unsigned* words) const {
    unsigned found[num + 4] = {};
#pragma unroll
    for (unsigned i = 0; i < (are_whole_fours ? num : num + 4); i += 4) {
      const random_words four = words_of((first + i) / 4);
#pragma unroll
      for (unsigned w = 0; w < 4; ++w) found[i + w] = four.words[w];
    }
    if (!are_whole_fours) {  // all vectors of a row begin at the same place of their four
#pragma unroll
      for (unsigned i = 0; i + 1 < num + 4; ++i) found[i] = first % 2 != 0 ? found[i + 1] : found[i];
#pragma unroll
      for (unsigned i = 0; i < num; ++i) found[i] = first / 2 % 2 != 0 ? found[i + 2] : found[i];
    }
#pragma unroll
    for (unsigned i = 0; i < num; ++i) words[i] = found[i];
  }

  __device__ void read_ahead(unsigned tile, uint4 (&vectors)[vectors_at_once]) const {
#pragma unroll
    for (int v = 0; v < vectors_at_once; ++v) vectors[v] = this->read(tile + v * block_threads);
  }

  template <bool are_whole_fours>
  __device__ float list() const {
    float greatest = -INFINITY;
    uint4 ahead[vectors_at_once];
    read_ahead(threadIdx.x, ahead);
    __syncthreads();
    begin(ahead[0]);
    // No list tells the draw of a row with infinity. Where there is one at its beginning, none is made.
    if (__syncthreads_or(greatest_of_vectors<T>(ahead) == INFINITY)) return INFINITY;
#pragma unroll 1
    for (unsigned tile = threadIdx.x; tile < this->places_;) {
      uint4 now[groups_at_once][group_vectors];
      memcpy(now, ahead, sizeof(now));
      const unsigned next = tile + vectors_at_once * block_threads;
      read_ahead(next, ahead);
#pragma unroll
      for (int g = 0; g < groups_at_once; ++g) {
        const unsigned place = tile + g * group_vectors * block_threads;
        unsigned words[group_tokens];
#pragma unroll
        for (int v = 0; v < group_vectors; ++v)
          words_from<are_whole_fours, vector_items>(this->column_of(place + v * block_threads),
                                                    words + v * vector_items);
        const float most = greatest_of_vectors<T>(now[g]);
        greatest = rounded::greater(greatest, most);
        unsigned most_word = words[0];
#pragma unroll
        for (unsigned i = 1; i < group_tokens; ++i) most_word = max(most_word, words[i]);
        if (may_win(most, most_word)) take(now[g], place, words);
      }
      tile = next;
    }
    return greatest;
  }

  // A first best score, of one token of each thread.
  __device__ void begin(const uint4& vector) const {
    T items[vector_items];
    memcpy(items, &vector, sizeof(vector));
    const unsigned column = this->column_of(threadIdx.x);
    const float value = to_float(items[0]);
    int score = INT_MIN;
    if (column < this->size_ && value > -INFINITY) score = score_of(value, words_of(column / 4).word(column));
    score = parts::warp_aggregate(score, maximum{});
    if (threadIdx.x % lanes == 0 && score > INT_MIN) atomicMax(&own_.best_score, score);
  }
  __device__ int score_of(float value, unsigned word) const {
    const float noise = rounded::fused(static_cast<float>(gumbel_noise(word)), 0x1p-25f / unit, -8 / unit);
    return rounded::to_int(rounded::fused(value, factor_, noise));
  }
  // As -log2(u) >= (1 - u) log2(e), the noise is at most -log2(1 - u) - log2(log2(e)), and 1 - u is that of ~word.
  __device__ bool may_win(float value, unsigned word) const {
    constexpr float constant = (32 - 0.52876637f) / unit + tolerance;
    const float most_noise = rounded::fused(about_logarithm(rounded::to_float(~word) + 0.5f), -1 / unit, constant);
    return rounded::fused(value, factor_, most_noise) >= best_score();
  }
  static __device__ float about_logarithm(float value) {
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
  }

  // Lists those of a group that may win.
  __device__ void take(const uint4 (&vectors)[group_vectors], unsigned place,
                       const unsigned (&words)[group_tokens]) const {
    T items[group_tokens];
    memcpy(items, vectors, sizeof(items));
    unsigned mask = 0;
#pragma unroll
    for (unsigned i = 0; i < group_tokens; ++i)
      if (may_win(to_float(items[i]), words[i])) mask |= 1u << i;
#pragma unroll 1
    for (; mask != 0; mask &= mask - 1) {
      const unsigned index = static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1;
      T item = items[0];
      unsigned word = words[0];
#pragma unroll
      for (unsigned i = 1; i < group_tokens; ++i)  // by selects: an index would keep the arrays in memory
        if (i == index) {
          item = items[i];
          word = words[i];
        }
      const int score = score_of(to_float(item), word);
      if (static_cast<float>(score) + tolerance < best_score()) continue;
      const unsigned number = atomicAdd(&own_.size, 1u);
      const bool has_room = number < gumbel_memory::capacity;
      if (has_room)
        own_.columns[number] = this->column_of(place + index / vector_items * block_threads) + index % vector_items;
      atomicMax(&own_.best_score, has_room ? score : INT_MAX);
    }
  }
  __device__ float best_score() const {
    return static_cast<float>(*static_cast<const volatile int*>(&own_.best_score));
  }

  gumbel_memory& own_;
  const float factor_;  // of logits, in units of scores
  const random_words counter_;
  const philox_keys& keys_;
};

}  // namespace rungs::RUNGS_ABI::production
