// A call of the front door ends wherever CUB's does: beside kernels that stay on most multiprocessors, beside another
// call, on a part of the device. In every situation CUB's call comes first, as the control, with a time limit. What
// fails is a call of ours that does not end, or ends with an error or another result, where CUB's has ended. What does
// not end is released by ending the kernels that stay. Skipped without a GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "device.hpp"
#include "on_a_gpu.hpp"
#include "progress/calls.hpp"
#include "progress/green_context.hpp"
#include "progress/items.hpp"
#include "progress/residents.hpp"
#include "watchdog.hpp"

namespace rungs::tests::progress {
namespace {

using clock = std::chrono::steady_clock;

constexpr double limit = 0.5;       // seconds that a call has
constexpr double times_of_cub = 4;  // and that many times what CUB's took
constexpr double hopeless = 20;     // then nothing will end any more
constexpr double seconds_for_all_tests = 100;
// A factor of about three, off any power of two. The largest ones are made for memory, not for more paths.
constexpr std::size_t sizes[] = {1'024,     3'001,     9'973,      31'003,     97'001,     300'007,
                                 1'000'003, 3'000'017, 10'000'019, 30'000'001, 90'000'049, std::size_t{1} << 28};
constexpr std::size_t most_in_graphs = 10'000'019;               // larger ones come to the same rungs
constexpr std::size_t most_on_few_multiprocessors = 30'000'001;  // else CUB's call exceeds the limit
constexpr std::size_t most_beside_another = 90'000'049;

const clock::time_point start_of_all_tests = clock::now();

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

using buffer = bench::device_memory;

// A stream, and what a call on it writes to.
struct lane {
  cudaStream_t stream = nullptr;
  buffer output, temp_storage;
  std::size_t temp_storage_bytes = 0;
  std::unique_ptr<workspace> kept = std::make_unique<workspace>();
};

struct form {
  const char* name;
  bool has_workspace, is_captured;
};
constexpr form forms[] = {{"in two phases", false, false},
                          {"with a workspace", true, false},
                          {"in two phases, from a graph", false, true},
                          {"with a workspace, from a graph", true, true}};
constexpr form in_two_phases = forms[0], in_two_phases_captured = forms[2];

// One call of one size, ready to be enqueued: nothing is allocated or loaded then.
class prepared {
 public:
  prepared(const operation& of, form how, const arguments& with, lane& on) : stream_(with.stream) {
    call_ = [&of, with, &on, how] {
      std::size_t bytes = on.temp_storage_bytes;
      return how.has_workspace ? of.call(*on.kept, with) : of.call(on.temp_storage.get(), bytes, with);
    };
    if (!how.is_captured) return;
    cudaGraph_t graph = nullptr;
    error_ = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    if (error_ != cudaSuccess) return;
    error_ = call_();
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    if (error_ == cudaSuccess) error_ = ended;
    if (error_ == cudaSuccess) error_ = cudaGraphInstantiate(&graph_, graph, 0);
    if (error_ == cudaSuccess) error_ = cudaGraphUpload(graph_, stream_);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  ~prepared() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  prepared(const prepared&) = delete;
  prepared& operator=(const prepared&) = delete;

  cudaError_t enqueue() const {
    if (error_ != cudaSuccess) return error_;
    return graph_ != nullptr ? cudaGraphLaunch(graph_, stream_) : call_();
  }

 private:
  cudaStream_t stream_;
  std::function<cudaError_t()> call_;
  cudaGraphExec_t graph_ = nullptr;
  cudaError_t error_ = cudaSuccess;
};

// How a call ended.
struct ending {
  cudaError_t error = cudaSuccess;
  bool is_in_time = false;
  double seconds = 0;

  bool is_good() const { return error == cudaSuccess && is_in_time; }
};

// Enqueues, and waits for the streams at most that long.
ending attempt(const std::function<cudaError_t()>& enqueue, const std::vector<cudaStream_t>& streams, double seconds) {
  ending end;
  const auto start = clock::now();
  end.error = enqueue();
  while (end.error == cudaSuccess && !end.is_in_time && end.seconds <= seconds) {
    end.is_in_time = true;
    for (const cudaStream_t each : streams) {
      const cudaError_t state = cudaStreamQuery(each);
      if (state == cudaErrorNotReady)
        end.is_in_time = false;
      else if (state != cudaSuccess)
        end.error = state;
    }
    end.seconds = seconds_since(start);
  }
  cudaGetLastError();
  return end;
}

// What happens beside a call: begin() has it start, and answers whether it has; end() ends it, and waits.
struct situation {
  std::string name;
  std::function<bool()> begin = [] { return true; };
  std::function<void()> end = [] {};
  std::size_t most_items = ~std::size_t{0};
};

class Progress : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!has_gpu()) return;
    all_ = std::make_unique<everything>();
  }
  static void TearDownTestSuite() { all_.reset(); }
  void SetUp() override {
    if (all_ == nullptr) GTEST_SKIP() << "no usable GPU";
    if (seconds_since(start_of_all_tests) > seconds_for_all_tests)
      GTEST_SKIP() << "the tests before have taken all the time";
  }

