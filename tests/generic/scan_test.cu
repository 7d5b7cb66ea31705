// What the catalog's records cannot say of scans: operators without an identity, iterators that are no pointers, items
// of odd sizes, an init of the items' own type, and one workspace shared with reductions that keep state in it.
#include <gtest/gtest.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

#include <numeric>
#include <random>
#include <vector>

#include "generic/support.cuh"
#include "rungs/cluster/scans/01_cluster_look_back.cuh"
#include "rungs/cluster/scans/02_compact_cluster.cuh"
#include "rungs/reductions/12_last_block.cuh"
#include "rungs/reductions/15_early_ticket.cuh"
#include "rungs/scans/10_one_block.cuh"
#include "rungs/scans/11_one_wave.cuh"
#include "rungs/scans/14_tagged_wave.cuh"
#include "rungs/scans/15_tagged_look_back.cuh"
#include "rungs/scans/16_claimed_pipeline.cuh"

namespace {

using namespace rungs::tests;

// The scans that take anything: each is tested with everything below.
using scan_variants =
    ::testing::Types<rungs::scans::one_block, rungs::scans::one_wave, rungs::scans::tagged_wave,
                     rungs::scans::tagged_look_back, rungs::scans::claimed_pipeline,
                     rungs::cluster::scans::compact_cluster, rungs::cluster::scans::cluster_look_back>;

constexpr std::size_t scan_sizes[] = {0, 1, 2, 31, 1000, 4097, 60000, 700'001};

template <class Scan>
class GenericScan : public Generic<Scan> {
 protected:
  template <class In, class Out, class Op>
  void inclusive(In d_in, Out d_out, Op op, std::size_t num_items) {
    this->expect_success([&](void* d_temp_storage, std::size_t& bytes) {
      return Scan::inclusive_scan(d_temp_storage, bytes, d_in, d_out, op, num_items);
    });
  }
  template <class In, class Out, class Op, class T>
  void inclusive(In d_in, Out d_out, Op op, T init, std::size_t num_items) {
    this->expect_success([&](void* d_temp_storage, std::size_t& bytes) {
      return Scan::inclusive_scan_init(d_temp_storage, bytes, d_in, d_out, op, init, num_items);
    });
  }
  template <class In, class Out, class Op, class T>
  void exclusive(In d_in, Out d_out, Op op, T init, std::size_t num_items) {
    this->expect_success([&](void* d_temp_storage, std::size_t& bytes) {
      return Scan::exclusive_scan(d_temp_storage, bytes, d_in, d_out, op, init, num_items);
    });
  }

  // All three calls, and one in place, against the standard library.
  template <class T, class Op>
  void expect_scans(const std::vector<T>& items, Op op, T init) {
    const std::size_t n = items.size();
    device_vector<T> d_in(items), d_out(items);
    const auto in = d_in.in();
    std::vector<T> expected(n);
    std::inclusive_scan(items.begin(), items.end(), expected.begin(), op);
    inclusive(in, d_out.items, op, n);
    EXPECT_TRUE(d_out.read(n) == expected) << "inclusive, n = " << n;
    std::inclusive_scan(items.begin(), items.end(), expected.begin(), op, init);
    inclusive(in, d_out.items, op, init, n);
    EXPECT_TRUE(d_out.read(n) == expected) << "inclusive with init, n = " << n;
    std::exclusive_scan(items.begin(), items.end(), expected.begin(), init, op);
    exclusive(in, d_out.items, op, init, n);
    EXPECT_TRUE(d_out.read(n) == expected) << "exclusive, n = " << n;
    EXPECT_TRUE(d_in.read(n) == items) << "the input has changed, n = " << n;
    exclusive(in, d_in.items, op, init, n);
    EXPECT_TRUE(d_in.read(n) == expected) << "exclusive in place, n = " << n;
  }
};
TYPED_TEST_SUITE(GenericScan, scan_variants);

TYPED_TEST(GenericScan, OperatorWithoutAnIdentity) {
  for (const std::size_t n : scan_sizes) {
    std::vector<unsigned> items(n);
    std::mt19937 random(1);
    // Long runs share a factor, so that the divisor falls step by step.
    for (std::size_t i = 0; i < n; ++i)
      items[i] = (i < 3      ? 720720u
                  : i < 900  ? 5040u
                  : i < 5000 ? 120u
                             : 6u) *
                 static_cast<unsigned>(1 + random() % 1000);
    this->expect_scans(items, greatest_common_divisor{}, 1441440u);
  }
}

TYPED_TEST(GenericScan, ItemsOf12And24Bytes) {
  for (const std::size_t n : scan_sizes) {
    this->expect_scans(bundles<3>(n), by_value{}, bundle<3>{{7, -2000, 1}});
    this->expect_scans(bundles<6>(n), by_value{}, bundle<6>{{7, -2000, 1}});
  }
}
TYPED_TEST(GenericScan, ItemsOf3Bytes) {
  for (const std::size_t n : scan_sizes) {
    std::vector<three_bytes> items(n);
    std::mt19937 random(3);
    for (auto& item : items)
      item = {static_cast<unsigned char>(random()), static_cast<unsigned char>(random() % 200),
              static_cast<unsigned char>(random() % 8 == 0 ? 1 + random() % 255 : 0)};
    this->expect_scans(items, sum_most_last{}, three_bytes{9, 3, 77});
  }
}

TYPED_TEST(GenericScan, IteratorsThatAreNoPointers) {
  for (const std::size_t n : scan_sizes) {
    const auto squares = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), square{});
    device_vector<long long> d_out(std::vector<long long>(n + 1));
    const auto negated = thrust::make_transform_output_iterator(d_out.items, negate{});
    const auto expect_sums = [&](long long init, std::size_t shift, const char* which) {
      const auto got = d_out.read(n);
      long long sum = init;
      for (std::size_t i = 0; i < n; ++i) {
        if (shift == 1) ASSERT_EQ(got[i], -sum) << which << ", n = " << n << ", output " << i;
        sum += static_cast<long long>(i) * static_cast<long long>(i);
        if (shift == 0) ASSERT_EQ(got[i], -sum) << which << ", n = " << n << ", output " << i;
      }
    };
    this->inclusive(squares, negated, rungs::plus{}, n);
    expect_sums(0, 0, "inclusive");
    this->inclusive(squares, negated, rungs::plus{}, 5ll, n);
    expect_sums(5, 0, "inclusive with init");
    this->exclusive(squares, negated, rungs::plus{}, 5ll, n);
    expect_sums(5, 1, "exclusive");
  }
}

