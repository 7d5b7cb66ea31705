// What the variants of the catalog do when the runtime fails, and on devices that do not exist. No GPU is used.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "catalog.hpp"
#include "faults/fake_runtime.hpp"
#include "oracles/bits.hpp"

namespace rungs::tests {
namespace {

using catalog::record;

// Ours to promise: the libraries' own calls are what they are.
bool is_ours(const record& r) {
  return r.executes_on == executor::device &&
         (r.family != catalog::family::library_baselines || !catalog::is_computation(r.operation));
}

// Calls a record as a user would, on addresses that no kernel will touch.
class caller {
 public:
  explicit caller(const record& subject, int num_bins = 256) : subject_(subject), num_bins_(num_bins) {}

  cudaError_t query(std::size_t num_items, std::size_t& bytes) {
    bytes = 0;
    return subject_.call(nullptr, bytes, arguments(num_items), nullptr);
  }
  cudaError_t call(std::size_t num_items, std::size_t bytes) {
    return subject_.call(reinterpret_cast<void*>((std::uintptr_t{1} << 46) + 1), bytes, arguments(num_items), nullptr);
  }

 private:
  catalog::arguments arguments(std::size_t num_items) {
    catalog::arguments all{.d_in = reinterpret_cast<void*>(std::uintptr_t{1} << 40),
                           .d_out = reinterpret_cast<void*>(std::uintptr_t{1} << 45),
                           .num_items = num_items,
                           .init = &init_};
    all.d_second = reinterpret_cast<void*>(std::uintptr_t{3} << 40);
    all.levels = levels_;
    all.num_addresses = 1;
    all.num_columns = 1000;
    all.num_rows = num_items / all.num_columns;
    all.k = 8;
    if (catalog::is_chain(subject_.operation)) {
      // A launch for each barrier, in the worst case.
      if (subject_.operation == catalog::operation::barrier) all.num_items = std::min<std::size_t>(num_items, 50);
      for (const auto& [blocks, threads] : {std::pair{1, 32}, {1, 256}, {2, 256}})
        if (subject_.takes_group(blocks, threads)) all.num_blocks = blocks, all.num_threads = threads;
    }
    if (!catalog::is_histogram(subject_.operation)) return all;
    // As many bins as levels are apart; any edges are where no kernel will read them.
    all.num_items -= num_items % static_cast<std::size_t>(subject_.num_channels);
    all.num_levels = num_bins_ + 1;
    with_type(subject_.level_type, [&]<class level>(type_tag<level>) {
      const level both[] = {from_double<level>(0), from_double<level>(num_bins_)};
      std::memcpy(levels_, both, sizeof both);
    });
    all.levels = subject_.operation == catalog::operation::histogram_range
                     ? reinterpret_cast<void*>(std::uintptr_t{1} << 44)
                     : static_cast<void*>(levels_);
    return all;
  }
  const record& subject_;
  int num_bins_;
  std::uint64_t levels_[2] = {};
  std::uint64_t init_ = 0;
};

std::string name_of(const record& r) {
  std::string all;
  for (const std::string_view part : {catalog::name(r.family), r.ladder, r.rung, catalog::name(r.operation),
                                      catalog::name(r.op), catalog::name(r.input_type)})
    all += std::string(part) + '/';
  return all;
}

constexpr std::size_t sizes[] = {0, 1, 1000, 100000, std::size_t{1} << 24};

// A record of ours, so many items, and of a histogram so many bins.
struct question {
  const record& r;
  std::size_t num_items;
  int num_bins = 256;

