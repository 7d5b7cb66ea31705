#include "gpu/study_examination.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/bench_top.hpp"
#include "gpu/site.hpp"
#include "oracles/chain_reference.hpp"
#include "oracles/update_reference.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::arguments;
using catalog::record;

constexpr std::size_t most_room = std::size_t{1} << 20;  // the most addresses that are asked for
const std::vector<std::size_t> operations_asked = {0, 1, 31, 32, 33, 1000, 100003, 1000000},
                               addresses_asked = {1, 2, 32, 1000, 65536, most_room},
                               operations_sanitized = {0, 33, 1000}, addresses_sanitized = {1, 1000},
                               links_asked = {0, 1, 2, 3, 33, 1000};
constexpr std::size_t most_sanitized_links = 33, most_sanitized_participants = 2048;

class study_examiner {
 public:
  study_examiner(const record& subject, const examination& how)
      : subject_(subject),
        how_(how),
        on_device_(subject.executes_on == executor::device),
        where_(on_device_ ? device_site() : host_site()),
        output_(where_, sanitizing()),
        workspace_(where_, sanitizing()),
        stream_(on_device_) {}

  verdict run() {
    try {
      const auto groups = updates() ? std::vector<group>{} : groups_asked();
      for (const arguments& call : updates() ? updates_asked() : chains_asked(groups)) ordinary_case(call);
      if (updates()) {
        limits_of_updates();
        if (on_device_) captured(update(5000, std::min<std::size_t>(subject_.max_addresses, 64), 9));
      } else {
        if (groups.empty()) report("groups", "it takes none of those that are asked for");
        limits_of_chains();
        if (on_device_ && !groups.empty())
          captured(chain(std::min<std::size_t>(100, subject_.max_items), groups.back(), 9));
      }
    } catch (const std::exception& error) {
      report("device", error.what());
      result_.device_lost = true;
    }
    return std::move(result_);
  }

 private:
  using group = std::pair<std::size_t, std::size_t>;  // blocks, threads

  bool sanitizing() const { return how_.how_much == extent::sanitizer; }
  bool full() const { return how_.how_much == extent::full; }
  bool updates() const { return subject_.operation == catalog::operation::atomics; }
  bool collects() const { return subject_.operation != catalog::operation::barrier; }

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

  // --- what is asked
  static arguments update(std::size_t n, std::size_t addresses, std::uint64_t seed) {
    arguments call;
    call.num_items = n;
    call.num_addresses = addresses;
    call.seed = static_cast<unsigned>(seed);
    return call;
  }
  static arguments chain(std::size_t n, const group& participants, std::uint64_t seed) {
    arguments call = update(n, 0, seed);
    std::tie(call.num_blocks, call.num_threads) = participants;
    return call;
  }

  std::vector<arguments> updates_asked() const {
    std::vector<arguments> asked;
    const auto ask = [&](std::size_t n, std::size_t addresses) {
      if (addresses > subject_.max_addresses || n > subject_.max_items) return;
      if (n / addresses <= subject_.max_operations_per_address)
        asked.push_back(update(n, addresses, how_.seed + n + addresses));
    };
    for (const std::size_t n : sanitizing() ? operations_sanitized : operations_asked)
      for (const std::size_t addresses : sanitizing() ? addresses_sanitized : addresses_asked) {
        // The last operation is seldom one of few: where there are many, some cases are left to other addresses.
        const bool some = n == 1000000 ? addresses == 1 || addresses == 1000 || addresses == most_room
                                       : addresses <= 65536 || n == 0 || n == 33;
        if (sanitizing() || some) ask(n, addresses);
      }
    if (full())
      for (const std::size_t n : {(std::size_t{1} << 24) + 1, std::size_t{1} << 26}) ask(n, 1000);
    return asked;
  }

  // All that the study measures, and some that it does not.
  std::vector<group> groups_asked() const {
    const std::size_t multiprocessors =
        on_device_ ? static_cast<std::size_t>(device::attribute(cudaDevAttrMultiProcessorCount)) : 1;
    std::vector<group> asked = {{1, 16}, {1, 32}, {1, 256}};
    if (!collects())
      asked.insert(asked.end(), {{1, 64},
                                 {1, 1024},
                                 {2, 32},
                                 {2, 256},
                                 {4, 256},
                                 {8, 256},
                                 {16, 256},
                                 {3, 96},
                                 {multiprocessors, 256},
                                 {8 * multiprocessors, 256}});
    std::vector<group> taken;
    for (const group& one : asked) {
      if (!subject_.takes_group(one.first, one.second)) continue;
      if (sanitizing() && one.first * one.second > most_sanitized_participants) continue;
      if (std::ranges::find(taken, one) == taken.end()) taken.push_back(one);
    }
    return taken;
  }
  std::vector<arguments> chains_asked(const std::vector<group>& groups) const {
    std::vector<arguments> asked;
    const auto ask = [&](std::size_t n, const group& one) {
      if (n <= subject_.max_items && !(sanitizing() && n > most_sanitized_links))
        asked.push_back(chain(n, one, how_.seed + n + one.first + one.second));
    };
    for (const group& one : groups)
      for (const std::size_t n : links_asked) ask(n, one);
    if (full())
      for (const group& one : groups)
        if (one.first <= 16) ask(10000, one);
    return asked;
  }

