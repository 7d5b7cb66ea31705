// One host thread's place of work: memory that is allocated once, streams, a workspace that all calls share, and the
// calls that are on their way.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <utility>
#include <vector>

#include "fuzz/kind.hpp"
#include "rungs/workspace.cuh"
#include "watchdog.hpp"

namespace rungs::fuzz {

struct outcome {
  fuzz_case one;
  std::string complaint;          // empty: right
  bool is_out_of_memory = false;  // nothing was proved
};

class lane {
 public:
  // Throws std::runtime_error. The memory on the host is pinned.
  lane(const kind_table& kinds, std::size_t device_bytes, std::size_t host_bytes);
  ~lane();
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  // False where there is no room until finish() was called. All calls of a lane are made by one thread.
  bool enqueue(const fuzz_case& one);
  // Waits for all that was enqueued, and judges it.
  std::vector<outcome> finish();
  // Whether the device takes no more calls, after a fault.
  static bool is_dead();

  // What it waits for, as a command that runs the case alone.
  tests::heartbeat& pulse() { return pulse_; }
  // The workspace, and the stream that it was used on. swap() leaves another one.
  void swap_workspace(workspace& other, cudaStream_t& used_on);
  void renew_workspace();
  cudaStream_t first_stream() const { return streams_[0]; }

 private:
  struct run;
  struct memory {  // taken from the front
    unsigned char* base = nullptr;
    std::size_t size = 0, used = 0;
    unsigned char* take(std::size_t bytes);
  };
  struct full {};

  run planned(const fuzz_case& one, cudaStream_t stream, bool is_checked);
  void start(run& main);
  void begin(run& each, u64 shot);
  void call(run& each);
  void end(run& each, u64 shot);
  void replay(run& main);
  void fill_storage(run& main);
  void waits_for(const fuzz_case& one);
  void use_workspace_on(cudaStream_t stream);
  std::string judged(run& each);
  cudaStream_t stream_of(const fuzz_case& one) const;
  cudaEvent_t event();

  const kind_table& kinds_;
  std::vector<traits> traits_;
  memory device_, host_;
  cudaStream_t streams_[2] = {}, capturing_ = nullptr;
  cudaEvent_t meeting_[2] = {};
  std::vector<cudaEvent_t> events_;
  std::size_t num_events_used_ = 0;
  workspace workspace_;
  cudaStream_t workspace_stream_ = nullptr;
  std::vector<run> runs_;
  tests::heartbeat pulse_;
};

}  // namespace rungs::fuzz
