// Chains of the studies of costs that are right, or off by one slip, on the host.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "../oracles/chain_reference.hpp"
#include "fake_records.hpp"

namespace rungs::bench::fakes {

enum class chain_slip {
  none,
  last_link_dropped,
  one_link_more,
  seed_ignored,
  lane_left_out,
  one_never_waits,
  writes_behind,
  any_group,
  workspace_unchecked
};

template <chain_slip planted, catalog::operation kind, catalog::op which, catalog::scalar type>
cudaError_t chain(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  constexpr bool collects = kind != catalog::operation::barrier;
  const bool sound = a.num_threads > 0 && a.num_threads <= 1024 && a.num_blocks > 0 && a.num_blocks <= 64;
  if (planted != chain_slip::any_group && (!sound || a.num_items > 16384)) return cudaErrorInvalidValue;
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  if (planted != chain_slip::workspace_unchecked && num_bytes < 16) return cudaErrorInvalidValue;
  if (planted == chain_slip::any_group && (!sound || a.num_items > 16384)) return cudaSuccess;
  tests::chain_call call{kind, which, type, a.num_items, a.num_blocks, a.num_threads, a.seed};
  if (planted == chain_slip::last_link_dropped && call.num_links > 0) --call.num_links;
  if (planted == chain_slip::one_link_more) ++call.num_links;
  if (planted == chain_slip::seed_ignored) call.seed = 17;
  auto words = tests::words_after(call);
  if (planted == chain_slip::lane_left_out && collects && a.num_items > 1) {
    --call.num_threads;
    words = tests::words_after(call);
    words.resize(kind == catalog::operation::collective_reduce ? 1 : a.num_threads);
  }
  if (planted == chain_slip::one_never_waits && !collects && a.num_items > 2) {  // and reads what was shown two ago
    call.num_links -= 2;
    words[0] = tests::words_after(call)[0];
  }
  std::memcpy(a.d_out, words.data(), words.size() * sizeof words[0]);
  if (planted == chain_slip::writes_behind) static_cast<std::uint32_t*>(a.d_out)[words.size()] = 0;
  return cudaSuccess;
}

template <catalog::operation kind, catalog::op which = catalog::op::none, catalog::scalar type = catalog::scalar::u32,
          chain_slip planted = chain_slip::none>
catalog::record a_chain(std::string_view rung, executor where = executor::host, catalog::call_t call = nullptr) {
  catalog::record about = record(rung, call ? call : chain<planted, kind, which, type>, type, where);
  about.family = catalog::family::handwritten;
  about.operation = kind;
  about.op = which;
  about.output_type = catalog::scalar::u32;
  about.max_items = 16384;
  about.takes_group = [](std::size_t blocks, std::size_t threads) {
    return threads <= 256 && (kind == catalog::operation::barrier ? blocks <= 16 : blocks == 1);
  };
  return about;
}

}  // namespace rungs::bench::fakes