  // What all tests share.
  struct everything {
    everything() {
      std::size_t free_bytes = 0, all_bytes = 0;
      cudaMemGetInfo(&free_bytes, &all_bytes);
      // Inputs of 25 bytes an item, outputs of 8 in each of two lanes and for CUB; and room for others.
      for (const std::size_t each : sizes)
        if (each * 60 < free_bytes) most_items = each;
      for (const item_type each : {item_type::f32, item_type::i64, item_type::u8, item_type::i32, item_type::map}) {
        inputs.emplace_back(most_items * bytes_of(each));
        EXPECT_EQ(fill(each, inputs.back().get(), most_items), cudaSuccess);
      }
      std::vector<int> host_levels;
      for (int i = 0; i < num_levels; ++i) host_levels.push_back(i * i);
      levels = buffer(host_levels.size() * sizeof(int));
      cudaMemcpy(levels.get(), host_levels.data(), host_levels.size() * sizeof(int), cudaMemcpyHostToDevice);
      const std::size_t most_bytes = std::max<std::size_t>(most_items * 8, 1 << 20);
      expected = buffer(most_bytes);
      for (const auto* operations : {&by_cub, &by_rungs})
        for (const operation& each : *operations)
          for (const std::size_t n : sizes) {
            std::size_t bytes = 0;
            EXPECT_EQ(each.call(nullptr, bytes, with(each, n, nullptr, nullptr)), cudaSuccess) << each.name;
            temp_storage_bytes = std::max(temp_storage_bytes, bytes);
          }
      for (lane& each : lanes) {
        EXPECT_EQ(cudaStreamCreateWithFlags(&each.stream, cudaStreamNonBlocking), cudaSuccess);
        each.output = buffer(most_bytes);
        each.temp_storage = buffer(temp_storage_bytes);
        each.temp_storage_bytes = temp_storage_bytes;
      }
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
      cudaDeviceGetAttribute(&most_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      guard.watch_over(pulse);
    }

    arguments with(const operation& of, std::size_t num_items, void* d_out, cudaStream_t stream) const {
      return {inputs.empty() ? nullptr : inputs[static_cast<std::size_t>(of.in)].get(), d_out, num_items, stream,
              static_cast<const int*>(levels.get())};
    }

    std::vector<operation> by_cub = operations_by_cub(), by_rungs = operations_by_rungs();
    std::size_t most_items = sizes[0];
    std::vector<buffer> inputs;  // as item_type counts them
    buffer levels, expected;
    std::size_t temp_storage_bytes = 0;
    lane lanes[2];
    int multiprocessors = 0, most_shared_bytes = 0;
    heartbeat pulse;
    watchdog guard{hopeless};  // ends before what it guards
  };
  static std::unique_ptr<everything> all_;

  // Runs CUB's call on its own, which makes `expected` and loads its kernels.
  static bool make_expected(const operation& by_cub, std::size_t n) {
    const arguments with = all_->with(by_cub, n, all_->expected.get(), all_->lanes[0].stream);
    std::size_t bytes = all_->temp_storage_bytes;
    return by_cub.call(all_->lanes[0].temp_storage.get(), bytes, with) == cudaSuccess &&
           cudaStreamSynchronize(with.stream) == cudaSuccess;
  }
  static void spoil(const operation& of, std::size_t n, const lane& on) {
    cudaMemsetAsync(on.output.get(), 0xa5, of.bytes_out(n), on.stream);
    cudaStreamSynchronize(on.stream);
  }
  static bool is_right(const operation& of, std::size_t n, const lane& on) {
    bool is_same = false;
    return compare(on.output.get(), all_->expected.get(), of.bytes_out(n), is_same) == cudaSuccess && is_same;
  }

  // What is wrong with a call of ours where CUB's took so long; empty: nothing.
  static std::string complaint(const ending& end, const ending& cubs) {
    const std::string beside = " (CUB's ended in " + std::to_string(cubs.seconds * 1e3) + " ms)";
    if (end.error != cudaSuccess) return std::string("answered ") + cudaGetErrorName(end.error) + beside;
    return end.is_in_time ? "" : "did not end in " + std::to_string(end.seconds * 1e3) + " ms" + beside;
  }

