// All-reduce by every contender, verified and timed on this machine's GPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "across/cells.hpp"
#include "across/crew.hpp"
#include "across/nccl.hpp"
#include "across/ranks.hpp"
#include "device.hpp"
#include "sampler.hpp"

namespace rungs::bench::across_gpus {

// Of a rank, on its GPU.
struct buffers {
  const void* in = nullptr;
  void *out = nullptr, *scratch = nullptr;
};
inline constexpr std::size_t scratch_bytes = std::size_t{1} << 20;

struct contender {
  contender_name about;
  std::string idea, against, gains, costs;
  bool in_windows = false;  // works in NCCL's symmetric windows
  // Throws what went wrong.
  std::function<void(int rank, const buffers& of, std::size_t num_items, cudaStream_t stream)> call;
};

// The names of all that there can be, NCCL's too.
std::vector<contender_name> all_names();
// What there is: without the library no entry of its own.
std::vector<contender> contenders_of(const connected_ranks& ranks, const nccl* library);

struct omission {
  std::string name;
  across_gpus::kind kind{};
  cell about;
  std::string reason;
};

// Per direction, of the slowest GPU: one GPU sends alone; every GPU sends to the next and receives at once.
struct link_rates {
  std::size_t bytes = 0;
  double one_way_gb_per_s = 0, both_ways_gb_per_s = 0;
};

class study : private instrument {
 public:
  // Rank r is on devices[r]. `library` may be null. Buffers take `bytes`.
  study(const std::vector<int>& devices, std::vector<contender> contenders, const nccl* library, std::size_t bytes,
        crew& threads);
  ~study() override;

  // `seconds`: for the samples. What could not run is added to the omissions.
  measured_cell measure(const cell& about, double seconds, std::vector<omission>& omissions);
  measured_count verify(const checked_count& about, std::vector<omission>& omissions);
  link_rates measure_link();

 private:
  struct place;  // what a rank has on its GPU
  struct entry {
    const contender* who = nullptr;
    std::vector<graph_exec> graphs;  // of each rank; none in stream mode
  };

  std::vector<reading> run(std::span<const int> order) override;
  const contender& find(const problem& about, const std::string& name) const;
  place& at(int rank) const { return *places_[static_cast<std::size_t>(rank)]; }
  void begin(const problem& about, std::size_t items, int calls);
  void enqueue(const entry& one, int rank, int calls) const;
  void fill(std::uint64_t seed, bool whole);
  void run_once(const entry& one);
  void capture(entry& one);
  // Adds what was wrong to the result.
  void judge(const entry& one, std::uint64_t seed, bool whole, result& found);
  void leave_out(const contender& who, mode how, const std::string& why, std::vector<omission>& omissions);
  // The slowest rank's.
  double slowest() const;

  crew& threads_;
  const std::vector<contender> contenders_;
  std::vector<std::unique_ptr<place>> places_;
  clock_guard clocks_;
  // Of the cell that is being measured.
  problem about_;
  std::size_t items_ = 0;
  int calls_ = 1;
  std::vector<entry> entries_;
  std::vector<std::size_t> sampled_;  // of the entries: one of them twice
};

}  // namespace rungs::bench::across_gpus
