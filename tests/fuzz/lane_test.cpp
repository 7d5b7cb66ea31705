// The lane on the host, over a runtime whose device memory is the host's and whose kernels do nothing. The inputs are
// not made, then: instead of them, prepare() writes the outputs, right ones or wrong ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "fuzz/check.hpp"
#include "fuzz/lane.hpp"

namespace rungs::fuzz {
namespace {

int num_alive = 0;  // allocations, streams, events and graphs
cudaError_t of_allocations = cudaSuccess;
template <class Handle>
cudaError_t made(Handle* handle) {
  ++num_alive;
  *handle = static_cast<Handle>(std::malloc(1));
  return cudaSuccess;
}
cudaError_t gone(void* handle) {
  if (handle != nullptr) --num_alive;
  std::free(handle);
  return cudaSuccess;
}

}  // namespace

extern "C" {
cudaError_t __wrap_cudaMalloc(void** memory, std::size_t bytes) {
  ++num_alive;
  *memory = std::aligned_alloc(512, bytes);
  return cudaSuccess;
}
cudaError_t __wrap_cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return __wrap_cudaMalloc(memory, bytes);
}
cudaError_t __wrap_cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t) {
  return of_allocations != cudaSuccess ? of_allocations : __wrap_cudaMalloc(memory, bytes);
}
cudaError_t __wrap_cudaFree(void* memory) { return gone(memory); }
cudaError_t __wrap_cudaFreeHost(void* memory) { return gone(memory); }
cudaError_t __wrap_cudaFreeAsync(void* memory, cudaStream_t) { return gone(memory); }
cudaError_t __wrap_cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return made(stream); }
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream) { return gone(stream); }
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t __wrap_cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t __wrap_cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return cudaSuccess; }
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) { return made(graph); }
cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t* graph, cudaGraph_t, unsigned long long) { return made(graph); }
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t __wrap_cudaGraphExecDestroy(cudaGraphExec_t graph) { return gone(graph); }
cudaError_t __wrap_cudaGraphDestroy(cudaGraph_t graph) { return gone(graph); }
cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return made(event); }
cudaError_t __wrap_cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t __wrap_cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t event) { return gone(event); }
cudaError_t __wrap_cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t __wrap_cudaGetLastError() { return cudaSuccess; }
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t __wrap___cudaGetKernel(cudaKernel_t*, const void*) { return cudaSuccess; }
}

namespace {

enum class fault { none, wrong_item, before_output, behind_output, at_last_replay, in_size, takes_too_little };

// A kind in whose place the outputs are written by prepare().
class stand_in final : public kind {
 public:
  stand_in(const kind& of, const fault& fault) : kind(of.about()), of_(of), fault_(fault) {}
  std::size_t in_items(const fuzz_case& one) const override { return of_.in_items(one); }
  std::size_t out_bytes(const fuzz_case& one) const override { return of_.out_bytes(one); }
  std::size_t extra_bytes(const fuzz_case& one) const override { return of_.extra_bytes(one); }
  cudaError_t prepare(const fuzz_case& one, u64 shot, const places& at, cudaStream_t) const override {
    auto* const d_in = static_cast<unsigned char*>(at.d_in);
    if (d_in != nullptr && about().in_bytes > 0) std::memset(d_in, 0x11, in_items(one) * about().in_bytes);
    std::memset(at.d_extra, 0x22, extra_bytes(one));
    auto* const d_out = static_cast<unsigned char*>(at.d_out);
    const auto right = of_.expected(one, shot < first_shot_before ? shot : 0, canary);
    if (!right.empty()) std::memcpy(d_out, right.data(), right.size());
    if (fault_ == fault::wrong_item && !right.empty()) d_out[right.size() - 1] ^= 1;
    if (fault_ == fault::before_output) d_out[-1] = 0;
    if (fault_ == fault::behind_output) d_out[right.size()] = 0;
    if (fault_ == fault::at_last_replay && shot + 1 == one.replays && !right.empty()) d_out[0] ^= 1;
    return cudaSuccess;
  }
  cudaError_t call(const fuzz_case& one, const places&, const storage& by, cudaStream_t stream) const override {
    const std::size_t needed = 300 + one.n / 100;
    if (by.keeper != nullptr) return by.keeper->reserve(contents::uninitialised, needed, stream);
    if (by.d_temp_storage == nullptr) {
      *by.temp_storage_bytes = needed;
      return fault_ == fault::in_size ? cudaErrorUnknown : cudaSuccess;
    }
    if (*by.temp_storage_bytes < needed && fault_ != fault::takes_too_little) return cudaErrorInvalidValue;
    std::memset(by.d_temp_storage, 0x33, *by.temp_storage_bytes);
    return cudaSuccess;
  }
  cudaError_t count_changes(const fuzz_case&, u64, const places&, unsigned*, cudaStream_t) const override {
    return cudaSuccess;
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    return of_.expected(one, shot, filler);
  }
  void settle(unsigned char* outputs, std::size_t num_bytes) const override { of_.settle(outputs, num_bytes); }

