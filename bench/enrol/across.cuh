// Turns the struct of a rung across GPUs into records of bench/across_catalog.hpp.
#pragma once

#include "across_catalog.hpp"
#include "enrol/enrol.cuh"

namespace rungs::bench {

using across_collector = std::vector<across_record>;
using namespace catalog;  // the spellings that CMake lines use

template <class... T>
struct across_types {};
template <class... Op>
struct across_operators {};

template <class Rung, class T, class Op>
across_record across_record_of(across_record record) {
  record.type = scalar_of<T>();
  record.op = op_of<Op>();
  if constexpr (requires(const across::member& m, T* items) { Rung::all_reduce(m, items, items, 1, Op{}); }) {
    record.all_reduce = [](const across::member& member, const void* d_in, void* d_out, std::size_t num_items,
                           cudaStream_t stream) {
      return Rung::all_reduce(member, static_cast<const T*>(d_in), static_cast<T*>(d_out), num_items, Op{}, stream);
    };
  } else {
    record.reduce = [](const across::member& member, const void* d_in, void* d_out, std::size_t num_items,
                       cudaStream_t stream) {
      using total = across::parts::accumulator_of<T>;
      return Rung::reduce(member, static_cast<const T*>(d_in), static_cast<T*>(d_out), num_items, Op{},
                          Op::template identity<total>(), stream);
    };
  }
  return record;
}

template <class Rung, class... T, class... Op>
void enrol_across(across_collector& records, across_record record, across_types<T...>, across_operators<Op...>) {
  record.idea = Rung::idea;
  record.against = Rung::against;
  record.gains = Rung::gains;
  record.costs = Rung::costs;
  record.fixed_rank_order = Rung::fixed_rank_order;
  const auto with_type = [&](auto type) {
    (records.push_back(across_record_of<Rung, typename decltype(type)::input, Op>(record)), ...);
  };
  (with_type(element<T>{}), ...);
}

}  // namespace rungs::bench
