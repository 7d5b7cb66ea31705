// Scans whose input and output begin anywhere: up to three items each behind an allocation, of items of all widths,
// with ends around those of vectors, rows and tiles. What lies around the output must stay.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "arrived.hpp"
#include "generic/support.cuh"
#include "rungs/cluster/scans/02_compact_cluster.cuh"
#include "rungs/scans/10_one_block.cuh"
#include "rungs/scans/14_tagged_wave.cuh"
#include "rungs/scans/15_tagged_look_back.cuh"
#include "rungs/scans/16_claimed_pipeline.cuh"

namespace {

using namespace rungs::tests;

// Eight bytes that are aligned to four: such items may begin off their own size, too.
using rungs::affine;

// The same maps, modulo two to the bits of half a T, packed into one. Like any operator of a user's it does not say
// that it has an identity; it does not commute, and to begin with an item twice would show.
struct compose_packed {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    using word = std::conditional_t<sizeof(T) <= 4, unsigned, T>;
    constexpr unsigned bits = 4 * sizeof(T);
    constexpr word mask = (word(1) << bits) - 1;
    const word slope = b & mask, offset = b >> bits;
    return static_cast<T>(((a & mask) * slope & mask) | (((a >> bits) * slope + offset) & mask) << bits);
  }
};

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, affine>)
    return a.slope == b.slope && a.offset == b.offset;
  else
    return a == b;
}

// Small enough for sums of floats to be exact; maps of which none forgets what came before.
template <class T, class Op>
T item_at(std::size_t i) {
  if constexpr (std::is_same_v<T, affine>)
    return numbered_map(i);
  else if constexpr (std::is_same_v<Op, compose_packed>)
    return static_cast<T>(static_cast<unsigned>(i * 2654435761u) >> 8 | 1u);
  else
    return static_cast<T>(i * 7919 % 7);
}