 private:
  const kind& of_;
  const fault& fault_;
};

class Lane : public ::testing::Test {
 protected:
  Lane() {
    for (const auto& each : kinds()) table_.push_back(std::make_unique<stand_in>(*each, fault_));
    of_allocations = cudaSuccess;
    num_alive = 0;
    lane_ = std::make_unique<lane>(table_, std::size_t{64} << 20, std::size_t{32} << 20);
  }
  std::vector<outcome> run(const fuzz_case& one) {
    EXPECT_TRUE(lane_->enqueue(one));
    return lane_->finish();
  }
  static fuzz_case drawn(u64 seed) {
    fuzz_case one = draw(mixed(29, seed), all_traits());
    one.n = std::min<u64>(one.n, 3000 / one.rows);
    return valid(one, all_traits());
  }

  fault fault_ = fault::none;
  kind_table table_;
  std::unique_ptr<lane> lane_;
};

TEST_F(Lane, PassesWhatIsRightAndLeavesNothingBehind) {
  std::size_t num_outcomes = 0, num_enqueued = 0;
  const auto take = [&] {
    for (const outcome& each : lane_->finish()) {
      ++num_outcomes;
      EXPECT_EQ(each.complaint, "") << text_of(each.one, all_traits());
    }
  };
  for (u64 seed = 0; seed < 3000; ++seed) {
    ++num_enqueued;
    if (lane_->enqueue(drawn(seed))) continue;
    take();
    ASSERT_TRUE(lane_->enqueue(drawn(seed)));
  }
  take();
  EXPECT_EQ(num_outcomes, num_enqueued);
  lane_.reset();
  EXPECT_EQ(num_alive, 0);
}

TEST_F(Lane, RefusesWhatIsWrong) {
  for (const fault planted : {fault::wrong_item, fault::before_output, fault::behind_output, fault::in_size,
                              fault::at_last_replay, fault::takes_too_little}) {
    int num_refused = 0;
    for (u64 seed = 0; seed < 1000; ++seed) {
      const fuzz_case one = drawn(seed);
      if (planted == fault::at_last_replay && (one.replays == 0 || one.n == 0)) continue;
      if (planted == fault::takes_too_little && !one.refusal) continue;
      if (planted == fault::wrong_item && table_[one.kind]->out_bytes(one) == 0) continue;
      if (planted == fault::in_size && one.form != two_phases) continue;
      fault_ = planted;
      const auto outcomes = run(one);
      fault_ = fault::none;
      ASSERT_EQ(outcomes.size(), 1u);
      // One NaN for another is no fault.
      if (outcomes[0].complaint.empty() && one.values == special_values) continue;
      ASSERT_NE(outcomes[0].complaint, "") << text_of(one, all_traits()) << " fault " << static_cast<int>(planted);
      ++num_refused;
    }
    EXPECT_GT(num_refused, 10);
  }
}

TEST_F(Lane, SaysWhereMemoryRanOut) {
  of_allocations = cudaErrorMemoryAllocation;
  fuzz_case one = drawn(1);
  one.form = shared_workspace;
  const auto outcomes = run(valid(one, all_traits()));
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_TRUE(outcomes[0].is_out_of_memory);
  of_allocations = cudaSuccess;
  EXPECT_EQ(run(valid(one, all_traits()))[0].complaint, "");
}

TEST_F(Lane, SkipsWhatIsTooLarge) {
  fuzz_case one = drawn(2);
  one.n = 1 << 25;
  one.kind = 3;  // 4 bytes an item
  const auto outcomes = run(valid(one, all_traits()));
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_TRUE(outcomes[0].is_out_of_memory);
}

TEST_F(Lane, ItsPulseTellsWhatIsStuck) {
  EXPECT_FALSE(lane_->pulse().stuck(0));
  lane_->pulse().begins("a case");
  EXPECT_EQ(lane_->pulse().stuck(0), "a case");
  EXPECT_FALSE(lane_->pulse().stuck(1000));
  run(drawn(3));
  EXPECT_FALSE(lane_->pulse().stuck(0));
}

TEST_F(Lane, WorkspacesChangeHands) {
  workspace other;
  cudaStream_t used_on = nullptr;
  lane_->swap_workspace(other, used_on);
  EXPECT_EQ(used_on, lane_->first_stream());
  for (u64 seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(run(drawn(seed))[0].complaint, "");
    lane_->swap_workspace(other, used_on);
  }
}

}  // namespace
}  // namespace rungs::fuzz
