// One record's buffers, its stream and its referee: what a call needs. One thread uses it.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "gpu/problem.hpp"
#include "gpu/referee.hpp"
#include "gpu/site.hpp"

namespace rungs::tests {

inline constexpr std::uint64_t canary_key = 0x5ca1ab1e;

class stream_handle {
 public:
  explicit stream_handle(bool on_device) {
    if (on_device) check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  // Waits: memory that its kernels use may be used again at once.
  ~stream_handle() {
    if (stream_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  stream_handle(const stream_handle&) = delete;
  stream_handle& operator=(const stream_handle&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// What `call` enqueues on a stream while it is captured.
class captured_graph {
 public:
  template <class Call>
  captured_graph(cudaStream_t stream, Call&& call) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    called_ = call();
    ended_ = cudaStreamEndCapture(stream, &graph_);
    if (!has_all()) cudaGetLastError();
  }
  captured_graph(captured_graph&& other) noexcept
      : called_(other.called_),
        ended_(other.ended_),
        graph_(std::exchange(other.graph_, nullptr)),
        executable_(std::exchange(other.executable_, nullptr)) {}
  ~captured_graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  cudaError_t called() const { return called_; }
  cudaError_t ended() const { return ended_; }
  bool has_all() const { return called_ == cudaSuccess && ended_ == cudaSuccess; }
  std::vector<cudaGraphNode_t> nodes() const {
    std::size_t count = 0;
    check(cudaGraphGetNodes(graph_, nullptr, &count));
    std::vector<cudaGraphNode_t> all(count);
    if (count > 0) check(cudaGraphGetNodes(graph_, all.data(), &count));
    return all;
  }
  void launch(cudaStream_t stream) {
    if (executable_ == nullptr) check(cudaGraphInstantiate(&executable_, graph_, 0));
    check(cudaGraphLaunch(executable_, stream));
  }

 private:
  cudaError_t called_ = cudaSuccess, ended_ = cudaSuccess;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

class bench_top {
 public:
  // `exact`: every buffer is allocated anew and ends where its contents end. `filled`: a workspace that may hold
  // anything is written before the call; otherwise it is left as allocated, so that initcheck sees what is read before
  // it is written.
  bench_top(const catalog::record& subject, site& where, bool exact, bool filled = true);

  cudaStream_t stream() const { return stream_; }
  const catalog::record& subject() const { return subject_; }
  tests::referee& referee() const { return *referee_; }

  // Throws what is wrong with the answer.
  std::size_t workspace_bytes(const problem& p);

  // Places everything and makes the data. The workspace is painted as the problem says, or zeroed where the contract
  // says so.
  void prepare(const problem& p) { prepare(p, 0); }
  // The same with a workspace of that size, whatever the variant asks for; 0: what it asks for.
  void prepare(const problem& p, std::size_t workspace_bytes);
  // The input alone, anew and where it is.
  void make_input(const problem& p, cudaStream_t stream);
  void poison_workspace(const problem& p);
  // Before each call: the output poisoned; in place, the input made again.
  void reset_output(const problem& p, int byte, cudaStream_t stream);
  // Calls use the workspace of another top instead of their own, until the next prepare().
  void share_workspace(const bench_top& other);

  std::uint64_t input_checksum(std::size_t num_items);
  // Before the call: what it is to write. The problem may take fewer items than it was prepared with.
  void learn(const problem& p) { learn(p, input_checksum(p.num_items)); }
  void learn(const problem& p, std::uint64_t of_input) { referee_->learn(judged(p), of_input); }

  // What the record is called with on these items. Host memory that it points at is in `host`.
  struct in_host_memory {
    value init;
    std::uint64_t levels[2];
  };
  catalog::arguments arguments(const problem& p, const void* d_in, void* d_out, in_host_memory& host) const;

  // The call, with arguments that live no longer than it.
  [[gnu::noinline]] cudaError_t enqueue(const problem& p, cudaStream_t stream);
  [[gnu::noinline]] cudaError_t enqueue(const problem& p, cudaStream_t stream, std::size_t bytes);
  [[gnu::noinline]] cudaError_t enqueue(const problem& p, cudaStream_t stream, std::size_t bytes, void* d_out);
  cudaError_t enqueue(const catalog::arguments& call, cudaStream_t stream);
  // The call and all it does; throws what it returned or left behind.
  void run(const problem& p, cudaStream_t stream);

  // Throws what is wrong with the result.
  void judge(const problem& p, std::string_view which);
  void judge_surroundings(const problem& p, std::uint64_t before, std::string_view which);
  std::string fingerprint(const problem& p) { return referee_->fingerprint(judged(p)); }

  void* d_in() const { return d_in_; }
  void* d_out() const { return d_out_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t output_bytes() const { return output_bytes_; }

 private:
  void place_levels(const problem& p);
  void place_workspace(const problem& p, std::size_t bytes);
  judged_call judged(const problem& p) const { return {p, made_, d_in_, d_out_, stream_, &made_second_, d_second_}; }
  bool has_second() const { return catalog::has_second(subject_.operation); }

  const catalog::record& subject_;
  site& where_;
  bool exact_, filled_, counts_;
  std::unique_ptr<tests::referee> referee_;
  guarded_buffer in_, second_, out_, levels_, workspace_;
  stream_handle stream_;
  zones guards_;
  std::vector<const char*> zone_names_;
  void *d_in_ = nullptr, *d_second_ = nullptr, *d_out_ = nullptr, *d_levels_ = nullptr, *d_workspace_ = nullptr;
  std::size_t bytes_ = 0, output_bytes_ = 0;
  sample made_{}, made_second_{};
};

}  // namespace rungs::tests
