// Where contenders run: the GPU or the CPU. A place holds the input, the outputs and the workspaces, and knows how to
// call, poison and read; everything is allocated before a clock runs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "contender.hpp"
#include "instruments.hpp"
#include "planner.hpp"
#include "verify.hpp"

namespace rungs::bench {

class place {
 public:
  virtual ~place() = default;

  // Makes the input, and answers what an oracle needs to know about it.
  virtual summary_of_items fill(const workload& from) = 0;

  // Gives contenders that have a record, items and init their buffers; workspaces are zeroed where the record says so,
  // else poisoned. Answers the error of each contender's size query.
  virtual std::vector<cudaError_t> bind(std::span<contender> contenders) = 0;

  virtual cudaError_t call(const contender& one) = 0;  // and waits
  virtual void poison_output(const contender& one) = 0;
  virtual value_bytes output(const contender& one) = 0;
  // The outputs of this many calls in a row; empty where a call failed.
  virtual std::vector<value_bytes> repeat(const contender& one, int count) = 0;

  virtual std::unique_ptr<instrument> clock(mode how, std::vector<const contender*> contenders) = 0;
};

class device_place : public place {
 public:
  // Holds inputs of up to this many bytes, and as much again for what copy and fill write.
  device_place(const device_facts& facts, std::size_t largest_input_bytes);

  summary_of_items fill(const workload& from) override;
  std::vector<cudaError_t> bind(std::span<contender> contenders) override;
  cudaError_t call(const contender& one) override;
  void poison_output(const contender& one) override;
  value_bytes output(const contender& one) override;
  std::vector<value_bytes> repeat(const contender& one, int count) override;
  std::unique_ptr<instrument> clock(mode how, std::vector<const contender*> contenders) override;

  // A roof at a footprint: reads, writes, or does half of both.
  contender roof(const catalog::record& record, std::size_t footprint_bytes) const;
  void warm_up() const;  // until the clocks have risen
  cudaStream_t stream() const { return bench_.stream(); }
  void* scratch() const { return repeats_.get(); }  // a workspace for roofs, which use none
  static constexpr std::size_t scratch_bytes = 256;

 private:
  event_bench bench_;
  device_memory input_, roof_output_, arena_, summaries_, repeats_;
};

class host_place : public place {
 public:
  summary_of_items fill(const workload& from) override;
  std::vector<cudaError_t> bind(std::span<contender> contenders) override;
  cudaError_t call(const contender& one) override { return one.call(nullptr); }
  void poison_output(const contender& one) override;
  value_bytes output(const contender& one) override;
  std::vector<value_bytes> repeat(const contender& one, int count) override;
  std::unique_ptr<instrument> clock(mode how, std::vector<const contender*> contenders) override;

 private:
  std::vector<std::max_align_t> input_, arena_;
};

}  // namespace rungs::bench
