// Where contenders run: the GPU or the CPU. A place holds the input, the outputs and the workspaces, and knows how to
// call, poison and read; everything is allocated before a clock runs.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contender.hpp"
#include "instruments.hpp"
#include "oracles/chain_reference.hpp"
#include "oracles/rows_reference.hpp"
#include "oracles/update_reference.hpp"
#include "planner.hpp"
#include "selection_oracle.hpp"
#include "verify.hpp"

namespace rungs::bench {

class place {
 public:
  virtual ~place() = default;

  // Makes the input of a problem, its offset behind where memory begins, and learns what verify() must know.
  // `init_offset` as in init_of(). Of a histogram's problem the seed and the number of items count; the rest follows
  // from its shape and its distribution; likewise of the studies that read no input.
  void fill(const problem& about, const workload& from, int init_offset);
  // Judges the output as it stands, a scan's from the first element to the last.
  judgement verify(const contender& one);
  const summary_of_items& facts() const { return facts_; }  // of a reduction's items, or of pairs' products

  // Gives contenders that have a record, items and init their buffers. Where a buffer lies can cost more than the noise
  // (atomics of histograms: up to 40 %), so all contenders have the same ones: one input, one output, and one workspace
  // for all that take it as it is, poisoned. Only those whose storage is zeroed once, which they keep something in,
  // have storage of their own. Answers the error of each contender's size query.
  std::vector<cudaError_t> bind(std::span<contender> contenders);
  // Gives a contender what its calls take beside buffers, of what was filled in last: levels; addresses, or who takes
  // part, and a seed.
  void give_shape(contender& one) const;

  virtual cudaError_t call(const contender& one) = 0;  // and waits
  void poison_output(const contender& one) { set(one.arguments.d_out, output_poison, output_bytes(one)); }
  // The outputs of this many calls in a row (of more than one value: their hashes); empty where a call failed.
  virtual std::vector<value_bytes> repeat(const contender& one, int count) = 0;

  virtual std::unique_ptr<instrument> clock(mode how, std::vector<const contender*> contenders) = 0;

 protected:
  virtual void generate(const workload& from) = 0;
  virtual summary_of_items summarise(const workload& from) = 0;
  // Of a dot product: the second items of pairs, once the first ones are there, and what is known of their products.
  virtual void generate_second(const workload& from) = 0;
  virtual summary_of_items summarise_products(const workload& from) = 0;
  // Of a call that looks for a place: where the first of the least (the greatest) items stands, which the facts tell.
  virtual std::uint64_t find_first(const workload& from, bool least) = 0;
  // Of a selection: the hash of what it wrote.
  virtual std::uint64_t hash_of(const void* from, std::size_t num_bytes) = 0;
  // What each chunk comes to; what comes before it, for the checks that follow.
  virtual std::vector<running> fold(const scan_question& of) = 0;
  virtual void keep(const std::vector<running>&) {}
  virtual tally check_output(const contender& one, const scan_question& of, const tolerance& within) = 0;

  // Of a histogram: the samples, their counts by the oracle, the levels for calls that take all of them.
  virtual void generate(const sample_source& from) = 0;
  virtual counted count(histogram_question of, const std::vector<double>& edges) = 0;
  virtual const void* bring(const std::vector<std::uint64_t>& levels) = 0;

  // The place's memory: where the input, one output and all workspaces begin; set to a byte, later than all calls so
  // far; and copied to the host, which waits.
  struct buffers {
    void *output, *workspaces;
  };
  virtual void* input() = 0;
  virtual buffers make_room(std::size_t output_bytes, std::size_t workspace_bytes) = 0;
  virtual void set(void* memory, int byte, std::size_t num_bytes) = 0;
  virtual void copy_out(void* to, const void* from, std::size_t num_bytes) = 0;
  virtual cudaStream_t call_stream() const { return nullptr; }

  static std::size_t output_bytes(const contender& one);
  template <class T>
  std::vector<T> read(const void* from, std::size_t count) {
    std::vector<T> values(count);
    copy_out(values.data(), from, count * sizeof(T));
    return values;
  }
  value_bytes read_element(const contender& one, std::size_t element);

  const std::vector<running>& befores() const { return befores_; }
  catalog::scalar input_type() const { return from_.type; }
  std::size_t offset() const { return offset_; }
  bool has_second() const { return has_second_; }
  void* second_input();
  // Where items begin in memory: the offset of what was filled in last.
  void* first_item(void* memory) const {
    return static_cast<unsigned char*>(memory) + offset_ * catalog::size_of(from_.type);
  }
  static constexpr int output_poison = 0xa5, workspace_poison = 0xc3;

 private:
  template <class T>
  std::vector<T> read_output(const contender& one) {
    return read<T>(one.arguments.d_out, output_bytes(one) / sizeof(T));
  }

