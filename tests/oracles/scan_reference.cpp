#include "oracles/scan_reference.hpp"

#include <algorithm>
#include <limits>

#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::op;
using catalog::scalar;

template <class T>
T at(const void* items, std::size_t i) {
  return static_cast<const T*>(items)[i];
}

// What changes nothing: a scan without init is one from here.
value identity_of(op which, scalar type) {
  return with_type(type, [&]<class T>(type_tag<T>) {
    if constexpr (is_float<T>) {
      const double infinity = std::numeric_limits<double>::infinity();
      return make_value(from_double<T>(which == op::plus ? -0.0 : which == op::minimum ? infinity : -infinity));
    } else {
      return make_value(which == op::plus      ? T{}
                        : which == op::minimum ? std::numeric_limits<T>::max()
                                               : std::numeric_limits<T>::lowest());
    }
  });
}

value value_at(scalar type, const void* values, std::size_t i) {
  value v;
  std::memcpy(&v.bits, static_cast<const unsigned char*>(values) + i * catalog::size_of(type), catalog::size_of(type));
  return v;
}

std::optional<std::string> disagreement_of_maps(const scan_call& call, const void* items, const void* outputs,
                                                std::size_t num_items) {
  affine all = call.init ? as<affine>(*call.init) : affine{1, 0};
  for (std::size_t i = 0; i < num_items; ++i) {
    const affine before = all, next = at<affine>(items, i), got = at<affine>(outputs, i);
    all = {next.slope * before.slope, next.slope * before.offset + next.offset};
    const affine expected = call.inclusive ? all : before;
    if (got.slope != expected.slope || got.offset != expected.offset)
      return text("output ", i, " of ", num_items, ": got ", to_string(scalar::affine, make_value(got)), ", expected ",
                  to_string(scalar::affine, make_value(expected)));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> disagreement(const scan_call& call, const void* items, const void* outputs,
                                        std::size_t num_items, const tolerance& allowed) {
  if (call.op == op::compose) return disagreement_of_maps(call, items, outputs, num_items);
  const value init = call.init ? *call.init : identity_of(call.op, call.accumulator);
  for (std::size_t i = 0; i < num_items; ++i) {
    const expectation e = expect(call.op, call.input, call.accumulator, items, call.inclusive ? i + 1 : i, init);
    if (const auto wrong = disagreement(e, value_at(call.accumulator, outputs, i), allowed))
      return text("output ", i, " of ", num_items, ": ", *wrong);
  }
  return std::nullopt;
}

std::optional<scan_task> task_of(const scan_call& call, const sample& made, std::size_t num_items,
                                 const tolerance& allowed) {
  const auto is_signed = [](scalar type) {
    return with_type(type, [](auto t) { return std::is_signed_v<typename decltype(t)::type>; });
  };
  const bool floats = is_floating(call.accumulator), maps = call.op == op::compose;
  if (maps != (call.input == scalar::affine) || maps != (call.accumulator == scalar::affine)) return std::nullopt;
  if (!maps && is_floating(call.input) != floats) return std::nullopt;
  if (!maps && !floats && call.op != op::plus && is_signed(call.input) != is_signed(call.accumulator))
    return std::nullopt;
  if (floats && catalog::size_of(call.accumulator) < 4) return std::nullopt;
  scan_task task{.made = made,
                 .num_items = num_items,
                 .input = call.input,
                 .output = call.accumulator,
                 .op = call.op,
                 .inclusive = call.inclusive};
  task.output_bytes = static_cast<int>(catalog::size_of(call.accumulator));
  task.output_is_float = floats;
  task.output_is_signed = !maps && !floats && is_signed(call.accumulator);
  task.has_init = call.init.has_value();
  if (task.has_init)
    task.init =
        with_item_type(call.accumulator, [&](auto t) { return widened(as<typename decltype(t)::type>(*call.init)); });
  if (floats) {
    task.unit_roundoff = call.accumulator == scalar::f64 ? 0x1p-53 : 0x1p-24;
    task.gamma = gamma(allowed.height, task.unit_roundoff);
    task.absolute = allowed.absolute;
    task.keeps_zero_sign = allowed.keeps_zero_sign;
    task.zeros_alike = !allowed.propagates_nan;
    // 256 bits hold every f32 below 2^103. 512 bits hold the samples of f64 from 2^-262 to 2^247; its denormals, which
    // stand alone, need a grid of their own.
    const bool denormals = call.input == scalar::f64 && made.kind == distribution::special &&
                           made.seed % num_special == special_denormals && (!task.has_init || task.init << 1 == 0);
    task.grid = call.input != scalar::f64 ? -149 : denormals ? -1074 : -262;
  }
  return task;
}

std::optional<scan_task> task_of_dot(scalar input, scalar accumulator, const sample& made, const sample& second,
                                     std::size_t num_items, const tolerance& allowed) {
  auto task = task_of({op::plus, true, input, accumulator, value{}}, made, num_items, allowed);
  if (!task) return task;
  task->second = second;
  task->has_pairs = true;
  // Every product of f32 fits 512 bits, and of f64 those of samples that are neither special nor wide.
  if (input != scalar::f64) task->grid = -298;
  return task;
}

scan_report check_on_host(const scan_task& task, std::size_t num_parts) {
  return with_scan_state(task, [&](auto none) {
    using state = decltype(none);
    const auto items = [&](const sample& made, std::size_t i) { return widened_item(task.input, made, i); };
    const std::size_t part_items = std::max<std::size_t>(1, (task.num_items + num_parts - 1) / num_parts);
    scan_report report;
    state before = state_of_init<state>(task);
    for (std::size_t first = 0; first < task.num_items; first += part_items) {
      const std::size_t last = std::min(task.num_items, first + part_items);
      judge_part(task, before, first, last, items, [&](std::size_t i, std::uint64_t got, const scan_outcome& o) {
        if (report.num_wrong++ == 0) report.first = i, report.got = got, report.outcome = o;
      });
      before.merge(task, state_of_part<state>(task, first, last, items));
    }
    return report;
  });
}

scan_report check_total_on_host(const scan_task& task) {
  return with_scan_state(task, [&](auto none) {
    const auto items = [&](const sample& made, std::size_t i) { return widened_item(task.input, made, i); };
    return judge_total(task, state_of_part<decltype(none)>(task, 0, task.num_items, items));
  });
}

scan_report check_rows_on_host(const scan_task& task, std::size_t row_items) {
  return with_scan_state(task, [&](auto none) {
    using state = decltype(none);
    const auto items = [&](const sample& made, std::size_t i) { return widened_item(task.input, made, i); };
    scan_report report;
    for (std::size_t row = 0; row < task.num_items / row_items; ++row) {
      const auto of_row = state_of_part<state>(task, row * row_items, (row + 1) * row_items, items);
      judge_row(task, of_row, row, [&](std::size_t i, std::uint64_t got, const scan_outcome& o) {
        if (report.num_wrong++ == 0) report.first = i, report.got = got, report.outcome = o;
      });
    }
    return report;
  });
}

std::string describe_first(const scan_task& task, const scan_report& report) {
  constexpr const char* rules[] = {
      "bit for bit", "any NaN", "an infinite item", "finite items", "every order of adding is exact here",
      "error bound"};
  const scan_outcome& o = report.outcome;
  const auto said = [&](std::uint64_t bits) { return to_string(task.output, value{bits}); };
  std::string rule = rules[static_cast<int>(o.rule)];
  if (o.rule == scan_rule::error_bound) rule = text("error ", o.error, " over the bound ", o.bound);
  return text("got ", said(report.got), ", expected ", o.rule == scan_rule::any_nan ? "NaN" : said(o.expected), " (",
              rule, ")");
}

std::string describe(const scan_task& task, const scan_report& report) {
  return text("output ", report.first, " of ", task.num_items, ": ", describe_first(task, report), "; ",
              report.num_wrong, " outputs are wrong");
}

}  // namespace rungs::tests
