#include "fuzz/lane.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "fuzz/check.hpp"

namespace rungs::fuzz {
namespace {

struct failed {
  cudaError_t error;
  const char* what;
};
void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw failed{error, what};
}

long long now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

__global__ void fill_at_random(unsigned char* d_bytes, std::size_t num_bytes, unsigned long long seed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_bytes; i += stride) {
    unsigned long long bits = (seed + i) * 0x9e3779b97f4a7c15ull;
    bits ^= bits >> 29;
    d_bytes[i] = static_cast<unsigned char>(bits * 0xbf58476d1ce4e5b9ull >> 56);
  }
}

// Adds the number of bytes in [0, begin) and [end, size) that are no canaries.
__global__ void count_spoilt(const unsigned char* d_slab, std::size_t begin, std::size_t end, std::size_t size,
                             unsigned char filler, unsigned* d_num_spoilt) {
  unsigned num_spoilt = 0;
  for (std::size_t i = threadIdx.x; i < begin; i += blockDim.x) num_spoilt += d_slab[i] != filler;
  for (std::size_t i = end + threadIdx.x; i < size; i += blockDim.x) num_spoilt += d_slab[i] != filler;
  if (num_spoilt > 0) atomicAdd(d_num_spoilt, num_spoilt);
}

// Threads that call without a pause can keep one that captures out of the driver. They wait for one that has tried for
// 5 ms, at most 50 ms.
std::atomic<long long> captures[64];
class capture_turn {
 public:
  capture_turn() {
    const long long began = now();
    for (auto& each : captures) {
      long long none = 0;
      if (!each.compare_exchange_strong(none, began)) continue;
      slot_ = &each;
      break;
    }
  }
  ~capture_turn() {
    if (slot_ != nullptr) *slot_ = 0;
  }
  capture_turn(const capture_turn&) = delete;
  capture_turn& operator=(const capture_turn&) = delete;