TYPED_TEST(GenericScan, InitOfTheItemsOwnType) {
  for (const std::size_t n : scan_sizes) {
    const std::vector<int> items = scattered_ints(n);
    this->expect_scans(items, rungs::plus{}, 1'000'000);
    this->expect_scans(items, rungs::maximum{}, -100);
  }
}

TYPED_TEST(GenericScan, OutputsOfAnotherTypeThanTheInit) {
  for (const std::size_t n : scan_sizes) {
    std::vector<unsigned char> items(n);
    for (std::size_t i = 0; i < n; ++i) items[i] = static_cast<unsigned char>(i * 7919 % 251);
    device_vector<unsigned char> d_in(items);
    device_vector<double> d_out(std::vector<double>(n + 1));
    this->exclusive(static_cast<const unsigned char*>(d_in.items), d_out.items, rungs::plus{}, 17u, n);
    std::vector<double> expected(n);
    unsigned sum = 17;
    for (std::size_t i = 0; i < n; ++i) {
      expected[i] = sum;
      sum += items[i];
    }
    EXPECT_TRUE(d_out.read(n) == expected) << "n = " << n;
  }
}

TYPED_TEST(GenericScan, OneWorkspaceServesScansAndReductions) {
  for (const std::size_t n : {std::size_t{31}, std::size_t{4097}, std::size_t{60000}, std::size_t{700'001}}) {
    const std::vector<int> items = scattered_ints(n);
    const std::vector<double> wide(items.begin(), items.end());
    std::vector<int> int_sums(n);
    std::vector<double> most(n / 2);
    std::vector<rungs::affine> maps(n), composed(n);
    for (std::size_t i = 0; i < n; ++i) maps[i] = numbered_map(i);
    const auto total = [&]<class Variant, class T>(Variant, const device_vector<T>& d_in, const device_vector<T>& d_out,
                                                   std::size_t num_items, T init) {
      return reduced<Variant>(this->workspace_, d_in.in(), d_out.items, d_out, num_items, rungs::plus{}, init);
    };
    device_vector<int> d_ints(items), d_int_sums(items), d_int_total(std::vector<int>{0});
    device_vector<double> d_wide(wide), d_most(wide), d_wide_total(std::vector<double>{0});
    device_vector<rungs::affine> d_maps(maps), d_composed(maps);
    for (int round = 0; round < 6; ++round) {
      const int init = 10 * round;  // what is left from the round before is not right in this one
      std::exclusive_scan(items.begin(), items.end(), int_sums.begin(), init);
      std::inclusive_scan(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(n / 2), most.begin(),
                          rungs::maximum{}, static_cast<double>(init) - 400);
      std::exclusive_scan(maps.begin(), maps.end(), composed.begin(), rungs::affine{3, static_cast<unsigned>(round)},
                          rungs::compose{});
      const int int_total = std::accumulate(items.begin(), items.end(), init);

      this->exclusive(d_ints.in(), d_int_sums.items, rungs::plus{}, init, n);
      EXPECT_TRUE(d_int_sums.read(n) == int_sums) << "n = " << n << ", round " << round;
      EXPECT_EQ(total(rungs::reductions::early_ticket{}, d_ints, d_int_total, n, init), int_total);
      this->inclusive(d_wide.in(), d_most.items, rungs::maximum{}, static_cast<double>(init) - 400, n / 2);
      EXPECT_TRUE(d_most.read(n / 2) == most) << "n = " << n << ", round " << round;
      EXPECT_EQ(total(rungs::reductions::last_block{}, d_wide, d_wide_total, n, double(init)), double(int_total));
      this->exclusive(d_maps.in(), d_composed.items, rungs::compose{}, rungs::affine{3, static_cast<unsigned>(round)},
                      n);
      const auto got = d_composed.read(n);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_TRUE(got[i].slope == composed[i].slope && got[i].offset == composed[i].offset)
            << "n = " << n << ", round " << round << ", output " << i;
      EXPECT_EQ(total(rungs::reductions::early_ticket{}, d_wide, d_wide_total, n / 3, 1.0),
                std::accumulate(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(n / 3), 1.0));
    }
  }
}

}  // namespace
