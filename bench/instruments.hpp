// The clocks: CUDA events for what runs on the device, the steady clock for what runs on the host.
#pragma once

#include <string_view>
#include <vector>

#include "contender.hpp"
#include "device.hpp"
#include "device_work.hpp"
#include "sampler.hpp"

namespace rungs::bench {

// cold   the data comes from DRAM: a clean flush before each sample
// warm   the data was just used
// graph  calls_per_graph calls in a CUDA graph, the time divided by them
// dirty  as cold, but flushed by a memset, whose dirty lines are then charged to the call
// host   on the CPU
enum class mode : unsigned char { cold, warm, graph, dirty, host };
inline constexpr mode all_modes[] = {mode::cold, mode::warm, mode::graph, mode::dirty, mode::host};
constexpr std::string_view name(mode value) {
  constexpr std::string_view names[] = {"cold", "warm", "graph", "dirty", "host"};
  return names[static_cast<int>(value)];
}

inline constexpr int calls_per_graph = 20;

// Warm and graph samples end here: beyond four L2 caches they equal cold ones.
constexpr std::size_t largest_warm_bytes(std::size_t l2_bytes) { return 4 * l2_bytes; }
// A warm ceiling is known only of what the L2 holds with room. Of more, a part stays warm, and which part depends on
// the order of reading: a kernel may beat a roof that reads in another order.
constexpr bool has_ceiling(mode how, std::size_t footprint, std::size_t l2_bytes) {
  return (how != mode::warm && how != mode::graph) || footprint <= l2_bytes / 2;
}

// Whether calls back to back find the caches as this mode has them: warm ones do, and cold ones where the data never
// fits them.
constexpr bool is_back_to_back(mode how, std::size_t footprint, std::size_t l2_bytes) {
  return how == mode::warm || how == mode::graph || (how == mode::cold && footprint > largest_warm_bytes(l2_bytes));
}

// What every device instrument shares: stream, events, flush buffer, stamps.
class event_bench {
 public:
  explicit event_bench(const device_facts& facts);

  cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const;

  // Hides the launch of what follows behind earlier work in the stream, and leaves the caches as the mode wants them.
  void prepare(mode how, device_work::stamp* seen) const;

  static constexpr int capacity = 128;
  cudaEvent_t start_of(int sample) const { return starts_[static_cast<std::size_t>(sample)].get(); }
  cudaEvent_t stop_of(int sample) const { return stops_[static_cast<std::size_t>(sample)].get(); }
  device_work::stamp* stamp_of(int sample) const { return static_cast<device_work::stamp*>(stamps_.get()) + sample; }
  // Waits, and answers the first `count` readings.
  std::vector<reading> read(int count) const;

  static std::size_t flush_bytes(const device_facts& facts);

 private:
  bench::stream stream_ = make_stream();
  device_memory flush_, stamps_;
  std::vector<event> starts_, stops_;
};

// Contenders must outlive the instrument. The graph mode captures them once, at construction.
class device_instrument : public instrument {
 public:
  device_instrument(const event_bench& with, mode how, std::vector<const contender*> contenders);
  std::vector<reading> run(std::span<const int> order) override;
  void repeat(int which, int calls) override;  // in the graph mode that many graphs

 private:
  void enqueue(std::size_t which);

  const event_bench& bench_;
  mode mode_;
  std::vector<const contender*> contenders_;
  std::vector<graph_exec> graphs_;
};

class host_instrument : public instrument {
 public:
  explicit host_instrument(std::vector<const contender*> contenders) : contenders_(std::move(contenders)) {}
  std::vector<reading> run(std::span<const int> order) override;

 private:
  std::vector<const contender*> contenders_;
};

}  // namespace rungs::bench
