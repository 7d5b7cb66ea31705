// What the catalog's records cannot say: operators without an identity, iterators that are no pointers, items of odd
// sizes, and one workspace shared by variants that keep state in it.
#include <gtest/gtest.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

#include <numeric>
#include <random>
#include <vector>

#include "generic/support.cuh"
#include "rungs/operators.cuh"
#include "rungs/reductions/10_two_passes.cuh"
#include "rungs/reductions/12_last_block.cuh"
#include "rungs/reductions/15_early_ticket.cuh"
#include "rungs/reductions/16_overlapped_finish.cuh"
#include "rungs/reductions/17_tagged_aggregates.cuh"
#include "rungs/workspace.cuh"

namespace {

using namespace rungs::tests;
using rungs::reductions::early_ticket;
using rungs::reductions::overlapped_finish;
using rungs::reductions::tagged_aggregates;

template <class Variant, class In, class Out, class Op, class T>
void reduce(rungs::workspace& workspace, In d_in, Out d_out, std::size_t num_items, Op op, T init) {
  const auto call = [&](void* d_temp_storage, std::size_t& bytes) {
    return Variant::reduce(d_temp_storage, bytes, d_in, d_out, num_items, op, init);
  };
  ASSERT_EQ(workspace.run<Variant>(call), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

class Generic : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (no_gpu()) GTEST_SKIP() << "no usable GPU";
  }
  rungs::workspace workspace_;
};

TEST_P(Generic, OperatorWithoutAnIdentity) {
  std::vector<unsigned> items(GetParam());
  std::mt19937 random(1);
  for (unsigned& item : items) item = 6 * (1 + random() % 1'000'000);
  device_vector<unsigned> d_in(items), d_out(std::vector<unsigned>{0});
  const unsigned expected = std::accumulate(items.begin(), items.end(), 18u, greatest_common_divisor{});
  reduce<early_ticket>(workspace_, static_cast<const unsigned*>(d_in.items), d_out.items, items.size(),
                       greatest_common_divisor{}, 18u);
  EXPECT_EQ(d_out.front(), expected);
  const unsigned other = std::accumulate(items.begin(), items.end(), 30u, greatest_common_divisor{});
  reduce<overlapped_finish>(workspace_, static_cast<const unsigned*>(d_in.items), d_out.items, items.size(),
                            greatest_common_divisor{}, 30u);
  EXPECT_EQ(d_out.front(), other);
}

template <class Variant, int num_values>
void expect_bundles(rungs::workspace& workspace, std::size_t num_items) {
  std::vector<bundle<num_values>> items(num_items);
  std::mt19937 random(2);
  for (auto& item : items)
    for (int& value : item.values) value = static_cast<int>(random() % 2001) - 1000;
  bundle<num_values> init{};
  init.values[0] = 7;
  device_vector<bundle<num_values>> d_in(items), d_out(std::vector<bundle<num_values>>(1));
  reduce<Variant>(workspace, static_cast<const bundle<num_values>*>(d_in.items), d_out.items, num_items, by_value{},
                  init);
  EXPECT_EQ(d_out.front(), std::accumulate(items.begin(), items.end(), init, by_value{}));
}

TEST_P(Generic, ItemsOf12Bytes) { expect_bundles<early_ticket, 3>(workspace_, GetParam()); }
TEST_P(Generic, ItemsOf24Bytes) { expect_bundles<early_ticket, 6>(workspace_, GetParam()); }
TEST_P(Generic, ItemsOf12BytesUnderATag) { expect_bundles<tagged_aggregates, 3>(workspace_, GetParam()); }
TEST_P(Generic, ItemsOf24BytesUnderATag) { expect_bundles<tagged_aggregates, 6>(workspace_, GetParam()); }
TEST_P(Generic, ItemsOf24BytesInTwoLaunches) { expect_bundles<overlapped_finish, 6>(workspace_, GetParam()); }

TEST_P(Generic, IteratorsThatAreNoPointers) {
  const auto n = static_cast<long long>(GetParam());
  const auto squares = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), square{});
  device_vector<long long> d_out(std::vector<long long>{0});
  const auto negated = thrust::make_transform_output_iterator(d_out.items, negate{});
  reduce<early_ticket>(workspace_, squares, negated, GetParam(), rungs::plus{}, 5ll);
  const long long sum = n == 0 ? 0 : (n - 1) * n * (2 * n - 1) / 6;
  EXPECT_EQ(d_out.front(), -(sum + 5));
  reduce<overlapped_finish>(workspace_, squares, negated, GetParam(), rungs::plus{}, 6ll);
  EXPECT_EQ(d_out.front(), -(sum + 6));
  reduce<tagged_aggregates>(workspace_, squares, negated, GetParam(), rungs::plus{}, 7ll);
  EXPECT_EQ(d_out.front(), -(sum + 7));
}

TEST_P(Generic, OneWorkspaceServesManyVariants) {
  std::vector<int> items(GetParam());
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = static_cast<int>(i * 7919 % 1001) - 500;
  std::vector<double> wide(items.begin(), items.end());
  const int sum = std::accumulate(items.begin(), items.end(), 3);
  const auto half = wide.begin() + static_cast<std::ptrdiff_t>(wide.size() / 2);
  const double most = std::accumulate(wide.begin(), half, -1e9, rungs::maximum{});
  device_vector<int> d_in(items), d_out(std::vector<int>{0});
  device_vector<double> d_wide(wide), d_wide_out(std::vector<double>{0});
  for (int round = 0; round < 20; ++round) {
    const auto in = static_cast<const int*>(d_in.items);
    reduce<early_ticket>(workspace_, in, d_out.items, items.size(), rungs::plus{}, 3);
    EXPECT_EQ(d_out.front(), sum) << "early_ticket, round " << round;
    reduce<rungs::reductions::two_passes>(workspace_, in, d_out.items, items.size(), rungs::plus{}, 3);
    EXPECT_EQ(d_out.front(), sum) << "two_passes, round " << round;
    reduce<early_ticket>(workspace_, static_cast<const double*>(d_wide.items), d_wide_out.items, wide.size() / 2,
                         rungs::maximum{}, -1e9);
    EXPECT_EQ(d_wide_out.front(), most) << "early_ticket of doubles, round " << round;
    reduce<rungs::reductions::last_block>(workspace_, in, d_out.items, items.size(), rungs::plus{}, 3);
    EXPECT_EQ(d_out.front(), sum) << "last_block, round " << round;
    reduce<tagged_aggregates>(workspace_, in, d_out.items, items.size(), rungs::plus{}, 3);
    EXPECT_EQ(d_out.front(), sum) << "tagged_aggregates, round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Generic, ::testing::Values(0, 1, 2, 31, 1000, 4097, 60000, 1'000'003));

}  // namespace
