#include "gpu/update_examination.hpp"

#include <algorithm>
#include <stdexcept>

#include "gpu/study_examiner.hpp"
#include "oracles/update_reference.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::record;

constexpr std::size_t operations_asked[] = {0, 1, 31, 32, 33, 1000, 100003, 1000000};
constexpr std::size_t addresses_asked[] = {1, 2, 32, 1000, 65536, std::size_t{1} << 20};
constexpr std::size_t operations_sanitized[] = {0, 33, 1000}, addresses_sanitized[] = {1, 1000};

class update_examiner : study_examiner {
 public:
  update_examiner(const record& subject, const examination& how) : study_examiner(subject, how) {}

  verdict run() {
    try {
      if (sanitizing()) {
        for (const std::size_t n : operations_sanitized)
          for (const std::size_t addresses : addresses_sanitized) counts_and_addresses(n, addresses);
      } else {
        for (const std::size_t n : operations_asked)
          for (const std::size_t addresses : addresses_asked) counts_and_addresses(n, addresses);
      }
      if (how_.how_much == extent::full)
        for (const std::size_t n : {(std::size_t{1} << 24) + 1, std::size_t{1} << 26}) counts_and_addresses(n, 1000);
      limits();
      if (on_device_) captured();
    } catch (const std::exception& error) {
      report("device", error.what());
      result_.device_lost = true;
    }
    return std::move(result_);
  }

 private:
  // The last operation is seldom one of few: where there are many, some cases are left to other addresses.
  bool is_asked(std::size_t n, std::size_t addresses) const {
    if (addresses > subject_.max_addresses || n > subject_.max_items) return false;
    if (n / addresses > subject_.max_operations_per_address) return false;
    if (sanitizing()) return true;
    if (n == 1000000) return addresses == 1 || addresses == 1000 || addresses == std::size_t{1} << 20;
    return addresses <= 65536 || n == 0 || n == 33;
  }

  void counts_and_addresses(std::size_t n, std::size_t addresses) {
    if (!is_asked(n, addresses)) return;
    one_case(text("n=", n, " addresses=", addresses), [&] {
      const std::size_t salt = n + addresses;
      update_call call{subject_.op, subject_.output_type, n, addresses, static_cast<unsigned>(how_.seed + salt)};
      prepare(call, salt % 4, salt % 5);
      auto expected = values_after(call);
      reset(0xff);
      run_call(call);
      judge(call, expected, "first call");
      if (sanitizing()) return;  // a call takes racecheck as long as its launches, and nothing is kept between two
      // Again, over other leftovers; other operations where that costs little.
      if (n <= 1000) {
        call.seed = ~call.seed;
        expected = values_after(call);
      }
      reset(0x55);
      run_call(call);
      judge(call, expected, "second call");
    });
  }

  void limits() {
    const auto refused = [&](std::size_t addresses) {
      update_call call{subject_.op, subject_.output_type, 100, 1, 1};
      const bool has_room = addresses > 0 && addresses <= (std::size_t{1} << 20) + 1;  // for what it should not write
      if (has_room) call.num_addresses = addresses;
      const std::size_t allowed = subject_.max_addresses;
      prepare({call.op, call.type, call.num_operations, std::min(call.num_addresses, allowed), 1}, 0, 0,
              call.num_addresses);
      reset(0xff);
      call.num_addresses = addresses;
      const cudaError_t status = enqueue(arguments(call), bytes_);
      where_.wait(stream_);
      cudaGetLastError();
      if (status != cudaErrorInvalidValue)
        throw broken(text(addresses, " addresses gave ", cudaGetErrorName(status), ", not cudaErrorInvalidValue"));
      inspect("refusing");
    };
    one_case("no address", [&] { refused(0); });
    one_case("max_addresses + 1", [&] { refused(subject_.max_addresses + 1); });
    one_case("max_addresses", [&] {
      if (subject_.max_addresses > std::size_t{1} << 20) return;
      update_call call{subject_.op, subject_.output_type, 5000, subject_.max_addresses, 3};
      prepare(call, 0, 0);
      reset(0xff);
      run_call(call);
      judge(call, values_after(call), "at the most addresses");
    });
    one_case("a workspace one byte too small", [&] {
      const update_call call{subject_.op, subject_.output_type, 100, 1, 1};
      prepare(call, 0, 0);
      const cudaError_t status = enqueue(arguments(call), bytes_ - 1);
      where_.wait(stream_);
      cudaGetLastError();
      if (status != cudaErrorInvalidValue) throw broken(text("gave ", cudaGetErrorName(status)));
    });
  }

  // Captured once, replayed over new leftovers.
  void captured() {
    one_case("captured", [&] {
      const std::size_t addresses = std::min<std::size_t>(subject_.max_addresses, 64);
      const update_call call{subject_.op, subject_.output_type, 5000, addresses, 9};
      prepare(call, 1, 1);
      const auto expected = values_after(call);
      reset(0xff);
      run_call(call);  // loads the kernels
      replay(arguments(call), [&](const std::string& when) { judge(call, expected, when); });
    });
  }

  catalog::arguments arguments(const update_call& call) const {
    catalog::arguments all;
    all.d_out = d_output_;
    all.num_items = call.num_operations;
    all.num_addresses = call.num_addresses;
    all.seed = call.seed;
    return all;
  }

  void prepare(const update_call& call, std::size_t offset, std::size_t workspace_offset, std::size_t room = 0) {
    const std::size_t size = catalog::size_of(call.type);
    place_output(std::max(call.num_addresses, room) * size, size, offset);
    place_workspace(arguments(call), workspace_offset);
  }
  void run_call(const update_call& call) {
    const cudaError_t status = enqueue(arguments(call), bytes_);
    if (status != cudaSuccess) {
      cudaGetLastError();
      throw broken(text("the call returned ", cudaGetErrorName(status)));
    }
    where_.wait(stream_);
  }
  void judge(const update_call& call, const std::vector<unsigned char>& expected, const std::string& when) {
    std::vector<unsigned char> got(output_bytes_);
    where_.read(got.data(), d_output_, got.size(), stream_);
    if (const auto wrong = disagreement(call, expected, got.data())) throw broken(text(when, ": ", *wrong));
    inspect(when);
  }
};

}  // namespace

verdict examine_updates(const record& subject, const examination& how) {
  if (const std::string reason = cannot_run_reason(subject); !reason.empty()) {
    verdict v;
    v.skipped = reason;
    return v;
  }
  return update_examiner(subject, how).run();
}

}  // namespace rungs::tests
