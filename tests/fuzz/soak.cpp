// Many threads on many streams for minutes, with workspaces that change hands, are made and dropped while calls are
// pending, and memory that is nearly full. See --help.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fuzz/lane.hpp"
#include "on_a_gpu.hpp"
#include "watchdog.hpp"

namespace rungs::fuzz {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

using clock = std::chrono::steady_clock;

void must(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(error));
}

// Memory that others cannot have.
class ballast {
 public:
  ~ballast() { release(); }
  void take_all_but(std::size_t left_over) {
    for (std::size_t bytes = std::size_t{1} << 30; bytes >= 2 * mebi; bytes /= 2)
      for (;;) {
        std::size_t free = 0, total = 0;
        if (cudaMemGetInfo(&free, &total) != cudaSuccess || free < left_over + bytes) break;
        void* memory = nullptr;
        if (cudaMalloc(&memory, bytes) != cudaSuccess) break;
        held_.push_back(memory);
      }
    cudaGetLastError();
  }
  void release() {
    for (void* each : held_) cudaFree(each);
    held_.clear();
  }

 private:
  std::vector<void*> held_;
};

// A workspace that nobody uses now, and the stream that it was used on.
struct spare {
  workspace kept;
  cudaStream_t used_on = nullptr;
};

class program {
 public:
  program(u64 num_threads, u64 seed, double hang_seconds)
      : seed_(seed), watchdog_(std::make_unique<tests::watchdog>(hang_seconds)) {
    for (u64 i = 0; i < num_threads; ++i) {
      lanes_.push_back(std::make_unique<lane>(kinds(), 64 * mebi, 24 * mebi));
      watchdog_->watch_over(lanes_.back()->pulse());
    }
  }
  ~program() { watchdog_.reset(); }

