#include "across/study.hpp"

#include <algorithm>
#include <stdexcept>

#include "across/work.hpp"
#include "check.hpp"
#include "statistics.hpp"

namespace rungs::bench::across_gpus {
namespace {

// Whole numbers, other whole numbers, and numbers whose sums round: of those only that all ranks have the same bits.
struct input {
  std::uint64_t seed;
  bool whole;
};
constexpr input first{1, true}, changed{2, true}, rough{3, false};

std::string described(const contender& who, std::size_t items) {
  return who.about.name + " of " + std::to_string(items) + " items";
}

// Without the place in the sources, which differs between machines.
std::string reason_of(const std::exception& error) {
  const auto* const of_cuda = dynamic_cast<const cuda_error*>(&error);
  return of_cuda != nullptr ? cudaGetErrorName(of_cuda->code) : error.what();
}

// NCCL's entries and the one that users of rungs call, by what is computed.
std::string library_name(const problem& about, bool in_windows) {
  return std::string(about.operation == operation::reduce ? "cub_then_nccl" : "nccl") +
         (in_windows ? "_symmetric" : "");
}
std::string planned_name(const problem& about) {
  return about.operation == operation::reduce ? "fused_sum" : "planned";
}

contender by_library(const nccl* library, const problem& about, bool in_windows) {
  contender made;
  made.about = {library_name(about, in_windows), kind::library, about};
  if (in_windows) {
    made.against = library_name(about, false);
    made.gains = "every rank's kernel reaches the others' buffers";
    made.costs = "memory of ncclMemAlloc, registered by all ranks together";
  }
  made.in_windows = in_windows;
  if (about.operation == operation::all_reduce) {
    made.idea = in_windows ? "ncclAllReduce in windows of ncclCommWindowRegister" : "ncclAllReduce of device memory";
    made.call = [library, about](int rank, const buffers& of, std::size_t num_items, cudaStream_t stream) {
      library->all_reduce(about, rank, of.in, of.out, num_items, stream);
    };
  } else {
    made.idea = "cub::DeviceReduce::Sum, then ncclAllReduce of one item in place";
    made.call = [library, about](int rank, const buffers& of, std::size_t num_items, cudaStream_t stream) {
      std::size_t bytes = scratch_bytes;
      check(sum_by_cub(of.scratch, bytes, of.in, of.out, num_items, stream));
      library->all_reduce(about, rank, of.out, of.out, 1, stream);
    };
  }
  return made;
}

contender by_plan(const connected_ranks& ranks, const problem& about) {
  contender made;
  made.about = {planned_name(about), kind::planned, about};
  made.idea = about.operation == operation::reduce ? "rungs::across::fused_sum::sum: one launch a GPU"
                                                   : "rungs::across::all_reduce: the rung for this many bytes";
  made.call = [&ranks, about](int rank, const buffers& of, std::size_t num_items, cudaStream_t stream) {
    check(ranks.planned(about, rank, of.in, of.out, num_items, stream));
  };
  return made;
}

contender by_rung(const connected_ranks& ranks, const rung_facts& rung) {
  contender made{{rung.name, kind::rung, rung.about}, rung.idea, rung.against, rung.gains, rung.costs, false, {}};
  made.call = [&ranks, position = rung.position](int rank, const buffers& of, std::size_t num_items,
                                                 cudaStream_t stream) {
    check(ranks.rung(position, rank, of.in, of.out, num_items, stream));
  };
  return made;
}

}  // namespace

std::vector<contender_name> all_names() {
  std::vector<contender_name> names;
  for (const problem& about : problems) {
    for (const bool in_windows : {false, true})
      names.push_back({library_name(about, in_windows), kind::library, about});
    names.push_back({planned_name(about), kind::planned, about});
    for (const rung_facts& each : enrolled()) {
      if (each.about == about) names.push_back({each.name, kind::rung, about});
    }
  }
  return names;
}

std::vector<contender> contenders_of(const connected_ranks& ranks, const nccl* library) {
  std::vector<contender> all;
  for (const problem& about : problems) {
    if (library != nullptr) all.push_back(by_library(library, about, false));
    if (library != nullptr && library->has_windows()) all.push_back(by_library(library, about, true));
    all.push_back(by_plan(ranks, about));
    for (const rung_facts& each : enrolled()) {
      if (each.about == about) all.push_back(by_rung(ranks, each));
    }
  }
  return all;
}

struct study::place {
  place(int on, std::size_t bytes) : device(on), in(bytes), out(bytes) {}

  int device;
  bench::stream stream = make_stream();
  event start = make_event(), stop = make_event();
  device_memory in, out, scratch = device_memory(scratch_bytes), on_device = device_memory(sizeof(findings_of_items));
  void *window_in = nullptr, *window_out = nullptr;  // NCCL's
  findings_of_items findings;
  double microseconds = 0;

