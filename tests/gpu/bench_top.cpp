#include "gpu/bench_top.hpp"

#include <cstring>

#include "gpu/histogram_question.hpp"
#include "text.hpp"

namespace rungs::tests {

using catalog::record;
using catalog::scalar;

bench_top::bench_top(const record& subject, site& where, bool exact, bool filled)
    : subject_(subject),
      where_(where),
      exact_(exact),
      filled_(filled),
      counts_(catalog::is_histogram(subject.operation)),
      referee_(referee_of(subject, where)),
      in_(where, exact),
      second_(where, exact),
      out_(where, exact),
      levels_(where, exact),
      workspace_(where, exact),
      stream_(subject.executes_on == executor::device) {}

catalog::arguments bench_top::arguments(const problem& p, const void* d_in, void* d_out, in_host_memory& host) const {
  catalog::arguments all{.d_in = d_in, .d_out = d_out, .num_items = p.num_items, .init = &host.init.bits};
  all.d_second = d_second_;
  all.num_rows = p.num_rows;
  all.num_columns = p.num_columns;
  all.k = p.k;
  if (!counts_) {
    host.init = init_of(subject_, p.init);
    if (subject_.operation == catalog::operation::select_if) {
      host.levels[0] = threshold_of(subject_, p.percent).bits;
      all.levels = host.levels;
    }
    return all;
  }
  const histogram_call& asked = histogram_question::of(subject_, p).call();
  all.num_levels = asked.num_bins + 1;
  all.levels = d_levels_;
  if (asked.even) {
    std::memcpy(host.levels, asked.levels.data(), asked.levels.size());
    all.levels = host.levels;
  }
  return all;
}

std::size_t bench_top::workspace_bytes(const problem& p) {
  in_host_memory host{};
  std::size_t bytes = 0;
  const cudaError_t status = subject_.call(nullptr, bytes, arguments(p, d_in_, d_out_, host), stream_);
  if (status == cudaErrorNotSupported) throw refused(text("refused by the variant: ", cudaGetErrorString(status)));
  if (status != cudaSuccess) throw broken(text("the size query returned ", cudaGetErrorName(status)));
  if (bytes == 0) throw broken("the size query answered 0");
  return bytes;
}

void bench_top::prepare(const problem& p, std::size_t workspace_bytes) {
  where_.wait(stream_);
  guards_ = {};
  zone_names_ = {"before the input", "after the input"};
  const std::size_t in_size = catalog::size_of(subject_.input_type), out_size = catalog::size_of(subject_.output_type);
  d_in_ = in_.place(p.num_items * in_size, static_cast<std::size_t>(p.in_offset) * in_size, guards_);
  if (has_second()) {
    d_second_ = second_.place(p.num_items * in_size, static_cast<std::size_t>(p.second_offset) * in_size, guards_);
    zone_names_.insert(zone_names_.end(), {"before the second input", "after the second input"});
  }
  if (p.in_place) {
    d_out_ = d_in_;
    output_bytes_ = 0;
  } else {
    output_bytes_ = referee_->output_items(p) * out_size;
    d_out_ = out_.place(output_bytes_, static_cast<std::size_t>(p.out_offset) * out_size, guards_);
    zone_names_.insert(zone_names_.end(), {"before the output", "after the output"});
  }
  place_levels(p);
  place_workspace(p, workspace_bytes != 0 ? workspace_bytes : this->workspace_bytes(p));
  where_.paint(guards_, canary_key, stream_);
  make_input(p, stream_);
  poison_workspace(p);
  where_.wait(stream_);
}

// Where the kernels can read them: any edges, that is.
void bench_top::place_levels(const problem& p) {
  d_levels_ = nullptr;
  if (subject_.operation != catalog::operation::histogram_range) return;
  const histogram_question& question = histogram_question::of(subject_, p);
  const std::size_t bytes = question.call().levels.size();
  d_levels_ =
      levels_.place(bytes, static_cast<std::size_t>(p.levels_offset) * catalog::size_of(subject_.level_type), guards_);
  zone_names_.insert(zone_names_.end(), {"before the levels", "after the levels"});
  where_.copy(d_levels_, question.levels(where_).items, bytes, stream_);
}

void bench_top::place_workspace(const problem& p, std::size_t bytes) {
  bytes_ = bytes;
  d_workspace_ = workspace_.place(bytes_, static_cast<std::size_t>(p.workspace_offset), guards_);
  zone_names_.insert(zone_names_.end(), {"before the workspace", "after the workspace"});
  if (!exact_ && subject_.temp_storage == contents::none) {
    guards_.add(d_workspace_, bytes_);
    zone_names_.push_back("the workspace, of which no byte may be touched");
  }
}

void bench_top::make_input(const problem& p, cudaStream_t stream) {
  const int bits = subject_.accumulator_type == scalar::f64 ? 53 : 24;
  made_ = make_sample(p.kind, p.seed, p.num_items, bits);
  if (counts_) {
    const auto table = histogram_question::of(subject_, p).table(table_of(p.kind), where_);
    made_.table = table.items;
    made_.table_items = static_cast<std::uint32_t>(table.num_items);
    made_.group = static_cast<std::uint32_t>(subject_.num_channels);
  }
  where_.generate(subject_.input_type, d_in_, made_, stream);
  if (!has_second()) return;
  made_second_ = make_second(made_, bits);
  where_.generate(subject_.input_type, d_second_, made_second_, stream);
}

void bench_top::poison_workspace(const problem& p) {
  if (subject_.temp_storage == contents::zeroed_once) {
    where_.fill(d_workspace_, 0, bytes_, stream_);
  } else if (filled_ && subject_.temp_storage == contents::uninitialised) {
    if (p.poison == 2)
      where_.scramble(d_workspace_, bytes_, p.seed, stream_);
    else
      where_.fill(d_workspace_, p.poison == 0 ? 0x00 : 0xff, bytes_, stream_);
  }
}

void bench_top::reset_output(const problem& p, int byte, cudaStream_t stream) {
  if (p.in_place)
    where_.generate(subject_.input_type, d_in_, made_, stream);
  else if (output_bytes_ > 0)
    where_.fill(d_out_, byte, output_bytes_, stream);
}

void bench_top::share_workspace(const bench_top& other) {
  d_workspace_ = other.d_workspace_;
  bytes_ = other.bytes_;
}

std::uint64_t bench_top::input_checksum(std::size_t num_items) {
  const std::uint64_t of_first = where_.checksum(subject_.input_type, d_in_, num_items, stream_);
  return has_second() ? 3 * of_first + where_.checksum(subject_.input_type, d_second_, num_items, stream_) : of_first;
}

cudaError_t bench_top::enqueue(const problem& p, cudaStream_t stream) { return enqueue(p, stream, bytes_); }
cudaError_t bench_top::enqueue(const problem& p, cudaStream_t stream, std::size_t bytes) {
  return enqueue(p, stream, bytes, d_out_);
}
cudaError_t bench_top::enqueue(const problem& p, cudaStream_t stream, std::size_t bytes, void* d_out) {
  in_host_memory host{};
  return subject_.call(d_workspace_, bytes, arguments(p, d_in_, d_out, host), stream);
}

cudaError_t bench_top::enqueue(const catalog::arguments& call, cudaStream_t stream) {
  return subject_.call(d_workspace_, bytes_, call, stream);
}

void bench_top::run(const problem& p, cudaStream_t stream) {
  const cudaError_t status = enqueue(p, stream);
  if (status == cudaErrorNotSupported) throw refused(text("refused by the variant: ", cudaGetErrorString(status)));
  if (status != cudaSuccess) throw broken(text("the call returned ", cudaGetErrorName(status)));
  where_.wait(stream);
  if (subject_.executes_on == executor::device) {
    if (const cudaError_t left = cudaPeekAtLastError(); left != cudaSuccess) {
      cudaGetLastError();
      throw broken(text("the call returned success and left ", cudaGetErrorName(left), " behind"));
    }
  }
}

void bench_top::judge(const problem& p, std::string_view which) {
  if (const auto fault = referee_->fault(judged(p))) throw broken(text(which, ": ", *fault));
}

void bench_top::judge_surroundings(const problem& p, std::uint64_t before, std::string_view which) {
  if (const auto damage = where_.inspect(guards_, canary_key, stream_)) {
    const char* const place =
        damage->zone < static_cast<int>(zone_names_.size()) ? zone_names_[static_cast<std::size_t>(damage->zone)] : "?";
    throw broken(text(which, ": wrote outside: ", place, ", byte ", damage->offset));
  }
  if (p.num_items > 0 && !p.in_place && input_checksum(p.num_items) != before)
    throw broken(text(which, ": changed its input"));
  if (d_levels_ != nullptr) {
    const auto levels = histogram_question::of(subject_, p).levels(where_);
    const auto checksum = [&](const void* items) {
      return where_.checksum(subject_.level_type, items, levels.num_items, stream_);
    };
    if (checksum(d_levels_) != checksum(levels.items)) throw broken(text(which, ": changed its levels"));
  }
}

}  // namespace rungs::tests
