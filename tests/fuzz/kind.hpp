// A kind of call: a name, and how its input is made, its call written and its output known.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <vector>

#include "fuzz/draw.hpp"
#include "rungs/workspace.cuh"

namespace rungs::fuzz {

// Where a call finds what it reads and writes. d_in and d_out have their offsets already.
struct places {
  void* d_in = nullptr;
  void* d_out = nullptr;
  void* d_extra = nullptr;  // an initial value, or levels
};

// A call has the one or the other.
struct storage {
  void* d_temp_storage = nullptr;
  std::size_t* temp_storage_bytes = nullptr;
  workspace* keeper = nullptr;
};

// call(storage...) by the one or the other.
template <class Call>
cudaError_t with_storage(const storage& by, Call call) {
  if (by.keeper != nullptr) return call(*by.keeper);
  void* d_temp_storage = by.d_temp_storage;
  return call(d_temp_storage, *by.temp_storage_bytes);
}

// Shots from this one on are of the calls before a case.
inline constexpr u64 first_shot_before = 50;

class kind {
 public:
  explicit kind(const traits& about) : about_(about) {}
  virtual ~kind() = default;
  const traits& about() const { return about_; }

  virtual std::size_t in_items(const fuzz_case& one) const { return one.n; }
  virtual std::size_t out_bytes(const fuzz_case& one) const = 0;
  virtual std::size_t extra_bytes(const fuzz_case&) const { return 256; }

  // Inputs, which differ from replay to replay. `shot` counts these.
  virtual cudaError_t prepare(const fuzz_case& one, u64 shot, const places& at, cudaStream_t stream) const = 0;
  virtual cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const = 0;
  // Adds the number of items that are not what prepare() made.
  virtual cudaError_t count_changes(const fuzz_case& one, u64 shot, const places& at, unsigned* d_num_changed,
                                    cudaStream_t stream) const = 0;
  // out_bytes() bytes. Where `filler` stands, nothing may be written.
  virtual std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const = 0;
  // Makes alike what need not be told apart.
  virtual void settle(unsigned char* outputs, std::size_t num_bytes) const = 0;

 private:
  traits about_;
};

using kind_table = std::vector<std::unique_ptr<kind>>;
const kind_table& kinds();
std::span<const traits> all_traits();

void add_reductions(kind_table&);
void add_extrema(kind_table&);
void add_scans(kind_table&);
void add_struct_scans(kind_table&);
void add_operators(kind_table&);
void add_saturating_sums(kind_table&);
void add_wide_integers(kind_table&);
void add_segments(kind_table&);
void add_histograms(kind_table&);
void add_selections(kind_table&);
void add_partitions(kind_table&);
void add_runs(kind_table&);
void add_reductions_by_key(kind_table&);
void add_scans_by_key(kind_table&);

}  // namespace rungs::fuzz