  buffers of(const contender& who) const {
    return who.in_windows ? buffers{window_in, window_out, scratch.get()} : buffers{in.get(), out.get(), scratch.get()};
  }
  void synchronize() const { check(cudaStreamSynchronize(stream.get())); }
  // Between the two events, once all is done.
  double elapsed() const {
    synchronize();
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
    return 1e3 * milliseconds;
  }
};

study::study(const std::vector<int>& devices, std::vector<contender> contenders, const nccl* library, std::size_t bytes,
             crew& threads)
    : threads_(threads), contenders_(std::move(contenders)), places_(devices.size()) {
  threads_.each("device memory", [&](int rank) {
    const int device = devices[static_cast<std::size_t>(rank)];
    check(cudaSetDevice(device));
    auto made = std::make_unique<place>(device, bytes);
    if (library != nullptr && library->has_windows()) {
      made->window_in = library->window_in(rank);
      made->window_out = library->window_out(rank);
    }
    places_[static_cast<std::size_t>(rank)] = std::move(made);
  });
}

study::~study() = default;

const contender& study::find(const problem& about, const std::string& name) const {
  const auto found = std::ranges::find_if(
      contenders_, [&](const contender& each) { return each.about.about == about && each.about.name == name; });
  if (found == contenders_.end()) throw std::logic_error("no contender is called " + name);
  return *found;
}

void study::begin(const problem& about, std::size_t items, int calls) {
  about_ = about;
  items_ = items;
  calls_ = calls;
  entries_.clear();
  sampled_.clear();
}

void study::enqueue(const entry& one, int rank, int calls) const {
  const place& own = at(rank);
  if (!one.graphs.empty()) {
    check(cudaGraphLaunch(one.graphs[static_cast<std::size_t>(rank)].get(), own.stream.get()));
    return;
  }
  for (int call = 0; call < calls; ++call) one.who->call(rank, own.of(*one.who), items_, own.stream.get());
}

void study::fill(std::uint64_t seed, bool whole) {
  threads_.each("input", [&](int rank) {
    const place& own = at(rank);
    for (void* const each : {own.in.get(), own.window_in}) {
      if (each != nullptr) check(across_gpus::fill(about_, each, items_, seed, rank, whole, own.stream.get()));
    }
    own.synchronize();
  });
}

void study::run_once(const entry& one) {
  const std::size_t bytes = bytes_of(about_, output_items(about_, items_));
  threads_.each(described(*one.who, items_), [&](int rank) {
    const place& own = at(rank);
    check(cudaMemsetAsync(own.of(*one.who).out, 0xff, bytes, own.stream.get()));
    own.synchronize();
    threads_.meet();
    enqueue(one, rank, 1);
    own.synchronize();
  });
}

void study::capture(entry& one) {
  std::vector<graph_exec> graphs(places_.size());
  threads_.each("a graph of " + described(*one.who, items_), [&](int rank) {
    const place& own = at(rank);
    cudaStream_t stream = own.stream.get();
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    std::exception_ptr failure;
    try {
      enqueue(one, rank, calls_);
    } catch (...) {
      failure = std::current_exception();  // the capture has to end all the same
    }
    cudaGraph_t made = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream, &made);
    const graph captured(made);
    if (failure != nullptr) std::rethrow_exception(failure);
    check(error);
    cudaGraphExec_t replayable = nullptr;
    check(cudaGraphInstantiate(&replayable, made, 0));
    graphs[static_cast<std::size_t>(rank)].reset(replayable);
    check(cudaGraphUpload(replayable, stream));
    own.synchronize();
  });
  one.graphs = std::move(graphs);
}

void study::judge(const entry& one, std::uint64_t seed, bool whole, result& found) {
  const int num_ranks = threads_.num_ranks();
  threads_.each("a look at " + described(*one.who, items_), [&](int rank) {
    place& own = at(rank);
    auto* const on_device = static_cast<findings_of_items*>(own.on_device.get());
    check(examine(about_, own.of(*one.who).out, items_, seed, num_ranks, on_device, own.stream.get()));
    check(cudaMemcpyAsync(&own.findings, on_device, sizeof own.findings, cudaMemcpyDeviceToHost, own.stream.get()));
    own.synchronize();
  });
  for (int rank = 0; rank < num_ranks; ++rank) {
    const findings_of_items& own = at(rank).findings;
    std::string defect;
    if (own.digest != at(0).findings.digest) {
      found.same_bits = false;
      defect = "rank " + std::to_string(rank) + " has other bits than rank 0";
    }
    if (whole && own.wrong != 0) {
      found.verified = false;
      defect = std::to_string(own.wrong) + " of " + std::to_string(output_items(about_, items_)) +
               " items of the result are wrong on rank " + std::to_string(rank);
    }
    if (found.defect.empty()) found.defect = defect;
  }
}

void study::leave_out(const contender& who, mode how, const std::string& why, std::vector<omission>& omissions) {
  threads_.each("an error cleared", [&](int) {
    cudaGetLastError();
    // What a call returned is told and forgotten. An error that stays would fail whatever comes next.
    if (cudaDeviceSynchronize() != cudaSuccess) throw std::runtime_error(described(who, items_) + ": " + why);
  });
  omissions.push_back({who.about.name, who.about.kind, {about_, items_, how, {}}, why});
}