  // Every kind of call in its turn, on one lane. After the first failure of a kind comes the next kind.
  static void expect_to_end(const situation& beside, cudaStream_t stream = nullptr) {
    lane& on = all_->lanes[0];
    const cudaStream_t own_stream = on.stream;
    if (stream != nullptr) {
      on.stream = stream;
      on.kept = std::make_unique<workspace>();
    }
    int num_passed = 0;
    for (std::size_t kind = 0; kind < all_->by_rungs.size(); ++kind) {
      const operation &cubs = all_->by_cub[kind], &ours = all_->by_rungs[kind];
      grow(ours, std::min(all_->most_items, beside.most_items), on);
      for (const std::size_t n : sizes) {
        if (n > all_->most_items || n > beside.most_items) break;
        const std::string what = ours.name + ", n = " + std::to_string(n) + ", " + beside.name;
        const verdict on_all_forms = expect_to_end(cubs, ours, n, what, beside, on);
        num_passed += on_all_forms == verdict::passed;
        if (on_all_forms == verdict::failed) break;
      }
    }
    EXPECT_TRUE(num_passed > 0 || HasFailure()) << "CUB's calls do not end here, either";
    all_->pulse.rests();
    on.kept = std::make_unique<workspace>();
    on.stream = own_stream;
  }

  // So that no later call allocates.
  static void grow(const operation& ours, std::size_t n, lane& on) {
    all_->pulse.begins(ours.name + ", n = " + std::to_string(n) + ", with a workspace that grows");
    ours.call(*on.kept, all_->with(ours, n, on.output.get(), on.stream));
    cudaStreamSynchronize(on.stream);
    cudaGetLastError();
  }

  static bool begins(const situation& beside, const std::string& what) {
    if (beside.begin()) return true;
    beside.end();
    ADD_FAILURE() << what << ": the kernel that is to stay did not start everywhere";
    return false;
  }