  friend std::ostream& operator<<(std::ostream& to, const question& of) {
    return to << name_of(of.r) << " n=" << of.num_items << " bins=" << of.num_bins << ": ";
  }
};

// Every record of ours with each of the sizes.
std::vector<question> questions() {
  std::vector<question> all;
  for (const record& r : catalog::all())
    for (const std::size_t n : sizes)
      if (is_ours(r)) all.push_back({r, n});
  return all;
}

void expect_nothing_enqueued(const question& of, std::size_t first = 0) {
  const auto& calls = fake::current().calls;
  for (std::size_t i = first; i < calls.size(); ++i) EXPECT_FALSE(calls[i].enqueues) << of << calls[i].name;
}

// Fails each runtime call in turn, until the last has been failed: the error is returned, and nothing is enqueued
// behind it. Answers how many could be failed.
template <class Call>
int expect_every_failure_returned(const question& of, const Call& call) {
  for (int k = 1; k < 1000; ++k) {
    fake::current() = {};
    fake::current().failing_call = k;
    fake::current().error = cudaErrorLaunchOutOfResources;
    const cudaError_t status = call();
    if (!fake::current().failed()) {
      EXPECT_EQ(status, cudaSuccess) << of;
      return k - 1;
    }
    EXPECT_EQ(status, cudaErrorLaunchOutOfResources)
        << of << "call " << k << ", " << fake::current().calls[static_cast<std::size_t>(k) - 1].name << ", failed";
    expect_nothing_enqueued(of, static_cast<std::size_t>(k));
  }
  ADD_FAILURE() << of << "no end of calls";
  return 0;
}

class faults : public testing::Test {
 protected:
  void SetUp() override { fake::current() = {}; }
  void TearDown() override { fake::current() = {}; }