template <class Scan>
class ScanAlignment : public Generic<Scan> {
 protected:
  // Exclusive scans of items of type In, apart and in place, and inclusive ones where there is nothing to begin with,
  // not even an identity. Offsets are counted in items, or in what they are aligned to.
  template <class In, class Out, class Op, class T>
  void expect_scans(T init, bool by_alignment = false) {
    constexpr std::size_t most_items = 1'200'011, margin = 16;  // so many bytes or more, and aligned to them
    std::vector<In> items(most_items);
    std::vector<Out> sums(most_items), from_nothing(most_items);
    T sum = init, sum_from_nothing{};
    for (std::size_t i = 0; i < most_items; ++i) {
      items[i] = item_at<In, Op>(i);
      sums[i] = static_cast<Out>(sum);
      sum = static_cast<T>(Op{}(sum, static_cast<T>(items[i])));
      sum_from_nothing = i == 0 ? static_cast<T>(items[i]) : Op{}(sum_from_nothing, static_cast<T>(items[i]));
      from_nothing[i] = static_cast<Out>(sum_from_nothing);
    }

    const Out mark = static_cast<Out>(item_at<Out, Op>(5));
    const std::vector<Out> marks(most_items + 3 * margin, mark);
    std::vector<Out> got(most_items + 2 * margin);
    device_vector<In> d_in(std::vector<In>(most_items + margin));
    device_vector<Out> d_out(marks);
    const std::size_t in_unit = by_alignment ? alignof(In) : sizeof(In);
    const std::size_t out_unit = by_alignment ? alignof(Out) : sizeof(Out);
    const auto check = [&](const Out* first, std::size_t n, const char* which, std::size_t in_offset,
                           std::size_t out_offset, const std::vector<Out>& expected) {
      const auto where = [&] {
        return ::testing::Message() << which << ", n = " << n << ", " << in_offset << " and " << out_offset
                                    << " off, items of " << sizeof(In) << " and " << sizeof(Out) << " bytes";
      };
      ASSERT_EQ(cudaMemcpy(got.data(), first - margin, (n + 2 * margin) * sizeof(Out), cudaMemcpyDeviceToHost),
                cudaSuccess);
      std::size_t right = 0, kept = 0;
      while (right < n && same(got[margin + right], expected[right])) ++right;
      while (kept < margin && same(got[kept], mark) && same(got[margin + n + kept], mark)) ++kept;
      ASSERT_EQ(right, n) << where() << ": the first wrong output";
      ASSERT_EQ(kept, margin) << where() << ": written around the output";
    };
    for (const std::size_t n : {1u, 3u, 31u, 125u, 128u, 129u, 255u, 510u, 1023u, 1025u, 2046u, 4099u, 8191u, 8193u,
                                32769u, 100'003u, 196'613u, 1'200'000u, 1'200'002u}) {
      for (std::size_t in_offset = 0; in_offset < 4; ++in_offset) {
        auto* const in = reinterpret_cast<In*>(reinterpret_cast<char*>(d_in.items) + in_offset * in_unit);
        ASSERT_EQ(arrived(cudaMemcpy(in, items.data(), n * sizeof(In), cudaMemcpyHostToDevice)), cudaSuccess);
        for (std::size_t out_offset = 0; out_offset < 4; ++out_offset) {
          if (n > 100'000 && (in_offset + 2 * out_offset + n) % 3 != 0 && in_offset != out_offset) continue;
          auto* const out =
              reinterpret_cast<Out*>(reinterpret_cast<char*>(d_out.items + margin) + out_offset * out_unit);
          ASSERT_EQ(
              arrived(cudaMemcpy(out - margin, marks.data(), (n + 2 * margin) * sizeof(Out), cudaMemcpyHostToDevice)),
              cudaSuccess);
          this->expect_success([&](void* d_temp_storage, std::size_t& bytes) {
            return Scan::exclusive_scan(d_temp_storage, bytes, static_cast<const In*>(in), out, Op{}, init, n);
          });
          check(out, n, "apart", in_offset, out_offset, sums);
          if constexpr (!rungs::has_identity<Op, T>) {
            this->expect_success([&](void* d_temp_storage, std::size_t& bytes) {
              return Scan::inclusive_scan(d_temp_storage, bytes, static_cast<const In*>(in), out, Op{}, n);
            });
            check(out, n, "from nothing", in_offset, out_offset, from_nothing);
          }
          if constexpr (std::is_same_v<In, Out>) {
            if (in_offset != 0) continue;
            ASSERT_EQ(
                arrived(cudaMemcpy(out - margin, marks.data(), (n + 2 * margin) * sizeof(Out), cudaMemcpyHostToDevice)),
                cudaSuccess);
            ASSERT_EQ(arrived(cudaMemcpy(out, items.data(), n * sizeof(In), cudaMemcpyHostToDevice)), cudaSuccess);
            this->expect_success([&](void* d_temp_storage, std::size_t& bytes) {
              return Scan::exclusive_scan(d_temp_storage, bytes, static_cast<const In*>(out), out, Op{}, init, n);
            });
            check(out, n, "in place", out_offset, out_offset, sums);
          }
        }
      }
    }
  }
};

// One for each way that rows are loaded and stored in.
using aligned_scans = ::testing::Types<rungs::scans::tagged_look_back, rungs::scans::tagged_wave,
                                       rungs::scans::claimed_pipeline, rungs::cluster::scans::compact_cluster>;
TYPED_TEST_SUITE(ScanAlignment, aligned_scans);

TYPED_TEST(ScanAlignment, BytesToWords) { this->template expect_scans<unsigned char, unsigned, rungs::plus>(3u); }
TYPED_TEST(ScanAlignment, TwoBytesToFour) { this->template expect_scans<short, int, rungs::plus>(3); }
TYPED_TEST(ScanAlignment, FourBytes) { this->template expect_scans<float, float, rungs::plus>(3.0f); }
TYPED_TEST(ScanAlignment, FourBytesToEight) { this->template expect_scans<int, double, rungs::plus>(3); }
TYPED_TEST(ScanAlignment, EightBytes) { this->template expect_scans<long long, long long, rungs::plus>(3ll); }
TYPED_TEST(ScanAlignment, EightBytesAlignedToFour) {
  this->template expect_scans<affine, affine, rungs::compose>(affine{3, 5});
  this->template expect_scans<affine, affine, rungs::compose>(affine{3, 5}, true);
}
TYPED_TEST(ScanAlignment, BytesWithoutAnIdentity) {
  this->template expect_scans<unsigned char, unsigned char, compose_packed>(static_cast<unsigned char>(0x53));
}
TYPED_TEST(ScanAlignment, TwoBytesWithoutAnIdentity) {
  this->template expect_scans<unsigned short, unsigned short, compose_packed>(static_cast<unsigned short>(0x503));
}
TYPED_TEST(ScanAlignment, FourBytesWithoutAnIdentity) {
  this->template expect_scans<unsigned, unsigned, compose_packed>(0x50003u);
}
TYPED_TEST(ScanAlignment, EightBytesWithoutAnIdentity) {
  this->template expect_scans<unsigned long long, unsigned long long, compose_packed>(0x500000003ull);
}

// Narrow items, for which one rung stands for all.
using ScanAlignmentOfNarrowItems = ScanAlignment<rungs::scans::one_block>;
TEST_F(ScanAlignmentOfNarrowItems, Bytes) {
  expect_scans<unsigned char, unsigned char, rungs::plus>(static_cast<unsigned char>(3));
}
TEST_F(ScanAlignmentOfNarrowItems, BytesToEight) { expect_scans<unsigned char, double, rungs::plus>(3u); }
TEST_F(ScanAlignmentOfNarrowItems, TwoBytes) { expect_scans<short, short, rungs::plus>(static_cast<short>(3)); }
TEST_F(ScanAlignmentOfNarrowItems, BytesWithoutAnIdentity) {
  expect_scans<unsigned char, unsigned char, compose_packed>(static_cast<unsigned char>(0x53));
}

}  // namespace