double study::slowest() const {
  double microseconds = 0;
  for (const auto& own : places_) microseconds = std::max(microseconds, own->microseconds);
  return microseconds;
}

std::vector<reading> study::run(std::span<const int> order) {
  std::vector<reading> readings;
  for (const int position : order) {
    const entry& one = entries_[sampled_[static_cast<std::size_t>(position)]];
    threads_.each(described(*one.who, items_), [&](int rank) {
      place& own = at(rank);
      threads_.meet();
      // Not timed: after it no GPU is ahead of the others, and the launch of what is timed is hidden behind it.
      enqueue(one, rank, 1);
      check(cudaEventRecord(own.start.get(), own.stream.get()));
      enqueue(one, rank, calls_);
      check(cudaEventRecord(own.stop.get(), own.stream.get()));
      own.microseconds = own.elapsed() / calls_;
    });
    readings.push_back({.microseconds = slowest()});
  }
  return readings;
}

measured_cell study::measure(const cell& about, double seconds, std::vector<omission>& omissions) {
  measured_cell found{about, calls_of(about.bytes()), {}, {}};
  begin(about.about, about.items, found.calls);
  fill(first.seed, first.whole);
  for (const std::string& name : about.contenders) {
    entry one{&find(about_, name), {}};
    result outcome{.name = name, .kind = one.who->about.kind};
    try {
      run_once(one);
      judge(one, first.seed, first.whole, outcome);
      if (about.mode == mode::graph) {
        capture(one);
        run_once(one);
        judge(one, first.seed, first.whole, outcome);
      }
    } catch (const std::exception& error) {
      leave_out(*one.who, about.mode, reason_of(error), omissions);
      continue;
    }
    found.results.push_back(outcome);
    entries_.push_back(std::move(one));
  }

  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (found.results[i].verified) sampled_.push_back(i);
  }
  const bool has_twin = !sampled_.empty() && sampled_[0] == 0;
  if (has_twin) sampled_.push_back(0);
  const stop_rule rule{.patience = 0.3, .share = seconds};
  const auto taken = sample(*this, static_cast<int>(sampled_.size()), rule, clocks_, seconds_now, [] { return false; });
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const bool is_twin = has_twin && i + 1 == taken.size();
    (is_twin ? found.twin : found.results[sampled_[i]].samples) = taken[i].accepted;
  }

  for (const input each : {first, changed, rough}) {
    fill(each.seed, each.whole);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      run_once(entries_[i]);
      judge(entries_[i], each.seed, each.whole, found.results[i]);
    }
  }
  entries_.clear();
  return found;
}

measured_count study::verify(const checked_count& about, std::vector<omission>& omissions) {
  measured_count found{about, {}};
  begin(about.about, about.items, 1);
  for (const std::string& name : about.contenders) {
    const entry one{&find(about_, name), {}};
    result outcome{.name = name, .kind = one.who->about.kind};
    try {
      for (const input each : {first, rough}) {
        fill(each.seed, each.whole);
        run_once(one);
        judge(one, each.seed, each.whole, outcome);
      }
    } catch (const std::exception& error) {
      leave_out(*one.who, mode::stream, reason_of(error), omissions);
      continue;
    }
    found.results.push_back(outcome);
  }
  return found;
}

link_rates study::measure_link() {
  constexpr std::size_t bytes = std::size_t{256} << 20;
  constexpr int copies = 8, samples = 11;
  std::vector<device_memory> from(places_.size()), to(places_.size());
  threads_.each("memory for copies", [&](int rank) {
    from[static_cast<std::size_t>(rank)] = device_memory(bytes);
    to[static_cast<std::size_t>(rank)] = device_memory(bytes);
  });
  const auto copy_to_next = [&](int rank) {
    const place& own = at(rank);
    const int next = (rank + 1) % threads_.num_ranks();
    check(cudaMemcpyPeerAsync(to[static_cast<std::size_t>(next)].get(), at(next).device,
                              from[static_cast<std::size_t>(rank)].get(), own.device, bytes, own.stream.get()));
  };
  const auto rate = [&](bool both_ways) {
    std::vector<double> rates;
    for (int sample = 0; sample <= samples; ++sample) {
      threads_.each("copies to a peer", [&](int rank) {
        place& own = at(rank);
        own.microseconds = 0;
        threads_.meet();
        if (!both_ways && rank != 0) return;
        check(cudaEventRecord(own.start.get(), own.stream.get()));
        for (int copy = 0; copy < copies; ++copy) copy_to_next(rank);
        check(cudaEventRecord(own.stop.get(), own.stream.get()));
        own.microseconds = own.elapsed() / copies;
      });
      if (sample > 0) rates.push_back(static_cast<double>(bytes) * 1e-3 / slowest());  // the first is a warm-up
    }
    return median(rates);
  };
  return {bytes, rate(false), rate(true)};
}

}  // namespace rungs::bench::across_gpus