  // The size that is asked for, of a sound runtime.
  static std::size_t bytes_of(caller& user, const question& of) {
    std::size_t bytes = 0;
    fake::current() = {};
    EXPECT_EQ(user.query(of.num_items, bytes), cudaSuccess) << of;
    return bytes;
  }
};

// Histograms also with every way of keeping the bins.
TEST_F(faults, every_failed_call_is_returned_and_nothing_is_enqueued_after_it) {
  auto all = questions();
  const std::size_t num_plain = all.size();
  for (const record& r : catalog::all())
    for (const int num_bins : {1, 4096, 65536, 1 << 20})
      for (const std::size_t n : {std::size_t{1000}, std::size_t{1} << 22})
        if (is_ours(r) && catalog::is_histogram(r.operation) && num_bins <= r.max_bins) all.push_back({r, n, num_bins});
  EXPECT_GT(num_plain, 0u);
  EXPECT_GT(all.size(), num_plain);
  std::size_t injected = 0;
  for (const question& of : all) {
    caller user(of.r, of.num_bins);
    const std::size_t bytes = bytes_of(user, of);
    injected +=
        static_cast<std::size_t>(expect_every_failure_returned(of, [&] { return user.call(of.num_items, bytes); }));
  }
  EXPECT_GT(injected, all.size() / std::size(sizes));
}

TEST_F(faults, the_size_query_enqueues_nothing_and_returns_what_failed) {
  for (const question& of : questions()) {
    caller user(of.r);
    EXPECT_GT(bytes_of(user, of), 0u) << of;
    expect_nothing_enqueued(of);
    std::size_t bytes = 0;
    expect_every_failure_returned(of, [&] { return user.query(of.num_items, bytes); });
  }
}

TEST_F(faults, one_byte_too_few_is_refused_before_anything_is_enqueued) {
  for (const question& of : questions()) {
    caller user(of.r);
    const std::size_t bytes = bytes_of(user, of);
    fake::current() = {};
    EXPECT_EQ(user.call(of.num_items, bytes - 1), cudaErrorInvalidValue) << of;
    expect_nothing_enqueued(of);
  }
}

TEST_F(faults, without_a_driver_that_is_what_is_said) {
  for (const question& of : questions()) {
    if (of.num_items != 1000) continue;
    caller user(of.r);
    const std::size_t bytes = bytes_of(user, of);
    fake::current().failing_call = 1;
    fake::current().failing_ever_after = true;
    fake::current().error = cudaErrorInsufficientDriver;
    EXPECT_EQ(user.call(of.num_items, bytes), cudaErrorInsufficientDriver) << of;
  }
}

// From one multiprocessor to a thousand, and up to 2^33 items: every launch is one that a device could take.
TEST_F(faults, launches_are_possible_on_any_device) {
  for (const record& r : catalog::all()) {
    if (!is_ours(r)) continue;
    for (const int multiprocessors : {1, 7, 40, 132, 1024})
      for (const int capability : {75, 80, 90, 120})
        for (const std::size_t n : {std::size_t{1}, std::size_t{4097}, std::size_t{1} << 24, (std::size_t{1} << 31) + 1,
                                    std::size_t{1} << 33}) {
          if (capability < r.min_cc || n > r.max_items) continue;
          // Histograms: with few bins on small devices, with many on large ones.
          caller user(r, std::min(multiprocessors < 132 ? 256 : 1 << 20, r.max_bins));
          fake::current() = {};
          fake::current().multiprocessors = multiprocessors;
          fake::current().capability = capability;
          std::size_t bytes = 0;
          if (user.query(n, bytes) != cudaSuccess) continue;  // refused before anything happened
          // A refusal is fine; a launch that cannot work is not.
          (void)user.call(n, bytes);
          for (const auto& call : fake::current().calls) {
            if (call.block_threads == 0 && call.grid_blocks == 0) continue;
            EXPECT_GE(call.grid_blocks, 1u) << name_of(r) << " n=" << n << " multiprocessors=" << multiprocessors;
            EXPECT_LE(call.grid_blocks, 0x7fffffffull)
                << name_of(r) << " n=" << n << " multiprocessors=" << multiprocessors;
            EXPECT_GE(call.block_threads, 1u) << name_of(r);
            EXPECT_LE(call.block_threads, 1024u) << name_of(r);
          }
        }
  }
}

// Not every device holds a cluster of sixteen blocks, and one that is shared may hold none at all.
TEST_F(faults, clusters_that_do_not_fit_are_refused_and_smaller_ones_are_not) {
  int refused = 0, lowered = 0;
  for (const record& r : catalog::all()) {
    if (r.family != catalog::family::cluster) continue;
    for (const std::size_t n : {std::size_t{1000}, std::size_t{1} << 24}) {
      caller user(r, std::min(1 << 20, r.max_bins));
      std::size_t bytes = 0;
      ASSERT_EQ(user.query(n, bytes), cudaSuccess) << name_of(r);
      fake::current() = {};
      fake::current().cluster_blocks = 8;
      const bool wants_sixteen = r.rung.ends_with("_16");
      EXPECT_EQ(user.call(n, bytes), wants_sixteen ? cudaErrorNotSupported : cudaSuccess) << name_of(r) << " n=" << n;
      ++(wants_sixteen ? refused : lowered);
      for (const auto& call : fake::current().calls)
        EXPECT_FALSE(wants_sixteen && call.enqueues) << name_of(r) << " n=" << n << ": " << call.name;

      fake::current() = {};
      fake::current().clusters = 0;
      const cudaError_t status = user.call(n, bytes);
      const auto& calls = fake::current().calls;
      const bool asked = std::any_of(calls.begin(), calls.end(),
                                     [](const auto& call) { return call.name == "cudaOccupancyMaxActiveClusters"; });
      EXPECT_EQ(status, asked ? cudaErrorNotSupported : cudaSuccess) << name_of(r) << " n=" << n;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(lowered, 0);
}

TEST_F(faults, the_workspace_does_not_shrink_as_items_are_added) {
  for (const record& r : catalog::all()) {
    if (!is_ours(r)) continue;
    caller user(r);
    std::size_t before = 0;
    for (std::size_t n = 0; n < (std::size_t{1} << 34) && n <= r.max_items; n = n * 3 / 2 + 1) {
      std::size_t bytes = 0;
      ASSERT_EQ(user.query(n, bytes), cudaSuccess) << name_of(r) << " n=" << n;
      EXPECT_GE(bytes, before) << name_of(r) << " n=" << n;
      EXPECT_LT(bytes, n * 8 + (std::size_t{64} << 20)) << name_of(r) << " n=" << n;
      before = bytes;
    }
  }
}

}  // namespace
}  // namespace rungs::tests
