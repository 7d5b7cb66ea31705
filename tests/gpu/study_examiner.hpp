// What the examinations of the studies share (atomics; collectives and barriers): a call's output and workspace between
// red zones, and how a case is run, inspected, and replayed from a graph.
#pragma once

#include <cstddef>
#include <string>

#include "gpu/bench_top.hpp"
#include "gpu/examination.hpp"
#include "gpu/problem.hpp"
#include "gpu/site.hpp"
#include "text.hpp"

namespace rungs::tests {

class study_examiner {
 protected:
  study_examiner(const catalog::record& subject, const examination& how)
      : subject_(subject),
        how_(how),
        on_device_(subject.executes_on == executor::device),
        where_(on_device_ ? device_site() : host_site()),
        stream_(on_device_),
        output_(where_, sanitizing()),
        workspace_(where_, sanitizing()) {}

  bool sanitizing() const { return how_.how_much == extent::sanitizer; }

  void report(const std::string& case_name, const std::string& what) {
    if (result_.findings.size() < 6) result_.findings.push_back({case_name, what});
  }
  template <class F>
  void one_case(const std::string& case_name, F&& body) {
    if (!how_.only_case.empty() && how_.only_case != case_name) return;
    how_.on_case(case_name);
    ++result_.cases;
    try {
      body();
    } catch (const broken& b) {
      report(case_name, b.what());
    }
  }

  // An output of so many bytes, so many items behind a red zone; then a workspace of the size that the call answers.
  void place_output(std::size_t num_bytes, std::size_t item_bytes, std::size_t offset) {
    where_.wait(stream_);
    guards_ = {};
    output_bytes_ = num_bytes;
    d_output_ = output_.place(num_bytes, offset * item_bytes, guards_);
  }
  void place_workspace(const catalog::arguments& call, std::size_t offset) {
    bytes_ = 0;
    const cudaError_t status = subject_.call(nullptr, bytes_, call, stream_);
    if (status != cudaSuccess) throw broken(text("the size query returned ", cudaGetErrorName(status)));
    if (bytes_ == 0) throw broken("the size query answered 0");
    d_workspace_ = workspace_.place(bytes_, offset, guards_);
    where_.scramble(d_workspace_, bytes_, how_.seed, stream_);
    where_.paint(guards_, how_.seed, stream_);
    where_.wait(stream_);
  }
  void reset(int leftover) {
    where_.fill(d_output_, leftover, output_bytes_, stream_);
    where_.wait(stream_);
  }
  cudaError_t enqueue(const catalog::arguments& call, std::size_t bytes) {
    return subject_.call(d_workspace_, bytes, call, stream_);
  }
  void inspect(const std::string& when) {
    if (const auto damage = where_.inspect(guards_, how_.seed, stream_))
      throw broken(text(when, ": wrote outside, zone ", damage->zone, " byte ", damage->offset));
  }

  // Captured once, replayed over new leftovers. Its kernels have been loaded by a call before.
  template <class Judge>
  void replay(const catalog::arguments& call, Judge&& judge) {
    device::check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    const cudaError_t status = enqueue(call, bytes_);
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    if (status != cudaSuccess || ended != cudaSuccess) {
      cudaGetLastError();
      throw broken(text("capturing gave ", cudaGetErrorName(status), ", ending it ", cudaGetErrorName(ended)));
    }
    cudaGraphExec_t executable = nullptr;
    device::check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    for (const int leftover : {0xff, 0x00, 0x55}) {
      reset(leftover);
      device::check(cudaGraphLaunch(executable, stream_), "cudaGraphLaunch");
      where_.wait(stream_);
      judge(text("replayed over ", leftover));
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }

  const catalog::record& subject_;
  const examination& how_;
  const bool on_device_;
  site& where_;
  stream_handle stream_;
  guarded_buffer output_, workspace_;
  device::zones guards_;
  void *d_output_ = nullptr, *d_workspace_ = nullptr;
  std::size_t output_bytes_ = 0, bytes_ = 0;
  verdict result_;
};

}  // namespace rungs::tests
