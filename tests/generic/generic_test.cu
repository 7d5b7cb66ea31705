// What the catalog's records cannot say: operators without an identity, iterators that are no pointers, items of odd
// sizes, and one workspace shared by variants that keep state in it.
#include <gtest/gtest.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

#include <numeric>
#include <random>
#include <typeinfo>
#include <vector>

#include "generic/support.cuh"
#include "rungs/reductions/10_two_passes.cuh"
#include "rungs/reductions/12_last_block.cuh"
#include "rungs/reductions/15_early_ticket.cuh"
#include "rungs/reductions/16_overlapped_finish.cuh"
#include "rungs/reductions/18_tagged_aggregates.cuh"

namespace {

using namespace rungs::tests;
using rungs::reductions::early_ticket;
using rungs::reductions::tagged_aggregates;

constexpr std::size_t reduction_sizes[] = {0, 1, 2, 31, 1000, 4097, 60000, 1'000'003};

template <class Reduction>
class GenericReduction : public Generic<Reduction> {
 protected:
  template <class T, class Op>
  void expect_reduction(const std::vector<T>& items, Op op, T init) {
    const device_vector<T> d_in(items), d_out(std::vector<T>(1));
    EXPECT_EQ(reduced<Reduction>(this->workspace_, d_in.in(), d_out.items, d_out, items.size(), op, init),
              std::accumulate(items.begin(), items.end(), init, op))
        << "n = " << items.size();
  }
};
using reduction_variants = ::testing::Types<early_ticket, rungs::reductions::overlapped_finish, tagged_aggregates>;
TYPED_TEST_SUITE(GenericReduction, reduction_variants);

TYPED_TEST(GenericReduction, OperatorWithoutAnIdentity) {
  for (const std::size_t n : reduction_sizes) {
    std::vector<unsigned> items(n);
    std::mt19937 random(1);
    for (unsigned& item : items) item = 6 * (1 + random() % 1'000'000);
    this->expect_reduction(items, greatest_common_divisor{}, 18u);
    this->expect_reduction(items, greatest_common_divisor{}, 30u);
  }
}

TYPED_TEST(GenericReduction, ItemsOf12And24Bytes) {
  for (const std::size_t n : reduction_sizes) {
    this->expect_reduction(bundles<3>(n), by_value{}, bundle<3>{{7}});
    this->expect_reduction(bundles<6>(n), by_value{}, bundle<6>{{7}});
  }
}

TYPED_TEST(GenericReduction, IteratorsThatAreNoPointers) {
  for (const std::size_t num_items : reduction_sizes) {
    const auto squares = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), square{});
    const device_vector<long long> d_out(std::vector<long long>{0});
    const auto negated = thrust::make_transform_output_iterator(d_out.items, negate{});
    const auto n = static_cast<long long>(num_items);
    const long long sum = n == 0 ? 0 : (n - 1) * n * (2 * n - 1) / 6;
    EXPECT_EQ(reduced<TypeParam>(this->workspace_, squares, negated, d_out, num_items, rungs::plus{}, 5ll), -(sum + 5));
  }
}

class Reductions : public Generic<early_ticket> {};
TEST_F(Reductions, OneWorkspaceServesManyVariants) {
  for (const std::size_t n : reduction_sizes) {
    const std::vector<int> items = scattered_ints(n);
    const std::vector<double> wide(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(n / 2));
    const int sum = std::accumulate(items.begin(), items.end(), 3);
    const double most = std::accumulate(wide.begin(), wide.end(), -1e9, rungs::maximum{});
    const device_vector<int> d_in(items), d_out(std::vector<int>{0});
    const device_vector<double> d_wide(wide), d_most(std::vector<double>{0});
    const auto expect_sum = [&]<class Variant>(Variant, int round) {
      EXPECT_EQ(reduced<Variant>(workspace_, d_in.in(), d_out.items, d_out, n, rungs::plus{}, 3), sum)
          << typeid(Variant).name() << ", n = " << n << ", round " << round;
    };
    for (int round = 0; round < 20; ++round) {
      expect_sum(early_ticket{}, round);
      expect_sum(rungs::reductions::two_passes{}, round);
      EXPECT_EQ(reduced<early_ticket>(workspace_, d_wide.in(), d_most.items, d_most, n / 2, rungs::maximum{}, -1e9),
                most)
          << "early_ticket of doubles, n = " << n << ", round " << round;
      expect_sum(rungs::reductions::last_block{}, round);
      expect_sum(tagged_aggregates{}, round);
    }
  }
}

}  // namespace