  workload from_;
  std::size_t offset_ = 0;  // in items
  bool has_second_ = false;
  int init_offset_ = 0;
  summary_of_items facts_;
  std::vector<std::uint64_t> first_;  // where the extremum stands; of both, the least and the greatest
  value_bytes threshold_{};           // of a selection, and what it chooses
  chosen_items chosen_;
  std::size_t k_ = 0;
  std::vector<std::uint32_t> greatest_;  // what top-k has to write
  scan_question question_;
  std::vector<running> befores_;
  histogram_question counting_;
  counted expected_;
  std::vector<std::uint64_t> levels_;
  const void* brought_levels_ = nullptr;
  tests::update_call updating_;
  tests::chain_call chain_;
  std::vector<unsigned char> expected_bytes_;  // of the study of atomics, or of chains
};

class device_place : public place {
 public:
  // Holds inputs and outputs of calls and roofs of up to this many bytes, their offsets among them.
  device_place(const device_facts& facts, std::size_t largest_input_bytes, std::size_t largest_output_bytes);
  // What these problems need of them.
  device_place(const device_facts& facts, std::span<const problem> problems);

  cudaError_t call(const contender& one) override;
  std::vector<value_bytes> repeat(const contender& one, int count) override;
  std::unique_ptr<instrument> clock(mode how, std::vector<const contender*> contenders) override;

  // A call with cold caches that a profiler sees, in an NVTX range of this name, and nothing else of it; and waits.
  cudaError_t call_in_view(const contender& one, const std::string& range);

  // A roof at a footprint: it reads, writes, or does both.
  contender roof(const catalog::record& record, std::size_t footprint_bytes) const;
  void warm_up(double seconds = 0.5) const;  // until the clocks have risen
  cudaStream_t stream() const { return bench_.stream(); }
  void* scratch() const { return repeats_.get(); }  // a workspace for roofs, which use none
  static constexpr std::size_t scratch_bytes = 256;

 protected:
  void generate(const workload& from) override;
  summary_of_items summarise(const workload& from) override;
  void generate_second(const workload& from) override;
  summary_of_items summarise_products(const workload& from) override;
  std::uint64_t find_first(const workload& from, bool least) override;
  std::uint64_t hash_of(const void* from, std::size_t num_bytes) override;
  std::vector<running> fold(const scan_question& of) override;
  void keep(const std::vector<running>& befores) override;
  tally check_output(const contender& one, const scan_question& of, const tolerance& within) override;
  void generate(const sample_source& from) override;
  counted count(histogram_question of, const std::vector<double>& edges) override;
  const void* bring(const std::vector<std::uint64_t>& levels) override;
  void* input() override { return first_item(input_.get()); }
  buffers make_room(std::size_t output_bytes, std::size_t workspace_bytes) override;
  void set(void* memory, int byte, std::size_t num_bytes) override;
  void copy_out(void* to, const void* from, std::size_t num_bytes) override;
  cudaStream_t call_stream() const override { return stream(); }

 private:
  summary_of_items merged(const summary_of_items* parts);  // device_work::max_summaries of them
  void copy_in(void* to, const void* from, std::size_t num_bytes);

  event_bench bench_;
  device_memory input_, output_, arena_, summaries_, chunks_, tallies_, repeats_, counts_, edges_, levels_;
};

class host_place : public place {
 public:
  cudaError_t call(const contender& one) override { return one.call(nullptr); }
  std::vector<value_bytes> repeat(const contender& one, int count) override;
  std::unique_ptr<instrument> clock(mode how, std::vector<const contender*> contenders) override;

 protected:
  void generate(const workload& from) override;
  summary_of_items summarise(const workload& from) override;
  void generate_second(const workload& from) override;
  summary_of_items summarise_products(const workload& from) override;
  std::uint64_t find_first(const workload& from, bool least) override;
  std::uint64_t hash_of(const void* from, std::size_t num_bytes) override { return hash(from, num_bytes); }
  std::vector<running> fold(const scan_question& of) override { return fold_chunks(of); }
  tally check_output(const contender& one, const scan_question& of, const tolerance& within) override;
  void generate(const sample_source& from) override;
  counted count(histogram_question of, const std::vector<double>& edges) override;
  const void* bring(const std::vector<std::uint64_t>& levels) override { return levels.data(); }
  void* input() override { return first_item(input_.data()); }
  buffers make_room(std::size_t output_bytes, std::size_t workspace_bytes) override;
  void set(void* memory, int byte, std::size_t num_bytes) override { std::memset(memory, byte, num_bytes); }
  void copy_out(void* to, const void* from, std::size_t num_bytes) override { std::memcpy(to, from, num_bytes); }

 private:
  void make_input(std::size_t num_items);

  std::vector<std::max_align_t> input_, output_, arena_;
};

}  // namespace rungs::bench