 private:
  std::atomic<long long>* slot_ = nullptr;
};
void give_way() {
  for (int i = 0; i < 250; ++i) {
    const bool starves = std::ranges::any_of(captures, [](const auto& each) {
      const long long began = each;
      return began != 0 && now() - began > 5'000'000;
    });
    if (!starves) return;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

struct status {
  unsigned num_changed, num_spoilt;
};

}  // namespace

// A call on its way, and its memory.
struct lane::run {
  fuzz_case one;
  const kind* of = nullptr;
  cudaStream_t stream = nullptr;
  places at;
  unsigned char* d_outputs = nullptr;  // with red zones
  std::size_t outputs_bytes = 0, begin = 0;
  unsigned char* d_storage = nullptr;  // with red zones
  std::size_t storage_bytes = 0, storage_begin = 0, temp_storage_bytes = 0;
  status* d_status = nullptr;
  status* found_status = nullptr;
  std::vector<unsigned char*> copies;  // of the outputs, one for each shot
  std::vector<run> others;             // the call before; or the companion
  cudaEvent_t ended = nullptr;
  std::string complaint;
  bool is_out_of_memory = false;

  storage by(workspace& keeper) {
    if (one.form == shared_workspace) return {.keeper = &keeper};
    return {d_storage + storage_begin, &temp_storage_bytes, nullptr};
  }
};

unsigned char* lane::memory::take(std::size_t bytes) {
  const std::size_t begin = (used + 511) / 512 * 512;
  if (begin + bytes > size) throw full{};
  used = begin + bytes;
  return base + begin;
}

lane::lane(const kind_table& kinds, std::size_t device_bytes, std::size_t host_bytes) : kinds_(kinds) {
  for (const auto& each : kinds) traits_.push_back(each->about());
  try {
    check(cudaMalloc(&device_.base, device_bytes), "cudaMalloc");
    check(cudaHostAlloc(&host_.base, host_bytes, cudaHostAllocDefault), "cudaHostAlloc");
    device_.size = device_bytes;
    host_.size = host_bytes;
    for (cudaStream_t* each : {&streams_[0], &streams_[1], &capturing_})
      check(cudaStreamCreateWithFlags(each, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    for (cudaEvent_t& each : meeting_)
      check(cudaEventCreateWithFlags(&each, cudaEventDisableTiming), "cudaEventCreate");
  } catch (const failed& failure) {
    throw std::runtime_error(std::string(failure.what) + ": " + cudaGetErrorName(failure.error));
  }
  workspace_stream_ = streams_[0];
}

lane::~lane() {
  cudaDeviceSynchronize();
  workspace_ = {};
  for (cudaEvent_t each : events_) cudaEventDestroy(each);
  for (cudaEvent_t each : meeting_) cudaEventDestroy(each);
  for (cudaStream_t each : {streams_[0], streams_[1], capturing_}) cudaStreamDestroy(each);
  cudaFree(device_.base);
  cudaFreeHost(host_.base);
}

bool lane::is_dead() {
  cudaGetLastError();
  const bool is_dead = cudaDeviceSynchronize() != cudaSuccess && cudaDeviceSynchronize() != cudaSuccess;
  cudaGetLastError();
  return is_dead;
}

void lane::swap_workspace(workspace& other, cudaStream_t& used_on) {
  std::swap(workspace_, other);
  std::swap(workspace_stream_, used_on);
}

void lane::renew_workspace() {
  workspace gone;
  std::swap(gone, workspace_);
}

cudaEvent_t lane::event() {
  if (num_events_used_ == events_.size()) {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    events_.push_back(made);
  }
  return events_[num_events_used_++];
}

cudaStream_t lane::stream_of(const fuzz_case& one) const {
  if (one.stream == legacy) return cudaStreamLegacy;
  if (one.stream == per_thread) return cudaStreamPerThread;
  return streams_[one.seed >> 7 & 1];
}

void lane::use_workspace_on(cudaStream_t stream) {
  if (workspace_stream_ == stream) return;
  check(workspace_.hand_over(workspace_stream_, stream), "hand_over");
  workspace_stream_ = stream;
}

// Takes all memory that a call needs, and launches nothing.
lane::run lane::planned(const fuzz_case& one, cudaStream_t stream, bool is_checked) {
  run made;
  made.one = one;
  made.of = kinds_[one.kind].get();
  made.stream = stream;
  const traits& about = made.of->about();
  const std::size_t bytes = made.of->out_bytes(one);
  made.begin = red_zone_bytes + one.out_offset * about.out_bytes;
  made.outputs_bytes = made.begin + bytes + red_zone_bytes;
  made.d_outputs = device_.take(made.outputs_bytes);
  made.at.d_out = made.d_outputs + made.begin;
  made.at.d_in = one.in_place ? made.at.d_out
                              : device_.take((one.in_offset + made.of->in_items(one)) * about.in_bytes + 16) +
                                    one.in_offset * about.in_bytes;
  made.at.d_extra = device_.take(made.of->extra_bytes(one));
  if (one.form == two_phases) {
    check(made.of->call(one, made.at, {nullptr, &made.temp_storage_bytes, nullptr}, stream), "the call for the size");
    made.storage_begin = red_zone_bytes + one.storage_offset;
    made.storage_bytes = made.storage_begin + made.temp_storage_bytes + red_zone_bytes;
  }
  if (is_checked) {
    made.d_status = reinterpret_cast<status*>(device_.take(sizeof(status)));
    made.found_status = reinterpret_cast<status*>(host_.take(sizeof(status)));
    for (u64 shot = 0; shot < std::max<u64>(one.replays, 1); ++shot)
      made.copies.push_back(host_.take(made.outputs_bytes));
    made.ended = event();
  }
  return made;
}

void lane::waits_for(const fuzz_case& one) { pulse_.begins("rungs_fuzz --case=" + text_of(one, traits_)); }

bool lane::enqueue(const fuzz_case& one) {
  give_way();
  waits_for(one);
  const std::size_t device_used = device_.used, host_used = host_.used, events_used = num_events_used_;
  run main;
  try {
    main = planned(one, stream_of(one), true);
    if (one.before != 0) {
      fuzz_case before = one.repeated ? one : draw_simple(one.before, traits_);
      before.form = one.form;
      before.storage_offset = one.storage_offset;
      main.others.push_back(planned(before, main.stream, false));
    } else if (one.companion != 0) {
      const fuzz_case companion = draw_simple(one.companion, traits_);
      const cudaStream_t beside = main.stream == streams_[0] ? streams_[1] : streams_[0];
      main.others.push_back(planned(companion, beside, true));
      main.others[0].d_storage = device_.take(main.others[0].storage_bytes);
    }
    if (one.form == two_phases) {
      std::size_t most = main.storage_bytes;
      if (one.before != 0) most = std::max(most, main.others[0].storage_bytes);
      main.d_storage = device_.take(most);
      if (one.before != 0) main.others[0].d_storage = main.d_storage;
    }
  } catch (const full&) {
    device_.used = device_used;
    host_.used = host_used;
    num_events_used_ = events_used;
    pulse_.rests();
    if (!runs_.empty()) return false;
    main = {};
    main.one = one;
    main.complaint = "the case needs more memory than a lane has";
    main.is_out_of_memory = true;
    runs_.push_back(std::move(main));
    return true;
  } catch (const failed& failure) {
    main.one = one;
    main.of = nullptr;
    main.complaint = std::string(failure.what) + ": " + cudaGetErrorName(failure.error);
    runs_.push_back(std::move(main));
    cudaGetLastError();
    pulse_.rests();
    return true;
  }
  try {
    start(main);
  } catch (const failed& failure) {
    main.complaint = std::string(failure.what) + ": " + cudaGetErrorName(failure.error);
    main.is_out_of_memory = failure.error == cudaErrorMemoryAllocation;
    cudaGetLastError();
  }
  pulse_.rests();
  runs_.push_back(std::move(main));
  return true;
}

void lane::start(run& main) {
  if (main.one.fresh) renew_workspace();
  check(cudaMemsetAsync(main.d_status, 0, sizeof(status), main.stream), "cudaMemsetAsync");
  fill_storage(main);
  if (main.one.before != 0) {
    run& before = main.others[0];
    begin(before, first_shot_before);
    call(before);
    if (main.one.form == two_phases) {
      // What the call before may not have touched has to be canaries again.
      const std::size_t end = main.storage_begin + main.temp_storage_bytes;
      check(cudaMemsetAsync(main.d_storage + end, canary, main.storage_bytes - end, main.stream), "cudaMemsetAsync");
      if (main.one.contents == left_over_but_for_its_head)
        check(cudaMemsetAsync(main.d_storage + main.storage_begin, 0x5c,
                              std::min<std::size_t>(main.temp_storage_bytes, 1 + main.one.seed % 64), main.stream),
              "cudaMemsetAsync");
    }
  }
  if (main.one.refusal && main.one.form == two_phases && main.temp_storage_bytes > 0) {
    std::size_t too_few = main.temp_storage_bytes - 1;
    const cudaError_t error =
        main.of->call(main.one, main.at, {main.d_storage + main.storage_begin, &too_few, nullptr}, main.stream);
    cudaGetLastError();
    if (error != cudaErrorInvalidValue)
      main.complaint = std::string("with one byte too few the call returned ") + cudaGetErrorName(error);
  }
  if (main.one.replays > 0) {
    replay(main);
  } else if (main.one.companion != 0) {
    run& companion = main.others[0];
    check(cudaMemsetAsync(companion.d_status, 0, sizeof(status), companion.stream), "cudaMemsetAsync");
    fill_storage(companion);
    begin(main, 0);
    begin(companion, 0);
    check(cudaEventRecord(meeting_[0], main.stream), "cudaEventRecord");
    check(cudaEventRecord(meeting_[1], companion.stream), "cudaEventRecord");
    check(cudaStreamWaitEvent(main.stream, meeting_[1], 0), "cudaStreamWaitEvent");
    check(cudaStreamWaitEvent(companion.stream, meeting_[0], 0), "cudaStreamWaitEvent");
    call(main);
    call(companion);
    end(main, 0);
    end(companion, 0);
    check(cudaEventRecord(companion.ended, companion.stream), "cudaEventRecord");
  } else {
    begin(main, 0);
    call(main);
    end(main, 0);
  }
  check(cudaEventRecord(main.ended, main.stream), "cudaEventRecord");
}

void lane::fill_storage(run& main) {
  if (main.one.form != two_phases) return;
  check(cudaMemsetAsync(main.d_storage, canary, main.storage_bytes, main.stream), "cudaMemsetAsync");
  unsigned char* const body = main.d_storage + main.storage_begin;
  if (main.temp_storage_bytes == 0) return;
  if (main.one.contents == zeros || main.one.contents == ones) {
    check(cudaMemsetAsync(body, main.one.contents == zeros ? 0 : 0xff, main.temp_storage_bytes, main.stream),
          "cudaMemsetAsync");
    return;
  }
  fill_at_random<<<static_cast<unsigned>(std::min<std::size_t>((main.temp_storage_bytes + 255) / 256, 1024)), 256, 0,
                   main.stream>>>(body, main.temp_storage_bytes, main.one.seed);
  check(cudaGetLastError(), "fill_at_random");
}

void lane::begin(run& each, u64 shot) {
  check(cudaMemsetAsync(each.d_outputs, canary, each.outputs_bytes, each.stream), "cudaMemsetAsync");
  check(each.of->prepare(each.one, shot, each.at, each.stream), "prepare");
}

void lane::call(run& each) {
  if (each.one.form == shared_workspace) use_workspace_on(each.stream);
  check(each.of->call(each.one, each.at, each.by(workspace_), each.stream), "the call");
}

void lane::end(run& each, u64 shot) {
  check(each.of->count_changes(each.one, shot, each.at, &each.d_status->num_changed, each.stream), "count_changes");
  if (each.one.form == two_phases) {
    count_spoilt<<<1, 256, 0, each.stream>>>(each.d_storage, each.storage_begin,
                                             each.storage_begin + each.temp_storage_bytes, each.storage_bytes, canary,
                                             &each.d_status->num_spoilt);
    check(cudaGetLastError(), "count_spoilt");
  }
  check(cudaMemcpyAsync(each.copies[shot], each.d_outputs, each.outputs_bytes, cudaMemcpyDeviceToHost, each.stream),
        "cudaMemcpyAsync");
  check(cudaMemcpyAsync(each.found_status, each.d_status, sizeof(status), cudaMemcpyDeviceToHost, each.stream),
        "cudaMemcpyAsync");
}

// Captured on a stream of its own, for the others may not be captured beside the legacy one.
void lane::replay(run& main) {
  struct graphs {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replayable = nullptr;
    ~graphs() {
      if (replayable != nullptr) cudaGraphExecDestroy(replayable);
      if (graph != nullptr) cudaGraphDestroy(graph);
    }
  } made;
  if (main.one.form == shared_workspace) {  // what is captured must not allocate: this call does
    begin(main, 0);
    call(main);
  }
  {
    const capture_turn turn;
    check(cudaStreamBeginCapture(capturing_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    const cudaError_t called = main.of->call(main.one, main.at, main.by(workspace_), capturing_);
    const cudaError_t ended = cudaStreamEndCapture(capturing_, &made.graph);
    // The replays are the next uses. A workspace cannot free its memory on a stream that is being captured again.
    const cudaError_t handed =
        main.one.form == shared_workspace ? workspace_.hand_over(capturing_, main.stream) : cudaSuccess;
    check(called, "the captured call");
    check(ended, "cudaStreamEndCapture");
    check(handed, "hand_over");
    check(cudaGraphInstantiate(&made.replayable, made.graph, 0), "cudaGraphInstantiate");
  }
  for (u64 shot = 0; shot < main.one.replays; ++shot) {
    begin(main, shot);
    check(cudaGraphLaunch(made.replayable, main.stream), "cudaGraphLaunch");
    end(main, shot);
  }
  check(cudaStreamSynchronize(main.stream), "cudaStreamSynchronize after replays");  // then the graph may go
}

std::string lane::judged(run& each) {
  std::vector<std::vector<unsigned char>> expected;
  if (each.complaint.empty())
    for (u64 shot = 0; shot < each.copies.size(); ++shot) expected.push_back(each.of->expected(each.one, shot, canary));
  waits_for(each.one);
  if (each.ended != nullptr && !each.is_out_of_memory) {
    const cudaError_t error = cudaEventSynchronize(each.ended);
    if (error != cudaSuccess && each.complaint.empty())
      each.complaint = std::string("waiting for it: ") + cudaGetErrorName(error);
  }
  pulse_.rests();
  for (u64 shot = 0; shot < expected.size() && each.complaint.empty(); ++shot)
    each.complaint =
        complaint(*each.of, each.one, shot, {each.copies[shot], each.outputs_bytes}, each.begin, expected[shot]);
  if (each.complaint.empty() && each.found_status->num_changed > 0)
    each.complaint = "items of the input have changed: " + std::to_string(each.found_status->num_changed);
  if (each.complaint.empty() && each.found_status->num_spoilt > 0)
    each.complaint = "bytes around the storage were written to: " + std::to_string(each.found_status->num_spoilt);
  return each.complaint;
}

std::vector<outcome> lane::finish() {
  std::vector<outcome> all;
  for (run& each : runs_) {
    std::string complaint = judged(each);
    if (complaint.empty() && each.one.companion != 0) {
      complaint = judged(each.others[0]);
      if (!complaint.empty()) complaint = "the companion, " + text_of(each.others[0].one, traits_) + ": " + complaint;
    }
    all.push_back({each.one, std::move(complaint), each.is_out_of_memory});
  }
  // Calls that failed half way are on streams still. The legacy stream is waited for only where it was used: for that
  // wait the driver looks at graphs of other threads, and frees twice what they destroy meanwhile (580.159).
  const bool has_failed = std::ranges::any_of(all, [](const outcome& each) { return !each.complaint.empty(); });
  if (has_failed) {
    waits_for(all.front().one);
    for (const cudaStream_t each : {streams_[0], streams_[1], capturing_}) cudaStreamSynchronize(each);
    for (const run& each : runs_) cudaStreamSynchronize(stream_of(each.one));
    cudaGetLastError();
    pulse_.rests();
  }
  runs_.clear();
  device_.used = host_.used = 0;
  num_events_used_ = 0;
  return all;
}

}  // namespace rungs::fuzz