  void run(double seconds, const char* name) {
    is_over_ = false;
    const auto began = clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(clock::now() - began).count(); };
    std::vector<std::thread> threads;
    for (u64 i = 0; i < lanes_.size(); ++i) threads.emplace_back([this, i] { guarded([this, i] { work(i); }); });
    threads.emplace_back([this] { guarded([this] { squeeze(); }); });
    double next_report = 5;
    while (elapsed() < seconds && !is_over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (elapsed() < next_report) continue;
      next_report += 5;
      std::printf("%s, %.0f s: %llu passed, %llu failed, %llu refused for want of memory and retried\n", name,
                  elapsed(), count(num_passed_), count(num_failed_), count(num_refused_));
      std::fflush(stdout);
    }
    is_over_ = true;
    for (std::thread& each : threads) each.join();
    spares_.clear();
    for (auto& each : lanes_) each->renew_workspace();
    ++num_runs_;
  }
  // Free memory, with nothing kept in pools.
  static std::size_t free_bytes() {
    int device = 0;
    cudaMemPool_t pool = nullptr;
    std::size_t free = 0, total = 0;
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    must(cudaGetDevice(&device), "cudaGetDevice");
    must(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
    must(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
    must(cudaDeviceGraphMemTrim(device), "cudaDeviceGraphMemTrim");
    must(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  }
  // What has been allocated on a stream and not been freed.
  static u64 bytes_in_use() {
    int device = 0;
    cudaMemPool_t pool = nullptr;
    u64 bytes = 0;
    must(cudaGetDevice(&device), "cudaGetDevice");
    must(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
    must(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes), "cudaMemPoolGetAttribute");
    return bytes;
  }
  u64 num_passed() const { return num_passed_; }
  u64 num_failed() const { return num_failed_; }
  static unsigned long long count(u64 number) { return number; }

 private:
  template <class Work>
  void guarded(Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rungs_soak: %s\n", error.what());
      ++num_failed_;
      is_over_ = true;
    }
  }

  // Small enough for all threads at once; on the lane's own two streams.
  fuzz_case drawn(u64 bits) const {
    const auto about = all_traits();
    fuzz_case one = draw(bits, about);
    const traits& of = about[one.kind];
    const std::size_t bytes = std::max({of.in_bytes * of.channels, of.out_bytes, std::size_t{1}}) * one.rows;
    one.n = std::min<u64>(one.n, mebi / bytes);
    one.stream = non_blocking;
    const u64 more = mixed(bits, 1);
    one.form = more % 4 != 0;
    one.fresh = more / 4 % 8 == 0;
    if (more / 32 % 4 == 0) one.replays = 1 + more / 128 % most_replays;
    return valid(one, about);
  }

  void work(u64 index) {
    lane& own = *lanes_[index];
    std::vector<fuzz_case> retried;
    for (u64 turn = 0; !is_over_ || !retried.empty(); ++turn) {
      const u64 bits = mixed(mixed(seed_ + num_runs_, index), turn);
      std::vector<fuzz_case> batch = std::move(retried);
      retried.clear();
      if (batch.empty())
        for (u64 i = 0; i < 6; ++i) batch.push_back(drawn(mixed(bits, i)));
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (const fuzz_case& one : batch) {
        if (mixed(bits, one.seed) % 8 == 0) exchange(own, bits);
        if (mixed(bits, one.seed) % 32 == 1) enlarge(own, bits);
        if (!own.enqueue(one)) {
          judge(own, retried);
          own.enqueue(one);
        }
      }
      judge(own, retried);
    }
  }

  void judge(lane& own, std::vector<fuzz_case>& retried) {
    for (const outcome& each : own.finish()) {
      if (each.is_out_of_memory) {
        ++num_refused_;
        retried.push_back(each.one);
      } else if (each.complaint.empty()) {
        ++num_passed_;
      } else {
        ++num_failed_;
        std::printf("FAILED: rungs_fuzz --case=%s  # %s\n", text_of(each.one, all_traits()).c_str(),
                    each.complaint.c_str());
        std::fflush(stdout);
        if (num_failed_ >= 10 || lane::is_dead()) {
          std::printf("%llu passed, %llu failed, 0 skipped\n", count(num_passed_), count(num_failed_));
          std::fflush(stdout);
          std::_Exit(1);
        }
      }
    }
  }

  // Gives the workspace away, with its stream, and takes the one that another thread gave.
  void exchange(lane& own, u64 bits) {
    spare mine;
    {
      const std::lock_guard lock(mutex_);
      if (spares_.size() >= lanes_.size() / 2 + 1) {
        std::swap(mine, spares_.front());
        spares_.pop_front();
      }
    }
    if (mine.used_on == nullptr) mine.used_on = own.first_stream();
    own.swap_workspace(mine.kept, mine.used_on);
    if (bits % 16 == 0) return;  // it ends here, with calls pending
    const std::lock_guard lock(mutex_);
    spares_.push_back(std::move(mine));
  }

  // A workspace that is much larger than any call needs.
  void enlarge(lane& own, u64 bits) {
    workspace large;
    cudaStream_t stream = own.first_stream();
    const cudaError_t error = large.reserve(contents::uninitialised, (1 + bits % 64) * mebi, stream);
    if (error == cudaErrorMemoryAllocation) ++num_refused_;
    cudaGetLastError();
    own.swap_workspace(large, stream);  // and the other one ends
  }

  // Takes all that is left, for a tenth of the time.
  void squeeze() {
    while (!is_over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
      ballast rest;
      rest.take_all_but(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  u64 seed_, num_runs_ = 0;
  std::vector<std::unique_ptr<lane>> lanes_;
  std::unique_ptr<tests::watchdog> watchdog_;
  std::atomic<bool> is_over_ = false;
  std::atomic<u64> num_passed_ = 0, num_failed_ = 0, num_refused_ = 0;
  std::mutex mutex_;
  std::deque<spare> spares_;
};

int main_of(int argc, const char* const* argv) {
  double seconds = 600, hang_seconds = 30;
  u64 num_threads = 16, seed = 1, most_leaked = 0;
  std::size_t left_over = 1024;
  bool require_gpu = false;
  CLI::App app(
      "rungs_soak: many threads call the front door at once, each on two streams, while memory is nearly full");
  app.footer(
      "Exit status: 0 passed or skipped, 1 wrong or leaked, 2 the command line is wrong, 3 no GPU where required.");
  app.add_option("--seconds", seconds, "how long (600), after a rehearsal of a tenth of it, at least 5 s");
  app.add_option("--threads", num_threads, "host threads (16)")->check(CLI::Range(1, 64));
  app.add_option("--seed", seed, "of the cases (1)");
  app.add_option("--free", left_over, "what is left of the device's memory at first, in MiB (1024)");
  app.add_option("--hang", hang_seconds, "a call that takes more seconds ends the program (30)");
  app.add_option("--leak", most_leaked, "how many bytes less may be free afterwards (0)");
  app.add_flag("--require-gpu", require_gpu, "without a GPU, fail");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  // Kernels that are loaded when they are first called take memory then, which is no leak.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  if (!tests::has_gpu()) {
    std::printf("no usable GPU: skipped\n0 passed, 0 failed, 1 skipped\n");
    return require_gpu ? 3 : 0;
  }
  program program(num_threads, seed, hang_seconds);
  ballast most;
  most.take_all_but(left_over * mebi);
  program.run(std::max(5.0, seconds / 10), "rehearsal");
  const std::size_t before = program::free_bytes();
  program.run(seconds, "soak");
  const std::size_t after = program::free_bytes();
  const u64 leaked = before > after ? before - after : 0;
  const bool has_leaked = leaked > most_leaked;
  std::printf("leaked: %llu bytes; allocated on streams and not freed: %llu bytes\n", program::count(leaked),
              program::count(program::bytes_in_use()));
  std::printf("%llu passed, %llu failed, 0 skipped\n", program::count(program.num_passed() + !has_leaked),
              program::count(program.num_failed() + has_leaked));
  return program.num_failed() > 0 || has_leaked ? 1 : 0;
}

}  // namespace
}  // namespace rungs::fuzz

int main(int argc, char** argv) {
  try {
    return rungs::fuzz::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rungs_soak: %s\n", error.what());
    return 1;
  }
}