  // --- the cases
  void ordinary_case(arguments call) {
    const std::string case_name =
        updates() ? text("n=", call.num_items, " addresses=", call.num_addresses)
                  : text("n=", call.num_items, " blocks=", call.num_blocks, " threads=", call.num_threads);
    one_case(case_name, [&] {
      const std::size_t salt = call.num_items + (updates() ? call.num_addresses : call.num_blocks + call.num_threads);
      prepare(call, salt % 4, salt % 5);
      auto expected = right_output(call);
      reset(0xff);
      if (!ran(call)) {
        result_.notes.push_back(text(case_name, " left out: this GPU has no room for it"));
        return;
      }
      judge(call, expected, "first call");
      // A call takes racecheck as long as its launches, and updates keep nothing between two.
      if (updates() && sanitizing()) return;
      // Again, over other leftovers; other operations where that costs little.
      if (!updates() || call.num_items <= 1000) {
        call.seed = ~call.seed;
        expected = right_output(call);
      }
      reset(0x55);
      if (!ran(call)) throw broken("the second call was refused");
      judge(call, expected, "second call");
    });
  }

  void limits_of_updates() {
    const auto addresses_are_refused = [&](std::size_t addresses) {
      const std::size_t room =
          addresses > 0 && addresses <= most_room + 1 ? addresses : 1;  // it should not write there
      arguments call = update(100, std::min<std::size_t>(room, subject_.max_addresses), 1);
      prepare(call, 0, 0, room);
      reset(0xff);
      call.num_addresses = addresses;
      is_refused(call, bytes_, text(addresses, " addresses"));
    };
    one_case("no address", [&] { addresses_are_refused(0); });
    one_case("max_addresses + 1", [&] { addresses_are_refused(subject_.max_addresses + 1); });
    one_case("max_addresses", [&] {
      if (subject_.max_addresses > most_room) return;
      arguments call = update(5000, subject_.max_addresses, 3);
      prepare(call, 0, 0);
      reset(0xff);
      ran(call);
      judge(call, right_output(call), "at the most addresses");
    });
    workspace_is_checked(update(100, 1, 1));
  }

  void limits_of_chains() {
    const auto usual = {group{1, 16}, group{1, 32}, group{1, 256}, group{2, 256}};
    const auto taken =
        std::ranges::find_if(usual, [&](const group& one) { return subject_.takes_group(one.first, one.second); });
    if (taken == usual.end()) throw std::runtime_error("the record takes none of the usual groups");
    arguments right = chain(2, *taken, 1);
    workspace_is_checked(right);
    const auto is_refused_with = [&](auto arguments::*which, auto asked, const char* what) {
      arguments wrong = right;
      wrong.*which = asked;
      is_refused(wrong, bytes_, what);
    };
    one_case("nobody", [&] {
      prepare(right, 0, 0);
      is_refused_with(&arguments::num_threads, 0u, "no thread");
      if (!collects()) is_refused_with(&arguments::num_blocks, 0u, "no block");
    });
    one_case("too many", [&] {
      prepare(right, 0, 0);
      is_refused_with(&arguments::num_threads, 1025u, "1025 threads");
      if (!collects()) is_refused_with(&arguments::num_blocks, std::size_t{1} << 32, "2^32 blocks");
      is_refused_with(&arguments::num_items, subject_.max_items + 1, "max_items + 1");
    });
  }

  void workspace_is_checked(arguments call) {
    one_case("a workspace one byte too small", [&] {
      prepare(call, 0, 0);
      is_refused(call, bytes_ - 1, "it");
    });
  }
  void is_refused(const arguments& call, std::size_t bytes, const std::string& what) {
    const cudaError_t status = subject_.call(d_workspace_, bytes, call, stream_);
    where_.wait(stream_);
    cudaGetLastError();
    if (status != cudaErrorInvalidValue)
      throw broken(text(what, " gave ", cudaGetErrorName(status), ", not cudaErrorInvalidValue"));
    inspect("refusing");
  }