  enum class verdict { passed, failed, not_in_cubs_reach };
  static verdict expect_to_end(const operation& cubs, const operation& ours, std::size_t n, const std::string& what,
                               const situation& beside, lane& on) {
    all_->pulse.begins("CUB's " + what);
    if (!make_expected(cubs, n)) {
      ADD_FAILURE() << "CUB's " << what << " fails on its own";
      return verdict::failed;
    }
    const arguments with = all_->with(ours, n, on.output.get(), on.stream);
    const auto control_of = [&](form how, bool& has_begun) {
      const prepared call(cubs, how, with, on);
      has_begun = begins(beside, what);
      const ending end = attempt([&] { return has_begun ? call.enqueue() : cudaErrorNotReady; }, {on.stream}, limit);
      beside.end();
      cudaStreamSynchronize(on.stream);
      return end;
    };
    ending control, captured_control;
    bool has_begun = false;
    control = control_of(in_two_phases, has_begun);
    if (has_begun && n <= most_in_graphs) captured_control = control_of(in_two_phases_captured, has_begun);
    if (!has_begun) return verdict::failed;
    if (!control.is_good()) return verdict::not_in_cubs_reach;
    for (const form how : forms) {
      if (how.is_captured && !captured_control.is_good()) continue;
      const std::string call_of = what + ", " + how.name;
      all_->pulse.begins(call_of);
      spoil(ours, n, on);
      const prepared call(ours, how, with, on);
      // On its own first: kernels are loaded then.
      ending end = attempt([&] { return call.enqueue(); }, {on.stream}, hopeless / 2);
      if (!end.is_good() || !is_right(ours, n, on)) {
        ADD_FAILURE() << call_of << ": fails with nothing beside it, " << complaint(end, control);
        cudaStreamSynchronize(on.stream);
        return verdict::failed;
      }
      spoil(ours, n, on);
      if (!begins(beside, call_of)) return verdict::failed;
      end = attempt([&] { return call.enqueue(); }, {on.stream}, limit + times_of_cub * control.seconds);
      beside.end();
      cudaStreamSynchronize(on.stream);
      std::string wrong = complaint(end, control);
      if (wrong.empty() && !is_right(ours, n, on)) wrong = "wrong result";
      EXPECT_EQ(wrong, "") << call_of;
      if (!wrong.empty()) return verdict::failed;
    }
    return verdict::passed;
  }
};

std::unique_ptr<Progress::everything> Progress::all_;

// The script `mps` asks this before all else.
TEST(Connection, ToTheDevice) {
  if (cudaFree(nullptr) == cudaSuccess) return;
  cudaGetLastError();
  GTEST_SKIP() << "no usable GPU";
}

// Nothing is beside the calls; under MPS, on a share of the device.
TEST_F(Progress, Alone) { expect_to_end({.name = "alone"}); }

// ---- kernels that stay

struct staying {
  const char* name;
  int (*of)(int multiprocessors);
  bool fills_shared_memory;
};
void PrintTo(const staying& beside, std::ostream* out) { *out << beside.name; }

class Residents : public Progress, public ::testing::WithParamInterface<staying> {};

TEST_P(Residents, LetCallsEnd) {
  const staying& param = GetParam();
  const int num_residents = param.of(all_->multiprocessors);
  if (num_residents < 1 || num_residents >= all_->multiprocessors) GTEST_SKIP() << "too few multiprocessors";
  const int shared_bytes = param.fills_shared_memory ? all_->most_shared_bytes : 1024;
  residents beside(num_residents, static_cast<std::size_t>(shared_bytes));
  const bool few_are_left = param.fills_shared_memory && all_->multiprocessors - num_residents < 8;
  expect_to_end({.name = "beside " + std::to_string(num_residents) + " blocks of " + std::to_string(shared_bytes) +
                         " bytes that stay",
                 .begin = [&] { return beside.start(); },
                 .end = [&] { beside.release(); },
                 .most_items = few_are_left ? most_on_few_multiprocessors : ~std::size_t{0}});
}

constexpr auto one = [](int) { return 1; };
constexpr auto eight = [](int) { return 8; };
constexpr auto half = [](int all) { return all / 2; };
constexpr auto all_but_four = [](int all) { return all - 4; };
constexpr auto all_but_one = [](int all) { return all - 1; };
INSTANTIATE_TEST_SUITE_P(Staying, Residents,
                         ::testing::Values(staying{"One", one, false}, staying{"OneFilled", one, true},
                                           staying{"Eight", eight, false}, staying{"EightFilled", eight, true},
                                           staying{"Half", half, false}, staying{"HalfFilled", half, true},
                                           staying{"AllButFour", all_but_four, false},
                                           staying{"AllButFourFilled", all_but_four, true},
                                           staying{"AllButOne", all_but_one, false},
                                           staying{"AllButOneFilled", all_but_one, true}),
                         [](const auto& info) { return info.param.name; });

// ---- two calls at once

TEST_F(Progress, TwoCallsOnTwoStreams) {
  constexpr int num_rounds = 50;
  lane(&lanes)[2] = all_->lanes;
  for (std::size_t kind = 0; kind < all_->by_rungs.size(); ++kind)
    for (const std::size_t n : {std::size_t{300'007}, std::size_t{10'000'019}, most_beside_another}) {
      if (n > all_->most_items) break;
      const operation &cubs = all_->by_cub[kind], &ours = all_->by_rungs[kind];
      const std::string what = ours.name + ", n = " + std::to_string(n) + ", on two streams at once";
      all_->pulse.begins(what);
      ASSERT_TRUE(make_expected(cubs, n)) << what;
      // Enqueued in turn, so that both streams have work all the time.
      const auto run = [&](const operation& of, form how, double seconds) {
        const prepared first(of, how, all_->with(of, n, lanes[0].output.get(), lanes[0].stream), lanes[0]);
        const prepared second(of, how, all_->with(of, n, lanes[1].output.get(), lanes[1].stream), lanes[1]);
        return attempt(
            [&] {
              cudaError_t error = cudaSuccess;
              for (int round = 0; round < num_rounds && error == cudaSuccess; ++round) {
                error = first.enqueue();
                if (error == cudaSuccess) error = second.enqueue();
              }
              return error;
            },
            {lanes[0].stream, lanes[1].stream}, seconds);
      };
      const ending control = run(cubs, in_two_phases, 2 * limit);
      if (!control.is_good()) {
        cudaDeviceSynchronize();
        continue;
      }
      for (const form how : forms) {
        all_->pulse.begins(what + ", " + how.name);
        for (lane& each : lanes) {
          grow(ours, n, each);
          spoil(ours, n, each);
        }
        const ending end = run(ours, how, 2 * limit + times_of_cub * control.seconds);
        cudaDeviceSynchronize();
        EXPECT_EQ(complaint(end, control), "") << what << ", " << how.name;
        for (const lane& each : lanes) EXPECT_TRUE(is_right(ours, n, each)) << what << ", " << how.name;
      }
    }
  all_->pulse.rests();
}

// ---- parts of the device

class Part : public Progress, public ::testing::WithParamInterface<unsigned> {};

TEST_P(Part, LetsCallsEnd) {
  green_context part(GetParam());
  const cudaStream_t stream = part.make_stream();
  if (stream == nullptr) GTEST_SKIP() << "no green context: " << part.reason();
  expect_to_end({.name = "on " + std::to_string(part.num_multiprocessors()) + " multiprocessors",
                 .most_items = most_on_few_multiprocessors},
                stream);
}
INSTANTIATE_TEST_SUITE_P(Multiprocessors, Part, ::testing::Values(8u, 16u));

}  // namespace
}  // namespace rungs::tests::progress