  // Captured once, replayed over new leftovers.
  void captured(arguments call) {
    one_case("captured", [&] {
      prepare(call, 1, 1);
      const auto expected = right_output(call);
      reset(0xff);
      if (!ran(call)) {  // loads the kernels
        result_.notes.push_back("captured: left out, this GPU has no room for it");
        return;
      }
      captured_graph graph(stream_, [&] { return subject_.call(d_workspace_, bytes_, call, stream_); });
      if (!graph.has_all())
        throw broken(
            text("capturing gave ", cudaGetErrorName(graph.called()), ", ending it ", cudaGetErrorName(graph.ended())));
      for (const int leftover : {0xff, 0x00, 0x55}) {
        reset(leftover);
        graph.launch(stream_);
        where_.wait(stream_);
        judge(call, expected, text("replayed over ", leftover));
      }
    });
  }

  // --- a call: its output and its workspace between red zones
  update_call update_of(const arguments& call) const {
    return {subject_.op, subject_.output_type, call.num_items, call.num_addresses, call.seed};
  }
  chain_call chain_of(const arguments& call) const {
    return {subject_.operation, subject_.op, subject_.input_type, call.num_items, call.num_blocks,
            call.num_threads,   call.seed};
  }

  // `room`: for so many items where that is more than the output takes.
  void prepare(arguments& call, std::size_t offset, std::size_t workspace_offset, std::size_t room = 0) {
    where_.wait(stream_);
    guards_ = {};
    const std::size_t size = updates() ? catalog::size_of(subject_.output_type) : sizeof(std::uint32_t),
                      num_items = updates() ? call.num_addresses : chain_of(call).num_words();
    output_bytes_ = std::max(num_items, room) * size;
    call.d_out = d_output_ = output_.place(output_bytes_, offset * size, guards_);
    bytes_ = 0;
    const cudaError_t status = subject_.call(nullptr, bytes_, call, stream_);
    if (status != cudaSuccess) throw broken(text("the size query returned ", cudaGetErrorName(status)));
    if (bytes_ == 0) throw broken("the size query answered 0");
    d_workspace_ = workspace_.place(bytes_, workspace_offset, guards_);
    where_.scramble(d_workspace_, bytes_, how_.seed, stream_);
    where_.paint(guards_, how_.seed, stream_);
    where_.wait(stream_);
  }
  void reset(int leftover) {
    where_.fill(d_output_, leftover, output_bytes_, stream_);
    where_.wait(stream_);
  }
  // False where the hardware is too small for so many: a cooperative launch of too many blocks, or no such cluster.
  bool ran(const arguments& call) {
    const cudaError_t status = subject_.call(d_workspace_, bytes_, call, stream_);
    if (status != cudaSuccess) {
      cudaGetLastError();
      if (!updates() && (status == cudaErrorCooperativeLaunchTooLarge || status == cudaErrorNotSupported)) return false;
      throw broken(text("the call returned ", cudaGetErrorName(status)));
    }
    where_.wait(stream_);
    return true;
  }

  std::vector<unsigned char> right_output(const arguments& call) const {
    return updates() ? values_after(update_of(call)) : bytes_after(chain_of(call));
  }
  void judge(const arguments& call, const std::vector<unsigned char>& expected, const std::string& when) {
    std::vector<unsigned char> got(output_bytes_);
    where_.read(got.data(), d_output_, got.size(), stream_);
    const auto wrong = updates() ? disagreement(update_of(call), expected, got.data())
                                 : disagreement(chain_of(call), expected, got.data());
    if (wrong) throw broken(text(when, ": ", *wrong));
    inspect(when);
  }
  void inspect(const std::string& when) {
    if (const auto found = where_.inspect(guards_, how_.seed, stream_))
      throw broken(text(when, ": wrote outside, zone ", found->zone, " byte ", found->offset));
  }

  const record& subject_;
  const examination& how_;
  const bool on_device_;
  site& where_;
  guarded_buffer output_, workspace_;
  stream_handle stream_;  // behind the memory that its kernels use
  zones guards_;
  void *d_output_ = nullptr, *d_workspace_ = nullptr;
  std::size_t output_bytes_ = 0, bytes_ = 0;
  verdict result_;
};

}  // namespace

verdict examine_study(const record& subject, const examination& how) { return study_examiner(subject, how).run(); }

}  // namespace rungs::tests
